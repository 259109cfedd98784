package server

// The admin listener: who may see what, what probes say, and that the metrics are
// what the tables say.

import (
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"sluice/internal/clock"
	"sluice/internal/settings"
	"sluice/shard"
)

// adminRig is a rig whose settings are given.
func adminRig(t *testing.T, flags map[string]string) *rig {
	t.Helper()
	config, err := settings.Load(settings.Given{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	c := clock.NewTest()
	set := shard.NewSet(2, c)
	t.Cleanup(set.Close)
	s := New(Options{Version: "0.1.0", Shards: set, Clock: c, TestClock: c, Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler), Settings: settings.NewLive(config)})
	t.Cleanup(func() {
		if !s.ending.Load() {
			s.Close()
		}
	})
	return &rig{Server: s}
}

// get asks the admin listener; from is the caller's address.
func (r *rig) get(method, path, from, token, body string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.RemoteAddr = from
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	r.admin().ServeHTTP(w, q)
	return w
}

const (
	here    = "127.0.0.1:40000"
	there   = "192.0.2.7:40000"
	aToken  = "0123456789abcdef"
	another = "0123456789abcdee"
)

func TestAdminAccess(t *testing.T) {
	open := adminRig(t, nil)
	closed := adminRig(t, map[string]string{"admin": here, "pprof": "true", "admin-token": aToken})
	for _, row := range []struct {
		r                 *rig
		path, from, token string
		status            int
	}{
		{open, "/livez", there, "", 200},
		{open, "/readyz", there, "", 200},
		{open, "/healthz", there, "", 200},
		{open, "/metrics", here, "", 200},
		{open, "/metrics", "[::1]:1", "", 200},
		{open, "/metrics", there, "", 403},
		{open, "/debug/pprof/", here, "", 403},
		{open, "/nothing", here, "", 403},
		{closed, "/nothing", here, aToken, 404},
		{closed, "/metrics", here, "", 200},
		{closed, "/metrics", there, "", 401},
		{closed, "/metrics", there, another, 401},
		{closed, "/metrics", there, aToken, 200},
		{closed, "/debug/pprof/", here, "", 401},
		{closed, "/debug/pprof/", there, aToken, 200},
		{closed, "/debug/pprof/cmdline", there, aToken, 200},
		{adminRig(t, map[string]string{"admin-token": aToken}), "/debug/pprof/", here, aToken, 404},
	} {
		w := row.r.get("GET", row.path, row.from, row.token, "")
		if w.Code != row.status {
			t.Errorf("%s from %s with %q: %d, want %d: %s", row.path, row.from, row.token, w.Code, row.status, w.Body)
		}
		if row.status >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: an error of type %s", row.path, w.Header().Get("Content-Type"))
		}
	}
	if w := closed.get("POST", "/livez", here, "", ""); w.Code == 200 {
		t.Error("POST /livez is answered")
	}
}

func TestReady(t *testing.T) {
	r := adminRig(t, nil)
	want := func(status int, text string) {
		t.Helper()
		if w := r.get("GET", "/readyz", there, "", ""); w.Code != status || w.Body.String() != text+"\n" {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, status, text)
		}
		if w := r.get("GET", "/livez", there, "", ""); w.Code != 200 {
			t.Errorf("/livez answers %d", w.Code)
		}
	}
	want(200, "ready")
	r.SetLoading(&Loading{Done: 5, Total: 100})
	want(503, "loading, 5 of 100 bytes")
	r.SetLoading(nil)
	want(200, "ready")
	r.Drain()
	want(503, "the server is ending")
	r.dial().want(t, "PING", "+PONG")
}

// gather returns the metrics by name.
func (r *rig) gather(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := r.NewRegistry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		found[f.GetName()] = f
	}
	return found
}

// summedUp is the sum of a family's values whose labels are among those given.
func summedUp(f *dto.MetricFamily, labels ...string) (sum float64) {
	for _, m := range f.GetMetric() {
		var has []string
		for _, l := range m.Label {
			has = append(has, l.GetName()+"="+l.GetValue())
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			continue
		}
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

// The names and helps of the metrics are as Prometheus wants them.
func TestMetricsLint(t *testing.T) {
	r := adminRig(t, nil)
	r.dial().line(t, "PING")
	text := r.get("GET", "/metrics", here, "", "").Body.String()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for i, m := range Metrics() {
		if !strings.HasPrefix(m.Name, "sluice_") || m.Panel == "" || !strings.Contains(m.Expr, "$") || slices.Contains(m.Labels, "key") {
			t.Errorf("row %d, %s: %+v", i, m.Name, m)
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (sluice_\S+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(Metrics(), func(m Metric) bool { return m.Name == name[1] }) {
			t.Errorf("%s is in no row", name[1])
		}
	}
}

// What happened is what the metrics say.
func TestMetricsTell(t *testing.T) {
	r := adminRig(t, nil)
	w := r.dial()
	for _, line := range []string{
		"RL.ALLOW a token_bucket 2 10s", "RL.ALLOW a token_bucket 2 10s", "RL.ALLOW a token_bucket 2 10s",
		"RL.ALLOW b fixed_window 1 10s", "RL.PEEK b fixed_window 1 10s", "RL.ACQUIRE c 1 30s", "RL.ACQUIRE c 1 30s",
		"RL.ALLOW a nonsense 1 1s", "RL.ALLOW b token_bucket 0 1s", "RL.ALLOWALL a token_bucket 2 10s 1 d fixed_window 5 10s 1",
	} {
		w.line(t, line)
	}
	f := r.gather(t)
	for _, row := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"sluice_decisions_total", []string{"algorithm=token_bucket", "outcome=allowed", "reason=rate"}, 2},
		{"sluice_decisions_total", []string{"algorithm=token_bucket", "outcome=denied"}, 2},
		{"sluice_decisions_total", []string{"algorithm=fixed_window"}, 1},
		{"sluice_decisions_total", []string{"algorithm=concurrency", "outcome=denied", "reason=concurrency"}, 1},
		{"sluice_commands_total", []string{"command=rl.allow"}, 6},
		{"sluice_commands_total", []string{"command=rl.acquire"}, 2},
		{"sluice_errors_total", []string{"error=ERR"}, 2},
		{"sluice_errors_total", []string{"error=NOPLAN"}, 0},
		{"sluice_keys", nil, 3},
		{"sluice_connections_total", nil, 1},
		{"sluice_limiting_works", nil, 1},
		{"sluice_config_reload_works", nil, 1},
		{"sluice_command_duration_seconds", nil, 10},
		{"sluice_batch_commands", nil, 10},
	} {
		if f[row.name] == nil {
			t.Errorf("there is no %s", row.name)
		} else if got := summedUp(f[row.name], row.labels...); got != row.want {
			t.Errorf("%s%v is %v, want %v", row.name, row.labels, got, row.want)
		}
	}
	text := w.line(t, "INFO stats").text
	if !strings.Contains(text, "decisions_denied:3\r\n") || !strings.Contains(text, "decisions_allowed:4\r\n") {
		t.Errorf("INFO says otherwise: %s", text)
	}
}

// Connections are counted by library; what a client says is a label only if it is known.
func TestLibraries(t *testing.T) {
	for told, want := range map[string]string{
		"": "none", "go-redis": "go-redis", "go-redis(,go1.26.8)": "go-redis", "Lettuce": "lettuce", "SE.Redis": "se.redis", "redis-py(x_v1)": "redis-py",
		"go-redis2": "other", "go": "other", "(go-redis)": "other", `x"}`: "other", "none": "other",
	} {
		if got := libraryOf(told); got != want {
			t.Errorf("%q is %s, want %s", told, got, want)
		}
	}
	r := adminRig(t, nil)
	for _, told := range []string{"ioredis", "ioredis", "mine", ""} {
		if w := r.dial(); told != "" {
			w.line(t, "CLIENT SETINFO LIB-NAME "+told)
		}
	}
	f := r.gather(t)["sluice_clients"]
	for label, want := range map[string]float64{"library=ioredis": 2, "library=other": 1, "library=none": 1} {
		if got := summedUp(f, label); got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
	if n := len(f.Metric); n != 3 {
		t.Errorf("%d labels", n)
	}
}

// Decisions under plans are told by plan, limit and rule; a limit keeps its count when
// the plan changes, and beside shadow limits nothing is lost.
func TestPlansAreCounted(t *testing.T) {
	r := adminRig(t, nil)
	w := r.dial()
	set := func(text string) {
		t.Helper()
		if err := r.SetPlan("pro", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	set("limits: {rpm: {algorithm: fixed_window, limit: 2, window: 1m}, tight: {algorithm: token_bucket, limit: 1, window: 1m, mode: shadow}}")
	if err := r.SetRule("api", []byte("{match: /api/, per: user, plan: pro}")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.line(t, "RL.ALLOW a @pro")
	}
	w.line(t, "RL.REQUEST METHOD GET PATH /api/x USER 7")
	set("limits: {rpm: {algorithm: fixed_window, limit: 3, window: 1m}}")
	w.line(t, "RL.ALLOW a @pro")
	f := r.gather(t)
	for _, row := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"sluice_decisions_total", []string{"plan=pro", "limit=rpm", "rule=", "outcome=allowed"}, 3},
		{"sluice_decisions_total", []string{"plan=pro", "limit=rpm", "rule=", "outcome=denied"}, 1},
		{"sluice_decisions_total", []string{"plan=pro", "limit=tight", "rule=", "outcome=shadow_denied"}, 2},
		{"sluice_decisions_total", []string{"plan=pro", "limit=rpm", "rule=api", "outcome=allowed"}, 1},
		{"sluice_plan_limit", []string{"plan=pro", "limit=rpm", "mode=enforce"}, 3},
		{"sluice_plan_window_seconds", []string{"plan=pro", "limit=rpm"}, 60},
		{"sluice_plans", nil, 1},
		{"sluice_rules", nil, 1},
		{"sluice_book_info", nil, 1},
	} {
		if got := summedUp(f[row.name], row.labels...); got != row.want {
			t.Errorf("%s%v is %v, want %v", row.name, row.labels, got, row.want)
		}
	}
}

// A histogram's buckets hold what was counted, in both forms.
func TestHistogram(t *testing.T) {
	for _, s := range []*scale{inSeconds, inCommands} {
		for i := range buckets - 1 {
			most := uint64(math.Exp2(float64(s.first+i)/perDoubling) * s.perUnit)
			if got := s.bucket(most); got > i {
				t.Errorf("%d, within the bound of bucket %d, is in %d", most, i, got)
			}
			if got := s.bucket(most + 1); got <= i {
				t.Errorf("%d, above the bound of bucket %d, is in %d", most+1, i, got)
			}
		}
		var h histogram
		h.add(s, 1<<63, 1)
		h.add(s, 0, 3)
		if h.buckets[buckets-1].Load() != 1 || h.buckets[0].Load() != 3 {
			t.Error("what is out of range is not in the last bucket, or nothing not in the first")
		}
	}
	r := adminRig(t, nil)
	for _, micros := range []uint64{1, 2, 2, 3, 1000, 50_000} {
		r.blocks[int(micros)%MeasureBlocks].answered.add(inSeconds, micros*nanosPerMicro, 1)
	}
	h := r.gather(t)["sluice_command_duration_seconds"].Metric[0].Histogram
	if h.GetSampleCount() != 6 || h.GetSampleSum() < 0.0510 || h.GetSampleSum() > 0.0511 {
		t.Errorf("%d, %v", h.GetSampleCount(), h.GetSampleSum())
	}
	var count, running int64
	for _, d := range h.PositiveDelta {
		running += d
		count += running
	}
	if count != 6 || h.GetSchema() != nativeSchema {
		t.Errorf("the native buckets hold %d", count)
	}
	for _, b := range h.Bucket {
		want := uint64(0)
		for _, micros := range []float64{1, 2, 2, 3, 1000, 50_000} {
			if micros*1e-6 <= b.GetUpperBound() {
				want++
			}
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("up to %v there are %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
}

// The canary sees that limiting works, and that it does not when the clock stands
// still.
func TestCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := clock.NewTest()
		set := shard.NewSet(2, c)
		s := New(Options{Shards: set, Clock: c, TestClock: c, Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
			Elapsed: func() time.Duration { return time.Since(began) }})
		for range 5 {
			synctest.Wait()
			c.Advance(CanaryInterval)
			time.Sleep(CanaryInterval) // reason: the bubble's time
		}
		if !s.canary.works() || s.canary.right.Load() < 5 || s.canary.wrong.Load() > 0 {
			t.Errorf("%d right, %d wrong", s.canary.right.Load(), s.canary.wrong.Load())
		}
		if n := s.keys(); n != 0 {
			t.Errorf("%d keys", n)
		}
		time.Sleep(2 * CanaryPatience) // reason: the bubble's time
		if s.canary.works() || s.canary.wrong.Load() < 5 {
			t.Errorf("the clock stands still and %d checks were wrong", s.canary.wrong.Load())
		}
		s.Close()
		set.Close()
	})
}

// Every statistic that is a number is a metric, or has a reason not to be.
func TestStatisticsAreMetrics(t *testing.T) {
	not := map[string]string{}
	for _, name := range strings.Fields("used_cpu_sys used_cpu_user process_id tcp_port arch_bits run_id server_time_usec uptime_in_days") {
		not[name] = "says who the process is, or the same as another (process_cpu_seconds_total)"
	}
	for _, name := range strings.Fields("blocked_clients cluster_enabled connected_slaves async_loading aof_rewrite_scheduled aof_enabled aof_rewrite_in_progress aof_current_size aof_base_size " +
		"rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec rdb_last_load_keys_loaded") {
		not[name] = "is there for tools that read Redis's INFO"
	}
	for _, name := range strings.Fields("total_commands_processed instantaneous_ops_per_sec total_error_replies decisions_allowed decisions_denied evicted_keys expired_keys used_memory_dataset shards " +
		"loading_start_time loading_total_bytes loading_loaded_bytes loading_loaded_perc journal_generation journal_unsynced_bytes snapshot_keys snapshot_due") {
		not[name] = "a metric with labels says more, or an operator does not act on it"
	}
	v := adminRig(t, nil).look()
	for _, row := range statistics {
		if _, is := asNumber(row.value(v)); !is || not[row.name] != "" {
			continue
		}
		if !slices.ContainsFunc(metricRows, func(m Metric) bool { return m.from == row.name }) {
			t.Errorf("%s is no metric", row.name)
		}
	}
}

// The listener answers over a socket, and ends with the server.
func TestServeAdmin(t *testing.T) {
	r := adminRig(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.ServeAdmin(l) }()
	reply, err := http.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reply.Body)
	if reply.Body.Close(); err != nil || !strings.Contains(string(text), "\nsluice_build_info{") {
		t.Errorf("%v: %s", err, text)
	}
	r.Close()
	if err := <-ended; err != ErrClosed {
		t.Error(err)
	}
}

package middleware_test

// Requests through the middleware, against the real server under its test clock.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/client"
	"sluice/client/middleware"
	"sluice/client/sluicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fine is a handler that works.
var fine = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

// limited puts the middleware in front of a handler.
func limited(t *testing.T, c *client.Client, next http.Handler, opts ...middleware.Option) http.Handler {
	t.Helper()
	limit, err := middleware.New(c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return limit(next)
}

// request changes a request before it is sent.
type request func(*http.Request)

func from(addr string) request { return func(r *http.Request) { r.RemoteAddr = addr } }

func with(name, value string) request { return func(r *http.Request) { r.Header.Add(name, value) } }

func get(h http.Handler, path string, changes ...request) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func status(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("status %d, want %d: %s", w.Code, want, w.Body)
	}
}

func field(t *testing.T, w *httptest.ResponseRecorder, name, want string) {
	t.Helper()
	if got := strings.Join(w.Header().Values(name), " | "); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// C53: 100 ms are a second in Retry-After, and never 0.
func TestRetryAfterIsRoundedUp(t *testing.T) {
	c := sluicetest.New(t).Client()
	bucket := client.TokenBucket(10, time.Second)
	h := limited(t, c, fine, middleware.By(bucket))
	for i := range 10 {
		w := get(h, "/")
		status(t, w, 200)
		field(t, w, "RateLimit-Policy", `"default";q=10;w=1`)
		field(t, w, "RateLimit", fmt.Sprintf(`"default";r=%d;t=1`, 9-i))
		field(t, w, "Retry-After", "")
	}
	w := get(h, "/")
	status(t, w, 429)
	field(t, w, "Retry-After", "1")
	field(t, w, "RateLimit", `"default";r=0;t=1`)
	field(t, w, "Content-Type", "application/problem+json")
	field(t, w, "Cache-Control", "no-store")
	var document struct {
		Type     string
		Status   int
		Violated []string `json:"violated-policies"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || document.Status != 429 || !strings.HasSuffix(document.Type, "#quota-exceeded") || len(document.Violated) != 1 {
		t.Errorf("%s: %+v, %v", w.Body, document, err)
	}
	d, err := c.Peek(t.Context(), "ip:192.0.2.1", bucket, 1)
	if err != nil || d.RetryAfter != 100*time.Millisecond {
		t.Errorf("%+v, %v", d, err)
	}
}

// C54: whoever polls a drained key reads a wait that is at least a second and never too
// long, or none.
func TestRetryAfterWhilePolling(t *testing.T) {
	srv := sluicetest.New(t)
	h := limited(t, srv.Client(), fine, middleware.By(client.TokenBucket(2, 4*time.Second)))
	get(h, "/")
	get(h, "/")
	passes := srv.Elapsed() + 2*time.Second
	for range 210 {
		w := get(h, "/")
		text := w.Header().Get("Retry-After")
		if w.Code == 200 {
			if text != "" || srv.Elapsed() < passes {
				t.Fatalf("%d after %s with Retry-After %q", w.Code, srv.Elapsed(), text)
			}
			return
		}
		wait := (passes - srv.Elapsed() + time.Second - 1) / time.Second
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > int(wait) {
			t.Fatalf("Retry-After %q, want from 1 to %d", text, wait)
		}
		srv.Advance(10 * time.Millisecond)
	}
	t.Error("it never passed")
}

// C60, C61: seconds, not milliseconds; from now, not since 1970; in every field.
func TestFieldsAreSecondsFromNow(t *testing.T) {
	srv := sluicetest.New(t)
	h := limited(t, srv.Client(), fine, middleware.By(client.FixedWindow(1, time.Minute)), middleware.XRateLimit(false))
	srv.Advance(500 * time.Millisecond)
	status(t, get(h, "/"), 200)
	w := get(h, "/")
	status(t, w, 429)
	field(t, w, "Retry-After", "60")
	field(t, w, "RateLimit", `"default";r=0;t=60`)
	field(t, w, "X-RateLimit-Limit", "1")
	field(t, w, "X-RateLimit-Remaining", "0")
	field(t, w, "X-RateLimit-Reset", "60")
	srv.Advance(59 * time.Second)
	w = get(h, "/")
	status(t, w, 429)
	field(t, w, "Retry-After", "1")
	field(t, w, "X-RateLimit-Reset", "1")
}

// C62: who holds leases tells the same as the server would.
func TestDeniedOutOfALease(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	limit := client.FixedWindow(100_000, time.Minute)
	h := limited(t, c, fine, middleware.By(limit))
	for range 1000 {
		if _, err := c.Allow(t.Context(), "ip:192.0.2.1", limit, 1); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := c.Allow(t.Context(), "ip:192.0.2.1", limit, 90_000); err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	w := get(h, "/")
	for range 20_000 {
		if w = get(h, "/"); w.Code != 200 {
			break
		}
	}
	again := get(h, "/")
	d, err := c.Peek(t.Context(), "ip:192.0.2.1", limit, 1)
	if err != nil || d.Allowed || d.RetryAfter != time.Minute {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, w := range []*httptest.ResponseRecorder{w, again} {
		status(t, w, 429)
		field(t, w, "Retry-After", "60")
		field(t, w, "RateLimit", `"default";r=0;t=60`)
	}
}

// A cost that is above the limit can never pass: no Retry-After says otherwise.
func TestNever(t *testing.T) {
	h := limited(t, sluicetest.New(t).Client(), fine, middleware.By(client.TokenBucket(5, time.Second)),
		middleware.Cost(func(*http.Request) int64 { return 6 }))
	w := get(h, "/")
	status(t, w, 429)
	field(t, w, "Retry-After", "")
}

// C88: without the header a request is counted for its address, never with all others
// that have none.
func TestMissingIdentity(t *testing.T) {
	srv := sluicetest.New(t)
	h := limited(t, srv.Client(), fine, middleware.By(client.FixedWindow(1, time.Minute)), middleware.Per(middleware.Header("X-API-Key")))
	status(t, get(h, "/", from("192.0.2.1:1")), 200)
	status(t, get(h, "/", from("192.0.2.1:2")), 429)
	status(t, get(h, "/", from("192.0.2.2:1")), 200)
	status(t, get(h, "/", from("192.0.2.1:1"), with("X-API-Key", "k1")), 200)
	status(t, get(h, "/", from("192.0.2.9:1"), with("X-API-Key", "k1")), 429)
	status(t, get(h, "/", from("192.0.2.1:1"), with("X-API-Key", "ip:192.0.2.1")), 200) // another kind
	status(t, get(h, "/", from("@")), 500)
	long := strings.Repeat("k", 100_000)
	status(t, get(h, "/", with("X-API-Key", long)), 200)
	status(t, get(h, "/", with("X-API-Key", long)), 429)
	status(t, get(h, "/", with("X-API-Key", long+"k")), 200)
}

// C127: all addresses of a /64 are one sender, however they are written.
func TestAddresses(t *testing.T) {
	srv := sluicetest.New(t)
	h := limited(t, srv.Client(), fine, middleware.By(client.FixedWindow(1, time.Minute)))
	status(t, get(h, "/", from("[2001:db8::1]:1")), 200)
	for i := range 65_536 {
		if w := get(h, "/", from(fmt.Sprintf("[2001:db8::%x]:1", i))); w.Code != 429 {
			t.Fatalf("address %d passed", i)
		}
	}
	for _, same := range []string{"[2001:DB8::2]:1", "[2001:0db8:0:0::3%eth0]:1", "[2001:db8:0:0:ffff::]:1"} {
		status(t, get(h, "/", from(same)), 429)
	}
	status(t, get(h, "/", from("[2001:db8:0:1::1]:1")), 200)
	status(t, get(h, "/", from("[::ffff:192.0.2.7]:1")), 200)
	status(t, get(h, "/", from("192.0.2.7:1")), 429)
	if keys := srv.Redis().Keys(t.Context(), "ip:2001:db8::/64").Val(); len(keys) != 1 {
		t.Error(keys)
	}
	wide := limited(t, srv.Client(), fine, middleware.By(client.SlidingLog(1, time.Minute)), middleware.IPv6Bits(48))
	status(t, get(wide, "/", from("[2001:db8:7:1::1]:1")), 200)
	status(t, get(wide, "/", from("[2001:db8:7:2::1]:1")), 429)
}

// X-Forwarded-For counts as far as trusted proxies have written it.
func TestForwarded(t *testing.T) {
	srv := sluicetest.New(t)
	h := limited(t, srv.Client(), fine, middleware.By(client.FixedWindow(1, time.Minute)),
		middleware.TrustedProxies(netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")))
	for _, row := range []struct {
		peer string
		xff  []string
		key  string
	}{
		{"192.0.2.1:1", []string{"198.51.100.1"}, "ip:192.0.2.1"}, // anybody can write that
		{"10.0.0.1:1", nil, "ip:10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1"}, "ip:198.51.100.1"},
		{"10.0.0.1:1", []string{"203.0.113.9, 198.51.100.2"}, "ip:198.51.100.2"},
		{"10.0.0.1:1", []string{"198.51.100.3, 10.0.0.2"}, "ip:198.51.100.3"},
		{"10.0.0.1:1", []string{"203.0.113.9", "198.51.100.4"}, "ip:198.51.100.4"},
		{"[fd00::1]:1", []string{"[2001:db8:5::1]:443"}, "ip:2001:db8:5::/64"},
		{"10.0.0.1:1", []string{"rubbish, 10.0.0.3"}, "ip:10.0.0.3"},
		{"@", []string{"198.51.100.5"}, "ip:198.51.100.5"},
	} {
		changes := []request{from(row.peer)}
		for _, value := range row.xff {
			changes = append(changes, with("X-Forwarded-For", value))
		}
		status(t, get(h, "/", changes...), 200)
		if n := srv.Redis().Exists(t.Context(), row.key).Val(); n != 1 {
			t.Errorf("%s %v: not counted for %s but for %v", row.peer, row.xff, row.key, srv.Redis().Keys(t.Context(), "*").Val())
		}
		srv.Redis().FlushAll(t.Context())
	}
}

// The true cost is charged when the handler has returned, also when it panics.
func TestSettle(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	limit := client.TokenBucket(100, time.Hour)
	work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic(http.ErrAbortHandler)
		case "/lost":
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, "1234567")
			w.(http.Flusher).Flush()
		}
	})
	h := limited(t, c, work, middleware.By(limit), middleware.Cost(func(*http.Request) int64 { return 50 }),
		middleware.Settle(func(_ *http.Request, status int, bytes int64) int64 {
			if status != 200 {
				return 1
			}
			return bytes
		}))
	left := func(want int64) {
		t.Helper()
		if d, err := c.Peek(t.Context(), "ip:192.0.2.1", limit, 0); err != nil || d.Remaining != want {
			t.Errorf("%+v, %v, want %d left", d, err, want)
		}
	}
	field(t, get(h, "/"), "RateLimit", `"default";r=50;t=1800`)
	left(93)
	get(h, "/lost")
	left(92)
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("the panic was lost")
			}
		}()
		get(h, "/panic")
	}()
	left(91)
}

// A permit is held for as long as the handler works, and then it is back.
func TestInFlight(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	entered, leave := make(chan bool), make(chan bool)
	h := limited(t, c, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { entered <- true; <-leave }),
		middleware.InFlight(1, time.Minute))
	done := make(chan bool)
	go func() { get(h, "/"); close(done) }()
	<-entered
	w := get(h, "/")
	status(t, w, 429)
	field(t, w, "RateLimit-Policy", `"in_flight";q=1;qu="concurrent-requests"`)
	close(leave)
	<-done
	if list, err := c.Holders(t.Context(), "in_flight|ip:192.0.2.1"); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestRules(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	const plan = "{limits: {rpm: {algorithm: fixed_window, limit: 2, window: 1m}, inflight: {algorithm: concurrency, limit: 5, window: 30s}}}"
	if err := c.SetPlan(t.Context(), "pro", plan); err != nil {
		t.Fatal(err)
	}
	if err := c.SetRule(t.Context(), "api", "{match: /api/, per: user, plan: pro}"); err != nil {
		t.Fatal(err)
	}
	h := limited(t, c, fine, middleware.ByRules(), middleware.XRateLimit(false),
		middleware.Per(middleware.User(func(r *http.Request) string { return r.Header.Get("X-User") })))
	w := get(h, "/api/x", with("X-User", "42"))
	status(t, w, 200)
	field(t, w, "RateLimit-Policy", `"rpm";q=2;w=60`)
	field(t, w, "X-RateLimit-Remaining", "1")
	status(t, get(h, "/api/x", with("X-User", "42")), 200)
	w = get(h, "/api/x", with("X-User", "42"))
	status(t, w, 429)
	field(t, w, "Retry-After", "60")
	status(t, get(h, "/api/x"), 200) // by address
	w = get(h, "/free", with("X-User", "42"))
	status(t, w, 200)
	field(t, w, "RateLimit", "")
	field(t, w, "X-RateLimit-Limit", "")
	if list, err := c.Holders(t.Context(), "{api|user:42}#inflight"); err != nil || len(list) != 0 {
		t.Errorf("permits are held: %+v, %v", list, err)
	}
}

// C128: the server dies and comes back; answers follow the policy all the time, and 503
// is only for FailClosed.
func TestServerAway(t *testing.T) {
	for policy, want := range map[client.Policy]int{client.FailLocal: 200, client.FailOpen: 200, client.FailClosed: 503} {
		srv := sluicetest.New(t)
		h := limited(t, srv.Client(client.OnFailure(policy)), fine, middleware.By(client.FixedWindow(1000, time.Minute)))
		status(t, get(h, "/"), 200)
		srv.Down()
		for range 5 {
			w := get(h, "/")
			status(t, w, want)
			if want == 503 {
				field(t, w, "Retry-After", "1")
				field(t, w, "RateLimit", "")
			}
		}
	}
}

// C129: a limit of 0 is an error when the middleware is made, not "all" or "none".
func TestNewRefuses(t *testing.T) {
	c := sluicetest.New(t).Client()
	bucket := middleware.By(client.TokenBucket(1, time.Second))
	for _, opts := range [][]middleware.Option{
		{},
		{middleware.By(client.TokenBucket(0, time.Second))},
		{middleware.By(client.Limit{})},
		{bucket, middleware.ByRules()},
		{bucket, middleware.IPv6Bits(0)},
		{bucket, middleware.InFlight(0, time.Second)},
		{bucket, middleware.InFlight(1, 1500*time.Microsecond)},
		{middleware.ByRules(), middleware.Settle(func(*http.Request, int, int64) int64 { return 1 })},
	} {
		if _, err := middleware.New(c, opts...); err == nil {
			t.Errorf("%d options were taken", len(opts))
		}
	}
	if _, err := middleware.New(nil, bucket); err == nil {
		t.Error("a nil client was taken")
	}
}

func TestDialects(t *testing.T) {
	c := sluicetest.New(t).Client()
	bucket := middleware.By(client.TokenBucket(10, time.Second).Burst(20))
	field(t, get(limited(t, c, fine, bucket), "/"), "RateLimit-Policy", `"default";q=20;w=2`)
	w := get(limited(t, c, fine, bucket, middleware.XRateLimit(true)), "/")
	field(t, w, "RateLimit", "")
	field(t, w, "X-RateLimit-Limit", "20")
	w = get(limited(t, c, fine, bucket, middleware.NoHeaders()), "/")
	field(t, w, "RateLimit", "")
	field(t, w, "X-RateLimit-Limit", "")
}

package server

// What is told of each command and of each kind of error.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// section is a section of INFO, without its title.
func (w *wire) section(t *testing.T, name string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(w.line(t, "INFO "+name).text, "\r\n"), "\r\n")
	return lines[1:]
}

// The clock stands still, so nothing takes any time.
func TestCommandStats(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	for _, line := range []string{
		"PING",
		"RL.ALLOW k gcra 10 10s", "rl.allow k gcra 10 10s", // calls
		"RL.ALLOW k gcra 0 10s", // fails in its arguments
		"RL.ALLOW k",            // rejected
		"RL.ACQUIRE k 1 10s",    // fails in the shard
		"RL.MALLOW k gcra 10 10s 1 l gcra 10 10s 1",
		"FCALL rl.peek 1 k gcra 10 10s",
		"CONFIG GET save", "CONFIG", "CONFIG NOSUCH", "NOSUCH",
		"RL.ALLOW k @nosuch",
		"MULTI", "RL.ALLOW k gcra 10 10s", "KEYS *", "EXEC",
		"MULTI", "RL.ALLOW k gcra 10 10s", "RL.ACQUIRE k 1 10s", "EXEC",
		"DBSIZE",
	} {
		w.line(t, line)
	}
	const free = "usec=0,usec_per_call=0.00"
	want := []string{
		"cmdstat_rl.allow:calls=5," + free + ",rejected_calls=1,failed_calls=2",
		"cmdstat_rl.peek:calls=1," + free + ",rejected_calls=0,failed_calls=0",
		"cmdstat_rl.mallow:calls=1," + free + ",rejected_calls=0,failed_calls=0",
		"cmdstat_rl.acquire:calls=2," + free + ",rejected_calls=0,failed_calls=2",
		"cmdstat_keys:calls=0," + free + ",rejected_calls=1,failed_calls=0",
		"cmdstat_multi:calls=2," + free + ",rejected_calls=0,failed_calls=0",
		"cmdstat_exec:calls=2," + free + ",rejected_calls=0,failed_calls=1",
		"cmdstat_ping:calls=1," + free + ",rejected_calls=0,failed_calls=0",
		"cmdstat_dbsize:calls=1," + free + ",rejected_calls=0,failed_calls=0",
		"cmdstat_config|get:calls=1," + free + ",rejected_calls=0,failed_calls=0",
	}
	got := w.section(t, "commandstats")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("commandstats:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := w.section(t, "errorstats"); !slices.Equal(got, []string{"errorstat_ERR:count=6", "errorstat_WRONGTYPE:count=2", "errorstat_NOPLAN:count=1", "errorstat_EXECABORT:count=1"}) {
		t.Error(got)
	}
	if got := r.stats.errors.Load(); got != 10 {
		t.Errorf("%d errors", got)
	}
	w.want(t, "CONFIG RESETSTAT", "+OK")
	if got := w.section(t, "errorstats"); len(got) != 0 {
		t.Error(got)
	}
	if got := w.section(t, "commandstats"); !slices.Equal(got, []string{"cmdstat_info:calls=1," + free + ",rejected_calls=0,failed_calls=0", "cmdstat_config|resetstat:calls=1," + free + ",rejected_calls=0,failed_calls=0"}) {
		t.Error(got)
	}
	if got := w.section(t, "latencystats"); !slices.Equal(got, []string{"latency_percentiles_usec_info:p50=0.954,p99=0.954,p99.9=0.954", "latency_percentiles_usec_config|resetstat:p50=0.954,p99=0.954,p99.9=0.954"}) {
		t.Error(got)
	}
}

// What arrived at once shares the time, by operations; each call's latency is the
// whole of it.
func TestCommandsShareTime(t *testing.T) {
	r := newRig(t, 2)
	s := r.newSession(r.dial())
	s.work = r.works.Get().(*work)
	defer s.release()
	s.look()
	s.arrived = r.clock.Now()
	for _, line := range []string{"RL.ALLOW k gcra 10 10s", "RL.MALLOW a gcra 10 10s 1 b gcra 10 10s 1", "RL.ALLOW k gcra 10 10s"} {
		if !s.command(inline(line), nil) {
			t.Fatal(line)
		}
	}
	r.clock.Advance(400 * time.Microsecond)
	s.flush()
	for _, line := range []string{"RL.ALLOW k gcra 10 10s", "RL.PEEK k gcra 10 10s"} {
		s.command(inline(line), nil)
	}
	r.clock.Advance(20 * time.Microsecond)
	s.flush()
	for name, want := range map[string]string{"RL.ALLOW": "3 210µs 1220µs", "RL.MALLOW": "1 200µs 400µs", "RL.PEEK": "1 10µs 420µs"} {
		m := r.measured(byCommand[name])
		if got := fmt.Sprintf("%d %dµs %dµs", m.calls, m.nanos/nanosPerMicro, m.took.sum/nanosPerMicro); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var all totals
	for i := range r.blocks {
		decided(&r.blocks[i], &all)
	}
	if all.count != 5 {
		t.Errorf("%d are decided", all.count)
	}
}

// inline makes a request of a line.
func inline(line string) (args [][]byte) {
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return args
}

func TestLatencyShapes(t *testing.T) {
	var h histogram
	var none, some totals
	for micros, n := range map[uint64]int{0: 3, 1: 1, 3: 2, 100: 993, 1 << 40: 1} {
		h.add(inSeconds, micros*nanosPerMicro, n)
	}
	some.add(&h)
	some.add(nil)
	if got := fmt.Sprint(some.doublings()); got != "[{1 3} {2 4} {4 6} {8 6} {16 6} {32 6} {64 6} {128 999} {256 999} {512 999} {1024 999} {2048 999} {4096 999} {8192 999} {16384 999} {32768 999} {65536 999} {131072 999} {262144 999} {524288 999} {1048576 999} {2097152 999} {4194304 999} {8388608 999} {16777216 999} {33554432 999} {67108864 1000}]" {
		t.Error(got)
	}
	if got := none.doublings(); len(got) != 0 {
		t.Error(got)
	}
	for perMille, want := range map[uint64]float64{1: 1, 3: 1, 6: 3.2, 500: 102, 999: 102, 1000: 6e7} {
		if got := some.within(perMille); got < want*0.9 || got > want*1.1 {
			t.Errorf("%d ‰ are within %v µs, want about %v", perMille, got, want)
		}
	}
	r := newRig(t, 1)
	w := r.dial()
	w.want(t, "LATENCY HISTOGRAM", "[]")
	w.line(t, "RL.ALLOW k gcra 10 10s")
	w.line(t, "HELLO 3")
	w.want(t, "LATENCY HISTOGRAM", `{"rl.allow": {"calls": 1, "histogram_usec": {1: 1}}, "latency|histogram": {"calls": 1, "histogram_usec": {1: 1}}}`)
	w.want(t, "LATENCY HISTOGRAM latency nosuch PING", `{"latency|histogram": {"calls": 2, "histogram_usec": {1: 2}}}`)
	w.want(t, "LATENCY GRAPH command", "-ERR No samples available for event 'command'")
}

package server

// What a command costs between two system calls: a session that is fed from
// memory and writes into nothing, with the pipelines of a benchmark.

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"sluice/internal/clock"
	"sluice/shard"
)

// feed is a connection that yields prepared requests, one pipeline a read.
type feed struct {
	net.Conn
	pipelines [][]byte
	next      int
	reads     int
}

func (f *feed) Read(b []byte) (int, error) {
	if f.reads == 0 {
		return 0, io.EOF
	}
	f.reads--
	n := copy(b, f.pipelines[f.next])
	if n < len(f.pipelines[f.next]) {
		panic("the pipeline does not fit the buffer")
	}
	f.next = (f.next + 1) % len(f.pipelines)
	return n, nil
}

// RemoteAddr is for the log of slow requests: on a busy machine there are some.
func (f *feed) RemoteAddr() net.Addr { return &net.TCPAddr{} }

func (f *feed) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkSession measures one command: read, parsed, routed, decided and
// answered, without the kernel.
func BenchmarkSession(b *testing.B) {
	for _, depth := range []int{1, 16, 100} {
		for _, keys := range []int{100_000, 1_000_000} {
			b.Run(fmt.Sprintf("pipeline=%d/keys=%d", depth, keys), func(b *testing.B) {
				benchmarkSession(b, depth, keys)
			})
		}
	}
}

func benchmarkSession(b *testing.B, depth, keys int) {
	_, c := newFed(b)
	f := &feed{}
	f.fill(200_000, depth, keys, "token_bucket 100 1s 1")
	b.ReportAllocs()
	b.ResetTimer()
	f.run(c, b.N)
}

// newFed is a session on a server with two shards, fed from memory.
func newFed(t testing.TB) (*Server, *session) {
	source, err := clock.NewOS()
	if err != nil {
		t.Fatal(err)
	}
	now, err := clock.NewServer(source, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := shard.NewSet(2, now)
	s := New(Options{Shards: set, Clock: now, Random: rand.NewPCG(3, 4), Logger: slog.New(slog.DiscardHandler), Elapsed: clock.NewStopwatch().Elapsed})
	t.Cleanup(func() {
		s.Close()
		set.Close()
	})
	c := s.newSession(&feed{})
	c.in = make([]byte, ReadBytesMax)
	return s, c
}

// fill prepares pipelines of RL.ALLOW for keys of a random choice, with the words that
// follow the key; of several, one after the other.
func (f *feed) fill(requests, depth, keys int, variants ...string) {
	random := rand.New(rand.NewPCG(1, 2))
	f.pipelines, f.next = nil, 0
	for range requests / depth {
		var p []byte
		for i := range depth {
			words := strings.Fields(variants[i%len(variants)])
			args := append([]string{"RL.ALLOW", fmt.Sprintf("user:%012d", random.IntN(keys))}, words...)
			p = append(p, request(args...)...)
		}
		f.pipelines = append(f.pipelines, p)
	}
}

// run has a session answer at least n requests.
func (f *feed) run(c *session, n int) {
	c.conn, c.sink = f, f
	for n > 0 {
		f.reads = 1
		size, _ := f.Read(c.in)
		before := c.server.stats.commands.Load()
		c.received(size)
		n -= int(c.server.stats.commands.Load() - before)
	}
}

// benchLeast has a session answer b.N requests in short turns and reports the time of a
// request in the best of them: so who else is at work on the machine counts for little.
func benchLeast(b *testing.B, c *session, f *feed) {
	const turn = 2000
	least := time.Hour
	b.ResetTimer()
	for n := 0; n < b.N; n += turn {
		began := time.Now() // reason: what a benchmark is for
		f.run(c, turn)
		least = min(least, time.Since(began))
	}
	b.ReportMetric(float64(least)/turn, "least-ns/op")
}

// threeLimits is a plan such as services have.
const threeLimits = "{limits: {rpm: {algorithm: sliding_counter, limit: 60000, window: 1m}, burst: {algorithm: token_bucket, limit: 100, window: 1s}, day: {algorithm: fixed_window, limit: 1000000, window: day}}}"

// BenchmarkPlan measures RL.ALLOW under a plan of three limits. ratio is its time by
// that of RL.ALLOW with one limit, which takes turns with it, each in its best turn: so
// who else is at work on the machine counts for little.
func BenchmarkPlan(b *testing.B) {
	for _, depth := range []int{1, 16, 100} {
		for _, keys := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("pipeline=%d/keys=%d", depth, keys), func(b *testing.B) {
				s, c := newFed(b)
				if err := s.SetPlan("pro", []byte(threeLimits)); err != nil {
					b.Fatal(err)
				}
				one, plan := &feed{}, &feed{}
				one.fill(200_000, depth, keys, "token_bucket 100 1s 1")
				plan.fill(200_000, depth, keys, "@pro 1")
				one.run(c, 3*keys)
				plan.run(c, 3*keys)
				const turn = 2000
				best := func(least time.Duration, f *feed) time.Duration {
					began := time.Now() // reason: what a benchmark is for
					f.run(c, turn)
					return min(least, time.Since(began))
				}
				least, leastPlan := time.Hour, time.Hour
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; n += turn {
					b.StopTimer()
					least = best(least, one)
					b.StartTimer()
					leastPlan = best(leastPlan, plan)
				}
				b.ReportMetric(float64(leastPlan)/float64(least), "ratio")
				b.ReportMetric(float64(least)/turn, "one-ns/op")
				b.ReportMetric(float64(leastPlan)/turn, "plan-ns/op")
			})
		}
	}
}

// A call with a plan of rates allocates nothing, and neither does one limit, whether the
// connection has learned it or it is parsed.
func TestCallsDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	s, c := newFed(t)
	if err := s.SetPlan("pro", []byte(threeLimits)); err != nil {
		t.Fatal(err)
	}
	for _, variants := range [][]string{
		{"token_bucket 100 1s 1"},
		{"@pro"},
		{"@pro 2"},
		{"@pro ENDPOINT search SPEND 0.5"},
		{"token_bucket 100 1s 1", "token_bucket 100 1s 2"},
		{"@pro", "@pro 2"},
		{"@pro ENDPOINT search", "@pro SPEND 0.5 ENDPOINT search"},
	} {
		f := &feed{}
		f.fill(1000, 50, 100, variants...)
		f.run(c, 1000)
		if n := testing.AllocsPerRun(100, func() { f.run(c, 50) }); n > 0 {
			t.Errorf("RL.ALLOW key %q allocates %v times in 50 calls", variants, n)
		}
	}
	for _, command := range []string{"RL.ALLOW %s token_bucket 100 1s 1 IDEMPOTENT %s TTL 1h", "RL.ALLOW %s @pro IDEMPOTENT plan-%s"} {
		f := &feed{}
		f.fillWith(1000, 50, func(r *rand.Rand) []string {
			name := fmt.Sprintf("user:%012d", r.IntN(100))
			return strings.Fields(fmt.Sprintf(command, name, name))
		})
		f.run(c, 1000)
		// A few, where a page fills up.
		if n := testing.AllocsPerRun(100, func() { f.run(c, 50) }); n > 3 {
			t.Errorf("%q allocates %v times in 50 calls", command, n)
		}
	}
}

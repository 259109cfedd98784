package server

// The reported faults that need more than a transcript: many connections at
// once, a clock that moves in the middle of things, many keys, long logs.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/clock"
	"sluice/shard"
)

// fewer is a number of rounds, less where each of them is dear.
func fewer(n int) int {
	if raceDetector || testing.Short() {
		return n / 10
	}
	return n
}

// allowed says whether a decision's reply lets the call pass.
func (v value) allowed() bool { return v.list[0].n == 1 }

// together runs f on n connections at once, each in a goroutine of its own.
func (r *rig) together(n int, f func(i int, w *wire)) {
	wires := make([]*wire, n)
	for i := range wires {
		wires[i] = r.dial()
	}
	var group sync.WaitGroup
	for i, w := range wires {
		group.Go(func() { f(i, w) })
	}
	group.Wait()
	for _, w := range wires {
		w.hangUp()
	}
}

// passed asks the same n times on each of some connections at once, and returns
// how many calls pass on each.
func (r *rig) passed(connections, n int, line func(connection int) string) []int {
	counts := make([]int, connections)
	r.together(connections, func(i int, w *wire) {
		b := requestLine(r.t, line(i))
		for range n {
			if w.askRaw(r.t, b).allowed() {
				counts[i]++
			}
		}
	})
	return counts
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

func same(line string) func(int) string { return func(int) string { return line } }

func TestOneKeyFromManyConnections(t *testing.T) {
	for _, algorithm := range []string{"tb", "gcra", "lb", "fw", "sl", "sc"} {
		r := newRig(t, 4)
		if got := sum(r.passed(8, 50, same("RL.ALLOW tenant "+algorithm+" 100 1h"))); got != 100 {
			t.Errorf("%s: of 400 calls from 8 connections %d pass, want 100", algorithm, got)
		}
	}
}

func TestManyKeysFromManyConnections(t *testing.T) {
	r := newRig(t, 4)
	counts := r.passed(8, 400, func(i int) string { return fmt.Sprintf("RL.ALLOW tenant:%d tb %d 1h", i, 100+i) })
	for i, got := range counts {
		if got != 100+i {
			t.Errorf("tenant %d: %d calls pass, want %d", i, got, 100+i)
		}
	}
}

func TestC02FastRatesFromTenConnections(t *testing.T) {
	r := newRig(t, 2)
	if got := sum(r.passed(10, 1000, same("RL.ALLOW k gcra 8000 1s 1"))); got != 8000 {
		t.Errorf("%d pass, want 8000", got)
	}
}

func TestC17NoDenialBeforeTheLimit(t *testing.T) {
	r := newRig(t, 2)
	n := fewer(20_000)
	w := r.dial()
	w.want(t, fmt.Sprintf("RL.ALLOW k gcra 1000000001 1s %d", 1_000_000_001-n), fmt.Sprintf("[1 1000000001 %d 0 1000 0]", n))
	if got := sum(r.passed(2, n/2, same("RL.ALLOW k gcra 1000000001 1s 1"))); got != n {
		t.Errorf("%d pass, want %d", got, n)
	}
	w.want(t, "RL.ALLOW k gcra 1000000001 1s 1", "[0 1000000001 0 1 1000 0]")
}

func TestC37FlippingParametersMintsNothing(t *testing.T) {
	w := newRig(t, 2).dial()
	passed := 0
	for i := range 200 {
		window := []string{"60s", "3600s"}[i%2]
		if w.line(t, "RL.ALLOW k fixed_window 5 "+window).allowed() {
			passed++
		}
		w.want(t, "RL.CLOCK ADVANCE 299ms", "+OK")
	}
	if passed != 5 {
		t.Errorf("%d pass within a minute, want 5", passed)
	}
}

// C44: there is no way for a caller to say what time it is.
func TestC44ClocksOfClientsDoNotMatter(t *testing.T) {
	r := newRig(t, 2)
	a, b := r.dial(), r.dial()
	for i := range 5 {
		a.want(t, "RL.ALLOW k token_bucket 10 1s", fmt.Sprintf("[1 10 %d 0 %d 0]", 9-2*i, 100*(2*i+1)))
		b.want(t, "RL.ALLOW k token_bucket 10 1s", fmt.Sprintf("[1 10 %d 0 %d 0]", 8-2*i, 100*(2*i+2)))
	}
	a.want(t, "RL.ALLOW k token_bucket 10 1s", "[0 10 0 100 1000 0]")
	b.want(t, "RL.ALLOW k token_bucket 10 1s", "[0 10 0 100 1000 0]")
	a.want(t, "RL.CLOCK ADVANCE 99999999ns", "+OK")
	b.want(t, "RL.ALLOW k token_bucket 10 1s", "[0 10 0 1 901 0]")
	a.want(t, "RL.CLOCK ADVANCE 1ns", "+OK")
	b.want(t, "RL.ALLOW k token_bucket 10 1s", "[1 10 0 0 1000 0]")
	a.want(t, "RL.ALLOW k token_bucket 10 1s", "[0 10 0 100 1000 0]")
}

// C65: the clock passes the edge of a window while six calls are on their way.
func TestC65NoWindowHoldsOneMore(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	b := request("RL.ALLOW", "k", "fixed_window", "5", "1s")
	rng := rand.New(rand.NewPCG(65, 0))
	second := clock.T0Ns / nanosPerMilli
	passed := map[uint64]int{} // by the instant at which the window ends
	for range fewer(10_000) {
		second += 1000
		r.clock.Set(second - 1)
		var edge sync.WaitGroup
		inCall := rng.IntN(6)
		for call := range 6 {
			if call == inCall {
				edge.Go(func() { r.clock.Set(second) })
			}
			switch v := w.askRaw(t, b); {
			case v.list[4].n == 1 && v.allowed():
				passed[second]++
			case v.list[4].n == 1000 && v.allowed():
				passed[second+1000]++
			case v.list[4].n != 1 && v.list[4].n != 1000:
				t.Fatal(v)
			}
		}
		edge.Wait()
	}
	for end, n := range passed {
		if n > 5 {
			t.Errorf("%d calls pass in the window that ends at %d ms", n, end)
		}
	}
}

func TestC72ThirtyConnectionsAtOnce(t *testing.T) {
	r := newRig(t, 3)
	rounds := fewer(1000)
	counts := make([][]int, 30)
	r.together(30, func(i int, w *wire) {
		counts[i] = make([]int, rounds)
		for round := range rounds {
			if w.line(t, fmt.Sprintf("RL.ALLOW round:%d fixed_window 3 10s", round)).allowed() {
				counts[i][round] = 1
			}
		}
	})
	for round := range rounds {
		n := 0
		for i := range counts {
			n += counts[i][round]
		}
		if n != 3 {
			t.Fatalf("round %d: %d calls pass, want 3", round, n)
		}
	}
}

// C78: ten thousand calls a second in windows of a second, for ten seconds.
func TestC78LimitHoldsUnderLoad(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	for _, algorithm := range []string{"tb", "fw", "sl", "sc"} {
		b := request("RL.ALLOW", algorithm, algorithm, "1000", "1s")
		passed, calls := 0, fewer(10*10_000)
		for range calls {
			r.clock.Advance(10 * time.Second / time.Duration(calls))
			if w.askRaw(t, b).allowed() {
				passed++
			}
		}
		// A bucket begins full; windows have ten or eleven edges.
		if passed < 9_000 || passed > 11_000 {
			t.Errorf("%s: %d calls pass in ten seconds, want 10000 or what a window holds more", algorithm, passed)
		}
	}
	if errors := r.stats.errors.Load(); errors != 0 {
		t.Errorf("%d errors", errors)
	}
}

func TestC83SweepingTouchesNoLiveKey(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	for i := range 1000 {
		w.want(t, fmt.Sprintf("RL.ALLOW user:%d sliding_log 10 1h 5", i), "[1 10 5 0 3600000 0]")
	}
	for range 10 {
		r.clock.Advance(5 * time.Minute)
		r.shards.Each(func(_ int, c *shard.Core, now uint64) {
			c.Sweep(now, 1<<20)
			c.Settle(now)
		})
	}
	for i := range 1000 {
		w.want(t, fmt.Sprintf("RL.PEEK user:%d sliding_log 10 1h 0", i), "[1 10 5 0 600000 0]")
	}
	w.want(t, "DBSIZE", "1000")
}

// many sends n calls of many keys in pipelines. All of them must pass, or none.
func (w *wire) many(t *testing.T, n int, pass bool, line func(i int) []byte) {
	t.Helper()
	const depth = 1000
	for from := 0; from < n; from += depth {
		var b []byte
		for i := from; i < min(from+depth, n); i++ {
			b = append(b, line(i)...)
		}
		reply, _ := w.send(b)
		passed, denied := bytes.Count(reply, []byte("*6\r\n:1\r\n")), bytes.Count(reply, []byte("*6\r\n:0\r\n"))
		if calls := min(depth, n-from); pass && passed != calls || !pass && denied != calls {
			t.Fatalf("of the calls from %d on %d pass and %d are denied", from, passed, denied)
		}
	}
}

// C85: a million keys, once each, all fresh a second later; and all over again.
func TestC85KeysGiveTheirMemoryBack(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	n := fewer(1_000_000)
	peaks := make([]int, 2)
	for round := range peaks {
		w.many(t, n, true, func(i int) []byte {
			return request("RL.ALLOW", fmt.Sprintf("round %d key %d", round, i), "fixed_window", "5", "1s")
		})
		peaks[round] = r.look().tableBytes
		if got := r.keys(); got != n {
			t.Fatalf("%d keys, want %d", got, n)
		}
		r.clock.Advance(time.Second)
		w.want(t, fmt.Sprintf("EXISTS 'round %d key 0' 'round %d key %d'", round, round, n-1), "0")
		w.want(t, "RL.CLOCK ADVANCE 1ns", "+OK")
		w.want(t, "DBSIZE", "0")
		w.want(t, "SCAN 0 COUNT 2000000", `["0" []]`)
	}
	for round, peak := range peaks {
		if peak*10 > peaks[0]*11 {
			t.Errorf("round %d takes %d bytes, the first took %d", round, peak, peaks[0])
		}
	}
	if each := peaks[0] / n; each > 130 {
		t.Errorf("%d bytes a key", each)
	}
}

// C86: nothing depends on a timer that fires. The clock is moved here without
// RL.CLOCK, so that nothing is swept.
func TestC86UnsweptKeysAreFresh(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	w.want(t, "RL.ALLOW k token_bucket 10 10s 10", "[1 10 0 0 10000 0]")
	w.want(t, "RL.ALLOW k token_bucket 10 10s", "[0 10 0 1000 10000 0]")
	r.clock.Advance(10 * time.Second)
	for line, want := range map[string]string{
		"EXISTS k": "0", "TTL k": "-2", "PTTL k": "-2", "EXPIRETIME k": "-2", "PEXPIRETIME k": "-2",
		"TYPE k": "+none", "RL.INSPECT k": "nil", "KEYS *": "[]", "SCAN 0": `["0" []]`, "RANDOMKEY": "nil",
		"RL.PEEK k token_bucket 10 10s": "[1 10 10 0 0 0]", "RL.RESET nobody": "0",
	} {
		w.want(t, line, want)
	}
	w.want(t, "RL.ALLOW k token_bucket 10 10s", "[1 10 9 0 1000 0]")
	r.clock.Advance(time.Second)
	w.want(t, "DEL k", "0")
	w.want(t, "RL.ALLOW k token_bucket 10 10s 10", "[1 10 0 0 10000 0]")
	r.clock.Advance(10 * time.Second)
	w.want(t, "DBSIZE", "0")
	w.want(t, "RL.ALLOW k fixed_window 1 1ms", "[1 1 0 0 1 0]")
	r.clock.Advance(time.Millisecond)
	w.want(t, "DBSIZE", "0")
}

// C87: no two of a million random keys share anything.
func TestC87RandomKeysShareNothing(t *testing.T) {
	w := newRig(t, 2).dial()
	n := fewer(1_000_000)
	seen := make(map[string]bool, n)
	rng := rand.New(rand.NewPCG(87, 0))
	keys := make([]string, 0, n)
	for len(keys) < n {
		key := make([]byte, rng.IntN(12))
		for i := range key {
			key[i] = "{}:/\x00\xffab01"[rng.IntN(10)]
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			keys = append(keys, string(key))
		}
	}
	for _, fresh := range []bool{true, false} {
		w.many(t, n, fresh, func(i int) []byte { return request("RL.ALLOW", keys[i], "gcra", "1", "1h") })
	}
	w.want(t, "DBSIZE", fmt.Sprint(n))
}

func TestC90LongKeys(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	longest := strings.Repeat("k", KeyBytesMax)
	for _, line := range [][]string{
		{"RL.ALLOW", longest, "gcra", "1", "1h"}, {"RL.PEEK", longest, "gcra", "1", "1h", "0"}, {"EXISTS", longest}, {"TTL", longest},
	} {
		if v := w.ask(t, line...); v.kind == '-' {
			t.Errorf("%s of the longest key: %s", line[0], v)
		}
	}
	before := r.look().tableBytes
	const refused = "-ERR key must be at most 65536 bytes, got 65537"
	for _, line := range [][]string{
		{"RL.ALLOW", longest + "k", "gcra", "1", "1h"}, {"RL.PEEK", longest + "k", "gcra", "1", "1h"},
		{"RL.MALLOW", "a", "gcra", "1", "1h", "1", longest + "k", "gcra", "1", "1h", "1"},
		{"RL.RESET", longest + "k"}, {"RL.INSPECT", longest + "k"}, {"DEL", "a", longest + "k"}, {"EXISTS", longest + "k"}, {"TYPE", longest + "k"},
	} {
		want := refused
		if line[0] == "RL.MALLOW" {
			want = "-ERR group 2: key must be at most 65536 bytes, got 65537"
		}
		if got := w.ask(t, line...).String(); got != want {
			t.Errorf("%s: got %s, want %s", line[0], got, want)
		}
	}
	w.want(t, "DBSIZE", "1")
	reply, open := w.send(request("RL.ALLOW", strings.Repeat("k", 1<<20), "gcra", "1", "1h"))
	if open || string(reply) != "-ERR Protocol error: too big request, at most 1048576 bytes\r\n" {
		t.Errorf("a key of a megabyte: %q, open %v", reply, open)
	}
	if after := r.look().tableBytes; after != before {
		t.Errorf("the table has grown from %d to %d bytes", before, after)
	}
}

// C125: a full log is as quick to look at as one with a single call in it.
func TestC125LongLogs(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	limit := fewer(70_000)
	full := request("RL.ALLOW", "full", "sliding_log", fmt.Sprint(limit), "86400s")
	for range limit {
		r.clock.Advance(time.Millisecond)
		if !w.askRaw(t, full).allowed() {
			t.Fatal("denied before the limit")
		}
	}
	w.want(t, fmt.Sprintf("RL.ALLOW single sliding_log %d 86400s", limit), fmt.Sprintf("[1 %d %d 0 86400000 0]", limit, limit-1))
	if v := w.line(t, "RL.INSPECT full"); v.list[15].n != int64(limit) {
		t.Errorf("a log of %d instants keeps %s runs", limit, v.list[15])
	}
	if bytes := r.look().tableBytes; bytes > 3*16*limit+1<<20 {
		t.Errorf("the log takes %d bytes, %d a run", bytes, bytes/limit)
	}
	// A pipeline of a thousand looks at a time, the quickest of each kind.
	best := func(key string) time.Duration {
		looks := slices.Repeat(request("RL.PEEK", key, "sliding_log", fmt.Sprint(limit), "86400s"), 1000)
		least := time.Hour
		for range 10 {
			began := time.Now()
			w.send(looks)
			least = min(least, time.Since(began))
		}
		return least
	}
	if one, many := best("single"), best("full"); many > 10*one {
		t.Errorf("a look at a log of one takes %v, at one of %d %v", one/1000, limit, many/1000)
	}
}

// C130: exactly at the rate, one call every 50 µs and no room for a burst.
func TestC130ExactlyAtTheRate(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	b := request("RL.ALLOW", "k", "gcra", "20000", "1s", "1", "BURST", "1")
	for i := range fewer(200_000) {
		if v := w.askRaw(t, b); !v.allowed() {
			t.Fatalf("call %d: %v", i, v)
		}
		r.clock.Advance(50*time.Microsecond - time.Nanosecond)
		if i%100 == 0 {
			if v := w.askRaw(t, b); v.allowed() {
				t.Fatalf("call %d passes a nanosecond early", i)
			}
		}
		r.clock.Advance(time.Nanosecond)
	}
}

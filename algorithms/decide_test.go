package algorithms

// Rows of decisions: the examples of the contract, faults that people reported on
// other limiters (the C numbers, with what was wrong there) and edges of our own.
// transcript_test.go says how they are read.

import (
	"errors"
	"testing"
)

func playAll(t *testing.T, rows []struct{ name, text string }) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { play(t, r.text) })
	}
}

func TestContract(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"notation", `
			@0 token 10 10s 8   A 2
			@0 token 10 10s 5   D 2 3000
			@3 token 10 10s 5   A 0
		`},
		{"cost over the capacity is denied at once and for ever", `
			@0 token 10 10s 11            D 10 -1 reset 0
			@0 token 10 10s 11 BURST 11   A 0 of 11
			@0 token 10 10s 11            D 0 -1 reset 11000
			@0 fixed 10 10s 11            D 0 -1
			@0 log 10 10s 11              D 0 -1
			@0 counter 10 10s 11          D 0 -1
		`},
		{"a cost of 0 is a look and always allowed, also in debt", `
			@0 token 100 60s 95   A 5
			@0 token 10 60s 0     A 0 reset 57000 of 10
			@0 token 100 60s 0    A 5 reset 57000 of 100
		`},
		{"a look is for the cost given, remaining is what is there", `
			@0 token 10 10s 4         A 6
			@0 token 10 10s 6 PEEK    A 6 reset 4000
			@0 token 10 10s 7 PEEK    D 6 1000 reset 4000
			@0 token 10 10s 11 PEEK   D 6 -1 reset 4000
		`},
		{"token_bucket and gcra give the same answers and are one bucket", `
			@0     token 10 10s 1   A 9 reset 1000
			@0.5   gcra 10 10s 1    A 8 reset 1500
			@0.75  gcra 10 10s 8    A 0 reset 9250
			@0.75  token 10 10s 1   D 0 250
		`},
		{"leaky_bucket tells the wait for the work queued before", `
			@0      leaky 10 1s 1              A 9 delay 0 reset 100
			@0      leaky 10 1s 1              A 8 delay 100 reset 200
			@0      leaky 10 1s 3              A 5 delay 200 reset 500
			@0.0001 leaky 10 1s 1 PEEK         A 5 delay 500 reset 500
			@0.0001 leaky 10 1s 1              A 4 delay 500 reset 600
			@0.0001 leaky 10 1s 5              D 4 100 delay 0
			@0.1001 leaky 10 1s 5              A 0 delay 500
			@0.1001 leaky 3 1s 1 BURST 20      A 9 delay 3333 reset 3667  # 9.999 units, at the new rate
		`},
		{"a bucket's capacity is its burst", `
			@0   token 10 1s 25 BURST 25   A 0 of 25 reset 2500
			@0   token 10 1s 1 BURST 25    D 0 100
			@2   token 10 1s 21 BURST 25   D 20 100
			@2.1 token 10 1s 21 BURST 25   A 0
			@0   token 10 1s 2 BURST 1     D 0 -1
		`},
		{"fixed windows lie on the epoch", `
			@-0.001       fixed 3 60s 2   A 1 reset 1
			@-0.000000001 fixed 3 60s 2   D 1 1
			@0            fixed 3 60s 2   A 1 reset 60000
			@59.999999999 fixed 3 60s 2   D 1 1
			@60           fixed 3 60s 3   A 0
		`},
		{"ALIGN FIRST begins with the first call that spends", `
			@7            fixed 3 60s 4 ALIGN FIRST   D 3 -1 reset 0
			@8            fixed 3 60s 0 ALIGN FIRST   A 3 reset 0
			@9            fixed 3 60s 2 ALIGN FIRST   A 1 reset 60000
			@68.999999999 fixed 3 60s 2 ALIGN FIRST   D 1 1
			@69           fixed 3 60s 0 ALIGN FIRST   A 3 reset 0
			@70           fixed 3 60s 3 ALIGN FIRST   A 0 reset 60000
		`},
		{"ALIGN FIRST goes on where only the limit changed", `
			@0  fixed 3 60s 2 ALIGN FIRST    A 1 reset 60000
			@10 fixed 9 60s 2 ALIGN FIRST    A 5 reset 50000
			@20 fixed 9 30s 2 ALIGN FIRST    A 3 reset 30000
			@30 fixed 9 60s 2 ALIGN FIRST    A 1 reset 60000
			@40 fixed 9 60s 1                A 0 reset 20000
			@50 fixed 9 60s 1 ALIGN FIRST    D 0 10000
			@50 fixed 10 60s 1 ALIGN FIRST   A 0 reset 60000
		`},
		{"ALIGN FIRST goes on with a single unit", `
			@0  fixed 3 60s 1 ALIGN FIRST   A 2 reset 60000
			@10 fixed 9 60s 2 ALIGN FIRST   A 6 reset 50000
		`},
		{"sliding_log: an entry stops counting one window after it, not before, not after", `
			@0.000000001  log 10 10s 4   A 6 reset 10000
			@5            log 10 10s 6   A 0 reset 10000
			@10           log 10 10s 1   D 0 1
			@10.000000001 log 10 10s 4   A 0
			@10.000000001 log 10 10s 6   D 0 5000 reset 10000
			@10.000000001 log 10 10s 7   D 0 10000
		`},
		{"sliding_counter: five of 5 1s at once wait 1200 ms", `
			@0         counter 5 1s 5   A 0 reset 2000
			@0         counter 5 1s 1   D 0 1200
			@1         counter 5 1s 1   D 0 200
			@1.2       counter 5 1s 1   A 0 reset 1800
			@1.4       counter 5 1s 1   A 0
			@2         counter 5 1s 3   A 0  # the 2 of the second before
			@2.25      counter 5 1s 0   A 0  # 1.5 + 3
			@2.5       counter 5 1s 0   A 1
			@3.000001  counter 5 1s 0   A 2 reset 1000
		`},
		{"waits of a lowered limit follow what was charged", `
			@0   fixed 100 60s 50     A 50
			@0   token 10 1s 1        D 0 60000
			@0   log 10 1s 1          D 0 60000
			@0   counter 51 1s 1      A 0 reset 2000
			@1   fixed 51 60s 1       D 0 20
			@1.1 fixed 51 60s 1       A 4   # 45.9 and 1 are used
		`},
		{"units from another algorithm are one charge made now", `
			@0   token 10 10s 10     A 0
			@0.5 log 20 10s 1        A 9 reset 10000   # 9.5 used count as 10
			@1   log 20 10s 1        A 8
			@5   counter 20 10s 1    A 7 reset 15000
			@7   leaky 20 10s 1      A 6 delay 6500
			@7.25 leaky 20 10s 1     A 5 delay 6750
			@7.5 fixed 20 60s 1      A 5 reset 52500
		`},
	})
}

// A debt may last longer than instants can say. Its waits are still exact, up to
// the longest that is shown, and it is never forgotten.
func TestDebt(t *testing.T) {
	rows := []struct {
		units, window, used uint64
		reset               int64 // until nothing is used, ms
	}{
		{1, second, 1000, 1_000_000},
		{1, second, 18_446_744_073, 18_446_744_073_000}, // just below 2^64 ns
		{1, second, 18_446_744_074, 18_446_744_074_000}, // just above
		{1000, second, 18_446_744_073_709, 18_446_744_073_709},
		{1000, second, 18_446_744_073_710, 18_446_744_073_710},
		{1000, second, 9_007_199_254_740_990, 9_007_199_254_740_990},
		{1000, second, 9_007_199_254_740_991, 9_007_199_254_740_991},
		{1000, second, 9_007_199_254_740_992, 9_007_199_254_740_991},
		{3, 1000 * second, 1 << 60, 9_007_199_254_740_991},
		{UnitsMax, second, 1<<63 - 1, 1_024_001},
		{1, WindowMaxNanos, 1<<63 - 1, 9_007_199_254_740_991},
	}
	for _, r := range rows {
		for _, id := range []ID{TokenBucket, GCRA, LeakyBucket} {
			l, err := NewLimit(Spec{Algorithm: id, Units: r.units, Window: r.window}, LogLimitMaxDefault)
			if err != nil {
				t.Fatal(err)
			}
			k := newKey()
			k.stored.Limit = &l
			k.stored.State = chargeMeter(State{At: startOfTests}, &l, r.used, nil)
			k.stored.FreshAt = FreshAt(k.stored.State, &l)
			s := step{call: Call{Limit: &l, Now: startOfTests}, peek: true}
			delay := int64(0)
			if id == LeakyBucket {
				delay = r.reset
			}
			want := Decision{Allowed: true, Limit: l.Burst, Remaining: l.Burst - min(l.Burst, r.used), ResetAfter: r.reset, Delay: delay}
			if got := k.ask(s); got != want {
				t.Errorf("%s %d in %d ns, %d used: got %+v, want %+v", id, r.units, r.window, r.used, got, want)
			}
			s.call.Cost, s.peek = l.Burst, false
			want.Allowed, want.RetryAfter, want.Delay = false, r.reset, 0 // the whole burst passes when nothing is used
			if got := k.ask(s); got != want {
				t.Errorf("%s %d in %d ns, %d used: got %+v, want %+v", id, r.units, r.window, r.used, got, want)
			}
			if Used(&k.stored, 0) != r.used || Used(&k.stored, k.stored.FreshAt-1) == 0 {
				t.Errorf("%s %d in %d ns, %d used: forgotten", id, r.units, r.window, r.used)
			}
		}
	}
}

// Every state that a call has left is legal.
func TestLegalStates(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, _ step, _ Decision) error {
			l := k.stored.Limit
			if l == nil || l.Logged() || Legal(k.stored.State, l) {
				return nil
			}
			return errors.New("not legal")
		})
	})
}

// And what no call can have left is not.
func TestLegalRows(t *testing.T) {
	const at, end = startOfTests, startOfTests + 500*millisecond
	rows := []struct {
		id    ID
		state State
		want  bool
	}{
		{TokenBucket, State{at, 0, second, 0}, true},
		{TokenBucket, State{at, 0, second, at}, true},
		{TokenBucket, State{at, 0, second, at + 1}, false},
		{GCRA, State{at, 499_999_999, 1<<64 - 1, 0}, true},
		{GCRA, State{at, 500_000_000, 0, 0}, false},
		{LeakyBucket, State{at, 1<<64 - 1, 0, 0}, false},
		{FixedWindow, State{at, end, 5, 0}, true},
		{FixedWindow, State{at, at + second, 1<<63 - 1, 0}, true},
		{FixedWindow, State{at, at + second + 1, 5, 0}, false},
		{FixedWindow, State{at, at, 5, 0}, false},
		{FixedWindow, State{at, at - 1, 5, 0}, false},
		{FixedWindow, State{at, end, 1 << 63, 0}, false},
		{FixedWindow, State{at, end, 5, 1}, false},
		{SlidingCounter, State{at, end, 5, 5}, true},
		{SlidingCounter, State{at, at + second, 1<<63 - 1, 1<<63 - 1}, true},
		{SlidingCounter, State{at, at + second + 1, 5, 5}, false},
		{SlidingCounter, State{at, at, 5, 5}, false},
		{SlidingCounter, State{at, at - 1, 5, 5}, false},
		{SlidingCounter, State{at, end, 1 << 63, 5}, false},
		{SlidingCounter, State{at, end, 5, 1 << 63}, false},
		{SlidingLog, State{at, end, 0, 0}, false}, // made from its runs
	}
	for _, r := range rows {
		l, err := NewLimit(Spec{Algorithm: r.id, Units: 10, Window: second}, LogLimitMaxDefault)
		if err != nil {
			t.Fatal(err)
		}
		if got := Legal(r.state, &l); got != r.want {
			t.Errorf("%s %v: got %v", r.id, r.state, got)
		}
	}
}

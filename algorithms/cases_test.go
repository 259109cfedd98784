package algorithms

// Faults that people reported on other limiters, with the right answer here. Each
// row is named by its number in the list of cases and by what went wrong there.

import (
	"testing"
)

func TestCasesArithmetic(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"C01 interval rounded to 0, never limits", `
			@0 gcra 6000 1s 1 x6000   A 5999..0
			@0 gcra 6000 1s 1         D 0 1
		`},
		{"C01 1000 a minute", `
			@0 gcra 1000 60s 1 x3     A 999..997
		`},
		{"C02 more than 1000 a second", `
			@0 gcra 1500 1s 1         A 1499
		`},
		{"C02 2000 a second", `
			@0 gcra 2000 1s 1 x2000   A 1999..0
			@0 gcra 2000 1s 1         D 0 1
		`},
		{"C02 8000 a second", `
			@0 gcra 8000 1s 1 x8000   A 7999..0
			@0 gcra 8000 1s 1         D 0 1
		`},
		{"C03 the key dies in the millisecond it was made", `
			@0         gcra 10000 1s 10000   A 0 reset 1000
			@0.0000005 gcra 10000 1s 1       D 0 1 reset 1000
			@0.9999995 gcra 10000 1s 0       A 9999 reset 1
			@1         gcra 10000 1s 0       A 10000 reset 0
		`},
		{"C03 one unit at 10k a second", `
			@0 gcra 10000 1s 1               A 9999 reset 1
		`},
		{"C04 a cost of the whole burst", `
			@0  gcra 6 60s 1    A 5
			@0  gcra 6 60s 6    D 5 10000
			@10 gcra 6 60s 6    A 0
		`},
		{"C05 over the burst", `
			@0 gcra 6 60s 10    D 6 -1 reset 0
			@0 gcra 6 60s 6     A 0
		`},
		{"C06 12 h idle", `
			@0     token 1000000 1s 1   A 999999
			@43200 token 1000000 1s 1   A 999999
		`},
		{"C07 seconds and nanoseconds", `
			@0 token 120 1s 1 x360 +10s   A 119 reset 9
		`},
		{"C08 huge values", `
			@0 token 4611686018427387904 1s 4611686018427387904   ERR limit out of range
			@0 token 9223372036854775807 9223372036s 1            ERR limit out of range
			@0 token 9007199254740992 1s 1                        ERR limit out of range
			@0 token 9007199254740991 1s 9007199254740992         ERR cost out of range
			@0 token 9007199254740991 1s 9007199254740991         A 0
			@0 token 9007199254740991 1s 9007199254740991         D 0 1000
			@0 token 9007199254740991 3155760000s 1               D 0 1
		`},
		{"C08 the largest of all", `
			@0          token 9007199254740991 3155760000s 9007199254740991   A 0 reset 3155760000000
			@0          token 9007199254740991 3155760000s 9007199254740991   D 0 3155760000000
			@3155759999 token 9007199254740991 3155760000s 9007199254740991   D 9007199251886781 1000
		`},
		{"C09 multiply, then divide", `
			@0 token 980000000 10s 980000000   A 0
			@5 token 980000000 10s 490000000   A 0
			@5 token 980000000 10s 1           D 0 1
		`},
		{"C10 who waited exactly long enough is denied", `
			@0        token 1 3600s 1             A 0
			@7.3      token 1 3600s 1 x493 +7s300ms  D 0
			@3599.999 token 1 3600s 1             D 0 1
			@3600     token 1 3600s 1             A 0
		`},
		{"C11 10 in 13 s", `
			@0     token 10 13s 10   A 0
			@1.299 token 10 13s 1    D 0 1
			@1.3   token 10 13s 1    A 0
		`},
		{"C12 the longest window", `
			@0 token 1 3155760000s 1   A 0
			@0 token 1 3155760000s 1   D 0 3155760000000
			@0 token 1 3155760001s 1   ERR window out of range
			@0 token 0 1s 1            ERR limit out of range
			@0 token 1 0s 1            ERR window out of range
			@0 token 1 0.0001s 1       ERR window must be a duration
		`},
		{"C13 never refills while it is called", `
			@0   token 10 10s 10             A 0
			@0.1 token 10 10s 1              D 0 900
			@0.2 token 10 10s 1 x7 +100ms    D 0
			@0.9 token 10 10s 1              D 0 100
			@1   token 10 10s 1              A 0
		`},
		{"C14 does not leak while it is called", `
			@0 leaky 10 30s 1 x11 +1s   A 9,8,7,7,6,5,5,4,3,3,2
		`},
		{"C16 over 2^32 a day", `
			@0 fixed 3000000000 86400s 2500000000   A 500000000
			@0 fixed 3000000000 86400s 500000001    D 500000000
		`},
		{"C17 over 1e9 a second", `
			@0 gcra 1000000001 1s 1 x100000    PASS 100000
			@0 gcra 1000000001 1s 999900001    A 0
			@0 gcra 1000000001 1s 1            D 0 1
		`},
		{"C18 a look after a refusal", `
			@0 gcra 1 86400s 1           A 0
			@0 gcra 1 86400s 1 x1000     D 0 86400000
			@0 gcra 1 86400s 0 x1000     A 0 reset 86400000
			@0 gcra 1 86400s 1           D 0 86400000
		`},
		{"C19 6 a minute", `
			@0     gcra 6 60s 1 x6   A 5..0
			@0     gcra 6 60s 1      D 0 10000
			@5     gcra 6 60s 1      D 0 5000
			@9.999 gcra 6 60s 1      D 0 1
			@10    gcra 6 60s 1      A 0
		`},
	})
}

func TestCasesCost(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"C20 a log with a cost past its limit", `
			@0 log 10 60s 5     A 5
			@0 log 10 60s 100   D 5 -1
			@0 log 10 60s 5     A 0
		`},
		{"C21 cost over capacity", `
			@0 token 3 2s 4   D 3 -1
			@0 token 3 2s 3   A 0
		`},
		{"C24 a look costs nothing", `
			@0 token 5 60s 0 x100   A 5 reset 0
			@0 token 5 60s 5        A 0 reset 60000
			@0 token 5 60s 0 x100   A 0 reset 60000
		`},
		{"C26 a negative cost adds tokens", `
			@0 token 10 60s 4                      A 6
			@0 token 10 60s -5                     ERR cost must be a whole number
			@0 token 10 60s -9223372036854775808   ERR cost must be a whole number
			@0 token 10 60s 0x5                    ERR cost must be a whole number
			@0 token 10 60s 1e3                    ERR cost must be a whole number
			@0 token 10 60s +1                     ERR cost must be a whole number
			@0 token 10 60s 0                      A 6
		`},
	})
}

func TestCasesLimitsMove(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"C33 a new limit is ignored", `
			@0 token 100 60s 1   A 99 of 100
			@0 token 10 60s 1    A 8 of 10
		`},
		{"C34 blocked calls were counted", `
			@0 fixed 10 3600s 1 x50   PASS 10
			@1 fixed 20 3600s 1 x10   A 9..0
			@1 fixed 20 3600s 1       D 0 3599000
		`},
		{"C35 raised, but the rate stays", `
			@0  token 5 60s 1 x5   A 4..0
			@0  token 10 60s 0     A 5
			@60 token 10 60s 0     A 10
		`},
		{"C36 lowered below what is used", `
			@0      token 100 60s 95   A 5
			@0      token 10 60s 1     D 0 51600
			@51.599 token 10 60s 1     D 0 1
			@51.6   token 10 60s 1     A 0
		`},
		{"C36 the denial stored nothing", `
			@0 token 100 60s 95   A 5
			@0 token 10 60s 1     D 0 51600
			@0 token 100 60s 5    A 0
		`},
		{"C37 flipping windows mints quota", `
			@0    fixed 5 60s 1              A 4
			@0.1  fixed 5 3600s 1            A 3
			@0.2  fixed 5 60s 1              A 2
			@0.3  fixed 5 3600s 1            A 1
			@0.4  fixed 5 60s 1              A 0
			@0.5  fixed 5 3600s 1 x100       D 0
			@1    fixed 5 60s 1 x98 +600ms   D 0
			@59.9 fixed 5 3600s 1            D 0 100  # as what was charged decays
		`},
		{"a kept fraction is not rounded when only the name changes", `
			@0      token 3 1s 3   A 0
			@0.5    gcra 3 1s 1    A 0 reset 834
			@0.5    leaky 3 1s 1   D 0 167
			@0.6667 leaky 3 1s 1   A 0 delay 667
		`},
	})
}

func TestCasesWaits(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"C51 waits Retry-After and is denied again", `
			@0      gcra 5 60s 1 x5   A 4..0
			@0      gcra 5 60s 1      D 0 12000
			@11.999 gcra 5 60s 1      D 0 1
			@12     gcra 5 60s 1      A 0
		`},
		{"C52 reset is not retry", `
			@0 gcra 3 60s 1 x3   A 2..0
			@1 gcra 3 60s 1      D 0 19000 reset 59000
		`},
		{"C53 fractions of a second", `
			@0 token 10 1s 10   A 0
			@0 token 10 1s 1    D 0 100
		`},
		{"C54 polled across the reset", `
			@0    gcra 1 1s 1             A 0
			@0.01 gcra 1 1s 1 x99 +10ms   D 0
			@1    gcra 1 1s 1             A 0
		`},
		{"C55 still blocked at the reset", `
			@0.4 fixed 2 30s 2   A 0 reset 29600
			@0.4 fixed 2 30s 1   D 0 29600
			@30  fixed 2 30s 1   A 1
		`},
		{"C56 reset from the wrong end of the log", `
			@0  log 2 60s 1   A 1
			@10 log 2 60s 1   A 0
			@20 log 2 60s 1   D 0 40000 reset 50000
			@60 log 2 60s 1   A 0
		`},
		{"C57 a part of a token", `
			@0   token 1 1s 1   A 0
			@0.2 token 1 1s 1   D 0 800
		`},
		{"C58 the wait ignores the burst", `
			@0 gcra 10 10s 10   A 0
			@0 gcra 10 10s 1    D 0 1000
		`},
		{"C59 always the whole window", `
			@10 fixed 1 60s 1   A 0
			@50 fixed 1 60s 1   D 0 10000
			@60 fixed 1 60s 1   A 0
		`},
		{"C63 the window before left out", `
			@30 counter 100 60s 1 x50   PASS 50
			@66 counter 100 60s 1 x9    PASS 9
			@66 counter 100 60s 1       A 45
			@66 counter 100 60s 1 x45   A 44..0
			@66 counter 100 60s 1       D 0 1200
		`},
		{"C66 across the edge, fixed", `
			@59.9 fixed 5 60s 5     A 0
			@60   fixed 5 60s 5     A 0
		`},
		{"C66 across the edge, log", `
			@59.9 log 5 60s 5       A 0
			@60   log 5 60s 5       D 0 59900
		`},
		{"C66 across the edge, counter", `
			@59.9 counter 5 60s 5   A 0
			@60   counter 5 60s 5   D 0 60000
		`},
		{"C67 refills at once", `
			@0 leaky 3 1s 1 x50 +100ms   PASS 17
		`},
		{"C69 1,000,000 an hour", `
			@0     gcra 1000000 3600s 1 x2   A 999999..999998
			@0.001 gcra 1000000 3600s 1      A 999997
		`},
		{"C70 microseconds", `
			@0 gcra 300 1s 1 x5 +10us   A 299..295
		`},
		{"C71 over the edge of a log", `
			@0.9   log 10 1s 10   A 0
			@1     log 10 1s 1    D 0 900
			@1.899 log 10 1s 1    D 0 1
			@1.9   log 10 1s 1    A 9
		`},
		{"C72 more than there is", `
			@0  fixed 3 10s 1 x30   PASS 3
			@10 fixed 3 10s 1 x30   PASS 3
		`},
		{"C73 a window that never slides", `
			@0     log 1 10s 1   A 0
			@9.999 log 1 10s 1   D 0 1
			@10    log 1 10s 1   A 0
		`},
		{"C77 one a millisecond", `
			@0     fixed 1 1ms 1   A 0
			@0     fixed 1 1ms 1   D 0 1
			@0.001 fixed 1 1ms 1   A 0
		`},
		{"C77 a third of a second", `
			@0     token 3 1s 1 x3   A 2..0
			@0     token 3 1s 1      D 0 334
			@0.333 token 3 1s 1      D 0 1
			@0.334 token 3 1s 1      A 0
		`},
	})
}

// C65: six calls about the edge of a window, wherever they fall: never more than
// the limit for one window.
func TestCaseStraddling(t *testing.T) {
	l, err := NewLimit(Spec{Algorithm: FixedWindow, Units: 5, Window: second}, LogLimitMaxDefault)
	if err != nil {
		t.Fatal(err)
	}
	for before := range 7 {
		k, passed := newKey(), map[uint64]int{}
		for i := range 12 {
			now := startOfTests + second - 1
			if i%6 >= before {
				now = startOfTests + second
			}
			if k.ask(step{call: Call{Limit: &l, Cost: 1, Now: now}}).Allowed {
				passed[k.settled(now)/second]++
			}
		}
		for window, n := range passed {
			if n > 5 {
				t.Errorf("%d calls before the edge: %d pass in window %d", before, n, window)
			}
		}
		if passed[startOfTests/second]+passed[startOfTests/second+1] < 5 {
			t.Errorf("%d calls before the edge: only %v pass", before, passed)
		}
	}
}

// C68, C75: after any idleness a key has at most its limit, and none is kept for
// longer than two windows.
func TestCaseIdleAndTimeToLive(t *testing.T) {
	const hour = 3600 * uint64(second)
	for _, a := range Rates() {
		t.Run(a.Name, func(t *testing.T) {
			l, err := NewLimit(Spec{Algorithm: a.ID, Units: 10, Window: hour}, LogLimitMaxDefault)
			if err != nil {
				t.Fatal(err)
			}
			k := newKey()
			s := step{call: Call{Limit: &l, Cost: 3, Now: startOfTests}}
			for _, idle := range []uint64{0, 1, hour - 1, hour, hour + 1, 2*hour - 1, 2 * hour, 10 * hour, year} {
				s.call.Now += idle
				d := k.ask(s)
				if d.Remaining > 10 || idle >= 2*hour && d.Remaining != 7 {
					t.Errorf("%d left after %d ns", d.Remaining, idle)
				}
				if d.ResetAfter < 1 || d.ResetAfter > 2*3600_000 {
					t.Errorf("reset after %d ms", d.ResetAfter)
				}
				if left := k.stored.FreshAt - s.call.Now; left == 0 || left > 2*hour {
					t.Errorf("kept for %d ns", left)
				}
			}
		})
	}
}

// C125: a full log of 70,000 runs is looked at without growing, and the memory of
// a log is bounded by its limit.
func TestCaseLargeLog(t *testing.T) {
	const units = 70_000
	l, err := NewLimit(Spec{Algorithm: SlidingLog, Units: units, Window: day}, LogLimitMaxDefault)
	if err != nil {
		t.Fatal(err)
	}
	k := newKey()
	s := step{call: Call{Limit: &l, Cost: 1, Now: startOfTests}}
	for i := range uint64(5 * units) { // a call a second: from the second day on at the limit
		s.call.Now = startOfTests + i*second
		k.ask(s)
		if most := 16 * 3 * units; k.stored.Log.Bytes() > most {
			t.Fatalf("%d bytes for %d runs, %d are the most", k.stored.Log.Bytes(), k.stored.Log.Len(), most)
		}
	}
	if n := k.stored.Log.used(s.call.Now); n != units {
		t.Fatalf("%d units used", n)
	}
	bytes := k.stored.Log.Bytes()
	var d Decision
	if n := testing.AllocsPerRun(10_000, func() { Peek(&s.call, &k.stored, &d) }); n != 0 || k.stored.Log.Bytes() != bytes {
		t.Errorf("%v allocations a look, %d bytes then %d", n, bytes, k.stored.Log.Bytes())
	}
	if d.Allowed || d.RetryAfter != 1000 || d.ResetAfter != 86_400_000 {
		t.Errorf("got %+v", d)
	}
}

package client

// The server is away: what is decided, how long callers wait, and what happens when it
// is back.

import (
	"errors"
	"sort"
	"testing"
	"time"
)

// call makes a call and tells how long it took in the bubble's time.
func call(t *testing.T, c *Client, l Limit) (Decision, time.Duration) {
	t.Helper()
	began := time.Now()
	d := allow(t, c, "k", l, 1)
	return d, time.Since(began)
}

// Whatever is wrong with the server, no call waits longer than Timeout, nearly none
// waits at all, none is an error, and a second after the server is back it decides again.
func TestAway(t *testing.T) {
	for name, fault := range map[string]fault{"gone": gone, "hangs": hangs, "loses replies": loses} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fake, c *Client) {
				limit := FixedWindow(1000, time.Minute)
				for range 100 {
					call(t, c, limit)
				}
				f.set(func() { f.fault = fault })
				var waits []time.Duration
				degraded := 0
				for range 2000 {
					rest(time.Millisecond)
					d, took := call(t, c, limit)
					waits = append(waits, took)
					if d.Source == SourceDegraded {
						degraded++
					}
				}
				sort.Slice(waits, func(i, j int) bool { return waits[i] < waits[j] })
				if waits[len(waits)-1] > TimeoutDefault || waits[len(waits)*99/100] != 0 {
					t.Errorf("p99 %s, at most %s", waits[len(waits)*99/100], waits[len(waits)-1])
				}
				if degraded < 1900 || !c.Stats().Away {
					t.Errorf("%d decided without the server, %+v", degraded, c.Stats())
				}
				f.set(func() { f.fault = healthy })
				rest(2 * ProbeInterval)
				if d, _ := call(t, c, limit); d.Source == SourceDegraded || d.Stale != 0 {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// A server that is slower than Timeout counts as away.
func TestSlow(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(1000, time.Minute)
		call(t, c, limit)
		f.set(func() { f.delay = 20 * time.Millisecond })
		for range BreakerFailures {
			if d, took := call(t, c, limit); d.Source != SourceDegraded || took != TimeoutDefault {
				t.Errorf("%+v after %s", d, took)
			}
		}
		if d, took := call(t, c, limit); d.Source != SourceDegraded || took != 0 {
			t.Errorf("%+v after %s", d, took)
		}
	})
}

// What nobody's request waits for is given more time than a decision.
func TestManagingIsPatient(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.delay = 50 * time.Millisecond })
		began := time.Now()
		if d := allow(t, c, "k", FixedWindow(10, time.Second), 1); d.Source != SourceDegraded || time.Since(began) != TimeoutDefault {
			t.Errorf("%+v after %s", d, time.Since(began))
		}
		if now, err := c.ServerTime(background); err != nil || now.IsZero() {
			t.Errorf("%s, %v", now, err)
		}
		f.set(func() { f.delay = 2 * ManageTimeout })
		began = time.Now()
		if _, err := c.ServerTime(background); !errors.Is(err, ErrUnavailable) || time.Since(began) != ManageTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A client that never heard of the server decides by itself (C128): its share of the
// limit, and not more.
func TestAwayFromTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.fault = gone })
		passed := 0
		for range 1000 {
			if d, _ := call(t, c, TokenBucket(1000, time.Minute)); d.Allowed {
				passed++
			} else if d.RetryAfter <= 0 || d.Unavailable {
				t.Fatalf("%+v", d)
			}
		}
		if passed != 20 { // ShareMin of 1000
			t.Errorf("%d passed", passed)
		}
	})
}

func TestPolicies(t *testing.T) {
	limit := FixedWindow(10, time.Minute)
	for _, row := range []struct {
		name  string
		limit Limit
		opts  []Option
		want  func(d Decision) bool
	}{
		{"open", limit, []Option{OnFailure(FailOpen)}, func(d Decision) bool { return d.Allowed }},
		{"closed", limit, []Option{OnFailure(FailClosed)}, func(d Decision) bool {
			return !d.Allowed && d.Unavailable && errors.Is(d.Err(), ErrUnavailable) && d.RetryAfter > 0
		}},
		{"a plan's own", Plan("pro"), []Option{OnFailure(FailClosed), OnPlanFailure("pro", FailOpen, limit)}, func(d Decision) bool { return d.Allowed }},
		{"another plan", Plan("free"), []Option{OnFailure(FailClosed), OnPlanFailure("pro", FailOpen, limit)}, func(d Decision) bool { return d.Unavailable }},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fake, c *Client) {
				f.set(func() { f.fault = gone })
				for range 30 {
					if d, _ := call(t, c, row.limit); d.Source != SourceDegraded || !row.want(d) {
						t.Fatalf("%+v", d)
					}
				}
			}, row.opts...)
		})
	}
}

// What is left of leases is spent first; then the share of what remained; a new window
// brings the share of the limit.
func TestLocalLimit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(100_000, time.Minute)
		for range 10_000 {
			allow(t, c, "k", limit, 1)
		}
		rest(0)
		c.change("k", limit, func(e *entry) { e.share.mine, e.share.total = 1, 10 }) // a tenth of the traffic
		e := c.entryOf("k", limit)
		held := e.cur.left + e.ahead.left
		f.set(func() { f.fault = gone })
		passed := int64(0)
		for allow(t, c, "k", limit, 1).Allowed {
			passed++
		}
		if want := held + e.known.remaining/10; passed != want {
			t.Errorf("%d passed, want %d", passed, want)
		}
		rest(time.Minute)
		passed = 0
		for allow(t, c, "k", limit, 1).Allowed {
			passed++
		}
		if passed != 10_000 {
			t.Errorf("%d passed in the new window, want a tenth of the limit", passed)
		}
		if d := allow(t, c, "k", limit, 1); d.ResetAfter != d.RetryAfter || d.ResetAfter <= 0 || d.ResetAfter > time.Minute {
			t.Errorf("%+v, want the window's end", d)
		}
		// All that was granted was granted here; so a key that is new has all of its limit.
		if d := allow(t, c, "b", TokenBucket(1000, 1000*time.Second), 50); !d.Allowed || d.Remaining != 950 || d.ResetAfter != 50*time.Second {
			t.Errorf("%+v", d)
		}
		f.set(func() { f.fault = healthy })
		rest(2 * ProbeInterval)
		if d := allow(t, c, "k", limit, 1); d.Source == SourceDegraded || f.usedOf("k")-c.entryOf("k", limit).cur.left != 10_001 {
			t.Errorf("%+v with %d used, want what was admitted to be charged", d, f.usedOf("k"))
		}
	})
}

// Everything that was admitted is reported, to the unit, also what was admitted while
// the server was away and replies were lost.
func TestReportsAreExact(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(100_000, 10*time.Second)
		for i := range 30_000 {
			switch i {
			case 5_000, 15_000:
				f.set(func() { f.fault = loses })
			case 10_000, 25_000:
				f.set(func() { f.fault = healthy })
			}
			allow(t, c, "k", limit, 1)
			rest(time.Millisecond)
		}
		rest(time.Second)
		s := c.Stats()
		spent, degraded := f.sums()
		if spent != int64(s.Allowed[SourceLease]) || degraded != int64(s.Allowed[SourceDegraded]) || s.ReportsLost != 0 {
			t.Errorf("reported %d and %d: %+v", spent, degraded, s)
		}
		if degraded == 0 || spent == 0 {
			t.Error(spent, degraded)
		}
	})
}

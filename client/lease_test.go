package client

// Leases, against the fake and in virtual time: how many round trips they save, what
// they never do, and what becomes of what is left.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var background = context.Background()

// allow fails the test on an error.
func allow(t *testing.T, c *Client, key string, l Limit, cost int64) Decision {
	t.Helper()
	d, err := c.Allow(background, key, l, cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// bubble runs a test in virtual time, with a fake and a client of it.
func bubble(t *testing.T, f func(t *testing.T, f *fake, c *Client), opts ...Option) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		c := fake.client(t, opts...)
		defer c.Close()
		f(t, fake, c)
	})
}

// rest lets virtual time go by, and everything happen that is due.
func rest(d time.Duration) {
	time.Sleep(d) // reason: the bubble's time, nothing sleeps
	synctest.Wait()
}

// A key that was idle and then is hot: ten thousand calls in a second, against a limit
// of 50,000 a process, take at most 30 round trips (the hour before took none).
func TestBurstIsCheap(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(50_000, time.Hour)
		allow(t, c, "k", limit, 1)
		rest(time.Hour + time.Minute)
		before := f.trips("RL.ALLOW", "RL.LEASE")
		for range 10_000 {
			if d := allow(t, c, "k", limit, 1); !d.Allowed {
				t.Fatalf("%+v", d)
			}
			rest(100 * time.Microsecond)
		}
		trips := f.trips("RL.ALLOW", "RL.LEASE") - before
		t.Log("round trips:", trips)
		if trips > 30 {
			t.Errorf("%d round trips", trips)
		}
		if f.most > 1 {
			t.Errorf("%d requests for the key at a time", f.most)
		}
	})
}

// In steady state a hot key takes one round trip for MaxLease decisions.
func TestHotKeyTrips(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(10_000_000, time.Hour)
		for range 2_000 {
			allow(t, c, "k", limit, 1)
		}
		before := f.trips("RL.ALLOW", "RL.LEASE")
		for range 20_000 {
			allow(t, c, "k", limit, 1)
			rest(10 * time.Microsecond)
		}
		if trips := f.trips("RL.ALLOW", "RL.LEASE") - before; trips > 20_000/200+1 {
			t.Errorf("%d round trips", trips)
		}
	}, LeaseMax(200))
}

// A key that few calls come for is decided by the server, each time.
func TestColdKeyIsExact(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(1_000_000, time.Hour)
		for range 20 {
			if d := allow(t, c, "k", limit, 1); d.Source != SourceServer || d.Stale != 0 {
				t.Errorf("%+v", d)
			}
			rest(LeaseTTL + time.Second)
		}
		if f.trips("RL.LEASE") != 0 || f.trips("RL.ALLOW") != 20 {
			t.Error(f.trips("RL.LEASE"), f.trips("RL.ALLOW"))
		}
	})
}

// A limit too small for leases of the accuracy is exact however hot the key is, also
// for many callers at once.
func TestSmallLimitIsExact(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(100, time.Hour)
		var group sync.WaitGroup
		var mu sync.Mutex
		passed := 0
		for range 300 {
			group.Go(func() {
				d, err := c.Allow(background, "k", limit, 1)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if d.Allowed {
					passed++
				}
			})
		}
		group.Wait()
		if passed != 100 || f.trips("RL.LEASE") != 0 {
			t.Error(passed, f.trips("RL.LEASE"))
		}
	})
}

// What is not used goes back, and the next lease is smaller; on Close everything does.
func TestUnusedGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.client(t)
		limit := FixedWindow(1_000_000, time.Hour)
		for range 1000 {
			allow(t, c, "k", limit, 1)
		}
		rest(0)
		if f.usedOf("k") < 1000 {
			t.Fatal(f.usedOf("k"))
		}
		size := c.entryOf("k", limit).size
		rest(LeaseTime + 2*KeepInterval)
		if f.usedOf("k") != 1000 {
			t.Errorf("%d used after a pause, want 1000", f.usedOf("k"))
		}
		if now := c.entryOf("k", limit).size; now != size/2 {
			t.Errorf("the next lease has %d units, want half of %d", now, size)
		}
		for range 10 {
			allow(t, c, "k", limit, 1)
		}
		c.Close()
		if f.usedOf("k") != 1010 {
			t.Errorf("%d used after Close, want 1010", f.usedOf("k"))
		}
		spent, degraded := f.sums()
		// The first call was the server's own.
		if spent != 1009 || degraded != 0 {
			t.Errorf("reported %d and %d, want 1009 and 0", spent, degraded)
		}
		s := c.Stats()
		if s.Leased-s.Returned != 1009 || s.Allowed[SourceServer] != 1 || s.Allowed[SourceLease] != 1009 {
			t.Errorf("%+v", s)
		}
	})
}

// entryOf is what is known of a key now.
func (c *Client) entryOf(key string, l Limit) (copied entry) {
	c.change(key, l, func(e *entry) { copied = *e })
	return copied
}

// change changes what is known of a key.
func (c *Client) change(key string, l Limit, f func(*entry)) {
	p, h := c.table.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.find(h, key, &l))
}

// A process that stood still past its window's end spends nothing of the lease it had.
func TestStaleLeaseIsNotSpent(t *testing.T) {
	var now atomic.Int64
	f := newFake()
	c := f.client(t, Clock(func() time.Duration { return time.Duration(now.Load()) }), Timeout(time.Minute))
	defer c.Close()
	limit := FixedWindow(1_000_000, 1000*time.Hour)
	leased := int64(0)
	for range 100 {
		if allow(t, c, "k", limit, 1).Source == SourceLease {
			leased++
		}
	}
	endWindow := func() {
		for c.entryOf("k", limit).flight != nil {
			runtime.Gosched() // the lease that is under way ends in this window too
		}
		c.change("k", limit, func(e *entry) {
			if e.cur.left == 0 {
				t.Fatal("no lease to lose")
			}
			e.cur.until = 100 * time.Millisecond // the window's end
			e.ahead.until = e.cur.until
		})
	}
	endWindow()
	now.Store(int64(99 * time.Millisecond))
	if d := allow(t, c, "k", limit, 1); d.Source != SourceLease || d.Stale != 99*time.Millisecond {
		t.Fatalf("%+v", d)
	}
	endWindow()
	before := f.trips("RL.ALLOW", "RL.LEASE")
	now.Store(int64(299 * time.Millisecond))
	allow(t, c, "k", limit, 1)
	if trips := f.trips("RL.ALLOW", "RL.LEASE") - before; trips == 0 {
		t.Error("it did not ask")
	}
	if e := c.entryOf("k", limit); e.tally[0].spent != leased+1 { // the last but one call was leased too
		t.Errorf("%d spent of the lease, want %d", e.tally[0].spent, leased+1)
	}
}

// A denial that is repeated here says what the server would say (C62), and not for
// longer than RecheckInterval.
func TestDeniedHere(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(10, time.Minute)
		rest(500 * time.Microsecond)
		allow(t, c, "k", limit, 10)
		first := allow(t, c, "k", limit, 1)
		if first.Allowed || first.Source != SourceServer {
			t.Fatalf("%+v", first)
		}
		rest(20 * time.Millisecond)
		asked := f.trips("RL.ALLOW")
		second := allow(t, c, "k", limit, 1)
		if second.Allowed || second.Source != SourceLease || f.trips("RL.ALLOW") != asked {
			t.Fatalf("%+v", second)
		}
		peek, err := c.Peek(background, "k", limit, 1)
		if err != nil || peek.RetryAfter != second.RetryAfter || peek.Remaining != second.Remaining || peek.Limit != second.Limit {
			t.Errorf("here %+v, the server %+v, %v", second, peek, err)
		}
		f.set(func() { f.used["k"] = 5 }) // somebody gave units back
		rest(RecheckInterval)
		if d := allow(t, c, "k", limit, 1); !d.Allowed {
			t.Errorf("%+v", d)
		}
	})
}

// Remaining is the global value of the last answer less what was spent here since, and
// its age is told.
func TestRemaining(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(1_000_000, time.Hour)
		for i := range int64(500) {
			d := allow(t, c, "k", limit, 1)
			if want := 1_000_000 - i - 1; d.Remaining != want || d.Limit != 1_000_000 {
				t.Fatalf("call %d: %+v, want %d remaining", i, d, want)
			}
		}
		f.set(func() { f.used["k"] += 1000 }) // others
		rest(30 * time.Millisecond)
		if d := allow(t, c, "k", limit, 1); d.Source == SourceLease && d.Stale < 30*time.Millisecond {
			t.Errorf("%+v", d)
		}
		for range 20_000 {
			allow(t, c, "k", limit, 1)
		}
		if d := allow(t, c, "k", limit, 1); d.Remaining != 1_000_000-20_502-1000 {
			t.Errorf("%+v", d)
		}
	})
}

// All that is out at a time keeps to the accuracy, however many hold leases.
func TestLeasesKeepToTheAccuracy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var all []*Client
		for range 4 {
			all = append(all, f.client(t))
		}
		limit := FixedWindow(100_000, time.Hour)
		for range 5000 {
			for _, c := range all {
				allow(t, c, "k", limit, 1)
			}
		}
		rest(0)
		for _, c := range all {
			if e := c.entryOf("k", limit); e.most != 250 || e.cur.granted > 250 || e.ahead.granted > 250 {
				t.Errorf("most %d, leases of %d and %d", e.most, e.cur.granted, e.ahead.granted)
			}
		}
		for _, c := range all {
			c.Close()
		}
		if f.usedOf("k") != 20_000 {
			t.Errorf("%d used", f.usedOf("k"))
		}
	})
}

// The number of keys is bounded; the one that was not used for longest makes room, and
// what it holds goes back and is reported.
func TestKeysAreBounded(t *testing.T) {
	for _, most := range []int{1, 2, 63, 64, 127, 128, 300, 1000} {
		bubble(t, func(t *testing.T, f *fake, c *Client) {
			limit := FixedWindow(1_000_000, time.Hour)
			for i := range 1000 {
				for range 5 {
					allow(t, c, fmt.Sprint("k", i), limit, 1)
				}
			}
			if s := c.Stats(); s.Keys > most || s.Keys < most*4/5 {
				t.Errorf("%d keys of %d", s.Keys, most)
			}
			c.Close()
			used := int64(0)
			for _, n := range f.used {
				used += n
			}
			if spent, _ := f.sums(); used != 5000 || spent != 4000 {
				t.Errorf("%d of %d keys: %d used, %d reported", c.Stats().Keys, most, used, spent)
			}
		}, KeysMax(most))
	}
}

// Errors of the server are the callers', also of those who waited for somebody else's
// request.
func TestServerErrors(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.said, f.delay = "NOPLAN no such plan 'pro'", time.Millisecond })
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if d, err := c.Allow(background, "k", Plan("pro"), 1); err == nil || errors.Is(err, ErrUnavailable) {
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		group.Wait()
	})
}

// A context that is done is the caller's own affair.
func TestContext(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		limit := FixedWindow(10, time.Minute)
		f.set(func() { f.delay = 3 * time.Millisecond })
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		if _, err := c.Allow(ctx, "k", limit, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Allow(ctx, "k", limit, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := allow(t, c, "k", limit, 1); !d.Allowed {
			t.Errorf("%+v", d)
		}
	})
}

// The machine is suspended, or the process stopped, with leases in its hands: what has run
// out meanwhile is not spent, not even by the first call afterwards. Nothing else runs before
// that: the bubble's time stands still.
func TestAfterASuspendNoStaleLeaseIsSpent(t *testing.T) {
	for _, asleep := range []time.Duration{200 * time.Millisecond, time.Hour} {
		var jump atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			f, origin := newFake(), time.Now()
			c := f.client(t, Clock(func() time.Duration { return time.Since(origin) + time.Duration(jump.Load()) }))
			defer c.Close()
			limit := FixedWindow(1_000_000, 10*time.Second)
			time.Sleep(9*time.Second + 850*time.Millisecond) // reason: the bubble's time, up to 150 ms before the window's end
			for range 100 {
				allow(t, c, "k", limit, 1)
			}
			synctest.Wait()
			if d := allow(t, c, "k", limit, 1); d.Source != SourceLease {
				t.Fatalf("%+v", d)
			}
			synctest.Wait()
			before := f.trips("RL.LEASE", "RL.ALLOW")
			jump.Add(int64(asleep))
			allow(t, c, "k", limit, 1)
			if f.trips("RL.LEASE", "RL.ALLOW") == before {
				t.Errorf("after %s a lease of the window before was spent", asleep)
			}
		})
	}
}

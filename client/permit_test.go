package client

// Permits and reservations when the server is slow or away, against the fake and in
// virtual time; and that Close and corrections wait for a server that hangs no longer than
// they say.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// A permit that nobody could renew for its TTL is lost, and not before.
func TestPermitIsLostWithoutRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		p, err := c.Acquire(background, "k", 5, 3*time.Second)
		if err != nil || !p.Allowed {
			t.Fatalf("%+v, %v", p, err)
		}
		lost := func() bool {
			select {
			case <-p.Lost():
				return true
			default:
				return false
			}
		}
		rest(10 * time.Second)
		if lost() {
			t.Error("lost while it is renewed")
		}
		f.set(func() { f.fault = gone })
		rest(1900 * time.Millisecond)
		if lost() {
			t.Error("lost before its TTL is over")
		}
		f.set(func() { f.fault = healthy })
		rest(2 * time.Second)
		f.set(func() { f.fault = gone })
		rest(1900 * time.Millisecond)
		if lost() {
			t.Error("lost although it was renewed in between")
		}
		rest(2200 * time.Millisecond)
		if !lost() {
			t.Error("not lost, though nobody could renew it for its TTL")
		}
	})
}

// What the server grants after its caller has gone on is given back, unless the caller has
// a name for it and may ask again.
func TestLateGrantsAreGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.delay = 2 * TimeoutDefault })
		take := func(opts ...CallOption) {
			p, err := c.Acquire(background, "k", 5, time.Minute, opts...)
			if err != nil || p.Source != SourceDegraded {
				t.Errorf("%+v, %v", p, err)
			}
			r, err := c.Reserve(background, "k", TokenBucket(10, time.Second), 1, opts...)
			if err != nil || r.Source != SourceDegraded {
				t.Errorf("%+v, %v", r, err)
			}
		}
		take()
		rest(10 * TimeoutDefault)
		if n := f.idsOut(); n != 0 || f.trips("RL.RELEASE") != 1 || f.trips("RL.CANCEL") != 1 {
			t.Errorf("%d are still out, %v", n, f.asked)
		}
		ctx, cancel := context.WithTimeout(background, TimeoutDefault/2)
		defer cancel()
		if p, err := c.Acquire(ctx, "k", 5, time.Minute); err == nil {
			t.Errorf("%+v", p)
		}
		rest(10 * TimeoutDefault)
		if n := f.idsOut(); n != 0 {
			t.Errorf("%d are still out of a call that was given up", n)
		}
	})
	plan := Plan("p")
	calls := []Call{{"a", plan, 1}, {"b", plan, 1}}
	for _, row := range []struct {
		name string
		call func(c *Client, opts ...CallOption) error
		back string // the command that gives back
		n    int    // so often
		kept int    // with a name
	}{
		{"Allow", func(c *Client, opts ...CallOption) error {
			_, err := c.Allow(background, "k", plan, 1, opts...)
			return err
		}, "RL.RELEASE", 1, 1},
		{"AllowAll", func(c *Client, opts ...CallOption) error {
			_, err := c.AllowAll(background, calls, opts...)
			return err
		}, "RL.RELEASE", 2, 1},
		{"AllowMany", func(c *Client, _ ...CallOption) error {
			_, err := c.AllowMany(background, calls)
			return err
		}, "RL.RELEASE", 2, 0},
		{"Request", func(c *Client, opts ...CallOption) error {
			q := Request{Method: "GET", Path: "/", User: "u"}
			if len(opts) > 0 {
				q.ID = "mine"
			}
			_, err := c.Request(background, q)
			return err
		}, "RL.RELEASE", 1, 1},
		{"Lease", func(c *Client, _ ...CallOption) error {
			_, err := c.Lease(background, "k", FixedWindow(10, time.Hour), 5, AtLeast(1), TTL(time.Second), Holding("me"))
			if errors.Is(err, ErrUnavailable) {
				return nil
			}
			return fmt.Errorf("a late lease: %w", err)
		}, "RL.RETURN", 1, 0},
	} {
		for _, named := range []bool{false, true} {
			bubble(t, func(t *testing.T, f *fake, c *Client) {
				f.set(func() { f.delay = 2 * TimeoutDefault })
				var opts []CallOption
				back, out := row.n, 0
				if named && row.kept > 0 {
					opts, back, out = append(opts, ID("mine")), 0, row.kept
				}
				if err := row.call(c, opts...); err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
				rest(10 * TimeoutDefault)
				if n := f.trips(row.back); n != back || f.idsOut() != out || f.usedOf("k") != 0 {
					t.Errorf("%s, named %t: given back %d times, %d permits are out, %d units used", row.name, named, n, f.idsOut(), f.usedOf("k"))
				}
			})
		}
	}
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.delay = 2 * TimeoutDefault })
		if p, err := c.Acquire(background, "k", 5, time.Minute, ID("mine")); err != nil || p.Source != SourceDegraded {
			t.Errorf("%+v, %v", p, err)
		}
		rest(10 * TimeoutDefault)
		if n := f.idsOut(); n != 1 {
			t.Errorf("%d are out of one with a name", n)
		}
	})
}

// Many keys have leases when the server hangs: Close takes CloseTimeout, whoever owns the
// connections, however long calls wait and whatever is under way; and a correction waits
// for Timeout.
func TestHangingServerHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		c.owned = false
		defer c.rdb.Close()
		limit := FixedWindow(10_000_000, time.Hour)
		for range 20 {
			for i := range 300 {
				allow(t, c, fmt.Sprint("k", i), limit, 1)
			}
			rest(time.Millisecond)
		}
		if _, err := c.Debit(background, "k1", limit, 1); err != nil {
			t.Fatal(err)
		}
		f.set(func() { f.fault = hangs })
		began := time.Now()
		c.forget("k2")
		if took := time.Since(began); took > TimeoutDefault {
			t.Errorf("a correction waits %s", took)
		}
		rest(LeaseTime + KeepInterval) // leases that nobody uses are being given back
		began = time.Now()
		c.Close()
		if took := time.Since(began); took > CloseTimeout {
			t.Errorf("Close takes %s", took)
		}
	})
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.fault = hangs })
		for range BreakerFailures - 1 {
			go func() {
				if _, err := c.Usage(background, "k", 0); !errors.Is(err, ErrClosed) {
					t.Errorf("of a call that hangs comes %v", err)
				}
			}()
			go func() {
				if d, err := c.Allow(background, "k", SlidingLog(10, time.Hour), 1); !errors.Is(err, ErrClosed) {
					t.Errorf("of a decision that hangs comes %+v, %v", d, err)
				}
			}()
		}
		rest(time.Second)
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > CloseTimeout {
			t.Errorf("Close takes %s", took)
		}
	}, Timeout(time.Minute))
}

// Who released a permit has not lost it, though its renewal was about to be sent.
func TestReleasedPermitIsNotLost(t *testing.T) {
	var taken atomic.Pointer[Permit]
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		p, err := c.Acquire(background, "k", 5, renewParts*KeepInterval/2)
		if err != nil || !p.Allowed {
			t.Fatalf("%+v, %v", p, err)
		}
		rest(time.Millisecond) // others have looked at the time
		taken.Store(p)
		rest(time.Minute)
		select {
		case <-p.Lost():
			t.Error("it is lost")
		default:
		}
		if f.trips("RL.RELEASE") != 1 || f.trips("RL.RENEW") == 0 {
			t.Error(f.asked)
		}
	}, Clock(func() time.Duration {
		if p := taken.Load(); p != nil && taken.CompareAndSwap(p, nil) {
			p.Release(background) // whoever asks for the time is the renewal
		}
		return 0
	}))
}

// Of a verdict's permits each is given back, though one cannot be.
func TestReleasePermitGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.said = "ERR no" })
		err := c.ReleasePermit(background, Verdict{Decision: Decision{ID: "p"}, Permits: []string{"a", "b", "c"}})
		if err == nil || f.trips("RL.RELEASE") != 3 {
			t.Errorf("%v, %v", err, f.asked)
		}
	})
}

// Without the server a network of IPv6 is one customer, however many addresses it has.
func TestRequestsWithoutTheServerAreCountedByNetwork(t *testing.T) {
	bubble(t, func(t *testing.T, f *fake, c *Client) {
		f.set(func() { f.fault = gone })
		passed := 0
		for i := range 200 {
			v, err := c.Request(background, Request{Method: "GET", Path: "/", IP: fmt.Sprintf("2001:db8::%x", i)})
			if err != nil || v.Source != SourceDegraded {
				t.Fatalf("%+v, %v", v, err)
			}
			if v.Allowed {
				passed++
			}
		}
		if passed != 60 {
			t.Errorf("%d passed, want 60", passed)
		}
	})
	for ip, want := range map[string]string{
		"2001:db8::1": "2001:db8::/64", "::ffff:192.0.2.1": "192.0.2.1", "192.0.2.1": "192.0.2.1", "fe80::1%eth0": "fe80::/64", "a, b": "a, b", "": "",
	} {
		if got := network(ip); got != want {
			t.Errorf("network(%q) = %q, want %q", ip, got, want)
		}
	}
}

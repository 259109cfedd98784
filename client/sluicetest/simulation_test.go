package sluicetest

// What must hold of twenty gateways and a server, whatever the traffic and whatever goes
// wrong.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/client"
	"sluice/shard"
)

// within holds every whole window against the limit: never more than a hundredth above,
// and, where enough was asked for, not more than a hundredth below.
func (w *world) within(limit int64) {
	w.t.Helper()
	most := int64(0)
	for _, asked := range w.asked {
		most = max(most, asked)
	}
	for n, admitted := range w.admitted {
		if w.asked[n] < most/2 {
			continue // calls that were still under way when the last window ended
		}
		wanted := min(limit, w.asked[n])
		if float64(admitted) > 1.01*float64(limit) || float64(admitted) < 0.99*float64(wanted) {
			w.t.Errorf("window %d: admitted %d of %d, the limit is %d", n, admitted, w.asked[n], limit)
		}
	}
}

// frugal holds the number of round trips against that of calls: one for a lease of that
// size, and a few for each gateway until its leases have it.
func (w *world) frugal(trips uint64, leaseMax int64) {
	w.t.Helper()
	calls := int64(0)
	for _, asked := range w.asked {
		calls += asked
	}
	if int64(trips) > calls/leaseMax+10*gateways {
		w.t.Errorf("%d trips for %d calls", trips, calls)
	}
}

// Windows: all gateways alike, and one customer on three of them.
func TestAdmittedInWindows(t *testing.T) {
	const limit = 10_000
	skewed := make([]float64, gateways)
	skewed[2], skewed[7], skewed[11] = 1000, 700, 300
	for _, row := range []struct {
		name     string
		rates    []float64
		leaseMax int64
	}{{"even", even(2000), limit / 100 / gateways}, {"skewed", skewed, limit / 100 / 3}} {
		t.Run(row.name, func(t *testing.T) {
			simulate(t, 10*time.Second, func(w *world) {
				w.toWindow()
				w.traffic("k", client.FixedWindow(limit, 10*time.Second), row.rates, 20*time.Second-time.Millisecond)
				w.within(limit)
				t.Logf("admitted %v of %v in %d trips", w.admitted, w.asked, w.trips())
				w.frugal(w.trips(), row.leaseMax)
			})
		})
	}
}

// Buckets, in steady state: what is admitted is what is earned.
func TestAdmittedByBuckets(t *testing.T) {
	const limit = 10_000
	for name, l := range map[string]client.Limit{
		"token bucket":    client.TokenBucket(limit, 10*time.Second),
		"sliding counter": client.SlidingCounter(limit, 10*time.Second),
		"sliding log":     client.SlidingLog(limit, 10*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 10*time.Second, func(w *world) {
				w.toWindow()
				w.traffic("k", l, even(2000), 20*time.Second) // until the burst is gone
				w.forget()
				before := w.trips()
				w.traffic("k", l, even(2000), 20*time.Second-time.Millisecond)
				trips := w.trips() - before
				t.Logf("admitted %v of %v in %d trips", w.admitted, w.asked, trips)
				w.within(limit)
				w.frugal(trips, limit/100/gateways)
			})
		})
	}
}

// Bursts: idle for an hour, then ten thousand calls in a second on each of the gateways,
// below a limit of 50,000 for each holder: at most 30 round trips a gateway.
func TestBursts(t *testing.T) {
	simulate(t, time.Hour, func(w *world) {
		const each = 10_000
		w.toWindow()
		limit := client.FixedWindow(50_000*gateways, time.Hour)
		w.traffic("k", limit, even(20), time.Second)
		time.Sleep(time.Hour) // reason: the bubble's time
		before := make([]uint64, gateways)
		for i, c := range w.clients {
			for _, n := range c.Stats().Calls.Counts {
				before[i] += n
			}
		}
		w.forget()
		w.traffic("k", limit, even(each*gateways), time.Second)
		for i, c := range w.clients {
			trips := -before[i]
			for _, n := range c.Stats().Calls.Counts {
				trips += n
			}
			if trips > 30 {
				w.t.Errorf("gateway %d: %d round trips", i, trips)
			}
		}
		if w.total < each*gateways*9/10 || w.p99() > client.TimeoutDefault {
			w.t.Errorf("admitted %d, p99 %s", w.total, w.p99())
		}
	})
}

// C122: four holders on a bucket of 100 that earns 10 a second, leases of up to 20: in a
// minute never more than 100 + 600 pass, and what is returned passes somewhere else.
func TestFewUnitsManyHolders(t *testing.T) {
	simulate(t, time.Minute, func(w *world) {
		limit := client.TokenBucket(100, 10*time.Second)
		rates := make([]float64, gateways)
		for i := range 4 {
			rates[i] = 50
		}
		w.traffic("k", limit, rates, time.Minute)
		if w.total > 700 || w.total < 650 {
			w.t.Errorf("%d passed", w.total)
		}
		s := w.clients[0].Stats()
		if s.Leased == 0 {
			w.t.Errorf("%+v", s)
		}
	}, client.Accuracy(0.5), client.LeaseMax(20))
}

// What all gateways report is what all gateways spent, to the unit, with replies that
// are lost and a server that dies and comes back.
func TestReportsAddUp(t *testing.T) {
	simulate(t, 10*time.Second, func(w *world) {
		w.toWindow()
		l := client.FixedWindow(20_000, 10*time.Second)
		w.traffic("k", l, even(1500), 4*time.Second)
		w.net.set(func() { w.net.trouble = lossy })
		w.traffic("k", l, even(1500), 4*time.Second)
		w.server.Close()
		w.traffic("k", l, even(1500), 3*time.Second)
		w.start()
		healed(w)
		w.traffic("k", l, even(1500), 3*time.Second)
		leased, degraded := uint64(0), uint64(0)
		for _, c := range w.clients {
			s := c.Stats()
			leased += s.Allowed[client.SourceLease]
			degraded += s.Allowed[client.SourceDegraded]
		}
		reader := w.clients[0]
		w.clients = w.clients[1:]
		w.closeClients()
		time.Sleep(3 * time.Second) // reason: the bubble's time
		list, err := reader.Usage(context.Background(), "k", 0)
		if err != nil {
			t.Fatal(err)
		}
		var sum client.Usage
		for _, u := range list {
			sum.Spent += u.Spent
			sum.Degraded += u.Degraded
			if u.Spent > u.Authorised {
				t.Errorf("%+v: more was spent than authorised", u)
			}
		}
		if sum.Spent != int64(leased) || sum.Degraded != int64(degraded) || leased == 0 || degraded == 0 {
			t.Errorf("spent %d and %d, reported %+v", leased, degraded, list)
		}
		w.clients = append(w.clients, reader)
	})
}

// The server's clock jumps, forward and back, and gateways die with leases: what is used
// never passes the limit, and the rest of the gateways get what is left.
func TestClockJumpsAndCrashes(t *testing.T) {
	simulate(t, time.Hour, func(w *world) {
		l := client.FixedWindow(10_000, time.Hour)
		w.toWindow()
		for i := range 10 {
			w.clock.mu.Lock()
			w.clock.jump += time.Duration([]int{0, 30, -20, 5, -15}[i%5]) * time.Second
			w.clock.mu.Unlock()
			w.traffic("k", l, even(1500), time.Second)
			w.crash(i)
			if s, ok, err := w.clients[19].Inspect(context.Background(), "k"); err != nil || !ok || s.Used > s.Limit {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if w.total > 10_000 || w.total < 9_800 {
			t.Errorf("admitted %d", w.total)
		}
	})
}

// Ten thousand processes die with permits and leases: a second after the TTL every permit
// is back, and nothing is left of the leases.
func TestHoldersThatCrash(t *testing.T) {
	srv := New(t)
	ctx := context.Background()
	const dead, keys, ttl = 10_000, 50, 10 * time.Second
	pipe := srv.Redis().Pipeline()
	for i := range dead {
		key := fmt.Sprint("k", i%keys)
		pipe.Do(ctx, "RL.ACQUIRE", "permits:"+key, dead, "10s", 1, "ID", fmt.Sprint("p", i))
		pipe.Do(ctx, "RL.LEASE", key, "token_bucket", dead, "1h", 5, "TTL", "10s", "HOLDER", fmt.Sprint("h", i))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if n := srv.leases(); n != dead {
		t.Errorf("%d leases are out", n)
	}
	srv.Advance(ttl + time.Second)
	if n := srv.leases(); n != 0 {
		t.Errorf("%d leases are left", n)
	}
	c := srv.Client()
	for i := range keys {
		key := fmt.Sprint("k", i)
		if list, err := c.Holders(ctx, "permits:"+key); err != nil || len(list) != 0 {
			t.Fatalf("%s: %d permits are held, %v", key, len(list), err)
		}
		if d, err := c.Peek(ctx, key, client.TokenBucket(dead, time.Hour), 0); err != nil || d.Remaining > dead-5*dead/keys+12*dead/3600 {
			t.Fatalf("%s: units came back: %+v, %v", key, d, err)
		}
	}
}

// leases is how many leases are out.
func (s *Server) leases() (n int) {
	s.set.Each(func(_ int, c *shard.Core, _ uint64) { n += c.Leases() })
	return n
}

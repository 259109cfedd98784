package bench

// What gateways cost the server that use the Go client: twenty clients in this process, each with connections of its own,
// that make 50,000 calls a second together. When every user calls rarely each call is a round trip; when a lease serves
// many, the server hears of one call in many. A machine that cannot make so many calls beside the server makes fewer; the
// server's CPU is told by call, and for 50,000 of them.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/client"
)

const (
	gatewayCount   = 20
	gatewayCalls   = 50_000 // a second, of all
	gatewayCallers = 16     // goroutines of each

	rareUsers = gatewayCalls / gatewayCount * 60 * 2 / 3 // of whom each makes 1.5 calls a minute on each gateway
	hotUsers  = 50                                       // of whom each makes 50 calls a second on each

	// gatewayTurns is how many turns they work before they are measured, until leases are as
	// large as the traffic, and then while they are: CPU counts in ticks of 10 ms.
	gatewayTurns = 2
)

// fleet is clients at work.
type fleet struct {
	clients []*client.Client
	limit   client.Limit
	users   int
	calls   atomic.Int64
	failed  atomic.Int64
	first   atomic.Value // the first failure, a string
}

func (r *runner) gateways() error {
	sec := r.section("gateways", "Gateways with the Go client", fmt.Sprintf(
		"%d clients of package client in one process, each with connections of its own, make up to %s calls a second together. The last column is the server's "+
			"CPU for %s calls.", gatewayCount, Whole(gatewayCalls), Whole(gatewayCalls)),
		"traffic", "calls a second", "calls a round trip", "server CPU µs a call", "cores at "+Whole(gatewayCalls)+" a second")
	for _, traffic := range []struct {
		id, name string
		users    int
	}{
		{"rare", fmt.Sprintf("%s users, 1.5 calls a minute of each on each gateway", Whole(rareUsers)), rareUsers},
		{"hot", fmt.Sprintf("%d users, 50 calls a second of each on each gateway", hotUsers), hotUsers},
	} {
		sluice, err := r.startSluice("--dir", "")
		if err != nil {
			return err
		}
		var rates, trips, micros, cores spread
		f, err := newFleet(sluice.addr, traffic.users)
		if err != nil {
			return err
		}
		for round := range r.Rounds {
			r.progress("gateways · %s, round %d", traffic.id, round+1)
			out, err := r.watch(f, sluice, gatewayTurns*r.Turn)
			if err != nil {
				f.close()
				return err
			}
			rates, trips = append(rates, out.rate), append(trips, out.callsByTrip)
			micros, cores = append(micros, out.micros), append(cores, out.micros*gatewayCalls/1e6)
		}
		f.close()
		r.stopAll()
		r.report.Values["gateways/"+traffic.id] = cores
		sec.row(traffic.name, rates.whole(), fmt.Sprintf("%.3g", trips.median()), micros.micros(), fmt.Sprintf("%.3g", cores.median()))
	}
	return nil
}

func newFleet(addr string, users int) (*fleet, error) {
	// A limit that denies nobody, and permits leases of 500 units.
	f := &fleet{limit: client.TokenBucket(1_000_000, time.Minute), users: users}
	for range gatewayCount {
		c, err := client.New(addr, client.Timeout(10*time.Second)) // on a machine that is full nobody gives up
		if err != nil {
			f.close()
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

func (f *fleet) close() {
	var group sync.WaitGroup
	for _, c := range f.clients {
		group.Go(func() { c.Close() })
	}
	group.Wait()
}

// watched is what a fleet cost.
type watched struct{ rate, callsByTrip, micros float64 }

// watch lets a fleet work, at first unseen, and measures.
func (r *runner) watch(f *fleet, s *server, turn time.Duration) (w watched, err error) {
	quit := make(chan struct{})
	var group sync.WaitGroup
	for i, c := range f.clients {
		for j := range gatewayCallers {
			random := rand.New(rand.NewPCG(r.Seed, uint64(i*gatewayCallers+j)))
			group.Go(func() { f.work(r.ctx, c, random, quit) })
		}
	}
	defer group.Wait()
	defer close(quit)
	if err := r.rest(turn); err != nil {
		return w, err
	}
	calls, trips, began := f.calls.Load(), f.trips(), time.Now()
	before, err := cpuTime(s.pid)
	if err != nil {
		return w, err
	}
	if err := r.rest(turn); err != nil {
		return w, err
	}
	after, err := cpuTime(s.pid)
	made := float64(f.calls.Load() - calls)
	switch {
	case err != nil:
		return w, err
	case f.failed.Load() > 0:
		return w, fmt.Errorf("%d calls of gateways failed, the first: %s", f.failed.Load(), f.first.Load())
	case made == 0:
		return w, fmt.Errorf("the gateways made no call in %v", turn)
	}
	w.rate = made / time.Since(began).Seconds()
	w.callsByTrip = made / max(1, float64(f.trips()-trips))
	w.micros = float64((after - before).Microseconds()) / made
	return w, nil
}

// rest lets time go by.
func (r *runner) rest(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// work makes calls at a steady rate, late ones at once.
func (f *fleet) work(ctx context.Context, c *client.Client, random *rand.Rand, quit <-chan struct{}) {
	const pause = time.Second * gatewayCount * gatewayCallers / gatewayCalls
	next := time.Now().Add(time.Duration(random.Int64N(int64(pause))))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if wait := time.Until(next); wait < -time.Second {
			next = time.Now() // so far behind that catching up would be another traffic
		} else {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-quit:
				return
			}
		}
		next = next.Add(pause)
		d, err := c.Allow(ctx, fmt.Sprint("user:", random.IntN(f.users)), f.limit, 1)
		if err == nil && (!d.Allowed || d.Source == client.SourceDegraded) {
			err = fmt.Errorf("allowed %v by %s", d.Allowed, d.Source)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.failed.Add(1)
			f.first.CompareAndSwap(nil, err.Error())
		}
		f.calls.Add(1)
	}
}

// trips is how often the server was asked.
func (f *fleet) trips() (n uint64) {
	for _, c := range f.clients {
		for _, count := range c.Stats().Calls.Counts {
			n += count
		}
	}
	return n
}

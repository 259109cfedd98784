package server

// The canary: whether limiting works, found out by being limited. Once a second, on
// each shard and at its time, a limit of one unit is asked three things: the first
// call must pass, the second must be denied, and a second later one must pass again.
// A clock that stands still, a shard that does not answer and arithmetic that lets
// everything through all show.
//
// Its keys are in tables of their own: no command sees them and nothing counts them.

import (
	"sync/atomic"
	"time"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	// CanaryInterval is the time between two checks.
	CanaryInterval = time.Second
	// canaryWindow is well below the interval, so that what was spent is there again.
	canaryWindow = 500 * time.Millisecond
	// CanaryPatience is how old the last right check may be.
	CanaryPatience = 3 * time.Second
)

// canary is what the checks have shown.
type canary struct {
	right, wrong atomic.Uint64
	last         atomic.Int64         // when the last check that was right ended, as elapsed tells
	elapsed      func() time.Duration // of a clock that nobody sets
	limit        algorithms.Limit
	cores        []*shard.Core
}

// works says whether the last checks were right. Without a clock there is no canary,
// and nothing to complain about.
func (c *canary) works() bool {
	return c.elapsed == nil || c.elapsed()-time.Duration(c.last.Load()) < CanaryPatience
}

// Works says whether limiting works, as far as the canary knows.
func (s *Server) Works() bool { return s.canary.works() }

// canaryLoop checks until the server is closed.
func (s *Server) canaryLoop() {
	limit, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.TokenBucket, Units: 1, Window: uint64(canaryWindow)}, 1)
	if err != nil {
		panic(err)
	}
	c := &s.canary
	c.limit, c.cores = limit, make([]*shard.Core, s.shards.Len())
	wait := time.NewTimer(CanaryInterval)
	defer wait.Stop()
	for {
		right := true
		for n := range c.cores {
			s.shards.On(n, func(_ *shard.Core, now uint64) { right = c.check(n, now) && right })
		}
		if right {
			c.right.Add(1)
			c.last.Store(int64(c.elapsed()))
		} else {
			c.wrong.Add(1)
		}
		wait.Reset(CanaryInterval)
		select {
		case <-s.quit:
			return
		case <-wait.C:
		}
	}
}

// check asks for two units at one instant of a shard: the first must be there, though
// it was spent a second ago, and the second must not.
func (c *canary) check(n int, now uint64) bool {
	if c.cores[n] == nil {
		c.cores[n] = shard.NewCore(now)
	}
	ask := func() bool {
		ops := []shard.Op{{Key: []byte("canary"), Kind: shard.Allow, Call: algorithms.Call{Limit: &c.limit, Cost: 1}}}
		c.cores[n].Step(now, ops, []uint32{0})
		return ops[0].Decision.Allowed
	}
	first, second := ask(), ask()
	return first && !second
}

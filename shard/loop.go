package shard

// A Shard is a core and its owner. One goroutine a shard takes what comes into
// the inbox; while it has nothing to do, the shard is lent to whoever has a
// batch: one compare-and-swap instead of two switches between goroutines. There
// is no lock to wait for: who does not get the shard at once puts his part into
// the inbox.
//
//	free ──(lend, or the goroutine takes it)──▶ owned ──▶ free
//	                                             │ the goroutine wants it
//	                                             ▼
//	                                           wanted ──(handed over)──▶ owned
//
// Only the shard's own goroutine ever waits for ownership, so one token is
// enough to hand it over.

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// InboxPartsMax is how many parts wait in a shard's inbox before those who
	// send wait too.
	InboxPartsMax = 1024
	// DrainPartsMax is how many parts a shard's goroutine works through before
	// it lets go of the shard for a moment.
	DrainPartsMax = 64
	// SweepEntriesPerOp and SweepEntriesMin bound how many entries the wheel
	// looks at after a part: enough to free as fast as batches can create.
	SweepEntriesPerOp = 2
	SweepEntriesMin   = 16
	// SweepEntriesMax is how many entries the wheel looks at in one turn of the
	// shard's goroutine: well below a millisecond of work.
	SweepEntriesMax = 2048

	sweepIntervalMin = 2 * time.Millisecond
	sweepIntervalMax = time.Second
)

// Clock tells the server's time in nanoseconds since 1970.
type Clock interface{ Now() uint64 }

const (
	free int32 = iota
	owned
	wanted
)

// Shard is one core with its owner.
type Shard struct {
	core     *Core
	clock    Clock
	owner    atomic.Int32
	handover chan struct{}
	inbox    chan job
	quit     chan struct{}
}

// job is what the inbox carries: a part of a batch, or a function to run.
type job struct {
	batch *Batch
	part  int
	run   func(c *Core, now uint64)
	done  chan struct{}
}

func newShard(clock Clock) *Shard {
	return &Shard{
		core: NewCore(clock.Now()), clock: clock,
		handover: make(chan struct{}, 1),
		inbox:    make(chan job, InboxPartsMax),
		quit:     make(chan struct{}),
	}
}

// lend takes the shard if nobody has it and nobody waits for it.
func (s *Shard) lend() bool {
	return len(s.inbox) == 0 && s.owner.CompareAndSwap(free, owned)
}

// own takes the shard for its own goroutine, waiting for a borrower to finish.
func (s *Shard) own() {
	for !s.owner.CompareAndSwap(free, owned) {
		if s.owner.CompareAndSwap(owned, wanted) {
			<-s.handover
			return
		}
	}
}

// release gives the shard back, or hands it to the goroutine that wants it.
func (s *Shard) release() {
	if !s.owner.CompareAndSwap(owned, free) {
		s.owner.Store(owned)
		s.handover <- struct{}{}
	}
}

// step does one part of a batch. The caller owns the shard.
func (s *Shard) step(b *Batch, part int) {
	now := s.clock.Now()
	ops := b.parts[part]
	s.core.Step(now, b.Ops, ops)
	s.core.Tick(now, SweepEntriesMin+SweepEntriesPerOp*len(ops))
}

// do runs one job. The caller owns the shard.
func (s *Shard) do(j job) {
	if j.run != nil {
		j.run(s.core, s.clock.Now())
		j.done <- struct{}{}
		return
	}
	s.step(j.batch, j.part)
	if j.batch.pending.Add(-1) == 0 {
		j.batch.done <- struct{}{}
	}
}

// loop is the shard's goroutine.
func (s *Shard) loop() {
	timer := time.NewTimer(sweepIntervalMin)
	defer timer.Stop()
	for {
		select {
		case <-s.quit:
			return
		case j := <-s.inbox:
			s.own()
			s.do(j)
			s.drain()
			s.release()
		case <-timer.C:
			timer.Reset(s.sweep())
		}
	}
}

// drain does what else is in the inbox, up to a bound.
func (s *Shard) drain() {
	for range DrainPartsMax {
		select {
		case j := <-s.inbox:
			s.do(j)
		default:
			return
		}
	}
}

// sweep frees keys whose time has come and says when to look again.
func (s *Shard) sweep() time.Duration {
	for {
		s.own()
		now := s.clock.Now()
		more := s.core.Tick(now, SweepEntriesMax)
		s.drain()
		due := s.core.Due()
		s.release()
		if !more {
			wait := uint64(sweepIntervalMin)
			if due > now {
				wait = min(max(due-now, wait), uint64(sweepIntervalMax))
			}
			return time.Duration(wait)
		}
	}
}

// Set is all shards of a server.
type Set struct {
	shards []*Shard
	group  sync.WaitGroup
}

// NewSet starts n shards. Close ends them.
func NewSet(n int, clock Clock) *Set {
	set := &Set{}
	for range n {
		s := newShard(clock)
		set.shards = append(set.shards, s)
		set.group.Go(s.loop)
	}
	return set
}

// Close ends the shards' goroutines. No batch may be running.
func (set *Set) Close() {
	for _, s := range set.shards {
		close(s.quit)
	}
	set.group.Wait()
}

// Len is the number of shards.
func (set *Set) Len() int { return len(set.shards) }

// Run does all operations of a batch and returns when their answers are there.
func (set *Set) Run(b *Batch) {
	parts, done := int32(0), int32(0)
	for _, part := range b.parts {
		if len(part) > 0 {
			parts++
		}
	}
	b.pending.Store(parts)
	for n, part := range b.parts {
		if len(part) == 0 {
			continue
		}
		s := set.shards[n]
		if s.lend() {
			s.step(b, n)
			s.release()
			done++
			continue
		}
		s.inbox <- job{batch: b, part: n}
	}
	// With nothing done here, the last part to finish elsewhere always says so.
	if done < parts && (done == 0 || b.pending.Add(-done) != 0) {
		<-b.done
	}
}

// Each runs f on every core in turn, at the shard's time, and returns when it
// has run on all.
func (set *Set) Each(f func(n int, c *Core, now uint64)) {
	for n := range set.shards {
		set.On(n, func(c *Core, now uint64) { f(n, c, now) })
	}
}

// On runs f on the core of shard n, at the shard's time.
func (set *Set) On(n int, f func(c *Core, now uint64)) {
	s := set.shards[n]
	if s.lend() {
		f(s.core, s.clock.Now())
		s.release()
		return
	}
	j := job{run: f, done: make(chan struct{}, 1)}
	s.inbox <- j
	<-j.done
}

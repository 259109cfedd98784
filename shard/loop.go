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
	"fmt"
	"runtime"
	"runtime/debug"
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
	// SweepEntriesMin and SweepEntriesPerKey bound how many entries the wheel
	// looks at after a part: so many, and so many for each key that the part has
	// made, which is enough to free as fast as batches can create.
	SweepEntriesMin    = 4
	SweepEntriesPerKey = 2
	// SweepEntriesMax is how many entries the wheel looks at in one turn of the
	// shard's goroutine: about a tenth of a millisecond of work.
	SweepEntriesMax = 256

	// sweepPause is how long the goroutine rests between two turns when much is
	// due at once, several times as long as it works. Nobody waits for what it
	// frees: batches free as fast as they create, and a table that is full frees
	// what it needs.
	sweepPause       = 500 * time.Microsecond
	sweepIntervalMin = 2 * time.Millisecond
	sweepIntervalMax = time.Second
)

// Journal takes the records of what has changed.
type Journal interface {
	// Behind says that the journal does not keep up, or cannot write. What changes
	// waits then, where it is written once however often it changes, instead of
	// piling up in the journal. It costs next to nothing to ask.
	Behind() bool
	// Buffer returns an empty buffer to write records into.
	Buffer() []byte
	// Submit hands records over, in the order of their calls; the buffer is the
	// journal's from then on. done, if not nil, is called when they are durable
	// or cannot be made so.
	Submit(time uint64, records []byte, done func(error))
}

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

	journal   Journal // nil: nothing is kept
	pieces    pieces  // of all shards
	everyPart bool    // a part is answered only when its records are durable
}

// job is what the inbox carries: a part of a batch, a function to run, or a request
// to own the shard for a while.
type job struct {
	batch *Batch
	part  int
	run   func(c *Core, now uint64)
	done  func(error)
	loan  *loan
}

func newShard(clock Clock) *Shard {
	return &Shard{
		core: NewCore(clock.Now()), clock: clock,
		handover: make(chan struct{}, 1),
		inbox:    make(chan job, InboxPartsMax),
		quit:     make(chan struct{}),
	}
}

// lendTries is how often a shard that somebody has is asked for before it is waited
// for. Mostly it is free again at once; but who waits in the inbox makes all others wait
// there as well, two switches between goroutines for each.
const lendTries = 4

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

// step does one part of a batch. The caller owns the shard. waits says that the
// part is not done yet: the journal ends it.
func (s *Shard) step(b *Batch, part int) (waits bool) {
	now := s.clock.Now()
	keys := s.core.Len()
	s.core.Step(now, b.Ops, b.parts[part])
	s.core.Tick(now, SweepEntriesMin+SweepEntriesPerKey*max(s.core.Len()-keys, 0))
	return s.submit(now, b.committed[part])
}

// submit hands the records of what has changed to the journal if they must be
// durable before anything is answered, and says whether it did; then done is
// called later. The caller owns the shard, so records come in the order of the
// changes.
func (s *Shard) submit(now uint64, done func(error)) bool {
	if !s.everyPart || !s.core.mustWait() {
		return false
	}
	for {
		records, _ := s.core.TakeRecords(now, s.journal.Buffer(), RecordsBytesMax)
		if !s.core.Owes() {
			s.journal.Submit(now, records, done)
			return true
		}
		s.journal.Submit(now, records, nil)
	}
}

// do runs one job. The caller owns the shard.
func (s *Shard) do(j job) {
	if j.loan != nil {
		j.loan.grant()
		return
	}
	if j.run != nil {
		now := s.clock.Now()
		// What is owed already is not waited for: who only looks is answered even
		// while the disk hangs.
		s.submit(now, nil)
		j.run(s.core, now)
		if !s.submit(now, j.done) {
			j.done(nil)
		}
		return
	}
	if !s.step(j.batch, j.part) {
		j.batch.finish()
	}
}

// stepLent is step by whom the shard is lent to.
func (s *Shard) stepLent(b *Batch, part int) (waits bool) {
	defer s.giveBack()
	return s.step(b, part)
}

// doLent is do by whom the shard is lent to.
func (s *Shard) doLent(j job) {
	defer s.giveBack()
	s.do(j)
}

// giveBack ends a loan. A panic during one ends the process, as it does in the
// shard's own goroutine: the core may be half changed, so nobody may recover and go
// on, as net/http does for its handlers. It is thrown again where nobody can.
func (s *Shard) giveBack() {
	if v := recover(); v != nil {
		stack := debug.Stack()
		go func() { panic(fmt.Sprintf("%v, while a shard was lent\n\n%s", v, stack)) }()
		select {}
	}
	s.release()
}

// loop is the shard's goroutine.
func (s *Shard) loop() {
	timer := time.NewTimer(sweepIntervalMin)
	defer timer.Stop()
	due := time.NewTicker(flushEvery)
	defer due.Stop()
	var f flushing
	next := time.NewTimer(flushEvery) // for its next piece
	next.Stop()
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
		case <-due.C:
			for f.piece > 0 { // it takes too long, or there is more than can be rested for
				s.flush(&f)
				yield()
			}
			next.Reset(0)
		case <-next.C:
			if s.flush(&f); f.piece > 0 {
				next.Reset(f.rest)
			}
		}
	}
}

// yield lets others run between two pieces of long work. Whoever a drain has answered
// is runnable then and no more: without this it would wait until the scheduler takes
// the processor away, ten milliseconds later, piece after piece.
func yield() { runtime.Gosched() }

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

// sweep frees keys whose time has come, some of them, and says when to look again.
func (s *Shard) sweep() time.Duration {
	s.own()
	now := s.clock.Now()
	more := s.core.Tick(now, SweepEntriesMax)
	s.drain()
	due := s.core.Due()
	s.release()
	switch {
	case more:
		return sweepPause
	case due > now:
		return time.Duration(min(max(due-now, uint64(sweepIntervalMin)), uint64(sweepIntervalMax)))
	}
	return sweepIntervalMin
}

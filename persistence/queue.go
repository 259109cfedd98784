// The queue is what lies between a submitted batch and the disk: the committer without its goroutine. Every step is a
// call with the time as an argument, so that tests drive it from a seed through every failure.
//
//	items:   │ written, not durable     │ to be written │
//	         └ frame = 7 7 7 8 8 8 8 9 9 └ written
//
// A batch stays in the queue, its buffer with it, until the frame that it is in is durable. So the way back from a failure
// is short: ask the store how far the journal really goes (Store.Appended), move written back to there, and go on. What a
// failed sync took back is written again, into the next generation, before anything is acknowledged; the normal path and
// the way back are the same code.
//
// Memory is bounded by heldMax: beyond it the oldest batches are let go. One that is written is merely forgotten, and is
// missed only if a sync fails before it is durable. One that is not written, or turns out to be missed, is lost, and then
// only a snapshot makes the directory right again: the queue asks for one when the disk works.

package persistence

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// SyncAge is how old the oldest written batch gets before it is synced, in EverySec.
	SyncAge = 250 * time.Millisecond
	// LateAge is the age at which EverySec has broken its promise: a Fault. It is a second less what a batch may have
	// gathered before it was submitted, a quarter of one.
	LateAge = 750 * time.Millisecond
	// RetryEvery is the time between two attempts to write after a failure.
	RetryEvery = 100 * time.Millisecond
	// HeldBytesMax is the default for the memory that batches may hold until they are durable.
	HeldBytesMax = 64 << 20

	never time.Duration = -1
)

// submission is one batch on its way.
type submission struct {
	time    uint64
	batch   []byte
	done    func(error)
	arrived time.Duration
	frame   uint64 // that it was last written in
}

// finish calls done, once.
func (s *submission) finish(err error) {
	if s.done != nil {
		s.done(err)
		s.done = nil
	}
}

// queue is the committer's state.
type queue struct {
	store   *Store
	mode    Mode
	heldMax int64
	recycle func([]byte)
	needed  func() // asks for a snapshot
	gauges  *gauges

	items     []submission
	written   int    // the first so many items are in the journal
	bytes     int64  // of the items' batches
	forgotten uint64 // the last frame with a batch that is not held although it may not be durable
	lastTime  uint64
	scratch   [][]byte

	ticket      SyncTicket
	syncing     bool
	oldest      time.Duration // arrival of the oldest batch that is not durable, or never; not kept under OSDecides
	oldestAfter time.Duration // the same without those that the running sync covers

	failure *Fault // the disk failed, and no write has worked since
	late    *Fault // EverySec: a sync takes too long
	retryAt time.Duration
	asked   uint64 // losses for which a snapshot has been asked
}

func newQueue(store *Store, mode Mode, heldMax int64, g *gauges) *queue {
	if heldMax <= 0 {
		heldMax = HeldBytesMax
	}
	q := &queue{store: store, mode: mode, heldMax: heldMax, gauges: g, oldest: never, oldestAfter: never}
	q.recycle, q.needed = func([]byte) {}, func() {}
	if store.saved.File != "" {
		saved := store.saved
		g.saved.Store(&saved)
	}
	q.publish()
	return q
}

// add takes a batch in. flush comes next.
func (q *queue) add(s submission) {
	q.items = append(q.items, s)
	q.bytes += int64(len(s.batch))
	q.lastTime = max(q.lastTime, s.time)
	q.gauges.batches.Add(1)
	if q.mode == OSDecides {
		return
	}
	if q.oldest == never {
		q.oldest = s.arrived
		q.gauges.oldest.Store(int64(s.arrived)) // at once: the write that comes next may hang
	}
	if q.syncing && q.oldestAfter == never {
		q.oldestAfter = s.arrived
	}
}

// flush writes what has been added, and syncs it under Always. After a failure it only refuses: tick tries again.
func (q *queue) flush(now time.Duration) {
	if q.failure != nil {
		q.refuse(q.failure)
		q.bound()
	} else {
		q.attempt(now)
	}
	q.publish()
}

// attempt writes everything, and syncs it where that is due or where a failure makes it doubtful.
func (q *queue) attempt(now time.Duration) error {
	err := q.write()
	if err == nil && (q.mode == Always || q.failure != nil) {
		err = q.sync(now)
	}
	if err != nil {
		q.fail(now, err)
		return err
	}
	q.heal()
	return nil
}

// write puts everything that is not in the journal into it, as few frames as the limit of a frame allows.
func (q *queue) write() error {
	for q.written < len(q.items) {
		group, time := q.group()
		if err := q.store.Append(time, q.scratch...); err != nil {
			return err
		}
		q.gauges.frames.Add(1)
		for i := range group {
			s := &group[i]
			s.frame = q.store.Appended()
			if q.mode != Always {
				s.finish(nil)
			}
		}
		q.written += len(group)
	}
	q.settle()
	if q.mode != Always { // there each batch is waited for, so that there are no more than the waiting ones
		q.bound()
	}
	return nil
}

// group picks the next items that fit one frame together, puts their batches into scratch and returns their latest time.
func (q *queue) group() (group []submission, time uint64) {
	q.scratch = q.scratch[:0]
	rest := q.items[q.written:]
	bytes, n := 0, 0
	for n < len(rest) && (n == 0 || bytes+len(rest[n].batch) <= FramePayloadBytesMax) {
		bytes += len(rest[n].batch)
		time = max(time, rest[n].time)
		q.scratch = append(q.scratch, rest[n].batch)
		n++
	}
	return rest[:n], time
}

// sync makes everything written durable, here and now.
func (q *queue) sync(now time.Duration) error {
	if q.store.Durable() < q.store.Appended() {
		if err := q.store.Sync(); err != nil {
			return err
		}
		q.gauges.syncs.Add(1)
		q.gauges.lastSync.Store(int64(now))
	}
	q.oldest, q.late = never, nil
	q.settle()
	return nil
}

// settle lets go of the items that need not be written again, and completes them.
func (q *queue) settle() {
	n := 0
	for n < q.written && (q.items[n].frame <= q.store.Durable() || q.mode == OSDecides) {
		q.items[n].finish(nil)
		n++
	}
	if n > 0 && q.mode == OSDecides {
		q.forgotten = max(q.forgotten, q.items[n-1].frame)
	}
	q.drop(n)
}

// drop takes the first n items out and gives their buffers back. The others move to the front; as a rule there are few
// of them, because a sync lets go of all that it found.
func (q *queue) drop(n int) {
	if n == 0 {
		return
	}
	for i := range q.items[:n] {
		batch := q.items[i].batch
		q.bytes -= int64(len(batch))
		q.gauges.held.Add(-int64(len(batch)))
		q.recycle(batch)
	}
	kept := copy(q.items, q.items[n:])
	clear(q.items[kept:])
	q.items = q.items[:kept]
	q.written = max(0, q.written-n)
	if invariants {
		q.check()
	}
}

// bound lets go of the oldest items beyond heldMax.
func (q *queue) bound() {
	n, bytes := 0, q.bytes
	for ; bytes > q.heldMax && n < len(q.items); n++ {
		bytes -= int64(len(q.items[n].batch))
		if n < q.written {
			q.forgotten = max(q.forgotten, q.items[n].frame)
		} else {
			q.gauges.lost.Add(1)
		}
	}
	q.drop(n)
}

// fail takes the disk's error: what the journal does not hold is to be written again, and whoever waits is told.
func (q *queue) fail(now time.Duration, err error) {
	since := now
	if q.failure != nil {
		since = q.failure.Since
	} else {
		q.gauges.faults.Add(1)
	}
	q.failure = &Fault{Cause: err, Since: since}
	q.retryAt = now + RetryEvery
	storeError(&q.gauges.lastErr, err)
	appended := q.store.Appended()
	for q.written > 0 && q.items[q.written-1].frame > appended {
		q.written--
	}
	if q.forgotten > appended {
		q.gauges.lost.Add(1)
		q.forgotten = appended
	}
	q.refuse(q.failure)
	q.bound()
}

// refuse tells everyone who waits that the disk has failed. The batches stay: what they record has happened.
func (q *queue) refuse(fault *Fault) {
	for i := range q.items {
		q.items[i].finish(fault)
	}
}

// heal ends a failure after a write and a sync that worked.
func (q *queue) heal() {
	q.failure = nil
	q.ask()
}

// ask asks for a snapshot if batches were lost and the disk works.
func (q *queue) ask() {
	if lost := q.gauges.lost.Load(); q.failure == nil && q.gauges.snapshotNeeded() && q.asked != lost {
		q.asked = lost
		q.needed()
	}
}

// tick tries again after a failure, and notices a sync that takes too long.
func (q *queue) tick(now time.Duration) {
	if q.failure != nil && now >= q.retryAt && !q.syncing {
		q.retry(now)
	}
	q.watch(now)
	q.ask()
	q.publish()
}

// retry writes what has not been written; if there is nothing, a new generation shows whether the disk works.
func (q *queue) retry(now time.Duration) {
	if q.written < len(q.items) {
		q.attempt(now)
		return
	}
	err := q.sync(now)
	if err == nil {
		err = q.store.Rotate(q.lastTime)
	}
	if err != nil {
		q.fail(now, err)
		return
	}
	q.heal()
}

// watch sees to it that EverySec's promise is not broken silently.
func (q *queue) watch(now time.Duration) {
	switch overdue := q.mode == EverySec && q.oldest != never && now-q.oldest > LateAge; {
	case !overdue:
		q.late = nil
	case q.late == nil:
		q.late = lateFault(q.store.dir, now)
		q.gauges.faults.Add(1)
		storeError(&q.gauges.lastErr, q.late.Cause)
	}
}

func lateFault(dir string, now time.Duration) *Fault {
	return &Fault{Cause: fmt.Errorf("sync %s: nothing written in the last %v is durable", dir, LateAge), Since: now}
}

// startSync begins a sync if EverySec wants one; Run it, then call finishSync.
func (q *queue) startSync(now time.Duration) (ticket SyncTicket, ok bool) {
	due := q.mode == EverySec && q.oldest != never && now-q.oldest >= SyncAge
	if !due || q.syncing || q.failure != nil {
		return SyncTicket{}, false
	}
	if q.ticket, ok = q.store.SyncStart(); !ok {
		q.oldest = never
		return SyncTicket{}, false
	}
	q.syncing, q.oldestAfter = true, never
	return q.ticket, true
}

// finishSync takes the result of Run.
func (q *queue) finishSync(now time.Duration, err error) {
	q.syncing = false
	if err := q.store.SyncDone(q.ticket, err); err != nil {
		q.fail(now, err)
	} else {
		q.gauges.syncs.Add(1)
		q.gauges.lastSync.Store(int64(now))
		q.oldest = q.oldestAfter
		q.settle()
	}
	q.watch(now)
	q.publish()
}

// beginSnapshot writes everything submitted so far into the generations before the snapshot's, and begins it. Otherwise an
// older state could be replayed over a newer one. No sync may be running.
func (q *queue) beginSnapshot(now time.Duration, time uint64) (w *SnapshotWriter, err error) {
	defer q.publish()
	if q.store.snapshot != nil {
		return nil, ErrSnapshotRunning
	}
	defer func() {
		if err != nil {
			storeError(&q.gauges.saveErr, err)
		}
	}()
	if err := q.flushSync(now); err != nil {
		return nil, err
	}
	if err := q.store.Rotate(time); err != nil {
		q.fail(now, err)
		return nil, err
	}
	if w, err = q.store.createSnapshot(time); err != nil {
		return nil, err
	}
	w.lost = q.gauges.lost.Load()
	return w, nil
}

// commitSnapshot makes a finished snapshot the current one. No sync may be running.
func (q *queue) commitSnapshot(now time.Duration, w *SnapshotWriter) error {
	defer q.publish()
	err := w.Finish()
	if err == nil {
		err = q.flushSync(now)
	}
	if err != nil {
		w.Abort()
	} else {
		err = w.install()
	}
	storeError(&q.gauges.saveErr, err)
	if err != nil {
		return err
	}
	saved := w.saved
	q.gauges.saved.Store(&saved)
	q.gauges.covered.Store(w.lost)
	return nil
}

// flushSync makes everything submitted durable, whatever the mode. No sync may be running.
func (q *queue) flushSync(now time.Duration) error {
	err := q.attempt(now)
	if err == nil {
		if err = q.sync(now); err != nil {
			q.fail(now, err)
		}
	}
	q.publish()
	return err
}

// close writes and syncs everything and closes the store. If the disk fails it tries once more, as tick would have done.
func (q *queue) close(now time.Duration, time uint64) error {
	err := q.flushSync(now)
	if err != nil && q.flushSync(now) == nil && !q.gauges.snapshotNeeded() {
		err = nil
	}
	if closing := q.store.Close(max(time, q.lastTime)); err == nil {
		err = closing
	}
	q.publish()
	return err
}

// publish makes the state readable.
func (q *queue) publish() {
	q.gauges.fault.Store(cmp.Or(q.failure, q.late))
	q.gauges.oldest.Store(int64(q.oldest))
	q.gauges.generation.Store(q.store.Generation())
	q.gauges.journal.Store(q.store.JournalBytes())
	q.gauges.unsynced.Store(q.store.unsyncedBytes())
}

// check holds the queue's invariants.
//
// Invariant: frames do not fall from the front of the queue to its back, no item in front of written is in a frame that
// the journal does not hold, and bytes is the sum of the batches.
func (q *queue) check() {
	bytes, frame := int64(0), uint64(0)
	for i, s := range q.items {
		bytes += int64(len(s.batch))
		if i < q.written {
			if s.frame < frame || s.frame > q.store.Appended() {
				panic("persistence: the queue's frames are out of order")
			}
			frame = s.frame
		}
	}
	if bytes != q.bytes {
		panic("persistence: the queue has miscounted")
	}
}

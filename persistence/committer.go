// The committer puts one goroutine around the queue and the store. Shards submit batches; while one group is written and
// synced the next one gathers in the channel, so that a slow disk makes groups larger rather than waits longer.
//
// Three goroutines can be seen from here: the submitters, which never wait for the disk but under Always with a full
// channel; the committer's own, which alone touches queue and store; and under EverySec one that runs a sync and ends, so
// that writes go on meanwhile. Snapshots are written by whoever asked for them; only their beginning and their end pass
// through the committer, because they turn the journal.
//
// Rejected: a goroutine each for writing and syncing under Always, handing groups over. It gathers no better than the
// channel does, and then two places know how far the journal is.

package persistence

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// SubmissionsMax is how many batches may wait for the committer.
	SubmissionsMax = 1024
	// TickAgeMax is the longest time that should pass between two ticks. SyncAge and TickAgeMax and the time of one sync
	// together are the age of the oldest batch that a power loss can take under EverySec.
	TickAgeMax = 100 * time.Millisecond

	bufferBytesInitial = 16 << 10
	// freeBuffersMax and freeBytesMax bound the buffers that lie ready for Buffer.
	freeBuffersMax = 1024
	freeBytesMax   = 16 << 20
)

// ErrLost answers a batch that found no room: the disk has not kept up. The caller need not act; a snapshot is asked for.
var ErrLost = errors.New("the journal cannot keep up with what is submitted")

// Config says how a committer works.
type Config struct {
	Mode Mode
	// Clock reads elapsed time that never goes back. Several goroutines call it.
	Clock func() time.Duration
	// Ticks drives syncs and retries; the values are not looked at. At least one in TickAgeMax.
	Ticks <-chan time.Time
	// SnapshotNeeded, if not nil, is called on the committer's goroutine, and must not wait for it, when batches have
	// been lost and the disk works again: once for each loss. See Stats.SnapshotNeeded for asking again.
	SnapshotNeeded func()
	// HeldBytesMax bounds the memory of batches that are not durable; 0 is the package's HeldBytesMax.
	HeldBytesMax int64
}

// Committer commits batches in groups.
type Committer struct {
	clock       func() time.Duration
	ticks       <-chan time.Time
	queue       *queue
	gauges      gauges
	heldMax     int64
	submissions chan submission
	requests    chan func()
	synced      chan error
	free        chan []byte
	freeBytes   atomic.Int64 // of the buffers in free
	stopped     chan struct{}
	closing     bool
}

// NewCommitter starts a committer on a store that has been replayed. From here on the store is the committer's, which
// closes it as well.
func NewCommitter(store *Store, config Config) *Committer {
	store.mustBeReplayed()
	c := &Committer{
		clock:       config.Clock,
		ticks:       config.Ticks,
		submissions: make(chan submission, SubmissionsMax),
		requests:    make(chan func()),
		synced:      make(chan error, 1),
		free:        make(chan []byte, freeBuffersMax),
		stopped:     make(chan struct{}),
	}
	c.queue = newQueue(store, config.Mode, config.HeldBytesMax, &c.gauges)
	c.queue.recycle = c.recycle
	if config.SnapshotNeeded != nil {
		c.queue.needed = config.SnapshotNeeded
	}
	// Half of the memory may wait in the channel on top of what the queue holds.
	c.heldMax = c.queue.heldMax + c.queue.heldMax/2
	go c.run()
	return c
}

// Buffer returns an empty buffer to encode records into (AppendRecord), one that came back from the disk if there is one.
func (c *Committer) Buffer() []byte {
	select {
	case buffer := <-c.free:
		c.freeBytes.Add(-int64(cap(buffer)))
		return buffer[:0]
	default:
		return make([]byte, 0, bufferBytesInitial)
	}
}

func (c *Committer) recycle(buffer []byte) {
	if c.freeBytes.Add(int64(cap(buffer))) <= freeBytesMax {
		select {
		case c.free <- buffer:
			return
		default:
		}
	}
	c.freeBytes.Add(-int64(cap(buffer)))
}

// Submit hands over a batch of encoded records, at most FramePayloadBytesMax bytes; the buffer is the committer's from now
// on. time is the server time of the batch in ns since 1970. An empty batch records the time alone.
//
// done, if not nil, is called once, on the committer's goroutine or a submitter's, and must not wait for either: with nil when
// the batch is committed, which the mode defines, with a *Fault when the disk failed, or with ErrLost or ErrClosed. After
// a *Fault the batch is kept and written as soon as the disk works: what it records has happened. Batches of one submitter
// reach the journal in order, and each lies in one frame: after a crash all of it is there or nothing.
//
// Under Always Submit waits if SubmissionsMax batches wait already. In the other modes it never waits, and loses the
// batch instead.
func (c *Committer) Submit(time uint64, batch []byte, done func(error)) {
	if len(batch) > FramePayloadBytesMax {
		panic("persistence: a batch longer than a frame")
	}
	s := submission{time: time, batch: batch, done: done, arrived: c.clock()}
	mode := c.queue.mode
	if mode == Off {
		c.recycle(batch)
		s.finish(nil)
		return
	}
	if mode == EverySec {
		c.watch(s.arrived)
	}
	held := c.gauges.held.Add(int64(len(batch)))
	if mode == Always {
		c.submitOrWait(s)
	} else if held > c.heldMax || !c.trySubmit(s) {
		c.gauges.lost.Add(1)
		c.reject(s, ErrLost)
	}
	select {
	case <-c.stopped:
		c.drain() // nobody else may look for what came just now
	default:
	}
}

func (c *Committer) trySubmit(s submission) bool {
	select {
	case c.submissions <- s:
		return true
	default:
		return false
	}
}

func (c *Committer) submitOrWait(s submission) {
	select {
	case c.submissions <- s:
	case <-c.stopped:
		c.reject(s, ErrClosed)
	}
}

// reject gives a batch up.
func (c *Committer) reject(s submission, err error) {
	c.gauges.held.Add(-int64(len(s.batch)))
	c.recycle(s.batch)
	s.finish(err)
}

// watch notices what the committer's goroutine cannot while a write hangs: that the oldest batch is overdue.
func (c *Committer) watch(now time.Duration) {
	oldest := time.Duration(c.gauges.oldest.Load())
	if oldest != never && now-oldest > LateAge && c.gauges.fault.Load() == nil {
		c.gauges.fault.CompareAndSwap(nil, lateFault(c.queue.store.dir, now))
	}
}

// run is the committer's goroutine.
func (c *Committer) run() {
	for !c.closing {
		select {
		case s := <-c.submissions:
			c.queue.add(s)
			if c.queue.mode == Always {
				// Whoever the last group has answered is about to ask again: with them the next
				// group is larger, and the sync that it shares is worth more.
				runtime.Gosched()
			}
			c.gather()
			c.queue.flush(c.clock())
		case err := <-c.synced:
			c.queue.finishSync(c.clock(), err)
		case <-c.ticks:
			c.queue.tick(c.clock())
		case request := <-c.requests:
			request()
		}
		if ticket, ok := c.queue.startSync(c.clock()); ok {
			go func() { c.synced <- ticket.Run() }()
		}
	}
	close(c.stopped) // before the last look: who submits after that look sees it, and looks himself
	c.drain()
}

// gather takes in what has been submitted meanwhile.
func (c *Committer) gather() {
	for range SubmissionsMax {
		select {
		case s := <-c.submissions:
			c.queue.add(s)
		default:
			return
		}
	}
}

// drain refuses what was submitted too late.
func (c *Committer) drain() {
	for {
		select {
		case s := <-c.submissions:
			c.reject(s, ErrClosed)
		default:
			return
		}
	}
}

// do runs f on the committer's goroutine, behind everything submitted before and with no sync running. What was submitted
// is written afterwards if f has not done so: whoever waits for it may be all who would submit more.
func (c *Committer) do(f func()) error {
	finished := make(chan struct{})
	request := func() {
		defer close(finished)
		c.gather()
		if c.queue.syncing {
			c.queue.finishSync(c.clock(), <-c.synced)
		}
		f()
		if !c.closing {
			c.queue.flush(c.clock())
		}
	}
	select {
	case c.requests <- request:
		<-finished
		return nil
	case <-c.stopped:
		return ErrClosed
	}
}

// Sync makes everything submitted before durable, whatever the mode.
func (c *Committer) Sync() (err error) {
	closed := c.do(func() { err = c.queue.flushSync(c.clock()) })
	return errors.Join(closed, err)
}

// Close writes and syncs everything submitted before, ends the journal with a mark at the given server time, closes the
// store and frees the directory. No snapshot may be under way, and nothing may be submitted any more.
func (c *Committer) Close(time uint64) (err error) {
	closed := c.do(func() {
		if c.queue.store.snapshot != nil {
			err = ErrSnapshotRunning
			return
		}
		err = c.queue.close(c.clock(), time)
		c.closing = true
	})
	if closed == nil && err != ErrSnapshotRunning {
		<-c.stopped
	}
	return errors.Join(closed, err)
}

// Snapshot is a snapshot under way. It belongs to one goroutine.
type Snapshot struct {
	committer *Committer
	writer    *SnapshotWriter
}

// BeginSnapshot turns the journal to a new generation and begins a snapshot. The caller exports every key after it has
// returned, and then commits or aborts. time is the server time in ns since 1970.
func (c *Committer) BeginSnapshot(time uint64) (snapshot *Snapshot, err error) {
	closed := c.do(func() {
		var w *SnapshotWriter
		if w, err = c.queue.beginSnapshot(c.clock(), time); err == nil {
			snapshot = &Snapshot{c, w}
		}
	})
	return snapshot, errors.Join(closed, err)
}

// Append adds encoded records that were true at the given server time; see SnapshotWriter.Append. It writes on the
// caller's goroutine.
func (s *Snapshot) Append(time uint64, records []byte) error {
	return s.writer.Append(time, records)
}

// Commit makes the snapshot the current one. The long sync and the removal of old files happen on the caller's goroutine.
// After an error the snapshot is aborted, and what was before it stays.
func (s *Snapshot) Commit() (Saved, error) {
	s.writer.Finish() // commitSnapshot finds its error again
	var err error
	closed := s.committer.do(func() { err = s.committer.queue.commitSnapshot(s.committer.clock(), s.writer) })
	if err = errors.Join(closed, err); err != nil {
		return Saved{}, err
	}
	saved := s.writer.saved
	saved.Leftover = s.writer.sweep()
	return saved, nil
}

// Abort gives the snapshot up. After Commit it does nothing.
func (s *Snapshot) Abort() {
	s.committer.do(s.writer.Abort)
}

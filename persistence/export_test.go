// What the tests of package persistence_test may see of the inside. They live outside because they use faultfs, which
// imports this package.

package persistence

import "time"

// Sizes of the formats, for tests that cut and flip files.
const (
	HeaderBytes    = headerBytes
	FrameHeadBytes = frameHeadBytes
	FooterBytes    = footerBytes
)

// IgnoreChecksums switches checksums off and returns a function that switches them on again.
func IgnoreChecksums() (restore func()) {
	ignoreChecksums = true
	return func() { ignoreChecksums = false }
}

// Sweep removes what a committed snapshot supersedes.
func (w *SnapshotWriter) Sweep() error { return w.sweep() }

// Queue is the committer without its goroutine.
type Queue struct {
	*queue
	gauges *gauges
}

// NewQueue makes a queue on a store that has been replayed. needed is told when a snapshot is needed.
func NewQueue(store *Store, mode Mode, heldMax int64, needed func()) Queue {
	g := &gauges{}
	q := newQueue(store, mode, heldMax, g)
	if needed != nil {
		q.needed = needed
	}
	return Queue{q, g}
}

func (q Queue) Submit(now time.Duration, time uint64, batch []byte, done func(error)) {
	q.gauges.held.Add(int64(len(batch)))
	q.add(submission{time: time, batch: batch, done: done, arrived: now})
	q.flush(now)
}

func (q Queue) Tick(now time.Duration)                            { q.tick(now) }
func (q Queue) StartSync(now time.Duration) (SyncTicket, bool)    { return q.startSync(now) }
func (q Queue) FinishSync(now time.Duration, err error)           { q.finishSync(now, err) }
func (q Queue) Flush(now time.Duration) error                     { return q.flushSync(now) }
func (q Queue) Close(now time.Duration, time uint64) error        { return q.close(now, time) }
func (q Queue) Commit(now time.Duration, w *SnapshotWriter) error { return q.commitSnapshot(now, w) }
func (q Queue) Fault() *Fault                                     { return q.gauges.fault.Load() }
func (q Queue) Faults() uint64                                    { return q.gauges.faults.Load() }
func (q Queue) Lost() uint64                                      { return q.gauges.lost.Load() }
func (q Queue) Held() int64                                       { return q.gauges.held.Load() }
func (q Queue) SnapshotNeeded() bool                              { return q.gauges.snapshotNeeded() }
func (q Queue) Waiting() bool                                     { return q.written < len(q.items) }
func (q Queue) Syncing() bool                                     { return q.syncing }
func (q Queue) Begin(now time.Duration, t uint64) (*SnapshotWriter, error) {
	return q.beginSnapshot(now, t)
}

// What the committer tells about itself. The gauges are atomics that only the committer's goroutine writes (but for held
// and lost, which a submitter adds to), so that reading them, on the way of every command if need be, waits for nobody.

package persistence

import (
	"sync/atomic"
	"time"
)

// Fault is why the journal does not keep its promise at present.
type Fault struct {
	Cause error
	Since time.Duration // reading of the committer's clock
}

func (f *Fault) Error() string { return f.Cause.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Stats is one look at a committer. Its fields are read one after the other.
type Stats struct {
	Mode          Mode
	Generation    uint64
	JournalBytes  int64         // of all generations that count
	HeldBytes     int64         // submitted, and kept in memory until they need not be written again
	UnsyncedBytes int64         // written since the last sync
	Lag           time.Duration // age of the oldest batch that is not durable; 0 if all are
	Batches       uint64        // submitted and taken
	Frames        uint64        // written
	Syncs         uint64
	LastSync      time.Duration // reading of the committer's clock at the last sync that worked; 0 before
	Faults        uint64        // how often a fault began
	Fault         *Fault        // nil in health
	LastError     error         // the last that the disk gave, healed or not
	Lost          uint64        // batches that will not reach the journal
	// SnapshotNeeded: batches were lost, so that the directory lacks some keys' last state until the next snapshot.
	SnapshotNeeded bool
	LastSave       *Saved // nil if there is no snapshot
	LastSaveError  error  // of the last snapshot that was tried; nil if it worked
}

// gauges are the committer's running figures.
type gauges struct {
	held     atomic.Int64
	lost     atomic.Uint64
	covered  atomic.Uint64 // losses that a snapshot has made good
	batches  atomic.Uint64
	frames   atomic.Uint64
	syncs    atomic.Uint64
	faults   atomic.Uint64
	fault    atomic.Pointer[Fault]
	lastErr  atomic.Pointer[error]
	saved    atomic.Pointer[Saved]
	saveErr  atomic.Pointer[error]
	lastSync atomic.Int64
	oldest   atomic.Int64

	generation atomic.Uint64
	journal    atomic.Int64
	unsynced   atomic.Int64
}

// Stats reads the gauges.
func (c *Committer) Stats() Stats {
	g := &c.gauges
	s := Stats{
		Mode:           c.queue.mode,
		Generation:     g.generation.Load(),
		JournalBytes:   g.journal.Load(),
		HeldBytes:      g.held.Load(),
		UnsyncedBytes:  g.unsynced.Load(),
		Batches:        g.batches.Load(),
		Frames:         g.frames.Load(),
		Syncs:          g.syncs.Load(),
		LastSync:       time.Duration(g.lastSync.Load()),
		Faults:         g.faults.Load(),
		Fault:          g.fault.Load(),
		LastError:      loadError(&g.lastErr),
		Lost:           g.lost.Load(),
		SnapshotNeeded: g.snapshotNeeded(),
		LastSave:       g.saved.Load(),
		LastSaveError:  loadError(&g.saveErr),
	}
	if oldest := time.Duration(g.oldest.Load()); oldest != never {
		s.Lag = max(0, c.clock()-oldest)
	}
	return s
}

// Fault is nil while the journal keeps its promise. It costs one atomic load.
func (c *Committer) Fault() *Fault { return c.gauges.fault.Load() }

// Held is the bytes of batches that were submitted and are kept in memory. It costs one atomic load.
func (c *Committer) Held() int64 { return c.gauges.held.Load() }

func (g *gauges) snapshotNeeded() bool { return g.lost.Load() > g.covered.Load() }

func loadError(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

func storeError(p *atomic.Pointer[error], err error) {
	if err == nil {
		p.Store(nil)
		return
	}
	p.Store(&err)
}

package shard

// A set and its journal: what is handed over when, and who waits for it.

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// memory is a journal that keeps records in memory and ends them when it is told.
type memory struct {
	sync.Mutex
	records []byte
	submits int
	err     error
	waiting []func(error)
	hold    bool // do not end anything yet
	behind  bool
}

func (m *memory) Buffer() []byte { return nil }

func (m *memory) Behind() bool { return m.behind }

func (m *memory) Submit(_ uint64, records []byte, done func(error)) {
	m.Lock()
	defer m.Unlock()
	m.submits++
	m.records = append(m.records, records...)
	if done == nil {
		return
	}
	if m.hold {
		m.waiting = append(m.waiting, done)
		return
	}
	go done(m.err)
}

// end lets all that wait go on.
func (m *memory) end(err error) {
	m.Lock()
	waiting := m.waiting
	m.waiting = nil
	m.Unlock()
	for _, done := range waiting {
		done(err)
	}
}

// Flush hands over all that is owed, also what changed while another flush was
// under way.
func TestFlushIsWhole(t *testing.T) {
	set, journal := newTestSet(t, 1, 1, newStanding()), new(memory)
	set.Journal(journal, false)
	set.On(0, func(c *Core, now uint64) {
		l := newLimit(algorithms.TokenBucket, 10, time.Hour)
		f := newFiller(c, 100)
		f.fill(now, 0, 10_000, l)
		piece, more := c.TakeRecords(now, nil, RecordsBytesMax)
		if !more {
			t.Fatal("10,000 keys go into one piece")
		}
		journal.Submit(now, piece, nil)
		f.fill(now, 5_000, 20_000, l)
	})
	set.Flush()
	set.On(0, func(c *Core, now uint64) {
		if c.Owes() {
			t.Error("something is owed after a flush")
		}
		d := disk{journal: journal.records}
		if again, err := d.restored(now); err != nil || again.Len() != c.Len() {
			t.Errorf("%d keys are on disk, want %d: %v", again.Len(), c.Len(), err)
		}
	})
}

// paced is a journal that knows when pieces came and how long they were.
type paced struct {
	memory
	now   func() uint64
	takes time.Duration // to hand over
	at    []uint64
	bytes []int
}

func (j *paced) Submit(at uint64, records []byte, done func(error)) {
	time.Sleep(j.takes) // reason: the bubble's time, nothing sleeps
	j.memory.Submit(at, records, done)
	j.Lock()
	defer j.Unlock()
	j.at, j.bytes = append(j.at, j.now()), append(j.bytes, len(records))
}

// Much that is owed is handed over in small pieces with rests, so that calls go on in
// between, and all the same within FlushInterval; on a machine that is too slow for
// that, without rests, and whole.
func TestFlushIsPaced(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		most  time.Duration // from the change until the last piece
	}{
		{0, FlushInterval},
		{flushEvery / 10, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := new(bubble)
			set, journal := newTestSet(t, 1, 1, clock), &paced{now: clock.Now, takes: row.takes}
			set.Journal(journal, false)
			const keys = 8000
			var changed uint64
			set.On(0, func(c *Core, now uint64) {
				newFiller(c, 100).fill(now, 0, keys, newLimit(algorithms.TokenBucket, 10, time.Hour))
				changed = now
			})
			wait(row.most)
			journal.Lock()
			defer journal.Unlock()
			n := len(journal.at)
			if n < 20 || slices.Max(journal.bytes) > flushPieceBytes+1000 {
				t.Fatalf("%d pieces, of %v bytes", n, journal.bytes)
			}
			if last := time.Duration(journal.at[n-1] - changed); last > row.most {
				t.Errorf("the last piece comes after %v", last)
			}
			for i := 1; i < n; i++ {
				rest := time.Duration(journal.at[i]-journal.at[i-1]) - row.takes
				if late := time.Duration(journal.at[i-1]-journal.at[0]) > flushEvery-row.takes; late != (rest == 0) {
					t.Errorf("piece %d of %d comes after a rest of %v", i, n, rest)
				}
			}
			d := disk{journal: journal.records}
			if c, err := d.restored(changed); err != nil || c.Len() != keys {
				t.Errorf("%d keys are on disk, want %d: %v", c.Len(), keys, err)
			}
		})
	}
}

// A part that must be durable before it is answered is not ended by the records of
// others alone.
func TestEveryPartIsWhole(t *testing.T) {
	set, journal := newTestSet(t, 1, 1, newStanding()), new(memory)
	set.Journal(journal, true)
	l := newLimit(algorithms.TokenBucket, 10, time.Hour)
	s := set.shards[0]
	for !s.lend() {
		runtime.Gosched()
	}
	// A flush that was let go of in the middle.
	newFiller(s.core, 100).fill(start, 0, 10_000, l)
	piece, more := s.core.TakeRecords(start, nil, RecordsBytesMax)
	if journal.Submit(start, piece, nil); !more {
		t.Fatal("10,000 keys go into one piece")
	}
	s.release()
	b := NewBatch(1)
	b.add(Allow, "late", l, 1)
	set.Run(b)
	journal.Lock()
	defer journal.Unlock()
	d := disk{journal: journal.records}
	c, err := d.restored(start)
	if err != nil || c.Len() != 10_001 {
		t.Fatalf("%d keys were handed over when the call was answered, want 10,001: %v", c.Len(), err)
	}
	if a := (asker{Core: c}); !a.found(start, Look, "late") {
		t.Error("a call was answered before its record was handed over")
	}
}

// Under a journal that must have every part, nobody is answered before it has; and
// when it cannot, who changed something is told.
func TestAnswersWaitForTheJournal(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		journal := &memory{hold: true}
		set.Journal(journal, true)
		l := newLimit(algorithms.FixedWindow, 3, time.Hour)
		broken := errors.New("no disk")
		for _, err := range []error{nil, broken} {
			b, answered := NewBatch(set.Len()), make(chan struct{})
			for i := range 20 {
				b.add(Allow, fmt.Sprint(i, err), l, 1)
				b.add(Peek, fmt.Sprint(i, err), l, 1)
				b.add(Allow, fmt.Sprint(i, err), l, 4)
				b.add(Look, fmt.Sprint(i, err), nil, 0)
			}
			parts := 0
			for _, part := range b.parts {
				if len(part) > 0 {
					parts++
				}
			}
			go func() { set.Run(b); close(answered) }()
			for ready := 0; ready < parts; runtime.Gosched() {
				journal.Lock()
				ready = len(journal.waiting)
				journal.Unlock()
			}
			select {
			case <-answered:
				t.Fatal("answered before the journal has it")
			default:
			}
			journal.end(err)
			<-answered
			for i := range b.Ops {
				op := &b.Ops[i]
				if want := err != nil && op.Kind == Allow && op.Decision.Allowed; op.Unsaved != want {
					t.Errorf("operation %d, kind %d: unsaved: %v, want %v", i, op.Kind, op.Unsaved, want)
				}
			}
			// Looks owe the journal nothing and wait for nobody.
			b.Clear()
			b.add(Peek, "0", l, 1)
			b.add(Look, "0", nil, 0)
			b.add(Allow, "0", l, 4)
			set.Run(b)
		}
		journal.Lock()
		journal.hold, journal.err = false, broken
		journal.Unlock()
		if err := set.Each(func(_ int, c *Core, _ uint64) { c.Clear() }); !errors.Is(err, broken) {
			t.Errorf("a clear that is not on disk says %v", err)
		}
		if err := set.Each(func(int, *Core, uint64) {}); err != nil {
			t.Errorf("a look says %v", err)
		}
	})
}

// Many goroutines under a journal that must have every part: all are answered, and
// the disk knows what memory does.
func TestJournalUnderStress(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		journal := new(memory)
		set.Journal(journal, true)
		l := newLimit(algorithms.FixedWindow, 1<<40, time.Hour)
		var group sync.WaitGroup
		each := scaled(300)
		for range 8 {
			group.Go(func() {
				b := NewBatch(set.Len())
				for n := range each {
					b.Clear()
					for key := range 5 {
						b.add(Allow, fmt.Sprint(key), l, 1)
					}
					b.add(Peek, fmt.Sprint(n), l, 1)
					set.Run(b)
				}
			})
		}
		group.Wait()
		d := disk{journal: journal.records}
		c, err := d.restored(start)
		if err != nil {
			t.Fatal(err)
		}
		a := asker{Core: c}
		for key := range 5 {
			if got := 1<<40 - a.remaining(start, fmt.Sprint(key), l); got != uint64(8*each) {
				t.Errorf("%d of %d charges on key %d are on disk", got, 8*each, key)
			}
		}
	})
}

// While the journal is behind nothing is handed over, and Flush says so.
func TestFlushWhileBehind(t *testing.T) {
	set, journal := newTestSet(t, 3, 1, newStanding()), &memory{behind: true}
	set.Journal(journal, false)
	b := NewBatch(3)
	for i := range 100 {
		b.add(Allow, fmt.Sprint(i), newLimit(algorithms.TokenBucket, 1, time.Hour), 1)
	}
	set.Run(b)
	if all := set.Flush(); all || journal.submits != 0 {
		t.Errorf("all was handed over: %v, in %d pieces, to a journal that is behind", all, journal.submits)
	}
	// Nobody but the shards' own goroutines asks meanwhile.
	for _, s := range set.shards {
		for !s.lend() {
			runtime.Gosched()
		}
	}
	journal.behind = false
	for _, s := range set.shards {
		s.release()
	}
	if all := set.Flush(); !all {
		t.Error("not all was handed over")
	}
	if all := set.Flush(); !all {
		t.Error("nothing is owed, and still not all was handed over")
	}
	d := disk{journal: journal.records}
	if c, err := d.restored(start); err != nil || c.Len() != 100 {
		t.Errorf("%d keys are on disk, want 100: %v", c.Len(), err)
	}
}

// A snapshot that is written while batches run, and the journal from its beginning
// on, are what memory holds in the end.
func TestExportWhileBatchesRun(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		journal := new(memory)
		set.Journal(journal, false)
		l := newLimit(algorithms.FixedWindow, 1<<40, time.Hour)
		b := NewBatch(set.Len())
		keys := scaled(20_000)
		for i := range keys {
			if b.add(Allow, fmt.Sprint(i), l, 1); len(b.Ops) == BatchOpsMax || i == keys-1 {
				set.Run(b)
				b.Clear()
			}
		}
		set.Flush()
		journal.Lock()
		since := len(journal.records)
		journal.Unlock()
		var stop atomic.Bool
		var group sync.WaitGroup
		for caller := range 3 {
			group.Go(func() {
				b := NewBatch(set.Len())
				for n := 0; !stop.Load(); n++ {
					b.Clear()
					for i := range 20 {
						b.add(Allow, fmt.Sprint((n*97+i*13)%keys), l, 1)
						b.add(Reset, fmt.Sprint((n*89+i*17)%keys), nil, 0)
						b.add(Allow, fmt.Sprint("new ", caller, n%1000), l, 1)
					}
					set.Run(b)
				}
			})
		}
		var d disk
		pieces := 0
		err := set.Export(func(now uint64, records []byte) error {
			if now != start || len(records) == 0 {
				t.Errorf("%d bytes at %d", len(records), now)
			}
			pieces++
			d.snapshot = append(d.snapshot, records...)
			return nil
		})
		stop.Store(true)
		group.Wait()
		set.Flush()
		d.journal = journal.records[since:]
		c, problem := d.restored(start)
		if err != nil || problem != nil || pieces < keys/SnapshotSlotsPerTick/2 {
			t.Fatal(err, problem, pieces)
		}
		live := 0
		a := asker{Core: c}
		set.Each(func(_ int, c *Core, now uint64) {
			c.Scan(now, 0, 1<<30, func(key []byte, v View) {
				live++
				if got := a.remaining(now, string(key), l); got != v.Remaining() {
					t.Errorf("%d remain of %q on disk, %d in memory", got, key, v.Remaining())
				}
			})
		})
		if c.Len() != live {
			t.Errorf("%d keys are on disk, %d in memory", c.Len(), live)
		}
	})
}

// An export ends with the first error of whom it hands records to, and at the last
// slot that there was when it began.
func TestExportEnds(t *testing.T) {
	set := newTestSet(t, 2, 1, newStanding())
	f := newFiller(nil, 100)
	l := newLimit(algorithms.TokenBucket, 1, time.Hour)
	set.Each(func(n int, c *Core, now uint64) {
		f.Core = c
		f.fill(now, n<<20, n<<20+3*SnapshotSlotsPerTick, l)
	})
	full, calls := errors.New("disk full"), 0
	if err := set.Export(func(uint64, []byte) error { calls++; return full }); !errors.Is(err, full) || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	records := 0
	err := set.Export(func(_ uint64, piece []byte) error {
		for ; len(piece) > 0; records++ {
			_, piece, _ = persistence.CutRecord(piece)
		}
		// Keys that come faster than they are exported.
		set.On(1, func(c *Core, now uint64) {
			f.Core = c
			f.fill(now, 2<<20+records, 2<<20+records+2*SnapshotSlotsPerTick, l)
		})
		return nil
	})
	if want := 6 * SnapshotSlotsPerTick; err != nil || records != want {
		t.Errorf("%d records, want %d: %v", records, want, err)
	}
}

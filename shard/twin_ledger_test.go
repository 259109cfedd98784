package shard

// The ledger's twin: a disk in memory that takes what a core hands over, and cores
// that are restored from it in the middle of a random history and go on.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// disk is what a journal and a snapshot would hold.
type disk struct {
	journal  []byte // all records since the snapshot began
	snapshot []byte
}

// restored is a new core made from what is on disk.
func (d *disk) restored(now uint64) (*Core, error) {
	c := NewCore(now)
	for _, part := range [][]byte{d.snapshot, d.journal} {
		for len(part) > 0 {
			r, rest, ok := persistence.CutRecord(part)
			if part = rest; !ok {
				return nil, fmt.Errorf("the records do not end where one ends")
			}
			switch r.Kind {
			case RecordKey:
				if err := c.Restore(now, r.Key, r.Value); err != nil {
					return nil, fmt.Errorf("restoring %.20q: %w", r.Key, err)
				}
			case RecordClear:
				n, of, err := parseClear(r.Value)
				if err != nil || n != 3 || of != 5 {
					return nil, fmt.Errorf("cleared shard %d of %d: %w", n, of, err)
				}
				c.removeIf(func([]byte) bool { return true })
			case RecordLife:
				if err := c.restoreLife(r.Key, r.Value); err != nil {
					return nil, err
				}
			case RecordLeases:
				if err := c.restoreOut(now, r.Key, r.Value); err != nil {
					return nil, err
				}
			case RecordUsage, RecordParty:
				if err := c.restoreUsage(now, r.Kind, r.Key, r.Value); err != nil {
					return nil, err
				}
			default:
				return nil, fmt.Errorf("a record of kind %d", r.Kind)
			}
		}
	}
	return c, c.verify()
}

// ledgerTwin is a twin whose core has a journal.
type ledgerTwin struct {
	*twin
	disk disk
	// A snapshot that is being written.
	exporting bool
	cursor    uint32
	pages     []byte
	since     int // where the journal was when it began
}

func newLedgerTwin(r *rand.Rand, names int) *ledgerTwin {
	w := &ledgerTwin{twin: newTwin(r, names)}
	w.forward = true
	w.core.Journal(3, 5)
	return w
}

// flush takes everything that is owed, or a part.
func (w *ledgerTwin) flush(whole bool) {
	for more := true; more; more = whole && w.core.Owes() {
		records, _ := w.core.TakeRecords(w.now, nil, RecordsBytesMax)
		w.disk.journal = append(w.disk.journal, records...)
	}
}

// export writes a piece of a snapshot, or begins one. When the last piece is
// written, the journal from before it is not needed any more.
func (w *ledgerTwin) export() {
	if !w.exporting {
		w.exporting, w.cursor, w.pages, w.since = true, 0, nil, len(w.disk.journal)
		return
	}
	var records []byte
	records, w.cursor = w.core.Export(w.now, w.cursor, 1+w.IntN(100), nil)
	w.pages = append(w.pages, records...)
	if w.cursor == 0 {
		// What changed before the snapshot ended must be on disk when it counts.
		w.flush(true)
		w.disk = disk{snapshot: w.pages, journal: w.disk.journal[w.since:]}
		w.exporting = false
	}
}

// restart throws the core away and goes on with one that is made from disk.
func (w *ledgerTwin) restart() error {
	w.flush(true)
	if w.core.Owes() {
		return fmt.Errorf("something is owed after a whole flush")
	}
	c, err := w.disk.restored(w.now)
	if err != nil {
		return err
	}
	c.stats = w.core.stats
	c.Journal(3, 5)
	w.core, w.exporting = c, false
	return w.scan()
}

func (w *ledgerTwin) run(steps int) error {
	for n := range steps {
		if err := w.twin.run(1 + w.IntN(10)); err != nil {
			return fmt.Errorf("part %d, %w", n, err)
		}
		var err error
		switch w.IntN(5) {
		case 0:
			w.flush(false)
		case 1:
			w.flush(true)
		case 2, 3:
			w.export()
		case 4:
			err = w.restart()
		}
		if err == nil {
			err = w.core.verify()
		}
		if err != nil {
			return fmt.Errorf("after part %d: %w", n, err)
		}
	}
	return w.restart()
}

func TestCoreTwinWithJournal(t *testing.T) {
	for round := range scaled(100) {
		r := newRand(t, 5000+uint64(round))
		w := newLedgerTwin(r, pick(r, 3, 30, 200))
		if err := w.run(30); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// However often a key changes between two flushes it is written once, and one that
// comes and goes is not written at all.
func TestLedgerCoalesces(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, 1000, time.Hour)
	a.Journal(0, 1)
	take := func() (n int) {
		records, more := a.TakeRecords(start, nil, RecordsBytesMax)
		for ; len(records) > 0; n++ {
			_, records, _ = persistence.CutRecord(records)
		}
		if more || a.Owes() {
			t.Error("something is left")
		}
		return n
	}
	for range 100 {
		a.allow(start, "k", l, 1)
	}
	if n := take(); n != 1 {
		t.Errorf("%d records of one key", n)
	}
	a.allow(start, "k", l, 2000)
	a.remaining(start, "k", l)
	if n := take(); n != 0 {
		t.Errorf("%d records of a denial and a look", n)
	}
	a.allow(start, "passing", l, 1)
	a.found(start, Reset, "passing")
	if n := take(); n != 0 {
		t.Errorf("%d records of a key that came and went", n)
	}
	a.found(start, Reset, "k")
	a.allow(start, "k", l, 1)
	a.found(start, Reset, "k")
	if n := take(); n != 1 {
		t.Errorf("%d records of a key that is gone", n)
	}
	must(t, a.Core)
}

// Records are taken in pieces of bounded size, and what changes while a flush is
// under way does not make it longer.
func TestLedgerPieces(t *testing.T) {
	l := newLimit(algorithms.TokenBucket, 10, time.Hour)
	f := newFiller(NewCore(start), 100)
	f.Journal(0, 1)
	f.fill(start, 0, 30_000, l)
	pieces, records := 0, 0
	for more := true; more; pieces++ {
		var piece []byte
		piece, more = f.TakeRecords(start, nil, RecordsBytesMax)
		if len(piece) > RecordsBytesMax+1000 {
			t.Errorf("a piece of %d bytes", len(piece))
		}
		for ; len(piece) > 0; records++ {
			_, piece, _ = persistence.CutRecord(piece)
		}
		f.fill(start, 0, 30_000, l)
		if pieces > 20 {
			t.Fatal("the flush has no end")
		}
	}
	// Of the word of marks that a piece ends in, what has changed since may be taken too.
	if records < 30_000 || records > 30_000+64*pieces || pieces < 2 {
		t.Errorf("%d records in %d pieces", records, pieces)
	}
	must(t, f.Core)
}

// A log that is restored counts as one that has grown here.
func TestRestoreLogs(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.SlidingLog, 100, time.Hour)
	a.Journal(0, 1)
	for i := range uint64(50) {
		a.allow(start+i, "k", l, 1)
	}
	records, _ := a.TakeRecords(start, nil, RecordsBytesMax)
	c := NewCore(start)
	r, _, _ := persistence.CutRecord(records)
	for range 5 {
		if err := c.Restore(start+100, r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
		must(t, c)
		if err := c.Restore(start+3600*second+100, r.Key, r.Value); err != nil || c.Len() != 0 {
			t.Fatalf("%d keys after what is over was restored: %v", c.Len(), err)
		}
		must(t, c)
		if err := c.Restore(start, r.Key, r.Value[:len(r.Value)-1]); err == nil {
			t.Fatal("half a record was restored")
		}
		must(t, c)
	}
}

// Whatever stands in a record, it is refused or becomes a key that can be asked.
func FuzzRestore(f *testing.F) {
	a, now := newAsker(), start
	a.Journal(0, 1)
	for _, row := range algorithms.Rates() {
		for i := range uint64(3) {
			now += i * second
			a.allow(now, row.Name, newLimit(row.ID, 100, time.Minute), 7)
		}
	}
	records, _ := a.TakeRecords(now, nil, RecordsBytesMax)
	for len(records) > 0 {
		var r persistence.Record
		r, records, _ = persistence.CutRecord(records)
		f.Add(r.Value, uint64(0))
		f.Add(r.Value, 100*second)
	}
	f.Fuzz(func(t *testing.T, value []byte, later uint64) {
		b, now := newAsker(), start+later%(200*year)
		err := b.Restore(now, []byte("k"), value)
		must(t, b.Core)
		if err != nil && b.Len() != 0 {
			t.Fatal("a record was refused and made a key")
		}
		// What was read and is written again reads the same.
		written, _ := b.Export(now, 0, 10, nil)
		if r, _, ok := persistence.CutRecord(written); ok {
			c := NewCore(now)
			if err := c.Restore(now, r.Key, r.Value); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
			must(t, c)
			if again, _ := c.Export(now, 0, 10, nil); !bytes.Equal(again, written) {
				t.Fatalf("written %x, and then %x", written, again)
			}
		}
		for _, row := range algorithms.Rates() {
			l := newLimit(row.ID, 100, time.Minute)
			b.remaining(now, "k", l)
			b.allow(now, "k", l, 1)
			b.found(now, Look, "k")
			must(t, b.Core)
		}
	})
}

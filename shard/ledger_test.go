package shard

// What the journal is told, played back: another core that is given every record in
// order must be the same as the one that wrote them.

import (
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// playBack assigns records to an empty core at an instant.
func playBack(t testing.TB, now uint64, journal []byte) *Core {
	t.Helper()
	c := NewCore(now)
	for rest := journal; len(rest) > 0; {
		r, after, ok := persistence.CutRecord(rest)
		if !ok {
			t.Fatal("the journal does not consist of records")
		}
		rest = after
		switch r.Kind {
		case RecordKey:
			if err := c.Restore(now, r.Key, r.Value); err != nil {
				t.Fatalf("record of %q: %v", r.Key, err)
			}
		case RecordClear:
			c.Clear()
		default:
			t.Fatalf("a record of kind %d", r.Kind)
		}
	}
	must(t, c)
	return c
}

// flush takes everything that a core owes.
func flush(c *Core, now uint64, journal []byte) []byte {
	for more := true; more; {
		var records []byte
		records, more = c.TakeRecords(now, nil, RecordsBytesMax)
		journal = append(journal, records...)
	}
	return journal
}

// all is what a core exports at an instant, by key.
func all(t testing.TB, c *Core, now uint64) map[string]string {
	t.Helper()
	found := make(map[string]string)
	var records []byte
	for cursor := uint32(1); cursor != 0; {
		records, cursor = c.Export(now, cursor, 7, records[:0])
		for rest := records; len(rest) > 0; {
			r, after, ok := persistence.CutRecord(rest)
			if _, twice := found[string(r.Key)]; !ok || twice {
				t.Fatalf("%q is exported twice, or is no record", r.Key)
			}
			found[string(r.Key)], rest = string(r.Value), after
		}
	}
	return found
}

// sameKeys says how two cores differ at an instant. Every key is one that can be
// asked for, so it is asked for as well.
func sameKeys(t testing.TB, got, want *Core, now uint64, limits []*algorithms.Limit) error {
	a, b := all(t, got, now), all(t, want, now)
	if len(a) != len(b) {
		return fmt.Errorf("%d keys, want %d", len(a), len(b))
	}
	g, w := asker{Core: got}, asker{Core: want}
	for key, value := range b {
		if a[key] != value {
			return fmt.Errorf("%.20q is %x, want %x", key, a[key], value)
		}
		for _, l := range limits {
			for _, cost := range []uint64{0, 1, l.Burst} {
				x := g.ask(now, Peek, []byte(key), l, cost).Decision
				if y := w.ask(now, Peek, []byte(key), l, cost).Decision; x != y {
					return fmt.Errorf("%.20q under %+v: %+v, want %+v", key, *l, x, y)
				}
			}
		}
	}
	return nil
}

// The twin's random history with a ledger beside it. Records are taken whole or in
// part at any moment; a snapshot may be taken in pieces meanwhile.
func TestLedgerTwin(t *testing.T) {
	for round := range scaled(80) {
		r := newRand(t, 4000+uint64(round))
		w := newTwin(r, pick(r, 3, 30, 300))
		w.core.Journal(0, 1)
		var journal []byte
		for n := range 60 {
			what, err := w.step()
			if what == "back" {
				// What was swept as over may be alive again under an earlier clock, on
				// disk and not in memory; only a test clock does that.
				w.core.Clear()
				clear(w.keys)
			}
			if err == nil && r.IntN(2) == 0 {
				records, _ := w.core.TakeRecords(w.now, nil, RecordsBytesMax)
				journal = append(journal, records...)
			}
			if err == nil && r.IntN(6) == 0 {
				journal = flush(w.core, w.now, journal)
				err = sameKeys(t, playBack(t, w.now, journal), w.core, w.now, w.limits)
			}
			if err != nil {
				t.Fatalf("round %d, step %d, %s: %v", round, n, what, err)
			}
		}
		journal = flush(w.core, w.now, journal)
		twice := append(append([]byte{}, journal...), journal...)
		if err := sameKeys(t, playBack(t, w.now, twice), w.core, w.now, w.limits); err != nil {
			t.Fatalf("round %d, played twice: %v", round, err)
		}
	}
}

// A snapshot that is taken in pieces while keys come and go, and the records since its
// beginning, are the table (C115), whatever is asked in between.
func TestFuzzySnapshotTwin(t *testing.T) {
	for round := range scaled(80) {
		r := newRand(t, 5000+uint64(round))
		w := newTwin(r, pick(r, 30, 300, 1500))
		w.core.Journal(0, 1)
		for range 10 {
			if err := w.batch(); err != nil {
				t.Fatal(err)
			}
		}
		flush(w.core, w.now, nil) // the generations before
		var snapshot, journal []byte
		for cursor := uint32(1); cursor != 0; {
			var records []byte
			records, cursor = w.core.Export(w.now, cursor, 1+r.IntN(60), nil)
			snapshot = append(snapshot, records...)
			if err := w.batch(); err != nil {
				t.Fatal(err)
			}
			switch r.IntN(12) {
			case 0:
				w.move()
			case 1:
				w.core.Tick(w.now, 1000)
			case 2:
				if r.IntN(6) == 0 {
					w.core.Clear()
					clear(w.keys)
				}
			case 3, 4:
				records, _ := w.core.TakeRecords(w.now, nil, RecordsBytesMax)
				journal = append(journal, records...)
			}
		}
		journal = flush(w.core, w.now, journal)
		back := playBack(t, w.now, append(snapshot, journal...))
		if err := sameKeys(t, back, w.core, w.now, w.limits); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// However much has been deleted, what is taken at once is no longer than it should be:
// a batch that no frame holds would end the server.
func TestDeletionsAreTakenInPieces(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 1, time.Hour)
	a.Journal(0, 1)
	const keys = 40_000
	var want int
	for i := range keys {
		a.allow(start, fmt.Sprintf("%0500d", i), l, 1)
	}
	journal := flush(a.Core, start, nil)
	for i := range keys {
		a.found(start, Reset, fmt.Sprintf("%0500d", i))
	}
	a.allow(start, fmt.Sprintf("%0500d", 7), l, 1)
	for more := true; more; want++ {
		var records []byte
		if records, more = a.TakeRecords(start, nil, RecordsBytesMax); len(records) > RecordsBytesMax+600 {
			t.Fatalf("%d bytes at once", len(records))
		}
		journal = append(journal, records...)
		if want == 3 {
			a.allow(start, fmt.Sprintf("%0500d", 8), l, 1)
			a.found(start, Reset, fmt.Sprintf("%0500d", 8))
			a.allow(start, fmt.Sprintf("%0500d", 9), l, 1)
		}
	}
	if a.Owes() || want < 70 {
		t.Errorf("owes %v after %d pieces", a.Owes(), want)
	}
	if err := sameKeys(t, playBack(t, start, journal), a.Core, start, nil); err != nil {
		t.Error(err)
	}
	must(t, a.Core)
}

// The largest log that there may be fits a frame, at its worst: runs of one unit that
// are spread over the longest window.
func TestLargestRecordFitsFrame(t *testing.T) {
	log, s := new(algorithms.Log), algorithms.State{At: start}
	step := algorithms.WindowMaxNanos / LogLimitMax
	for i := range uint64(LogLimitMax) {
		log.Append(start+1+i*step, 1)
	}
	l := algorithms.Limit{Units: LogLimitMax, Window: algorithms.WindowMaxNanos, Burst: LogLimitMax, Algorithm: algorithms.SlidingLog}
	value := appendValue(nil, &l, &s, log)
	record := persistence.AppendRecord(nil, RecordKey, make([]byte, KeyBytesMax), value)
	if most := persistence.FramePayloadBytesMax - RecordsBytesMax; len(record) > most {
		t.Errorf("%d bytes, a frame has room for %d", len(record), most)
	}
}

// A key that comes and goes between two flushes costs the journal nothing, nor does
// one that is only looked at or denied.
func TestJournalIsNotToldOfNothing(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 2, time.Second)
	a.Journal(0, 1)
	a.allow(start, "gone", l, 1)
	a.found(start, Reset, "gone")
	a.allow(start, "denied", l, 3)
	a.ask(start, Peek, []byte("looked at"), l, 1)
	a.allow(start, "over", l, 1)
	if records := flush(a.Core, start+second, nil); len(records) > 0 {
		t.Errorf("%d bytes", len(records))
	}
	a.allow(start+second, "charged", l, 1)
	a.allow(start+second, "charged", l, 1)
	once := flush(a.Core, start+second, nil)
	if _, rest, ok := persistence.CutRecord(once); !ok || len(rest) > 0 {
		t.Errorf("two charges of a key: %d bytes and more", len(rest))
	}
	if a.Settle(start + 3*second); a.Owes() {
		t.Error("a key that ended when it said so is told of again")
	}
}

// While nothing is taken, keys that come and go in the same slots do not make the list
// of what is owed longer.
func TestLedgerIsBoundedBySlots(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 2, time.Second)
	a.Journal(0, 1)
	now := start
	for i := range 20_000 {
		now += second / 10
		a.allow(now, fmt.Sprint(i), l, 1)
		a.Settle(now)
	}
	if n := a.ledger.dirty.count; n > 20 {
		t.Errorf("%d slots are listed for %d keys in %d slots", n, a.Len(), a.Slots())
	}
	must(t, a.Core)
}

// What was recorded and has been charged with an earlier end since, and is over, is
// deleted: the disk would keep it longer.
func TestEarlierEndIsTold(t *testing.T) {
	a, long, short := newAsker(), newLimit(algorithms.SlidingCounter, 10, time.Hour), newLimit(algorithms.FixedWindow, 10, time.Second)
	a.Journal(0, 1)
	a.allow(start, "k", long, 1)
	journal := flush(a.Core, start, nil)
	a.allow(start, "k", short, 1)
	now := start + 2*second
	a.Settle(now)
	journal = flush(a.Core, now, journal)
	if c := playBack(t, now, journal); c.Len() != 0 {
		t.Errorf("%d keys are back", c.Len())
	}
}

// Every pair of a limit and the one before it, so that what is remembered of one never
// shows in another.
func TestRestoreRemembersNothing(t *testing.T) {
	r := newRand(t, 33)
	var want []string
	var journal []byte
	c := &asker{Core: NewCore(start)}
	c.Journal(0, 1)
	w := newTwin(r, 0)
	for i := range 2000 {
		l := w.limit()
		if l.Window < 60*second {
			l.Window *= 1000
		}
		key := fmt.Sprint(i)
		if c.allow(start, key, l, 1) {
			journal = flush(c.Core, start, journal)
			want = append(want, key)
		}
	}
	back := playBack(t, start, journal)
	if err := sameKeys(t, back, c.Core, start, nil); err != nil {
		t.Error(err)
	}
	for _, key := range want[:10] {
		v, u := View{}, View{}
		c.look(start, &Op{Key: []byte(key), hash: c.hash([]byte(key)), View: &v})
		back.look(start, &Op{Key: []byte(key), hash: back.hash([]byte(key)), View: &u})
		if err := sameView(u, v); err != nil {
			t.Error(err)
		}
	}
}

// Logs that were over when they came back leave nothing behind that is counted.
func TestRestoreCountsMemoryOnce(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.SlidingLog, 1000, time.Minute)
	a.Journal(0, 1)
	for i := range uint64(500) {
		a.allow(start+i, "log", l, 1)
	}
	records := flush(a.Core, start, nil)
	bucket := newLimit(algorithms.TokenBucket, 10, time.Hour)
	for i := range 1000 {
		a.allow(start, fmt.Sprint(i), bucket, 1)
	}
	records = flush(a.Core, start, records)
	c := playBack(t, start+61*second, records)
	if c.Len() != 1000 || c.logs.bytes > logKeptBytesMax+500*32 {
		t.Errorf("%d keys, %d bytes of logs", c.Len(), c.logs.bytes)
	}
}

// What came back from the disk and is made fresh is deleted there.
func TestRestoredKeysAreToldOf(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 10, time.Hour)
	a.Journal(0, 1)
	a.allow(start, "kept", l, 1)
	a.allow(start, "reset", l, 1)
	journal := flush(a.Core, start, nil)
	b := &asker{Core: playBack(t, start, journal)}
	b.Journal(0, 1)
	if !b.found(start, Reset, "reset") {
		t.Fatal("a key is not there")
	}
	c := playBack(t, start, flush(b.Core, start, journal))
	if c.Len() != 1 {
		t.Errorf("%d keys after one of two was reset", c.Len())
	}
}

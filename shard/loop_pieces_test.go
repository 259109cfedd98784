package shard

// What calls with ids write: together, in order, and soon enough.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// parted is a journal that keeps submissions apart.
type parted struct {
	memory
	parts [][]byte
}

func (j *parted) Submit(time uint64, records []byte, done func(error)) {
	j.memory.Submit(time, records, done)
	j.Lock()
	defer j.Unlock()
	j.parts = append(j.parts, records)
}

// An id reaches the journal together with what it has charged, many of them in one
// submission and none later than FlushInterval; and what is charged without an id after
// that comes after it, whatever shard is written first.
func TestPiecesKeepTogetherAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 5000
		set, journal := newTestSet(t, 2, 4, new(bubble)), new(parted)
		set.Journal(journal, false)
		l := newLimit(algorithms.FixedWindow, 1_000_000, 24*time.Hour)
		b := NewBatch(2)
		charge := func(tag uint64, key string) *Op {
			op := b.Add(tag)
			op.Kind, op.Key, op.Call = Allow, []byte(key), algorithms.Call{Limit: l, Cost: 1}
			return op
		}
		for i := range calls {
			b.Clear()
			op := charge(uint64(i%2)<<63, fmt.Sprint("key", i%14))
			home := (i / 2) % 2
			set.Hold([]int{op.Shard(), home}, func(h *Held) {
				h.Do(b)
				h.PutID(home, op.Shard(), &ID{Name: fmt.Sprint("id", i), Key: op.Key, Deadline: h.Now + 3600*second})
			})
			b.Clear()
			charge(uint64(i%2)<<63, fmt.Sprint("key", i%14))
			set.Run(b)
		}
		journal.Lock()
		early := len(journal.parts)
		journal.Unlock()
		wait(FlushInterval)
		if early > calls/100 || len(journal.parts) == early || !set.pieces.empty() {
			t.Errorf("%d submissions at first, %d in the end, nothing waits: %v", early, len(journal.parts), set.pieces.empty())
		}
		ids, used := 0, make(map[string]uint64)
		for _, part := range journal.parts {
			here := make(map[string]bool)
			for rest := part; len(rest) > 0; {
				var r persistence.Record
				r, rest, _ = persistence.CutRecord(rest)
				if r.Kind == RecordID {
					id, err := parseID(r.Key, r.Value)
					if ids++; err != nil || !here[string(id.Key)] {
						t.Fatalf("%s is there without what it charged, %v", r.Key, err)
					}
					continue
				}
				var head limitHead
				var k algorithms.Stored
				if err := parseValue(r.Value, &head, &k, nil); err != nil {
					t.Fatal(err)
				}
				here[string(r.Key)] = true
				if n := algorithms.Used(&k, k.FreshAt-1); n < used[string(r.Key)] {
					t.Fatalf("%s goes back from %d to %d", r.Key, used[string(r.Key)], n)
				} else {
					used[string(r.Key)] = n
				}
			}
		}
		total := uint64(0)
		for _, n := range used {
			total += n
		}
		if ids != calls || total != 2*calls {
			t.Errorf("%d ids and %d units, want %d and %d", ids, total, calls, 2*calls)
		}
	})
}

// While the journal is behind, what waits is not called flushed; then it is.
func TestPiecesWaitForTheJournal(t *testing.T) {
	set, journal := newTestSet(t, 1, 4, newStanding()), new(memory)
	set.Journal(journal, false)
	behind := func(is bool) { // the shard's own goroutine asks too
		set.On(0, func(*Core, uint64) { journal.behind = is })
	}
	behind(true)
	set.Hold([]int{0}, func(h *Held) { h.PutID(0, 0, &ID{Name: "id", Deadline: h.Now + second}) })
	if set.Flush() || journal.submits != 0 {
		t.Errorf("flushed: %d submits", journal.submits)
	}
	behind(false)
	if !set.Flush() || journal.submits != 1 {
		t.Errorf("not flushed: %d submits", journal.submits)
	}
}

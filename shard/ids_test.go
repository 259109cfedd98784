package shard

// How long ids hold a shard up.

import (
	"bytes"
	"fmt"
	"testing"

	"sluice/persistence"
)

// kinds are questions of ids that are kept one way and the other.
var kinds = [][]byte{[]byte("q"), bytes.Repeat([]byte("q"), QuestionBytes)}

// count is how many ids a core knows.
func (t *ids) count() int {
	n := len(t.byName)
	if t.answered != nil {
		n += t.answered.index.count
	}
	return n
}

// withIDs is a set of one shard with n answered ids that are forgotten after a second.
func withIDs(t *testing.T, n int, question []byte) (*Set, *standing) {
	clock := newStanding()
	set := newTestSet(t, 1, 4, clock)
	set.Hold([]int{0}, func(h *Held) {
		for i := range n {
			h.PutID(0, 0, &ID{Name: fmt.Sprint("id", i), Key: []byte("k"), Question: question, Answer: []byte("a"), Deadline: h.Now + second})
		}
	})
	return set, clock
}

// The memory that ids are told to take is that of those which are there, also when one
// has been settled and remembers one reply more.
func TestMemoryOfSettledIDs(t *testing.T) {
	set, clock := withIDs(t, 0, nil)
	core := set.shards[0].core
	set.Hold([]int{0}, func(h *Held) {
		h.PutID(0, 0, &ID{Name: "id", Key: []byte("k"), Question: []byte("q"), Answer: []byte("reserved"), Outcome: Open, Deadline: h.Now + second})
		settled := h.SettleID(0, h.FindID(0, []byte("id")), Committed, nil)
		settled.Settled = []byte("settled")
		h.PutID(0, 0, settled)
		if err := core.ids.verify(); err != nil {
			t.Error(err)
		}
	})
	clock.now.Add(SettledNanos + 1<<tickBits)
	set.Hold([]int{0}, func(h *Held) { h.DueID(0) })
	if n, bytes := core.ids.count(), core.ids.bytes; n != 0 || bytes != 0 {
		t.Errorf("%d ids and %d bytes are left", n, bytes)
	}
}

// However many ids are over at once, each look forgets a bounded number of them.
func TestIDsAreForgottenInTurns(t *testing.T) {
	for _, question := range kinds {
		testForgottenInTurns(t, question)
	}
}

func testForgottenInTurns(t *testing.T, question []byte) {
	const n = 10*SweepEntriesMax + 1
	set, clock := withIDs(t, n, question)
	clock.now.Add(second + 1<<tickBits)
	turns, left := 0, n
	for more := true; more; turns++ {
		set.Hold([]int{0}, func(h *Held) {
			var id *ID
			if id, more = h.DueID(0); id != nil {
				t.Fatalf("%+v is to be settled", id)
			}
			if now := h.core(0).ids.count(); left-now > SweepEntriesMax {
				t.Errorf("%d are forgotten at once", left-now)
			} else {
				left = now
			}
		})
	}
	if left != 0 || turns != 11 {
		t.Errorf("%d are left after %d turns", left, turns)
	}
}

// A snapshot goes through ids in turns, and holds each that is there throughout once,
// while others come and go.
func TestExportOfIDsInTurns(t *testing.T) {
	for _, question := range kinds {
		testExportInTurns(t, question)
	}
}

func testExportInTurns(t *testing.T, question []byte) {
	const n = 5*SnapshotSlotsPerTick + 1
	set, _ := withIDs(t, n, question)
	found, turns := make(map[string]int), 0
	err := set.exportIDs(0, func(_ uint64, records []byte) error {
		here := 0
		for ; len(records) > 0; here++ {
			var r persistence.Record
			r, records, _ = persistence.CutRecord(records)
			found[string(r.Key)]++
		}
		if turns++; here > SnapshotSlotsPerTick {
			t.Errorf("%d at once", here)
		}
		set.Hold([]int{0}, func(h *Held) {
			for i := range 500 {
				h.core(0).ids.drop(fmt.Append(nil, "id", 2*(500*turns+i)))
				h.PutID(0, 0, &ID{Name: fmt.Sprint("new", turns, i), Question: question, Deadline: h.Now + second})
			}
		})
		return nil
	})
	if err != nil || turns < 3 { // those that go are not met
		t.Errorf("%d turns, %v", turns, err)
	}
	for i := 1; i < n; i += 2 {
		if name := fmt.Sprint("id", i); found[name] != 1 {
			t.Fatalf("%s is there %d times", name, found[name])
		}
	}
}

package shard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
)

// A table that is full decides on the keys that it has, refuses new ones without a
// trace, and takes them again when there is room.
func TestFullTable(t *testing.T) {
	for _, row := range algorithms.Rates() {
		t.Run(row.Name, func(t *testing.T) {
			a := newAsker()
			a.Bound(Bounds{KeysMax: 10})
			l := newLimit(row.ID, 3, time.Hour)
			for i := range 10 {
				if !a.allow(start, fmt.Sprint(i), l, 1) {
					t.Fatalf("key %d was refused", i)
				}
			}
			bytes, stats := a.Bytes(), a.Stats()
			for i := range 5 {
				if op := a.ask(start, Allow, fmt.Append(nil, "new ", i), l, 1); !op.Full {
					t.Fatal("a key too many was taken")
				}
				must(t, a.Core)
			}
			if a.Bytes() > bytes+1024 || a.Stats() != stats || a.Len() != 10 {
				t.Errorf("what was refused left something: %d bytes, %d before; %+v; %d keys", a.Bytes(), bytes, a.Stats(), a.Len())
			}
			if !a.allow(start, "3", l, 2) || a.allow(start, "3", l, 1) || a.remaining(start, "new 1", l) != 3 || a.ask(start, Allow, []byte("new"), l, 4).Full {
				t.Error("a full table does not decide what needs no room")
			}
			a.found(start, Reset, "7")
			if !a.allow(start, "new 1", l, 1) || a.allow(start, "new 2", l, 1) {
				t.Error("one key went, so one may come")
			}
			must(t, a.Core)
			// In two hours everything is over, swept or not.
			for i := range 10 {
				if !a.allow(start+7200*second, fmt.Sprint("later ", i), l, 1) {
					t.Fatalf("key %d of a later hour was refused: %d entries", i, a.Len())
				}
			}
			if a.Len() > 10 || a.Stats().Evicted != 0 {
				t.Errorf("%d entries, %+v", a.Len(), a.Stats())
			}
			must(t, a.Core)
		})
	}
}

// One operation of a batch that was refused says nothing about the next batch.
func TestFullIsForgotten(t *testing.T) {
	c, l := NewCore(start), newLimit(algorithms.TokenBucket, 3, time.Hour)
	c.Bound(Bounds{KeysMax: 1})
	b := NewBatch(1)
	for round := range 3 {
		b.Clear()
		for _, key := range []string{"k", "new", "k"} {
			op := b.Add(0)
			op.Kind, op.Key, op.Call = Allow, []byte(key), algorithms.Call{Limit: l, Cost: 1}
		}
		if round == 1 {
			b.Ops[1].Key = b.Ops[0].Key
		}
		c.Step(start+uint64(round)*3600*second, b.Ops, b.parts[0])
		if b.Ops[0].Full || b.Ops[1].Full != (round != 1) || b.Ops[2].Full {
			t.Errorf("round %d: full: %v, %v, %v", round, b.Ops[0].Full, b.Ops[1].Full, b.Ops[2].Full)
		}
	}
}

// The number of slots is the last bound.
func TestFullSlab(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.SlidingLog, 3, time.Hour)
	a.slab.chunks = aliased((KeysPerShardMax - 2) >> chunkBits)
	a.slab.next = KeysPerShardMax - 2
	a.index.count = KeysPerShardMax - 3 // as if they were all in use
	for i := range 3 {
		if !a.allow(start, fmt.Sprint(i), l, 1) {
			t.Fatalf("key %d was refused", i)
		}
	}
	for i := range 10 {
		if !a.ask(start, Allow, fmt.Append(nil, "new ", i), l, 1).Full {
			t.Fatal("a key too many was taken")
		}
	}
	for i := range 3 {
		if !a.allow(start, fmt.Sprint(i), l, 2) || a.allow(start, fmt.Sprint(i), l, 1) {
			t.Errorf("key %d of a full slab is not itself", i)
		}
	}
	if !a.found(start, Reset, "1") || !a.allow(start, "new", l, 1) || a.allow(start, "newer", l, 1) {
		t.Error("one key went, so one may come")
	}
}

// When all keys of one length are over, keys of another have room.
func TestBytesMaxForOtherLengths(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine, and too slow under the race detector")
	}
	for _, evict := range []bool{false, true} {
		a, now := newAsker(), start
		a.Bound(Bounds{BytesMax: 4 << 20, EvictSoonest: evict})
		l := newLimit(algorithms.TokenBucket, 1, time.Second)
		for _, length := range []int{20, 40, 1000, 12, 200} {
			taken := 0
			for i := range 50_000 {
				if a.allow(now, fmt.Sprintf("%0*d", length, i), l, 1) {
					taken++
				}
			}
			// Entries that were made once are kept, keys are not.
			if taken*length < 1<<19 && taken < 40_000 {
				t.Errorf("evict: %v: only %d keys of %d bytes had room", evict, taken, length)
			}
			now += second
			for a.Tick(now+SweepGraceNanos, 1000) {
			}
			must(t, a.Core)
		}
	}
}

// Where memory is full of keys of one length, one that is not longer finds a block: by
// throwing away for it, or in one that was freed. A longer one finds none.
func TestBytesMaxForShorterKeys(t *testing.T) {
	for _, evict := range []bool{false, true} {
		a, l := newAsker(), newLimit(algorithms.TokenBucket, 1, time.Hour)
		a.Bound(Bounds{BytesMax: 1 << 20, EvictSoonest: evict})
		name := func(i int) string { return fmt.Sprintf("%020d", i) }
		full := 0
		for ; full < 1<<16; full++ {
			if !a.allow(start, name(full), l, 1) || a.Stats().Evicted > 0 {
				break
			}
		}
		if full == 1<<16 {
			t.Fatal("the table is never full")
		}
		short := func(i int) string { return fmt.Sprint(i) }
		for i := range 100 {
			op := a.ask(start, Allow, []byte(short(i)), l, 1)
			if op.Full == evict {
				t.Fatalf("evict: %v: a short key is refused: %v", evict, op.Full)
			}
		}
		if op := a.ask(start, Allow, []byte(strings.Repeat("x", 100)), l, 1); !op.Full {
			t.Errorf("evict: %v: a longer key has room", evict)
		}
		must(t, a.Core)
		evicted := a.Stats().Evicted
		a.found(start, Reset, name(full-100))
		if !a.allow(start, "free", l, 1) || a.Stats().Evicted != evicted {
			t.Errorf("evict: %v: a block that is free is not used", evict)
		}
		if a.allow(start, "free", l, 1) || evict && a.allow(start, short(99), l, 1) {
			t.Errorf("evict: %v: a key in a larger block is forgotten", evict)
		}
		must(t, a.Core)
	}
}

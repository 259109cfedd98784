package shard

// The index against a Go map, with hashes built by hand: real ones would hardly
// ever meet.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// indexTwin is an index over a slab, and a map that says what must be in it. The
// entries have no keys: their hash and slot are all that the index knows.
type indexTwin struct {
	*Core // only its slab and index are used
	want  map[slot]uint64
	slots []slot
}

func newIndexTwin() *indexTwin {
	return &indexTwin{Core: NewCore(0), want: make(map[slot]uint64)}
}

func (x *indexTwin) insert(hash uint64) slot {
	i := x.slab.take()
	*x.slab.at(i) = entry{hash: hash, limit: 1}
	x.index.insert(hash, i)
	x.want[i] = hash
	x.slots = append(x.slots, i)
	return i
}

// remove takes out the n-th of the slots.
func (x *indexTwin) remove(n int) {
	i := x.slots[n]
	x.index.remove(x.want[i], i)
	x.slab.give(i)
	delete(x.want, i)
	x.slots[n] = x.slots[len(x.slots)-1]
	x.slots = x.slots[:len(x.slots)-1]
}

// same is an error unless the index holds exactly what the map does.
func (x *indexTwin) same() error {
	if err := x.verifyIndex(); err != nil {
		return err
	}
	if x.index.count != len(x.want) {
		return fmt.Errorf("%d entries in the index, want %d", x.index.count, len(x.want))
	}
	for i, hash := range x.want {
		if got := x.index.find(hash, func(j slot) bool { return i == j }); got != i {
			return fmt.Errorf("looking for entry %d with hash %#x finds %d", i, hash, got)
		}
		// The candidate may be another's, but never none: the tag is there.
		if x.index.candidate(hash) == 0 {
			return fmt.Errorf("no candidate for entry %d with hash %#x", i, hash)
		}
	}
	return nil
}

// hashes are ways to draw hashes that meet in ever worse ways.
var hashes = []struct {
	name string
	most int // entries at a time
	draw func(r *rand.Rand) uint64
}{
	{"random", 20_000, (*rand.Rand).Uint64},
	// All in one part of the directory: it doubles eight times more than others would.
	{"same low bits", 6_000, func(r *rand.Rand) uint64 { return r.Uint64()<<8 | 0x5a }},
	{"two low patterns", 6_000, func(r *rand.Rand) uint64 { return r.Uint64()<<6 | pick(r, uint64(0), 0x3f) }},
	{"same tag", 6_000, func(r *rand.Rand) uint64 { return r.Uint64() &^ (0x3f << 27) }},
	// A tenth of all cells is home to everybody.
	{"few homes", 6_000, func(r *rand.Rand) uint64 { return r.Uint64()&^(0x3ff<<38) | r.Uint64N(100)<<38 }},
	// Long runs that go around the end of a segment.
	{"last homes", 700, func(r *rand.Rand) uint64 { return r.Uint64()&^(0x3ff<<38) | (1023-r.Uint64N(3))<<38 }},
	{"one home and tag", 700, func(r *rand.Rand) uint64 { return r.Uint64() & 0x1ffff }},
	{"twelve hashes", 700, func(r *rand.Rand) uint64 { return r.Uint64N(12) * 0x1234567890abcdef }},
	{"one hash", segmentCellsUsedMax, func(*rand.Rand) uint64 { return 0xdeadbeefdeadbeef }},
}

func TestIndexTwin(t *testing.T) {
	for n, row := range hashes {
		t.Run(row.name, func(t *testing.T) {
			r, x := newRand(t, uint64(n)), newIndexTwin()
			check := func() {
				t.Helper()
				if err := x.same(); err != nil {
					t.Fatal(err)
				}
			}
			for _, most := range []int{row.most / 10, row.most, row.most / 3, row.most, 0} {
				for steps := 1; len(x.slots) != most; steps++ {
					// Towards the number of entries, with a third of the steps back.
					if grow := len(x.slots) < most; len(x.slots) == 0 || grow == (r.IntN(3) > 0) && len(x.slots) < row.most {
						x.insert(row.draw(r))
					} else {
						x.remove(r.IntN(len(x.slots)))
					}
					if steps%(1+row.most/4) == 0 {
						check()
					}
				}
				check()
			}
		})
	}
}

// Every operation on a full segment, checked after each.
func TestIndexSegmentStepByStep(t *testing.T) {
	for n, row := range hashes {
		t.Run(row.name, func(t *testing.T) {
			r, x := newRand(t, 100+uint64(n)), newIndexTwin()
			for range segmentCellsUsedMax {
				x.insert(row.draw(r))
			}
			for range scaled(80) {
				if len(x.slots) < segmentCellsUsedMax && r.IntN(2) == 0 {
					x.insert(row.draw(r))
				} else {
					x.remove(r.IntN(len(x.slots)))
				}
				if err := x.same(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// hashAt is a hash whose first cell is home.
func hashAt(home uint64) uint64 { return (home<<32/segmentCells + 1) << 16 }

// Deletion shifts back over the end of a segment, and leaves alone what stands
// at its home or between its home and the gap.
func TestIndexRemoveShiftsBack(t *testing.T) {
	const last = segmentCells - 1
	for _, row := range []struct {
		name  string
		homes []uint64 // in the order of insertion
		gone  int      // which of them is removed
		want  []int    // the cell of each
	}{
		{"a run of one home", []uint64{5, 5, 5}, 0, []int{-1, 5, 6}},
		{"the last of a run", []uint64{5, 5, 5}, 2, []int{5, 6, -1}},
		{"the next is at home", []uint64{5, 6, 5}, 0, []int{-1, 6, 5}},
		{"nobody may come back", []uint64{5, 6, 7}, 0, []int{-1, 6, 7}},
		{"some may, not all the way", []uint64{5, 5, 6, 6, 9}, 0, []int{-1, 5, 6, 7, 9}},
		{"around the end", []uint64{last, last, last, 0}, 0, []int{-1, last, 0, 1}},
		{"a gap behind the end", []uint64{last, last, 0, last}, 1, []int{last, -1, 0, 1}},
		{"nobody back over the end", []uint64{last, 0, 1}, 0, []int{-1, 0, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := newIndexTwin()
			slots := make([]slot, len(row.homes))
			for n, h := range row.homes {
				if got := home(hashAt(h)); got != uint(h) {
					t.Fatalf("home of a hash made for %d is %d", h, got)
				}
				slots[n] = x.insert(hashAt(h))
			}
			x.remove(row.gone)
			if err := x.same(); err != nil {
				t.Fatal(err)
			}
			got := slices.Repeat([]int{-1}, len(slots))
			for p, c := range x.index.directory[0].cells {
				if c != 0 {
					got[slices.Index(slots, c.slot())] = p
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("entries stand in cells %v, want %v", got, row.want)
			}
		})
	}
}

// An index over the last slots that there can be.
func TestIndexLargestSlots(t *testing.T) {
	x := newIndexTwin()
	x.slab.next = KeysPerShardMax - 4
	x.slab.chunks = aliased(int(x.slab.next) >> chunkBits)
	r := newRand(t, 1)
	for range 5 {
		x.insert(r.Uint64())
	}
	if i := x.slab.take(); i != 0 {
		t.Fatalf("slot %d was handed out after the last", i)
	}
	for i, hash := range x.want {
		if got := x.index.find(hash, func(j slot) bool { return i == j }); got != i || x.index.candidate(hash) != i {
			t.Errorf("looking for entry %d finds %d", i, got)
		}
	}
}

// aliased returns n chunks that are one: a slab that is nearly full and takes no
// memory, for tests that do not look at what it is full of.
func aliased(n int) []*[chunkEntries]entry {
	chunks, chunk := make([]*[chunkEntries]entry, n), new([chunkEntries]entry)
	for i := range chunks {
		chunks[i] = chunk
	}
	return chunks
}

func TestIndexSplitsKeepTheDirectorySmall(t *testing.T) {
	r, x := newRand(t, 2), newIndexTwin()
	for range scaled(200_000) {
		x.insert(r.Uint64())
	}
	// Segments are between half and 80 % full: 511 keys each if splits are even.
	if least := len(x.slots) / segmentCellsUsedMax; x.index.segments > 2*least {
		t.Errorf("%d segments for %d keys, at most %d", x.index.segments, len(x.slots), 2*least)
	}
	if len(x.index.directory) > 4*x.index.segments {
		t.Errorf("%d places for %d segments", len(x.index.directory), x.index.segments)
	}
	if want := x.index.segments*4096 + cap(x.index.directory)*8; x.index.bytes() != want {
		t.Errorf("%d bytes, want %d", x.index.bytes(), want)
	}
	if err := x.same(); err != nil {
		t.Fatal(err)
	}
}

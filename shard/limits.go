package shard

// Limits are interned: an entry names the limit it was last charged under by a
// number, and a limit that no entry names any more is forgotten.

import (
	"unsafe"

	"sluice/algorithms"
)

// limitRef is the number of an interned limit, 0 for none. There are never more
// limits than entries; the bits above hold what the journal knows of the entry
// that the limitRef stands in.
type limitRef uint32

const limitRefMask limitRef = 1<<slotBits - 1

type limits struct {
	rows  []algorithms.Limit // rows[0] is not used
	uses  []uint32           // entries that name the row
	find  map[algorithms.Limit]limitRef
	spare []limitRef // rows without use
	last  limitRef   // the row that was asked for last
}

func newLimits() limits {
	return limits{
		rows: make([]algorithms.Limit, 1),
		uses: make([]uint32, 1),
		find: make(map[algorithms.Limit]limitRef),
	}
}

func (t *limits) at(r limitRef) *algorithms.Limit { return &t.rows[r&limitRefMask] }

// use returns the number of a limit and counts one entry more that names it.
func (t *limits) use(l *algorithms.Limit) limitRef {
	r := t.last
	if t.uses[r] == 0 || t.rows[r] != *l {
		r = t.find[*l]
	}
	if r == 0 {
		if n := len(t.spare); n > 0 {
			r = t.spare[n-1]
			t.spare = t.spare[:n-1]
			t.rows[r] = *l
		} else {
			r = limitRef(len(t.rows))
			t.rows = append(t.rows, *l)
			t.uses = append(t.uses, 0)
		}
		t.find[*l] = r
	}
	t.last = r
	t.uses[r]++
	return r
}

// drop counts one entry less.
func (t *limits) drop(r limitRef) {
	r &= limitRefMask
	if t.uses[r]--; t.uses[r] == 0 {
		delete(t.find, t.rows[r])
		t.spare = append(t.spare, r)
	}
}

// growth is what one entry more that names a limit adds.
func (t *limits) growth(l *algorithms.Limit) int {
	if t.uses[t.last] != 0 && t.rows[t.last] == *l || len(t.spare) > 0 || t.find[*l] != 0 {
		return 0
	}
	if len(t.rows) < cap(t.rows) {
		return limitFindBytes
	}
	return limitFindBytes + cap(t.rows)*int(unsafe.Sizeof(algorithms.Limit{}))/2
}

// limitFindBytes is what a limit takes in the map, in the middle between a map that
// is about to grow and one that has just grown.
const limitFindBytes = int(unsafe.Sizeof(algorithms.Limit{})+unsafe.Sizeof(limitRef(0))) * 7 / 3

// bytes is the memory of the rows and of the map, which keeps what it once took.
func (t *limits) bytes() int {
	return cap(t.rows)*int(unsafe.Sizeof(algorithms.Limit{})) + 4*(cap(t.uses)+cap(t.spare)) + len(t.rows)*limitFindBytes
}

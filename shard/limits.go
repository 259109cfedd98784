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
	rows rows[limitRow] // row 0 is not used
	find map[algorithms.Limit]limitRef
	free limitRef // head of the list of rows without use
	last limitRef // the row that was asked for last
}

type limitRow struct {
	limit algorithms.Limit
	uses  uint32   // entries that name the row
	next  limitRef // in the free list
}

func newLimits() limits {
	t := limits{find: make(map[algorithms.Limit]limitRef)}
	t.rows.add()
	return t
}

func (t *limits) row(r limitRef) *limitRow { return t.rows.at(uint32(r & limitRefMask)) }

func (t *limits) at(r limitRef) *algorithms.Limit { return &t.row(r).limit }

// use returns the number of a limit and counts one entry more that names it.
func (t *limits) use(l *algorithms.Limit) limitRef {
	r := t.last
	if row := t.row(r); row.uses == 0 || row.limit != *l {
		r = t.find[*l]
	}
	if r == 0 {
		if r = t.free; r != 0 {
			t.free = t.row(r).next
		} else {
			r = limitRef(t.rows.add())
		}
		*t.row(r) = limitRow{limit: *l}
		t.find[*l] = r
	}
	t.last = r
	t.row(r).uses++
	return r
}

// drop counts one entry less.
func (t *limits) drop(r limitRef) {
	r &= limitRefMask
	row := t.row(r)
	if row.uses--; row.uses == 0 {
		delete(t.find, row.limit)
		row.next, t.free = t.free, r
	}
}

// limitFindBytes is what a limit takes in the map, in the middle between a map that
// is about to grow and one that has just grown.
const limitFindBytes = int(unsafe.Sizeof(algorithms.Limit{})+unsafe.Sizeof(limitRef(0))) * 7 / 3

// bytes is the memory of the rows and of the map, which keeps what it once took.
func (t *limits) bytes() int {
	return t.rows.bytes() + int(t.rows.len)*limitFindBytes
}

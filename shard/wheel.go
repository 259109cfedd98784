package shard

// The timing wheel frees entries when their time has come. It is hierarchical:
// eight levels of 64 slots, each level 64 times as coarse as the one below, the
// finest 2^20 ns (about a millisecond). It is intrusive: the lists run through
// the entries. And it is lazy: charging a key leaves it where it is; when its
// slot comes due, an entry whose expiry has moved on is linked again.
//
// An entry stands on the level of the highest digit (base 64) in which its tick
// differs from the current one, in the slot of that digit. So at every level the
// slots up to the current digit are empty, except the one that is being emptied
// right now, and the next thing to do is always the first occupied slot of the
// lowest level that has one.
//
// Invariant: an entry stands in a slot that begins at or before its expiry, or
// in the current one.

import (
	"math/bits"
	"unsafe"
)

const (
	tickBits    = 20 // 2^20 ns
	levelBits   = 6
	wheelSlots  = 1 << levelBits
	wheelLevels = 8 // 2^(20+48) ns: every instant of 64 bits

	// inWheel marks a prev that names a slot of the wheel, not an entry.
	inWheel slot = 1 << 31
)

type wheel struct {
	entries  *slab
	now      uint64 // current tick; its slot is not finished
	heads    [wheelLevels * wheelSlots]slot
	occupied [wheelLevels]uint64 // one bit a slot
}

// digit is the slot of a tick on a level.
func digit(tick uint64, level int) int {
	return int(tick >> (level * levelBits) & (wheelSlots - 1))
}

// link puts an entry where its expiry belongs.
func (w *wheel) link(i slot, e *entry) {
	tick := max(e.expiry>>tickBits, w.now)
	level := 0
	if diff := tick ^ w.now; diff != 0 {
		level = (bits.Len64(diff) - 1) / levelBits
	}
	at := level*wheelSlots + digit(tick, level)
	first := w.heads[at]
	e.next, e.prev = first, inWheel|slot(at)
	if first != 0 {
		w.entries.at(first).prev = i
	}
	w.heads[at] = i
	w.occupied[level] |= 1 << (at % wheelSlots)
}

// unlink takes an entry out.
func (w *wheel) unlink(e *entry) {
	if e.next != 0 {
		w.entries.at(e.next).prev = e.prev
	}
	if e.prev&inWheel == 0 {
		w.entries.at(e.prev).next = e.next
		return
	}
	at := int(e.prev &^ inWheel)
	w.heads[at] = e.next
	if e.next == 0 {
		w.occupied[at/wheelSlots] &^= 1 << (at % wheelSlots)
	}
}

// sweepAhead is how many entries of a list ahead is told of at once.
const sweepAhead = 32

// advance moves the wheel towards an instant and calls expire for entries whose
// time has come, which must unlink them. It looks at no more than budget entries
// and says whether something due was left. ahead is told beforehand which entries
// come next, the first of them and how many of its list at most; it changes nothing.
func (w *wheel) advance(now uint64, budget int, ahead func(now uint64, first slot, n int), expire func(slot, *entry)) (more bool) {
	to := now >> tickBits
	for w.now < to {
		at, ok := w.current()
		if !ok {
			w.now = min(w.next(), to)
			continue
		}
		told := 0
		for i := w.heads[at]; i != 0; i = w.heads[at] {
			if budget == 0 {
				return true
			}
			if told == 0 {
				told = min(sweepAhead, budget)
				ahead(now, i, told)
			}
			told--
			budget--
			e := w.entries.at(i)
			if e.expiry <= now {
				expire(i, e)
				continue
			}
			w.unlink(e)
			w.link(i, e)
		}
	}
	return false
}

// settle frees what is due within the current tick too, so that nothing due is
// left at all. Call it after advance has come to the end.
func (w *wheel) settle(now uint64, expire func(slot, *entry)) {
	for level := range wheelLevels {
		at := level*wheelSlots + digit(w.now, level)
		for i := w.heads[at]; i != 0; {
			e := w.entries.at(i)
			next := e.next
			if e.expiry <= now {
				expire(i, e)
			}
			i = next
		}
	}
}

// current is the slot of the current tick that still has entries, the coarsest
// first, because its entries may belong to the finer ones.
func (w *wheel) current() (at int, ok bool) {
	for level := wheelLevels - 1; level >= 0; level-- {
		if d := digit(w.now, level); w.occupied[level]>>d&1 != 0 {
			return level*wheelSlots + d, true
		}
	}
	return 0, false
}

// next is the first tick after the current one at which a slot begins that has
// entries; the largest number if there is none.
func (w *wheel) next() uint64 {
	for level := range wheelLevels {
		if d, ok := w.ahead(level); ok {
			unit := level * levelBits
			return w.now>>(unit+levelBits)<<(unit+levelBits) | uint64(d)<<unit
		}
	}
	return 1<<64 - 1
}

// ahead is the first occupied slot of a level after the current digit.
func (w *wheel) ahead(level int) (d int, ok bool) {
	d = digit(w.now, level)
	ahead := w.occupied[level] >> d >> 1
	return d + 1 + bits.TrailingZeros64(ahead), ahead != 0
}

// due is the instant at which advance next has something to do; the last one there
// is if it never has.
func (w *wheel) due() uint64 {
	t := w.now
	if _, busy := w.current(); !busy {
		t = w.next()
	}
	if t >= 1<<(64-tickBits)-1 {
		return 1<<64 - 1
	}
	return (t + 1) << tickBits
}

func (w *wheel) bytes() int { return int(unsafe.Sizeof(*w)) }

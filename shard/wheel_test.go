package shard

// The wheel against a sorted list.

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const tick = uint64(1) << tickBits

// unwarned is for a wheel whose entries stand in no index.
func unwarned(uint64, slot, int) {}

// due is what the sorted list holds of an entry.
type due struct {
	expiry uint64
	i      slot
}

func byExpiry(a, b due) int {
	return cmp.Or(cmp.Compare(a.expiry, b.expiry), cmp.Compare(a.i, b.i))
}

// wheelTwin is a wheel over a slab, and the list. Of the core's other parts only
// the index's count is used, as the number of entries.
type wheelTwin struct {
	*Core
	*rand.Rand
	now  uint64
	list []due
	// ahead is the latest tick at which the wheel stood when it took an entry
	// whose time was over: it is freed when that tick is over.
	ahead uint64
}

func newWheelTwin(r *rand.Rand, now uint64) *wheelTwin {
	return &wheelTwin{Core: NewCore(now), Rand: r, now: now}
}

func (w *wheelTwin) add(expiry uint64) slot {
	i := w.slab.take()
	e := w.slab.at(i)
	*e = entry{expiry: expiry, limit: 1}
	w.link(i, e)
	w.index.count++
	w.insert(due{expiry, i})
	return i
}

func (w *wheelTwin) insert(d due) {
	at, _ := slices.BinarySearchFunc(w.list, d, byExpiry)
	w.list = slices.Insert(w.list, at, d)
}

// drop takes an entry off the list and out of the slab.
func (w *wheelTwin) drop(i slot, e *entry) error {
	at, in := slices.BinarySearchFunc(w.list, due{e.expiry, i}, byExpiry)
	if !in {
		return fmt.Errorf("entry %d with expiry %d is not on the list", i, e.expiry)
	}
	w.list = slices.Delete(w.list, at, at+1)
	w.index.count--
	w.wheel.unlink(e)
	w.slab.give(i)
	return nil
}

// charge moves the expiry of the n-th entry of the list as a charge does: linked
// again only if it is earlier.
func (w *wheelTwin) charge(n int, expiry uint64) {
	d := w.list[n]
	w.list = slices.Delete(w.list, n, n+1)
	w.insert(due{expiry, d.i})
	e := w.slab.at(d.i)
	earlier := expiry < e.expiry
	e.expiry = expiry
	if earlier {
		w.wheel.unlink(e)
		w.link(d.i, e)
	}
}

func (w *wheelTwin) link(i slot, e *entry) {
	w.wheel.link(i, e)
	if e.expiry>>tickBits < w.wheel.now {
		w.ahead = w.wheel.now
	}
}

// advance lets the wheel go on to w.now and holds what it frees against the list.
func (w *wheelTwin) advance(budget int) (more bool, err error) {
	freed := 0
	more = w.wheel.advance(w.now, budget, unwarned, func(i slot, e *entry) {
		freed++
		if e.expiry > w.now {
			err = cmp.Or(err, fmt.Errorf("entry %d was freed at %d, %d ns before its time", i, w.now, e.expiry-w.now))
		}
		err = cmp.Or(err, w.drop(i, e))
	})
	switch {
	case err != nil:
	case freed > budget:
		err = fmt.Errorf("%d entries were freed with a budget of %d", freed, budget)
	case !more && len(w.list) > 0 && max(w.list[0].expiry>>tickBits, w.ahead) < w.now>>tickBits:
		err = fmt.Errorf("at %d nothing is left to do, but an entry expired at %d", w.now, w.list[0].expiry)
	case !more && w.wheel.now < w.now>>tickBits:
		err = fmt.Errorf("the wheel stands at tick %d, nothing is left to do before tick %d", w.wheel.now, w.now>>tickBits)
	}
	return more, err
}

// settle frees what is due to the nanosecond.
func (w *wheelTwin) settle() (err error) {
	for more := true; more && err == nil; {
		more, err = w.advance(1 << 30)
	}
	w.wheel.settle(w.now, func(i slot, e *entry) { err = cmp.Or(err, w.drop(i, e)) })
	if err == nil && len(w.list) > 0 && w.list[0].expiry <= w.now {
		err = fmt.Errorf("settled at %d, but an entry expired at %d", w.now, w.list[0].expiry)
	}
	return err
}

// sound is an error unless all is linked as it should be, and the next step of
// the wheel leads to an entry.
func (w *wheelTwin) sound() error {
	if err := w.verifyWheel(); err != nil {
		return err
	}
	for _, d := range w.list {
		if e := w.slab.at(d.i); e.expiry != d.expiry || e.limit == 0 {
			return fmt.Errorf("entry %d expires at %d, want %d", d.i, e.expiry, d.expiry)
		}
	}
	// A copy that may look at no entry moves nothing but itself.
	if due := w.wheel.due(); due < math.MaxUint64-tick && len(w.list) > 0 {
		early, late := w.wheel, w.wheel
		if early.advance(due-1, 0, nil, nil) || !late.advance(due, 0, nil, nil) {
			return fmt.Errorf("the wheel stands at tick %d and says that it is due at %d", w.wheel.now, due)
		}
	}
	after := w.wheel
	if _, busy := after.current(); busy {
		return nil
	}
	if after.now = after.next(); len(w.list) == 0 {
		if after.now != math.MaxUint64 || after.due() != math.MaxUint64 {
			return fmt.Errorf("the wheel is empty and goes on to tick %d, due %d", after.now, after.due())
		}
		return nil
	}
	if _, busy := after.current(); !busy {
		return fmt.Errorf("the wheel goes from tick %d to %d and finds nothing", w.wheel.now, after.now)
	}
	if soonest := max(w.list[0].expiry>>tickBits, w.ahead); after.now > soonest || w.wheel.due() > (soonest+1)<<tickBits && soonest < 1<<(64-tickBits)-1 {
		return fmt.Errorf("the wheel goes on to tick %d, but an entry expires in tick %d", after.now, soonest)
	}
	return nil
}

// span is a time from nothing to a hundred years and more, by its order of
// magnitude or just around a multiple of a power of 64.
func (w *wheelTwin) span() uint64 {
	switch w.IntN(8) {
	case 0:
		return w.Uint64N(2 * tick)
	case 1:
		unit := tick << (levelBits * w.IntN(7))
		begin := (w.now/unit + w.Uint64N(66)) * unit
		return max(begin+pick(w.Rand, 0, tick-1, tick, tick+1, 2*tick), w.now+tick) - tick - w.now
	case 2:
		return 100 * year
	default:
		return w.Uint64() >> (6 + w.IntN(58))
	}
}

// step is one random operation.
func (w *wheelTwin) step() (what string, err error) {
	switch n := w.IntN(20); {
	case n < 8 || len(w.list) == 0:
		what = "add"
		w.add(w.now + w.span())
	case n < 9:
		what = "remove"
		d := w.list[w.IntN(len(w.list))]
		err = w.drop(d.i, w.slab.at(d.i))
	case n < 12:
		what = "charge"
		w.charge(w.IntN(len(w.list)), w.now+w.span())
	case n < 13:
		what = "charge by a moment"
		at := w.IntN(len(w.list))
		w.charge(at, max(w.list[at].expiry+pick(w.Rand, 0, tick-1, tick+1, 2*tick), w.now+tick+1)-tick)
	case n < 14:
		what = "settle"
		err = w.settle()
	case n < 15:
		what = "settle where something expires"
		w.now = max(w.now, w.list[w.IntN(len(w.list))].expiry-w.Uint64N(2))
		err = w.settle()
	default:
		budget := pick(w.Rand, 0, 1, 3, 1<<30)
		what = fmt.Sprint("advance with a budget of ", budget)
		w.now += pick(w.Rand, 0, 1, tick, w.span(), w.span()>>w.IntN(40))
		_, err = w.advance(budget)
	}
	return what, cmp.Or(err, w.sound())
}

func TestWheelTwin(t *testing.T) {
	for round := range scaled(400) {
		r := newRand(t, uint64(round))
		w := newWheelTwin(r, pick(r, 0, start, start|tick<<30-1, r.Uint64()>>4))
		var last string
		for step := range 250 {
			if w.now > math.MaxUint64/2 {
				break // no clock gets there; sums would not hold
			}
			before := w.wheel.now
			what, err := w.step()
			if err != nil {
				t.Fatalf("round %d, step %d, %s after %s, wheel at tick %d: %v", round, step, what, last, before, err)
			}
			last = what
		}
	}
}

// A clock that is set back by hand: what is left is freed in time again.
func TestWheelRewind(t *testing.T) {
	for round := range 100 {
		w := newWheelTwin(newRand(t, 1000+uint64(round)), start)
		for range 40 {
			w.add(w.now + w.span())
		}
		for range 6 {
			w.now += w.span() >> 8
			err := w.settle()
			back := w.now - min(w.span(), w.now)
			w.now = back
			if w.IntN(3) > 0 { // the others go on with a wheel that is ahead
				w.Rewind(back)
				w.ahead = 0
			}
			for range 10 {
				w.add(w.now + w.span())
			}
			for range 10 {
				_, e := w.step()
				err = cmp.Or(err, e)
			}
			if err = cmp.Or(err, w.sound(), w.settle(), w.sound()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

// An entry costs one look a level, however far the wheel turns for it.
func TestWheelLooks(t *testing.T) {
	for level := range 8 {
		for _, d := range []uint64{1, 2, 63} {
			away := min(d<<(levelBits*level), 100*year/tick)
			w := newWheelTwin(newRand(t, 0), start)
			w.add(start + away*tick)
			w.now = start + 200*year
			looks := 0
			for more := true; more; looks++ {
				var err error
				if more, err = w.advance(1); err != nil {
					t.Fatal(err)
				}
			}
			// The last call looks at nothing.
			if looks--; looks > level+1 {
				t.Errorf("%d ticks away: looked at %d times, at most %d", away, looks, level+1)
			}
		}
	}
}

// Budgets add up: pieces free what one go does, and `more` says when to go on.
func TestWheelBudget(t *testing.T) {
	r := newRand(t, 0)
	w := newWheelTwin(r, start)
	for range 1000 {
		w.add(start + r.Uint64N(100*tick))
	}
	w.now = start + 200*tick
	calls := 1
	for ; ; calls++ {
		more, err := w.advance(7)
		if err := cmp.Or(err, w.sound()); err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
	}
	if len(w.list) > 0 || calls < 1000/7 || calls > 3000/7 {
		t.Errorf("%d entries left after %d calls", len(w.list), calls)
	}
	if more, _ := w.advance(0); more {
		t.Error("an empty wheel has more to do")
	}
}

// A key in steady use is not moved each time it is charged: its entry is looked
// at only when the slot that it stands in comes due.
func TestWheelIsLazy(t *testing.T) {
	w := newWheelTwin(newRand(t, 0), start)
	const window = 60 * second
	w.add(start + window)
	looks := 0
	for w.now < start+3600*second {
		w.now += second / 10
		w.charge(0, w.now+window)
		for more := true; more; looks++ {
			var err error
			if more, err = w.advance(1); err != nil {
				t.Fatal(err)
			}
		}
		looks--
	}
	// 36,000 charges; the entry comes due once a window, over three levels.
	if looks > 3*60+3 || len(w.list) != 1 {
		t.Errorf("looked at %d times in an hour, %d entries", looks, len(w.list))
	}
}

// The first and the last instants that there are.
func TestWheelEnds(t *testing.T) {
	w := newWheelTwin(newRand(t, 0), 0)
	for _, expiry := range []uint64{0, 1, tick - 1, tick, math.MaxUint64 - tick, math.MaxUint64 - 1, math.MaxUint64} {
		w.add(expiry)
		if err := w.sound(); err != nil {
			t.Fatal(err)
		}
	}
	for _, now := range []uint64{0, 1, tick, math.MaxUint64 - tick, math.MaxUint64 - 1} {
		w.now = now
		if err := cmp.Or(w.settle(), w.sound()); err != nil {
			t.Fatalf("at %d: %v", now, err)
		}
	}
	if len(w.list) != 1 {
		t.Errorf("%d entries left, want the one that never ends", len(w.list))
	}
}

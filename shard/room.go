package shard

// Room for new keys. What the table takes is bounded; when the bound is reached,
// keys that have become fresh go first. A key that still holds anything is never
// thrown away, unless the operator has chosen that the one which is fresh soonest
// may be.

import (
	"slices"
	"unsafe"

	"sluice/algorithms"
)

// Bounds are how large a core may grow. Zero means no bound.
type Bounds struct {
	KeysMax      int
	BytesMax     int
	EvictSoonest bool
}

const (
	// sweepForRoomEntries is how many entries are looked at before it is seen
	// whether there is room now, and sweepForRoomEntriesMax how many for one new
	// key: a millisecond of work, which is seldom needed twice, because what is
	// looked at is freed or put where it belongs.
	sweepForRoomEntries    = 128
	sweepForRoomEntriesMax = 16 << 10
	// evictChoiceEntries is among how many of the entries that are due next the
	// one to evict is chosen.
	evictChoiceEntries = 32
)

// Bound sets the bounds.
func (c *Core) Bound(b Bounds) { c.bounds = b }

// makeRoom says whether an entry can be made for a call that passes, after it has
// freed what may be freed for it.
func (c *Core) makeRoom(now uint64, op *Op) bool {
	if !c.full(op) {
		return true
	}
	c.sweepUntil(now, func() bool { return !c.full(op) })
	if c.full(op) && c.bounds.EvictSoonest {
		c.evictFor(now, len(op.Key))
	}
	return !c.full(op)
}

// Sweep frees keys that are fresh, without the grace and within a budget as Tick does.
func (c *Core) Sweep(now uint64, budget int) (more bool) {
	return c.wheel.advance(now, budget, c.ahead, c.expire)
}

// sweepUntil frees keys whose time has come until there is enough room, nothing is
// left that is due, or enough has been looked at.
func (c *Core) sweepUntil(now uint64, enough func() bool) {
	for looked := 0; looked < sweepForRoomEntriesMax; looked += sweepForRoomEntries {
		if more := c.Sweep(now, sweepForRoomEntries); !more || enough() {
			return
		}
	}
}

// full says whether there is no room for an entry for a call. One that goes where
// another has been takes no memory, so there is always room for it.
func (c *Core) full(op *Op) bool {
	if c.tooMany() {
		return true
	}
	if c.bounds.BytesMax == 0 {
		return false
	}
	growth := c.slab.growth()
	if _, grows := c.blockFor(len(op.Key)); grows {
		growth += c.keys.growth(len(op.Key))
	}
	return growth > 0 && c.Bytes()+growth > c.bounds.BytesMax
}

// blockFor is the class of the block that a key of n bytes gets, and whether that takes
// memory: where there is none for another page of its own size, a larger block that is
// free will do.
func (c *Core) blockFor(n int) (class int, grows bool) {
	class = blockClass(n)
	growth := c.keys.growth(n)
	if growth == 0 {
		return class, false
	}
	if c.bounds.BytesMax > 0 && c.Bytes()+growth > c.bounds.BytesMax {
		if larger := c.keys.larger(class); larger != 0 {
			return larger, false
		}
	}
	return class, true
}

// tooMany says whether there may not be one key more.
func (c *Core) tooMany() bool {
	count := c.index.count + c.making
	return count >= KeysPerShardMax || c.bounds.KeysMax > 0 && count >= c.bounds.KeysMax
}

// roomForRuns says whether a sliding log may grow.
func (c *Core) roomForRuns(now uint64) bool {
	fits := func() bool { return c.Bytes() <= c.bounds.BytesMax }
	if c.bounds.BytesMax == 0 || fits() {
		return true
	}
	c.sweepUntil(now, fits)
	return fits()
}

// growsLog says whether a call on what has been loaded would make a log take more
// memory. What is denied takes none.
func (c *Core) growsLog(op *Op) bool {
	if c.stored.Log.Spare() > 0 {
		return false
	}
	algorithms.Peek(&op.Call, &c.stored, &op.Decision)
	return op.Decision.Allowed
}

// growth is what the next entry adds to the slab.
func (s *slab) growth() int {
	if s.free != 0 || int(s.next>>chunkBits) < len(s.chunks) {
		return 0
	}
	return chunkEntries * int(unsafe.Sizeof(entry{}))
}

// growth is what the next key of n bytes adds to the pages.
func (k *keys) growth(n int) int {
	class := blockClass(n)
	if k.classes[class].room != 0 {
		return 0
	}
	return classSizes[class] << classShifts[class]
}

// evictFor throws away one entry so that there is room for a key of n bytes: of the first of those that
// are due next, the one that is fresh soonest. Where what is missing is a block for
// the key, only an entry with one that is large enough helps, and no other is touched.
func (c *Core) evictFor(now uint64, n int) {
	crowded := c.tooMany()
	least, grows := c.blockFor(n)
	if crowded || !grows {
		least = 0
	}
	best := slot(0)
	for i, n := c.wheel.first(), 0; i != 0 && n < evictChoiceEntries; n++ {
		e := c.slab.at(i)
		if int(e.key>>keyIndexBits) >= least && !slices.Contains(c.pinned, i) && (best == 0 || e.expiry < c.slab.at(best).expiry) {
			best = i
		}
		i = e.next
	}
	if best == 0 {
		return
	}
	e := c.slab.at(best)
	if e.expiry <= now {
		c.expire(best, e)
		return
	}
	c.stats.Evicted++
	if crowded {
		c.stats.Crowded++
	}
	c.endLife(c.keys.get(e.key))
	c.forget(e)
	c.remove(best, e)
}

// first is an entry of the slot that is due next, 0 if the wheel is empty.
func (w *wheel) first() slot {
	if at, ok := w.current(); ok {
		return w.heads[at]
	}
	for level := range wheelLevels {
		if d, ok := w.ahead(level); ok {
			return w.heads[level*wheelSlots+d]
		}
	}
	return 0
}

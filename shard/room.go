package shard

// Room for new keys. What the table takes is bounded; when the bound is reached,
// keys that have become fresh go first. A key that still holds anything is never
// thrown away, unless the operator has chosen that the one which is fresh soonest
// may be.

import "unsafe"

// Bounds are how large a core may grow. Zero means no bound.
type Bounds struct {
	KeysMax      int
	BytesMax     int
	EvictSoonest bool
}

const (
	// sweepForRoomEntries is how many entries are looked at for one new key.
	sweepForRoomEntries = 128
	// evictChoiceEntries is among how many of the entries that are due next the
	// one to evict is chosen.
	evictChoiceEntries = 32
)

// Bound sets the bounds.
func (c *Core) Bound(b Bounds) { c.bounds = b }

// makeRoom says whether an entry with a key of n bytes can be made, after it has
// freed what may be freed for it.
func (c *Core) makeRoom(now uint64, n int) bool {
	if !c.full(n) {
		return true
	}
	c.wheel.advance(now, sweepForRoomEntries, c.expire)
	if c.full(n) && c.bounds.EvictSoonest {
		c.evict()
	}
	return !c.full(n)
}

// full says whether there is no room for an entry with a key of n bytes.
func (c *Core) full(n int) bool {
	if c.index.count >= KeysPerShardMax || c.bounds.KeysMax > 0 && c.index.count >= c.bounds.KeysMax {
		return true
	}
	return c.bounds.BytesMax > 0 && c.Bytes()+c.slab.growth()+c.keys.growth(n) > c.bounds.BytesMax
}

// roomForRuns says whether a sliding log may grow.
func (c *Core) roomForRuns(now uint64) bool {
	if c.bounds.BytesMax == 0 || c.Bytes() <= c.bounds.BytesMax {
		return true
	}
	c.wheel.advance(now, sweepForRoomEntries, c.expire)
	return c.Bytes() <= c.bounds.BytesMax
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

// evict throws away one entry: of the first of those that are due next, the one
// that is fresh soonest.
func (c *Core) evict() {
	head := c.wheel.first()
	best := head
	for i, n := head, 0; i != 0 && n < evictChoiceEntries; n++ {
		e := c.slab.at(i)
		if e.expiry < c.slab.at(best).expiry {
			best = i
		}
		i = e.next
	}
	if best != 0 {
		e := c.slab.at(best)
		c.stats.Evicted++
		c.forget(e)
		c.remove(best, e)
	}
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

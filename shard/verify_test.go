package shard

// A check that cannot fail is worse than none: each row breaks a sound core in one
// way that verify must notice.

import (
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
)

// filled is a core of n keys, a tenth of them logs, with something in every free
// list, two limits out of use, and segments that were split.
func filled(t *testing.T, n int) *Core {
	t.Helper()
	a := asker{Core: NewCore(start)}
	bucket := newLimit(algorithms.TokenBucket, 100, time.Hour)
	window := newLimit(algorithms.FixedWindow, 100, time.Hour)
	log := newLimit(algorithms.SlidingLog, 100, time.Minute)
	other := newLimit(algorithms.GCRA, 7, time.Hour)
	var key []byte
	for i := range n + n/10 {
		l := bucket
		switch {
		case i >= n:
			l = other
		case i%10 == 0:
			l = log
		case i%10 == 1:
			l = window
		}
		key = key20(key, i)
		if !a.allow(start, string(key[i%3:]), l, 1) {
			t.Fatal("a fresh key was denied")
		}
	}
	for i := range n + n/10 {
		if key = key20(key, i); i >= n || i%20 == 0 {
			if !a.found(start, Reset, string(key[i%3:])) {
				t.Fatalf("no key %s", key)
			}
		}
	}
	must(t, a.Core)
	return a.Core
}

func TestVerifyCatches(t *testing.T) {
	const n = 3000
	entryOf := func(c *Core, id algorithms.ID, skip int) *entry {
		for _, e := range c.live() {
			if c.limits.at(e.limit).Algorithm == id {
				if skip--; skip < 0 {
					return e
				}
			}
		}
		panic("no such entry")
	}
	meter := func(c *Core, skip int) *entry { return entryOf(c, algorithms.TokenBucket, skip) }
	log := func(c *Core, skip int) *entry { return entryOf(c, algorithms.SlidingLog, skip) }
	busy := func(c *Core) int {
		for at, i := range c.wheel.heads {
			if i != 0 && c.slab.at(i).next != 0 {
				return at
			}
		}
		panic("the wheel is empty")
	}
	cellsOf := func(c *Core) (g *segment, at []int) {
		g = c.index.directory[0]
		for p, cell := range g.cells {
			if cell != 0 {
				at = append(at, p)
			}
		}
		return g, at
	}
	for _, row := range []struct {
		catch string
		harm  func(c *Core)
	}{
		{"slab: entry", func(c *Core) { meter(c, 0).expiry++ }},
		{"slab:", func(c *Core) { meter(c, 0).limit = 0 }},
		{"slab:", func(c *Core) { c.slab.free = c.slab.at(c.slab.free).next }},
		{"slab: the free list has no end", func(c *Core) { c.slab.at(c.slab.free).next = c.slab.free }},
		{"slab: entry", func(c *Core) { c.slab.at(c.slab.free).limit = 1 }},
		{"slab:", func(c *Core) { c.index.count++ }},
		{"slab:", func(c *Core) { c.slab.chunks = append(c.slab.chunks, new([chunkEntries]entry)) }},
		{"index:", func(c *Core) { c.index.directory[1] = c.index.directory[0] }},
		{"index:", func(c *Core) { c.index.segments++ }},
		{"index:", func(c *Core) { g, at := cellsOf(c); g.cells[at[0]] = 0 }},
		{"index:", func(c *Core) { g, at := cellsOf(c); g.cells[at[0]] ^= 1 << slotBits }},
		{"", func(c *Core) { g, at := cellsOf(c); g.cells[at[0]] = g.cells[at[1]] }},
		{"index:", func(c *Core) { g, _ := cellsOf(c); g.used-- }},
		{"index:", func(c *Core) { meter(c, 3).hash ^= 1 << 30 }},
		{"keys:", func(c *Core) { meter(c, 0).hash ^= 1 << 63 }},
		{"keys:", func(c *Core) { c.keys.get(meter(c, 0).key)[0]++ }},
		{"keys:", func(c *Core) { meter(c, 0).key = meter(c, 1).key }},
		{"keys:", func(c *Core) { c.keys.drop(meter(c, 0).key) }},
		{"keys:", func(c *Core) { c.keys.put([]byte("nobody's")) }},
		{"keys:", func(c *Core) { c.keys.total++ }},
		{"keys:", func(c *Core) { c.keys.classes[blockClass(19)].room = 0 }},
		{"keys:", func(c *Core) { c.keys.classes[blockClass(19)].pages[0].used-- }},
		{"keys:", func(c *Core) { c.keys.classes[blockClass(19)].pages[0].unused++ }},
		{"keys:", func(c *Core) { c.keys.classes[blockClass(19)].pages[0].free = 0 }},
		{"keys:", func(c *Core) { c.keys.classes[blockClass(19)].spare = []pageRef{1} }},
		{"limits:", func(c *Core) { c.limits.use(c.limits.at(meter(c, 0).limit)) }},
		{"limits:", func(c *Core) { c.limits.drop(meter(c, 0).limit) }},
		{"limits:", func(c *Core) { c.limits.free = 0 }},
		{"limits:", func(c *Core) { c.limits.at(meter(c, 0).limit).Align++ }},
		{"limits:", func(c *Core) { c.limits.find[algorithms.Limit{}] = 1 }},
		{"logs:", func(c *Core) { log(c, 0).state.C = log(c, 1).state.C }},
		{"limits:", func(c *Core) { c.limits.row(c.limits.free).next = c.limits.free }},
		{"logs:", func(c *Core) { c.logs.free = c.logs.rows.at(c.logs.free).next }},
		{"logs:", func(c *Core) { c.logs.rows.at(c.logs.free).next = c.logs.free }},
		{"logs:", func(c *Core) { c.logs.at(log(c, 0).state.C).Reset() }},
		{"logs:", func(c *Core) { c.logs.at(uint64(c.logs.free)).Append(1, 1) }},
		{"logs:", func(c *Core) { c.logs.at(0).Append(1, 1) }},
		{"logs:", func(c *Core) { c.logs.bytes++ }},
		{"wheel:", func(c *Core) { c.wheel.unlink(meter(c, 5)) }},
		{"wheel:", func(c *Core) { c.wheel.occupied[busy(c)/wheelSlots] = 0 }},
		{"wheel:", func(c *Core) { c.wheel.occupied[7] = 1 << 63 }},
		{"wheel:", func(c *Core) { e := c.slab.at(c.wheel.heads[busy(c)]); c.slab.at(e.next).prev++ }},
		{"wheel:", func(c *Core) { c.wheel.now += year >> tickBits }},
		{"wheel:", func(c *Core) {
			// An hour's key where a hundred years' would stand.
			i := c.wheel.heads[busy(c)]
			e := c.slab.at(i)
			c.wheel.unlink(e)
			was := e.expiry
			e.expiry = start + 100*year
			c.wheel.link(i, e)
			e.expiry = was
		}},
		{"ledger:", func(c *Core) { meter(c, 0).limit |= flagDirty }},
	} {
		c := filled(t, n)
		row.harm(c)
		if err := c.verify(); err == nil || !strings.HasPrefix(err.Error(), row.catch) {
			t.Errorf("verify says %v, want %s…", err, row.catch)
		}
	}
}

// With -tags invariants a broken core does not work on; without, nobody looks.
func TestVerifiedPanics(t *testing.T) {
	c := filled(t, 100)
	c.logs.bytes++
	defer func() {
		if v := recover(); (v != nil) != invariants {
			t.Errorf("a broken core panics with %v, invariants: %v", v, invariants)
		}
	}()
	a := asker{Core: c}
	for range 100 {
		a.found(start, Look, "a key")
	}
}

package shard

// What must hold of a core between two operations, in one walk over all of it.
// Tests ask for it when they like. With -tags invariants a core walks itself,
// once for as many operations as it has entries, so that it costs each of them
// about the same, and a core that is broken panics.
//
// Every structure is seen twice, from the entries that it serves and from what it
// keeps of its own: all that is in use is named by exactly one live entry, and
// all that is not stands in a free list exactly once.

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"

	"sluice/algorithms"
)

// verified walks over a core that has done n operations more, if it is due, and
// panics where something does not hold.
func (c *Core) verified(n int) {
	if c.unverified += n; c.unverified < c.Len() {
		return
	}
	c.unverified = 0
	if err := c.verify(); err != nil {
		panic(err)
	}
}

// verify returns the first thing that does not hold.
func (c *Core) verify() error {
	for _, part := range []func() error{
		c.verifySlab, c.verifyIndex, c.verifyKeys, c.verifyLimits, c.verifyLogs, c.verifyWheel, c.verifyLedger, c.verifyLeases, c.ids.verify,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// verify: ids are as keys are, each under the hash of its name; and nothing is in both
// places.
func (t *ids) verify() error {
	if a := t.answered; a != nil {
		c := &Core{slab: a.slab, index: a.index, wheel: a.wheel}
		for _, part := range []func() error{c.verifyIndex, c.verifyWheel} {
			if err := part(); err != nil {
				return fmt.Errorf("ids: %w", err)
			}
		}
		for i, e := range c.live() {
			name, _ := a.at(e)
			if _, at := a.slot(name); at != i || t.byName[string(name)] != nil {
				return fmt.Errorf("ids: %q stands in %d and is found in %d, or is among the others too", name, i, at)
			}
		}
	}
	size := 0
	for _, id := range t.byName {
		size += id.size()
	}
	if size != t.bytes {
		return fmt.Errorf("ids: %d bytes, told %d", size, t.bytes)
	}
	return t.queue.verify()
}

// live ranges over the entries that are in use.
func (c *Core) live() iter.Seq2[slot, *entry] {
	return func(yield func(slot, *entry) bool) {
		for i := slot(1); i < c.slab.next; i++ {
			if e := c.slab.at(i); e.limit != 0 && !yield(i, e) {
				return
			}
		}
	}
}

// verifySlab: a slot is live or in the free list, and not twice.
func (c *Core) verifySlab() error {
	s := &c.slab
	used, unused := 0, 0
	for i, e := range c.live() {
		used++
		if l := c.limits.at(e.limit); e.expiry != algorithms.FreshAt(e.state, l) {
			return fmt.Errorf("slab: entry %d expires at %d, but its state is fresh at %d", i, e.expiry, algorithms.FreshAt(e.state, l))
		}
	}
	for i := s.free; i != 0; i = s.at(i).next {
		if i >= s.next || s.at(i).limit != 0 {
			return fmt.Errorf("slab: entry %d of %d is in the free list and not free", i, s.next)
		}
		if unused++; unused > c.Slots() {
			return fmt.Errorf("slab: the free list has no end")
		}
	}
	if used+unused != c.Slots() || used != c.index.count {
		return fmt.Errorf("slab: %d entries live and %d free of %d, %d in the index", used, unused, c.Slots(), c.index.count)
	}
	if want := (c.Slots() + chunkEntries) / chunkEntries; c.Slots() > 0 && len(s.chunks) != want {
		return fmt.Errorf("slab: %d chunks for %d entries, want %d", len(s.chunks), c.Slots(), want)
	}
	return nil
}

// verifyIndex: the directory names each segment where its bits say, and there are
// as many cells as entries.
func (c *Core) verifyIndex() error {
	x := &c.index
	seen := make(map[*segment]bool)
	cells := 0
	for at, g := range x.directory {
		size := 1 << g.depth
		if size > len(x.directory) || x.directory[at&(size-1)] != g {
			return fmt.Errorf("index: place %d of %d names a segment of depth %d that is not its own", at, len(x.directory), g.depth)
		}
		if seen[g] {
			continue
		}
		seen[g] = true
		cells += int(g.used)
		if err := x.verifySegment(g, uint64(at)); err != nil {
			return err
		}
	}
	if len(seen) != x.segments || cells != x.count {
		return fmt.Errorf("index: %d segments with %d cells in use, want %d with %d", len(seen), cells, x.segments, x.count)
	}
	return nil
}

// verifySegment: every cell is a live entry's whose hash belongs here, and no
// probe for it meets an empty cell.
func (x *index) verifySegment(g *segment, low uint64) error {
	used := 0
	for at, cell := range g.cells {
		if cell == 0 {
			continue
		}
		used++
		i := cell.slot()
		if i == 0 || i >= x.entries.next || x.entries.at(i).limit == 0 {
			return fmt.Errorf("index: a cell of segment %#x names entry %d, which is free", low, i)
		}
		hash := x.entries.at(i).hash
		if hash&(1<<g.depth-1) != low || makeCell(hash, i) != cell {
			return fmt.Errorf("index: entry %d with hash %#x stands in segment %#x of depth %d as %#x", i, hash, low, g.depth, cell)
		}
		for p := home(hash); p != uint(at); p = (p + 1) % segmentCells {
			if g.cells[p] == 0 {
				return fmt.Errorf("index: a probe for entry %d ends at cell %d, before cell %d", i, p, at)
			}
		}
	}
	if used != int(g.used) || used > segmentCellsUsedMax {
		return fmt.Errorf("index: segment %#x has %d cells in use, told %d", low, used, g.used)
	}
	return nil
}

// verifyKeys: every live entry is found by its key, its block is of the right
// size and nobody else's.
func (c *Core) verifyKeys() error {
	var taken [keyClasses][]bool
	for class := range taken {
		taken[class] = make([]bool, len(c.keys.classes[class].pages)<<classShifts[class])
	}
	for i, e := range c.live() {
		blocks, block := taken[e.key>>keyIndexBits], e.key&keyIndexMask
		if int(block) >= len(blocks) || blocks[block] {
			return fmt.Errorf("keys: block %#x of entry %d is another's too, or none", e.key, i)
		}
		blocks[block] = true
		op := Op{Key: c.keys.get(e.key), hash: e.hash}
		if found := c.find(&op); found != i || c.hash(op.Key) != e.hash {
			return fmt.Errorf("keys: looking for %q of entry %d finds entry %d", op.Key, i, found)
		}
		if class := blockClass(len(op.Key)); class > int(e.key>>keyIndexBits) {
			return fmt.Errorf("keys: a key of %d bytes stands in class %d, want %d or more", len(op.Key), e.key>>keyIndexBits, class)
		}
	}
	return c.keys.verifyPages(taken[:])
}

// verifyPages: what no entry has taken is free or was never handed out, and the
// lists hold the pages that they should.
func (k *keys) verifyPages(taken [][]bool) error {
	bytes := 0
	for class := range k.classes {
		c, size := &k.classes[class], uint32(1)<<classShifts[class]
		room, spare := 0, len(c.spare)
		for n := range c.pages {
			p := &c.pages[n]
			bytes += len(p.bytes)
			if p.bytes == nil {
				spare--
			} else if p.used < size {
				room++
			}
			if err := k.verifyPage(class, n, taken[class][uint32(n)*size:][:size]); err != nil {
				return err
			}
		}
		before := pageRef(0)
		for n := c.room; n != 0; before, n = n, c.pages[n-1].next {
			if p := &c.pages[n-1]; p.bytes == nil || p.used == size || p.prev != before || room < 0 {
				return fmt.Errorf("keys: page %d of class %d is on the list of those with room and should not be, or there twice", n-1, class)
			}
			room--
		}
		if room != 0 || spare != 0 {
			return fmt.Errorf("keys: class %d: %d pages more have room, and %d more are spare, than the lists say", class, room, -spare)
		}
	}
	if bytes != k.bytes() {
		return fmt.Errorf("keys: %d bytes in pages, told %d", bytes, k.bytes())
	}
	return nil
}

// verifyPage: the blocks of a page are taken, or in its free list, or were never
// handed out.
func (k *keys) verifyPage(class, n int, taken []bool) error {
	p := &k.classes[class].pages[n]
	used, free := uint32(0), uint32(0)
	for _, is := range taken {
		if is {
			used++
		}
	}
	for i := p.free; i != 0; free++ {
		if i > p.unused || taken[i-1] || free > p.unused {
			return fmt.Errorf("keys: block %d of page %d of class %d is in the free list and not free", i-1, n, class)
		}
		i = binary.LittleEndian.Uint32(k.block(keyRef(class<<keyIndexBits | n<<classShifts[class] | int(i-1))))
	}
	if used != p.used || used+free != p.unused {
		return fmt.Errorf("keys: page %d of class %d has %d blocks in use, told %d, and %d free, of %d", n, class, used, p.used, free, p.unused)
	}
	return nil
}

// verifyLimits: uses are counted right, and what is not used is free.
func (c *Core) verifyLimits() error {
	t := &c.limits
	uses, free := make([]uint32, t.rows.len), 0
	for _, e := range c.live() {
		uses[e.limit&limitRefMask]++
	}
	for r := t.free; r != 0; r = t.row(r).next {
		if free++; uses[r] != 0 || t.row(r).uses != 0 || free > len(uses) {
			return fmt.Errorf("limits: row %d is free, but used %d times, told %d, or free twice", r, uses[r], t.row(r).uses)
		}
	}
	for r := limitRef(1); r < limitRef(len(uses)); r++ {
		row := t.row(r)
		if uses[r] != row.uses || row.uses > 0 && t.find[row.limit] != r {
			return fmt.Errorf("limits: row %d is used %d times, told %d, or not found by its limit %v", r, uses[r], row.uses, row.limit)
		}
	}
	if used := len(uses) - 1 - free; len(t.find) != used {
		return fmt.Errorf("limits: %d limits can be found, want %d", len(t.find), used)
	}
	return nil
}

// verifyLogs: every log but the first is one entry's or free, and what is free is
// empty.
func (c *Core) verifyLogs() error {
	t := &c.logs
	taken := make([]bool, t.rows.len)
	taken[0] = true
	for i, e := range c.live() {
		if !c.limits.at(e.limit).Logged() {
			continue
		}
		if n := e.state.C; n >= uint64(len(taken)) || taken[n] || t.at(n).Len() == 0 {
			return fmt.Errorf("logs: log %d of entry %d is another's too, or empty, or none", n, i)
		}
		taken[e.state.C] = true
	}
	for n := t.free; n != 0; n = t.rows.at(n).next {
		if taken[n] || t.at(uint64(n)).Len() != 0 {
			return fmt.Errorf("logs: log %d is free, but not free or free twice, or has %d runs", n, t.at(uint64(n)).Len())
		}
		taken[n] = true
	}
	bytes := 0
	for n, in := range taken {
		if !in {
			return fmt.Errorf("logs: log %d is nobody's and not free", n)
		}
		bytes += t.at(uint64(n)).Bytes()
	}
	if bytes != t.bytes || t.at(0).Len() != 0 {
		return fmt.Errorf("logs: %d bytes in runs, told %d; %d runs in the log that must be empty", bytes, t.bytes, t.at(0).Len())
	}
	return nil
}

// verifyWheel: every live entry is linked once, in a slot that begins at or before
// its expiry or is the current one.
func (c *Core) verifyWheel() error {
	w, linked := &c.wheel, 0
	for at := range w.heads {
		level, d := at/wheelSlots, at%wheelSlots
		if w.occupied[level]>>d&1 != 0 != (w.heads[at] != 0) {
			return fmt.Errorf("wheel: slot %d of level %d begins with entry %d, but its bit says otherwise", d, level, w.heads[at])
		}
		if w.heads[at] != 0 && d < digit(w.now, level) {
			return fmt.Errorf("wheel: slot %d of level %d is behind %d and not empty", d, level, digit(w.now, level))
		}
		before := inWheel | slot(at)
		for i := w.heads[at]; i != 0; i = w.entries.at(i).next {
			e := w.entries.at(i)
			if e.limit == 0 || e.prev != before {
				return fmt.Errorf("wheel: entry %d in slot %d of level %d is free, or comes after %#x and not after %#x", i, d, level, e.prev, before)
			}
			if begin := w.begin(level, d); e.expiry>>tickBits < begin && d != digit(w.now, level) {
				return fmt.Errorf("wheel: entry %d expires in tick %d, its slot begins with %d", i, e.expiry>>tickBits, begin)
			}
			if before, linked = i, linked+1; linked > c.Len() {
				return fmt.Errorf("wheel: more entries than there are")
			}
		}
	}
	if linked != c.Len() {
		return fmt.Errorf("wheel: %d entries linked, want %d", linked, c.Len())
	}
	return nil
}

// begin is the tick with which a slot at or after the current one begins.
func (w *wheel) begin(level, d int) uint64 {
	unit := level * levelBits
	return w.now>>(unit+levelBits)<<(unit+levelBits) | uint64(d)<<unit
}

// verifyLedger: every entry that is marked as to be written is in the set, which has
// counted its slots and words.
func (c *Core) verifyLedger() error {
	m, count := &c.ledger.dirty, 0
	for n, word := range m.words {
		count += bits.OnesCount64(word)
		if word != 0 != (m.busy[n/64]>>(n%64)&1 != 0) {
			return fmt.Errorf("ledger: word %d of the marks is %#x, but its bit says otherwise", n, word)
		}
	}
	if count != m.count {
		return fmt.Errorf("ledger: %d slots are marked, told %d", count, m.count)
	}
	has := func(i slot) bool { return int(i/64) < len(m.words) && m.words[i/64]>>(i%64)&1 != 0 }
	for i, e := range c.live() {
		if e.limit&flagDirty != 0 && !has(i) {
			return fmt.Errorf("ledger: entry %d is dirty and not marked", i)
		}
		if !c.ledger.on && e.limit&flagDirty != 0 {
			return fmt.Errorf("ledger: it is off, but entry %d is dirty", i)
		}
	}
	return nil
}

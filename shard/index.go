package shard

// The index finds an entry by its key's hash. It is extendible hashing: a
// directory, addressed by the low bits of the hash, of segments that each hold
// about a thousand cells. A segment that fills up is split in two by one more
// bit of the hash, and the directory doubles when a segment needs a bit that it
// does not have. So growth is a few microseconds at a time at any size, there is
// never an old and a new table, and nothing but one segment is touched.
//
//	directory ──▶ segment: used, depth, 1023 cells
//	              cell:    tag 6 bits │ slot 26 bits      0 = empty
//
// Inside a segment it is open addressing with linear probing. The tag keeps the
// probe from touching entries of other keys; deletion shifts back, so there are
// no tombstones to collect.
//
// Which bits do what: 0 … 16 pick the segment, 27 … 32 are the tag, 38 … 47 the
// first cell. The hash is maphash with a seed of the process, so that nobody can
// choose keys that meet in one segment.

const (
	tagBits      = 32 - slotBits
	slotMask     = 1<<slotBits - 1
	segmentCells = 1023
	// segmentCellsUsedMax is when a segment is split: 80 % full.
	segmentCellsUsedMax = segmentCells * 8 / 10
)

type cell uint32

type segment struct {
	used  uint16
	depth uint8 // how many low bits of the hash all its keys share
	cells [segmentCells]cell
}

type index struct {
	directory []*segment
	segments  int
	count     int
	entries   *slab // for the hashes of entries that must move
}

func newIndex(entries *slab) index {
	return index{directory: []*segment{new(segment)}, segments: 1, entries: entries}
}

func (x *index) segment(hash uint64) *segment {
	return x.directory[hash&uint64(len(x.directory)-1)]
}

// home is the first cell to probe for a hash.
func home(hash uint64) uint {
	return uint(uint64(uint32(hash>>16)) * segmentCells >> 32)
}

// makeCell joins the tag of a hash and a slot.
func makeCell(hash uint64, i slot) cell {
	return cell(uint32(hash>>27)<<slotBits | uint32(i))
}

func (c cell) slot() slot { return slot(c & slotMask) }

// touch loads the first cell that candidate will look at.
func (x *index) touch(hash uint64) uint32 { return uint32(x.segment(hash).cells[home(hash)]) }

// candidate returns the first entry whose cell carries the hash's tag, 0 if
// there is none. It touches no entry, so it may be another key's.
func (x *index) candidate(hash uint64) slot {
	g := x.segment(hash)
	want := makeCell(hash, 0)
	for p := home(hash); ; {
		c := g.cells[p]
		if c == 0 {
			return 0
		}
		if c&^slotMask == want {
			return c.slot()
		}
		if p++; p == segmentCells {
			p = 0
		}
	}
}

// find calls same on every entry that may be the key's until one is.
func (x *index) find(hash uint64, same func(slot) bool) slot {
	g := x.segment(hash)
	want := makeCell(hash, 0)
	for p := home(hash); ; {
		c := g.cells[p]
		if c == 0 {
			return 0
		}
		if c&^slotMask == want && same(c.slot()) {
			return c.slot()
		}
		if p++; p == segmentCells {
			p = 0
		}
	}
}

// insert adds an entry that is not in the index.
func (x *index) insert(hash uint64, i slot) {
	g := x.segment(hash)
	for g.used >= segmentCellsUsedMax {
		x.split(hash)
		g = x.segment(hash)
	}
	g.put(hash, i)
	x.count++
}

func (g *segment) put(hash uint64, i slot) {
	p := home(hash)
	for g.cells[p] != 0 {
		if p++; p == segmentCells {
			p = 0
		}
	}
	g.cells[p] = makeCell(hash, i)
	g.used++
}

// split divides the segment of a hash by the next bit of the hash.
func (x *index) split(hash uint64) {
	old := x.segment(hash)
	if 1<<old.depth == len(x.directory) {
		x.directory = append(x.directory, x.directory...)
	}
	bit := uint64(1) << old.depth
	cells := old.cells
	*old = segment{depth: old.depth + 1}
	sibling := &segment{depth: old.depth}
	x.segments++
	for at := hash&(bit-1) | bit; at < uint64(len(x.directory)); at += bit << 1 {
		x.directory[at] = sibling
	}
	// The hashes are all over memory. A loop that does nothing but load them waits for
	// many at once.
	var hashes [segmentCells]uint64
	for p, c := range cells {
		if c != 0 {
			hashes[p] = x.entries.at(c.slot()).hash
		}
	}
	for p, c := range cells {
		switch h := hashes[p]; {
		case c == 0:
		case h&bit != 0:
			sibling.put(h, c.slot())
		default:
			old.put(h, c.slot())
		}
	}
}

// touchRun loads what remove will look at: the entries behind that of a slot, up to the
// next empty cell.
func (x *index) touchRun(hash uint64, i slot) (touched uint32) {
	g, passed := x.segment(hash), false
	for p := home(hash); g.cells[p] != 0; {
		at := g.cells[p].slot()
		if passed {
			touched ^= uint32(x.entries.at(at).hash)
		}
		passed = passed || at == i
		if p++; p == segmentCells {
			p = 0
		}
	}
	return touched
}

// remove takes an entry out. It must be in the index.
func (x *index) remove(hash uint64, i slot) {
	g := x.segment(hash)
	p := home(hash)
	for g.cells[p].slot() != i {
		if p++; p == segmentCells {
			p = 0
		}
	}
	g.used--
	x.count--
	// Close the gap: an entry further on may come back if its probe would have
	// passed the gap.
	for q := p; ; {
		if q++; q == segmentCells {
			q = 0
		}
		c := g.cells[q]
		if c == 0 {
			break
		}
		h := home(x.entries.at(c.slot()).hash)
		if (q+segmentCells-h)%segmentCells >= (q+segmentCells-p)%segmentCells {
			g.cells[p] = c
			p = q
		}
	}
	g.cells[p] = 0
}

// bytes is the memory of directory and segments.
func (x *index) bytes() int { return x.segments*4096 + cap(x.directory)*8 }

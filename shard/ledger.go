package shard

// The ledger is what a core owes the journal: which entries have changed since
// they were last written, and what was deleted. Records are absolute, so however
// often an entry has changed it is written once, as it is when its turn comes.
//
// An entry carries two marks. Dirty: it stands on the list of what is to be
// written. Recorded: a record of it that has not expired may be on disk, so when
// it goes before its time the disk must be told. An entry that comes and goes
// between two flushes costs the journal nothing.

import (
	"sluice/algorithms"
	"sluice/persistence"
)

const (
	flagDirty    limitRef = 1 << 31
	flagRecorded limitRef = 1 << 30

	// RecordsBytesMax is about how many bytes of records are taken at once: less
	// than this and one record more.
	RecordsBytesMax = 256 << 10
	// LogLimitMax is the largest limit that a sliding log may be configured to
	// have, so that its record, which holds all its runs, fits a frame. A run is
	// its distance in time from the run before, at most 6 bytes on average when
	// there are so many of them in a century, and its units, mostly 1 byte.
	LogLimitMax = 1_000_000

	// ledgerKeptBytesMax is how much memory of deletions is kept for the next ones.
	ledgerKeptBytesMax = 1 << 20
)

type ledger struct {
	on      bool
	n, of   int      // which shard of how many this core is
	dirty   []slot   // changed since the last flush began
	taking  []slot   // what is left of the flush that is under way
	listed  []uint64 // a bit for each slot that stands on one of the two
	records []byte   // deletions, encoded when they happened
	taken   int      // so many bytes of them are taken already
	value   []byte   // scratch
	ids     []*ID    // changed since they were last taken
	notes   []string // the same

	accounts []*account // the same

	head limitHead // of the record that was restored last
}

// Journal switches the ledger on, for shard n of of: from now on changes are kept
// for TakeRecords.
func (c *Core) Journal(n, of int) { c.ledger = ledger{on: true, n: n, of: of} }

// touch notes that an entry has changed.
func (c *Core) touch(i slot, e *entry) {
	if c.ledger.on && e.limit&flagDirty == 0 {
		e.limit |= flagDirty
		c.ledger.list(i)
	}
}

// list puts a slot on the list, once: keys may come and go in it as often as they
// like while nothing is taken.
func (g *ledger) list(i slot) {
	word, bit := int(i/64), uint64(1)<<(i%64)
	for word >= len(g.listed) {
		g.listed = append(g.listed, 0)
	}
	if g.listed[word]&bit == 0 {
		g.listed[word] |= bit
		g.dirty = append(g.dirty, i)
	}
}

// forget notes that an entry goes before the time that may be on disk.
func (c *Core) forget(e *entry) {
	if c.ledger.on && e.limit&flagRecorded != 0 {
		c.ledger.records = persistence.AppendRecord(c.ledger.records, RecordKey, c.keys.get(e.key), nil)
	}
}

// Owes says whether there is anything to take.
func (c *Core) Owes() bool {
	g := &c.ledger
	return len(g.dirty)+len(g.taking)+len(g.records)+len(g.accounts)+len(g.ids)+len(g.notes) > 0
}

// TakeRecords appends the records of what has changed to dst, about
// RecordsBytesMax of them, and says whether there is more to take. A flush is
// calls until there is not; what changes meanwhile waits for the next flush.
func (c *Core) TakeRecords(now uint64, dst []byte) (records []byte, more bool) {
	g := &c.ledger
	if dst, more = g.takeDeletions(dst); more {
		return dst, true
	}
	if dst, more = c.takeAccounts(now, dst); more {
		return dst, true
	}
	if len(g.taking) == 0 {
		g.dirty, g.taking = g.taking[:0], g.dirty
	}
	for n := len(g.taking); n > 0; n = len(g.taking) {
		if len(dst) >= RecordsBytesMax {
			return dst, true
		}
		i := g.taking[n-1]
		g.taking = g.taking[:n-1]
		g.listed[i/64] &^= 1 << (i % 64)
		if e := c.slab.at(i); e.limit&flagDirty != 0 {
			e.limit &^= flagDirty
			dst = c.appendEntry(now, dst, e)
		}
	}
	if dst, more = c.takeIDs(dst); more {
		return dst, true
	}
	return c.takeNotes(dst)
}

// takeDeletions appends deletions to dst, about RecordsBytesMax of them, and says
// whether there are more. An entry is written only when there are none, so a key
// that came back after its deletion is written after it.
func (g *ledger) takeDeletions(dst []byte) (records []byte, more bool) {
	rest := g.records[g.taken:]
	if len(rest) > RecordsBytesMax {
		after := rest
		for len(rest)-len(after) < RecordsBytesMax && len(after) > 0 {
			_, after, _ = persistence.CutRecord(after)
		}
		n := len(rest) - len(after)
		g.taken += n
		return append(dst, rest[:n]...), true
	}
	dst = append(dst, rest...)
	g.records, g.taken = g.records[:0], 0
	if cap(g.records) > ledgerKeptBytesMax {
		g.records = nil
	}
	return dst, false
}

// bytes is the memory of the ledger.
func (g *ledger) bytes() int {
	return 4*(cap(g.dirty)+cap(g.taking)) + 8*cap(g.listed) + cap(g.records) + cap(g.value)
}

// appendEntry writes the record of an entry as it is now.
func (c *Core) appendEntry(now uint64, dst []byte, e *entry) []byte {
	if e.expiry <= now {
		if e.limit&flagRecorded == 0 {
			return dst
		}
		e.limit &^= flagRecorded
		return persistence.AppendRecord(dst, RecordKey, c.keys.get(e.key), nil)
	}
	e.limit |= flagRecorded
	var log *algorithms.Log
	l := c.limits.at(e.limit)
	if l.Logged() {
		log = c.logs.at(e.state.C)
	}
	c.ledger.value = appendValue(c.ledger.value[:0], l, &e.state, log)
	return persistence.AppendRecord(dst, RecordKey, c.keys.get(e.key), c.ledger.value)
}

// Export appends the records of the keys in slots from cursor on, at most n
// slots and about RecordsBytesMax bytes, and returns the cursor to go on with, 0
// at the end. As with Scan, a key that lives throughout is met exactly once.
func (c *Core) Export(now uint64, cursor uint32, n int, dst []byte) (records []byte, next uint32) {
	i := max(slot(cursor), 1)
	for ; i < c.slab.next && n > 0 && len(dst) < RecordsBytesMax; i++ {
		n--
		if e := c.slab.at(i); e.limit != 0 && e.expiry > now {
			dst = c.appendEntry(now, dst, e)
		}
	}
	if i >= c.slab.next {
		return dst, 0
	}
	return dst, uint32(i)
}

// cleared notes that all keys of this core were made fresh.
func (c *Core) cleared() {
	if g := &c.ledger; g.on {
		g.dirty, g.taking, g.listed, g.accounts = nil, nil, nil, nil
		g.records, g.taken = appendClear(g.records[:0], g.n, g.of), 0
	}
}

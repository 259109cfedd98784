package shard

// The ledger is what a core owes the journal: which entries have changed since
// they were last written, and what was deleted. Records are absolute, so however
// often an entry has changed it is written once, as it is when its turn comes.
//
// An entry carries two marks. Dirty: its slot is in the set of those that are to be
// written. Recorded: a record of it that has not expired may be on disk, so when
// it goes before its time the disk must be told. An entry that comes and goes
// between two flushes costs the journal nothing.

import (
	"math/bits"

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
	dirty   marks    // slots of entries that have changed since they were written
	taken   int      // the flush that is under way has come to this word of them
	records []byte   // deletions, encoded when they happened
	gone    int      // so many bytes of them are taken already
	value   []byte   // scratch
	ids     []*ID    // changed since they were last taken
	answers []byte   // that ids remember since then, encoded
	notes   []string // the same

	accounts []*account // the same

	head    limitHead        // of the record that was restored last
	limit   algorithms.Limit // that was written last,
	encoded []byte           // and how
}

// Journal switches the ledger on, for shard n of of: from now on changes are kept
// for TakeRecords.
func (c *Core) Journal(n, of int) { c.ledger = ledger{on: true, n: n, of: of} }

// touch notes that an entry has changed.
func (c *Core) touch(i slot, e *entry) {
	if c.ledger.on && e.limit&flagDirty == 0 {
		e.limit |= flagDirty
		c.ledger.dirty.add(i)
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
	return g.dirty.count+len(g.records)+len(g.accounts)+len(g.ids)+len(g.answers)+len(g.notes) > 0
}

// mustWait says whether what was answered since it was last asked must wait for the disk
// where answers are to be durable: for what is owed, or because a grant of before was told
// again, which may still be on its way to the disk.
func (c *Core) mustWait() bool {
	again := c.toldAgain
	c.toldAgain = false
	return again || c.Owes()
}

// recordBytesTypical is about as long as most records are.
const recordBytesTypical = 128

// owedBytes is about how many bytes are to be taken.
func (c *Core) owedBytes() int {
	g := &c.ledger
	return len(g.records) - g.gone + len(g.answers) + recordBytesTypical*(g.dirty.count+len(g.ids)) + RecordsBytesMax*(len(g.accounts)+len(g.notes))
}

// TakeRecords appends the records of what has changed to dst, until it is about most
// bytes long, at most RecordsBytesMax, and says whether there is more to take. A flush
// is calls until there is not, and it ends: an entry that changes when the flush has
// passed it waits for the next one.
func (c *Core) TakeRecords(now uint64, dst []byte, most int) (records []byte, more bool) {
	g := &c.ledger
	if dst, more = g.takeDeletions(dst, most); more {
		return dst, true
	}
	if dst, more = c.takeAccounts(now, dst, most); more {
		return dst, true
	}
	if dst, more = c.takeEntries(now, dst, most); more {
		return dst, true
	}
	if dst, more = c.takeIDs(dst, most); more {
		return dst, true
	}
	return c.takeNotes(dst, most)
}

// takeEntries takes the records of entries that have changed, as TakeRecords does.
func (c *Core) takeEntries(now uint64, dst []byte, most int) (records []byte, more bool) {
	m := &c.ledger.dirty
	for n := c.ledger.taken; m.count > 0; n++ {
		if n = m.word(n); n == len(m.words) {
			break
		}
		c.warmKeys(n, m.words[n])
		for left := m.words[n]; left != 0; left &= left - 1 {
			if len(dst) >= most {
				c.ledger.taken = n
				return dst, true
			}
			i := slot(n*64 + bits.TrailingZeros64(left))
			m.remove(i)
			if e := c.slab.at(i); e.limit&flagDirty != 0 {
				e.limit &^= flagDirty
				dst = c.appendEntry(now, dst, e)
			}
		}
	}
	c.ledger.taken = 0
	return dst, false
}

// warmKeys touches the keys of the entries of a word of marks.
func (c *Core) warmKeys(n int, word uint64) {
	touched := c.touched
	for ; word != 0; word &= word - 1 {
		e := c.slab.at(slot(n*64 + bits.TrailingZeros64(word)))
		if e.limit&flagDirty != 0 {
			touched ^= uint32(c.keys.block(e.key)[0])
		}
	}
	c.touched = touched
}

// takeDeletions takes deletions, as TakeRecords does. An entry is written only when
// there are none, so a key that came back after its deletion is written after it.
func (g *ledger) takeDeletions(dst []byte, most int) (records []byte, more bool) {
	rest := g.records[g.gone:]
	if len(rest) > most {
		after := rest
		for len(rest)-len(after) < most && len(after) > 0 {
			_, after, _ = persistence.CutRecord(after)
		}
		n := len(rest) - len(after)
		g.gone += n
		return append(dst, rest[:n]...), true
	}
	dst = append(dst, rest...)
	g.records, g.gone = g.records[:0], 0
	if cap(g.records) > ledgerKeptBytesMax {
		g.records = nil
	}
	return dst, false
}

// bytes is the memory of the ledger.
func (g *ledger) bytes() int {
	return g.dirty.bytes() + cap(g.records) + cap(g.answers) + cap(g.value)
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
	g := &c.ledger
	if len(g.encoded) == 0 || *l != g.limit {
		g.limit, g.encoded = *l, appendLimit(g.encoded[:0], l)
	}
	g.value = appendState(append(g.value[:0], g.encoded...), l, &e.state, log)
	return persistence.AppendRecord(dst, RecordKey, c.keys.get(e.key), g.value)
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
		g.dirty, g.taken, g.accounts = marks{}, 0, nil
		g.records, g.gone = appendClear(g.records[:0], g.n, g.of), 0
	}
}

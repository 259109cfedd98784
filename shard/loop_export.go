package shard

// The parts of a snapshot that are not entries: ids, the lives of charged keys, leases
// and usage. What there is of each is listed first, and then written a few at a time;
// what comes meanwhile is in the journal.

import (
	"maps"
	"slices"
)

// exportIDs hands the records of the ids of shard n to emit.
func (set *Set) exportIDs(n int, emit func(now uint64, records []byte) error) error {
	var names []string
	set.On(n, func(c *Core, _ uint64) { names = slices.Collect(maps.Keys(c.ids.byName)) })
	var scratch []byte
	return set.exportRest(n, emit, func(c *Core, records []byte) ([]byte, bool) {
		for looked := 0; len(names) > 0 && looked < SnapshotSlotsPerTick && len(records) < RecordsBytesMax; looked++ {
			if id := c.ids.byName[names[0]]; id != nil {
				records = appendID(records, id, &scratch)
			}
			names = names[1:]
		}
		return records, len(names) > 0
	})
}

// exportLeases hands the records of the lives, leases and usage of shard n to emit.
func (set *Set) exportLeases(n int, emit func(now uint64, records []byte) error) error {
	var at exportCursor
	set.On(n, func(c *Core, _ uint64) {
		at.keys = slices.Collect(maps.Keys(c.leases.byKey))
		for key, r := range c.reserved {
			if r.life > 0 {
				at.lives = append(at.lives, key)
			}
		}
	})
	return set.exportRest(n, emit, func(c *Core, records []byte) ([]byte, bool) {
		records = c.exportAccounts(&at, c.exportLives(&at, records))
		return records, len(at.keys)+len(at.lives) > 0
	})
}

// exportRest hands pieces to emit until there are no more.
func (set *Set) exportRest(n int, emit func(now uint64, records []byte) error, piece func(c *Core, records []byte) (_ []byte, more bool)) error {
	var records []byte
	for more := true; more; {
		var at uint64
		set.On(n, func(c *Core, now uint64) {
			at = now
			records, more = piece(c, records[:0])
		})
		if len(records) == 0 {
			continue
		}
		if err := emit(at, records); err != nil {
			return err
		}
		yield()
	}
	return nil
}

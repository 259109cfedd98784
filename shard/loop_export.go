package shard

// The parts of a snapshot that are not entries: ids, the lives of charged keys, leases
// and usage. Their maps are gone through a few at a time, with the shard let go in
// between. What is there throughout is met once, as a range over a map promises however
// it changes meanwhile; what comes or goes is in the journal.

import (
	"iter"
	"maps"
)

// keyCursor is a place in a map with string keys. Whoever uses it owns the map's shard;
// stop may be called by whoever was the last.
type keyCursor struct {
	next func() (string, bool)
	stop func()
	key  string
	more bool // key is one of the map, or was
}

func newKeyCursor[V any](m map[string]V) keyCursor {
	var k keyCursor
	k.next, k.stop = iter.Pull(maps.Keys(m))
	k.advance()
	return k
}

func (k *keyCursor) advance() { k.key, k.more = k.next() }

// exportIDs hands the records of the ids of shard n to emit.
func (set *Set) exportIDs(n int, emit func(now uint64, records []byte) error) error {
	var at keyCursor
	cursor, end := slot(1), slot(0)
	set.On(n, func(c *Core, _ uint64) {
		at = newKeyCursor(c.ids.byName)
		if c.ids.answered != nil {
			end = c.ids.answered.slab.next
		}
	})
	defer at.stop()
	var scratch []byte
	return set.exportRest(n, emit, func(c *Core, records []byte) ([]byte, bool) {
		t := c.ids.answered
		for looked := 0; (cursor < end || at.more) && looked < SnapshotSlotsPerTick && len(records) < RecordsBytesMax; looked++ {
			if cursor < end {
				if e := t.slab.at(cursor); e.limit != 0 {
					name, id := t.at(e)
					records = appendAnswered(records, name, id.Deadline, id.Key, id.Question, id.Answer, &scratch)
				}
				cursor++
				continue
			}
			if id := c.ids.byName[at.key]; id != nil {
				records = appendID(records, id, &scratch)
			}
			at.advance()
		}
		return records, at.more || cursor < end
	})
}

// exportLeases hands the records of the lives, leases and usage of shard n to emit.
func (set *Set) exportLeases(n int, emit func(now uint64, records []byte) error) error {
	var at exportCursor
	set.On(n, func(c *Core, _ uint64) { at.lives, at.keys = newKeyCursor(c.reserved), newKeyCursor(c.leases.byKey) })
	defer at.lives.stop()
	defer at.keys.stop()
	return set.exportRest(n, emit, func(c *Core, records []byte) ([]byte, bool) {
		records = c.exportAccounts(&at, c.exportLives(&at, records))
		return records, at.lives.more || at.keys.more
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

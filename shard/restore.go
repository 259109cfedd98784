package shard

// Restoring is the way back from records to entries. Each record is an assignment,
// so what comes last counts, and a record may be assigned twice. Nothing in it is
// believed that a decision could not have stored: a file that happens to match its
// checksum must not make a table that no call could have made.

import (
	"errors"
	"math"
	"slices"

	"sluice/persistence"
)

// errTooMany says that a shard cannot hold what is on disk.
var errTooMany = errors.New("more keys than one shard can hold: start with more --shards")

// Restore assigns what a RecordKey says; the key is fresh where value is empty. The
// bounds do not apply to what was there before. The ledger must be off. An error
// leaves the key fresh.
func (c *Core) Restore(now uint64, key, value []byte) error {
	return c.restore(now, c.hash(key), key, value)
}

// restoreAhead is how many records restoreAll hashes and probes for before it does
// what they say.
const restoreAhead = 64

// restoreAll does what RecordKeys say, in order, in phases as Step does.
func (c *Core) restoreAll(now uint64, records []persistence.Record) error {
	var hashes [restoreAhead]uint64
	for len(records) > 0 {
		some := records[:min(len(records), restoreAhead)]
		records = records[len(some):]
		touched := c.touched
		for i := range some {
			hashes[i] = c.hash(some[i].Key)
			touched ^= c.index.touch(hashes[i])
		}
		for i := range some {
			if at := c.index.candidate(hashes[i]); at != 0 {
				touched ^= uint32(c.slab.at(at).hash)
			}
		}
		c.touched = touched
		for i := range some {
			if err := c.restore(now, hashes[i], some[i].Key, some[i].Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore is Restore for a key whose hash is known.
func (c *Core) restore(now, hash uint64, key, value []byte) error {
	if len(key) > KeyBytesMax {
		return errRecord
	}
	i := c.index.find(hash, func(i slot) bool {
		e := c.slab.at(i)
		return e.hash == hash && c.keys.same(e.key, key)
	})
	if i != 0 {
		c.remove(i, c.slab.at(i))
	}
	if len(value) == 0 {
		return nil
	}
	if c.index.count >= KeysPerShardMax {
		return errTooMany
	}
	// The runs of a log go into the empty log, which the entry takes over; what
	// memory that has already is counted already.
	log := c.logs.at(0)
	c.logs.bytes -= log.Bytes()
	k := &c.stored
	err := parseValue(value, &c.ledger.head, k, log)
	void := err != nil || k.FreshAt <= now
	if void {
		log.Reset() // before it is counted: the ids of permits go with it
	}
	c.logs.bytes += log.Bytes()
	if void {
		return err
	}
	c.adoptLog()
	i = c.put(hash, key)
	c.slab.at(i).limit |= flagRecorded
	return nil
}

// RestoreClear does what the value of a RecordClear says to the cores of all shards:
// it removes the keys that lived on a shard that was cleared, also when there are more
// or fewer shards now than then. tagHash is the xxhash64 of a key's Tag.
func RestoreClear(cores []*Core, value []byte, tagHash func(key []byte) uint64) error {
	n, of, err := parseClear(value)
	if err != nil {
		return err
	}
	if of == len(cores) {
		cores[n].Clear()
		return nil
	}
	for _, c := range cores {
		c.removeIf(func(key []byte) bool { return Route(tagHash(key), of) == n })
	}
	return nil
}

// removeIf removes the keys and accounts that f says, without a word to the ledger.
func (c *Core) removeIf(f func(key []byte) bool) {
	for i := slot(1); i < c.slab.next; i++ {
		if e := c.slab.at(i); e.limit != 0 && f(c.keys.get(e.key)) {
			c.remove(i, e)
		}
	}
	for _, at := range slices.Clone(c.leases.queue) {
		if f(at.one.key) {
			c.expireLeases(math.MaxUint64, at.one)
		}
	}
}

// restoreID assigns what an id stands for. One whose time came meanwhile is settled
// as soon as anything is.
func (r *Restoration) restoreID(home *Core, name, value []byte) error {
	var id *ID
	if len(value) > 0 {
		var err error
		if id, err = parseID(name, value); err != nil {
			return err
		}
		// Before what was is let go of: a life that is charged no more is forgotten.
		for i := range id.Charged {
			r.core(id.Charged[i].Key).reserveAgain(id.Charged[i].Key, id.Charged[i].Life)
		}
	}
	if was := home.ids.byName[string(name)]; was != nil {
		for i := range was.Charged {
			r.core(was.Charged[i].Key).unreserve(was.Charged[i].Key)
		}
	}
	home.ids.drop(name)
	if id != nil && (id.Outcome == Open || id.Deadline > r.now) {
		home.ids.put(r.now, id)
	}
	return nil
}

// core is the core that a key lives on.
func (r *Restoration) core(key []byte) *Core {
	return r.cores[Route(r.tagHash(key), len(r.cores))]
}

package shard

// Lives of charged keys. What a reservation or a lease gives back reaches only the
// state that it charged, and a key that has been fresh since has another. So a core
// keeps, for each state that open reservations and leases have charged, the number of
// its life: a reset begins the next one, and so does the first charge after the key has
// become fresh by itself, or that makes one new charge of all that counts, as one under
// another algorithm does. The mark of a charge alone does not tell: after other limits
// in between, a key can be back in the window that was charged.

import (
	"encoding/binary"

	"sluice/persistence"
)

// RecordLife assigns the number of the life of a state; without a value it is 0.
const RecordLife uint8 = 4

// reserved is a state that open reservations and leases have charged.
type reserved struct {
	open int // how many charges of theirs
	life uint64
}

// reserve notes a charge that may be given back, and returns the life of its state.
func (c *Core) reserve(state []byte) (life uint64) {
	r := c.reserved[string(state)]
	if r == nil {
		if c.reserved == nil {
			c.reserved = make(map[string]*reserved)
		}
		r = new(reserved)
		c.reserved[string(state)] = r
	}
	r.open++
	return r.life
}

// reserveAgain notes a charge that was made in a life of the state, for restoring. That
// the state was in that life at least is also known then when nothing else says so:
// what kept the number may have ended by now.
func (c *Core) reserveAgain(state []byte, life uint64) {
	c.reserve(state)
	r := c.reserved[string(state)]
	r.life = max(r.life, life)
}

// unreserve notes that a charge cannot be given back any more.
func (c *Core) unreserve(state []byte) {
	r := c.reserved[string(state)]
	if r == nil {
		return
	}
	if r.open--; r.open > 0 {
		return
	}
	delete(c.reserved, string(state))
	if r.life > 0 && c.ledger.on {
		c.ledger.records = persistence.AppendRecord(c.ledger.records, RecordLife, state, nil)
	}
}

// lives says whether a state is still in the life in which it was charged.
func (c *Core) lives(state []byte, life uint64) bool {
	r := c.reserved[string(state)]
	return r == nil || r.life == life
}

// endLife notes that a key was reset, or has been fresh.
func (c *Core) endLife(key []byte) {
	if len(c.reserved) == 0 {
		return
	}
	if r := c.reserved[string(key)]; r != nil {
		r.life++
		c.tellLife(string(key), r)
	}
}

// endLives notes that all keys were reset.
func (c *Core) endLives() {
	for key, r := range c.reserved {
		r.life++
		c.tellLife(key, r)
	}
}

func (c *Core) tellLife(key string, r *reserved) {
	if c.ledger.on {
		c.ledger.records = appendLife(c.ledger.records, key, r.life)
	}
}

func appendLife(dst []byte, key string, life uint64) []byte {
	var value [binary.MaxVarintLen64]byte
	return persistence.AppendRecord(dst, RecordLife, []byte(key), binary.AppendUvarint(value[:0], life))
}

// restoreLife assigns what a RecordLife says.
func (c *Core) restoreLife(key, value []byte) error {
	life := uint64(0)
	if len(value) > 0 {
		in := cursor{rest: value}
		if life = in.uvarint(); in.bad || len(in.rest) > 0 {
			return errRecord
		}
	}
	r := c.reserved[string(key)]
	switch {
	case r != nil:
		r.life = life
	case life > 0:
		if c.reserved == nil {
			c.reserved = make(map[string]*reserved)
		}
		c.reserved[string(key)] = &reserved{life: life}
	}
	return nil
}

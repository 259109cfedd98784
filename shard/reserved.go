package shard

// Lives of reserved keys. What a reservation gives back reaches only the state that
// it charged, and a key that is reset has another. So a core keeps, for each state
// that open reservations have charged, the number of its life: an explicit reset
// begins the next one. Keys that become fresh by themselves need no number; their
// states tell by the mark of the charge.

import (
	"encoding/binary"

	"sluice/persistence"
)

// RecordLife assigns the number of the life of a state; without a value it is 0.
const RecordLife uint8 = 4

// reserved is a state that open reservations have charged.
type reserved struct {
	open int // how many
	life uint64
}

// reserve notes a charge of a reservation, and in the charge the life of its state.
func (c *Core) reserve(charged *Charged) {
	r := c.reserved[string(charged.Key)]
	if r == nil {
		if c.reserved == nil {
			c.reserved = make(map[string]*reserved)
		}
		r = new(reserved)
		c.reserved[string(charged.Key)] = r
	}
	r.open++
	charged.Life = r.life
}

// unreserve notes that a charge has been settled.
func (c *Core) unreserve(charged *Charged) {
	r := c.reserved[string(charged.Key)]
	if r == nil {
		return
	}
	if r.open--; r.open > 0 {
		return
	}
	delete(c.reserved, string(charged.Key))
	if r.life > 0 && c.ledger.on {
		c.ledger.records = persistence.AppendRecord(c.ledger.records, RecordLife, charged.Key, nil)
	}
}

// lives says whether the state that a charge went to has not been reset since.
func (c *Core) lives(charged *Charged) bool {
	r := c.reserved[string(charged.Key)]
	return r == nil || r.life == charged.Life
}

// endLife notes that a key was reset.
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
		var value [binary.MaxVarintLen64]byte
		c.ledger.records = persistence.AppendRecord(c.ledger.records, RecordLife, []byte(key), binary.AppendUvarint(value[:0], r.life))
	}
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

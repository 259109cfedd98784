package shard

// Restoring a set from records, before any batch runs. All shards are held while
// records are assigned, because a record is a few hundred nanoseconds of work and
// taking a shard for each would double that; now and then they are let go, so that
// whoever only looks at the server meanwhile is answered.

import (
	"bytes"
	"fmt"
	"runtime"

	"sluice/persistence"
)

// RestoreRecordsPerTurn is how many records are assigned before the shards are let
// go for a moment: below a millisecond of work.
const RestoreRecordsPerTurn = 1024

// Restoration assigns records to the keys of a set. End it before anything else is
// done with the set.
type Restoration struct {
	set     *Set
	cores   []*Core
	tagHash func(key []byte) uint64
	now     uint64
	left    int // records of this turn
}

// Restore begins a restoration: before any batch runs, and before Journal is called.
// tagHash is the xxhash64 of a key's Tag.
func (set *Set) Restore(tagHash func(key []byte) uint64) *Restoration {
	r := &Restoration{set: set, tagHash: tagHash}
	for _, s := range set.shards {
		r.cores = append(r.cores, s.core)
	}
	r.hold()
	return r
}

// Do does what a record says. Key and value are not kept. A record that cannot have
// been written by us is an error.
func (r *Restoration) Do(record persistence.Record) error {
	if r.left--; r.left < 0 {
		r.release()
		r.hold()
	}
	switch record.Kind {
	case RecordKey:
		return r.core(record.Key).Restore(r.now, record.Key, record.Value)
	case RecordClear:
		return RestoreClear(r.cores, record.Value, r.tagHash)
	case RecordID:
		return r.restoreID(r.core(record.Key), record.Key, record.Value)
	case RecordLife:
		return r.core(record.Key).restoreLife(record.Key, record.Value)
	case RecordNote:
		var text []byte
		if len(record.Value) > 0 {
			text = bytes.Clone(record.Value)
		}
		r.cores[0].notes.set(string(record.Key), text)
		return nil
	case RecordLeases:
		return r.core(record.Key).restoreOut(r.now, record.Key, record.Value)
	case RecordUsage, RecordParty:
		return r.core(record.Key).restoreUsage(r.now, record.Kind, record.Key, record.Value)
	}
	return fmt.Errorf("a record of the unknown kind %d", record.Kind)
}

// End lets the shards go.
func (r *Restoration) End() { r.release() }

func (r *Restoration) hold() {
	for _, s := range r.set.shards {
		for !s.lend() {
			runtime.Gosched()
		}
	}
	r.now, r.left = r.set.shards[0].clock.Now(), RestoreRecordsPerTurn
}

func (r *Restoration) release() {
	for _, s := range r.set.shards {
		s.release()
	}
}

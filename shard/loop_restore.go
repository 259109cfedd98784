package shard

// Restoring a set from records, before any batch runs. All shards are held while
// records are assigned, because a record is a few hundred nanoseconds of work and
// taking a shard for each would double that; now and then they are let go, so that
// whoever only looks at the server meanwhile is answered. The keys of different shards
// have nothing to do with each other, so shards restore theirs at the same time.

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"sluice/persistence"
)

// RestoreRecordsPerTurn is about how many records are assigned before the shards are
// let go for a moment: a millisecond of work.
const RestoreRecordsPerTurn = 4096

// Restoration assigns records to the keys of a set. End it before anything else is
// done with the set.
type Restoration struct {
	set     *Set
	cores   []*Core
	tagHash func(key []byte) uint64
	now     uint64
	left    int                    // records of this turn
	parts   [][]persistence.Record // RecordKeys that are not assigned yet, by shard
	errs    []error                // what became of them
}

// Restore begins a restoration: before any batch runs, and before Journal is called.
// tagHash is the xxhash64 of a key's Tag.
func (set *Set) Restore(tagHash func(key []byte) uint64) *Restoration {
	r := &Restoration{set: set, tagHash: tagHash}
	for _, s := range set.shards {
		r.cores = append(r.cores, s.core)
	}
	r.parts, r.errs = make([][]persistence.Record, len(r.cores)), make([]error, len(r.cores))
	r.hold()
	return r
}

// Do does what records say, in order. Keys and values are not kept. A record that cannot
// have been written by us is an error.
func (r *Restoration) Do(records []persistence.Record) error {
	if r.left < 0 {
		r.release()
		r.hold()
	}
	r.left -= len(records)
	for i := range records {
		record := &records[i]
		if record.Kind == RecordKey {
			n := Route(r.tagHash(record.Key), len(r.cores))
			r.parts[n] = append(r.parts[n], *record)
			continue
		}
		if err := r.keys(); err != nil {
			return err
		}
		if err := r.other(record); err != nil {
			return err
		}
	}
	return r.keys()
}

// keys assigns the keys that wait, on all shards at once.
func (r *Restoration) keys() error {
	var others sync.WaitGroup
	mine := -1
	for n, part := range r.parts {
		switch {
		case len(part) == 0:
		case mine < 0:
			mine = n
		default:
			others.Go(func() { r.assign(n) })
		}
	}
	if mine < 0 {
		return nil
	}
	r.assign(mine)
	others.Wait()
	return errors.Join(r.errs...)
}

// assign assigns the keys of one shard.
func (r *Restoration) assign(n int) {
	r.errs[n] = r.cores[n].restoreAll(r.now, r.parts[n])
	r.parts[n] = r.parts[n][:0]
}

// other does what a record says that is not about one key alone.
func (r *Restoration) other(record *persistence.Record) error {
	switch record.Kind {
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

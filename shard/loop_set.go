package shard

// A Set is all shards of a server, and what is done to all of them: running
// batches, looking at every core, keeping a journal, exporting a snapshot.

import "sync"

// Set is all shards of a server.
type Set struct {
	shards []*Shard
	pieces pieces
	group  sync.WaitGroup
}

// NewSet starts n shards. Close ends them.
func NewSet(n int, clock Clock) *Set {
	set := &Set{}
	for range n {
		s := newShard(clock)
		s.core.watch.keep = max(DenialsMax/n, 1)
		set.shards = append(set.shards, s)
		set.group.Go(s.loop)
	}
	return set
}

// Close ends the shards' goroutines. No batch may be running.
func (set *Set) Close() {
	for _, s := range set.shards {
		close(s.quit)
	}
	set.group.Wait()
}

// Waiting is how many parts wait in the inbox of shard n.
func (set *Set) Waiting(n int) int { return len(set.shards[n].inbox) }

// Len is the number of shards.
func (set *Set) Len() int { return len(set.shards) }

// Run does all operations of a batch and returns when their answers are there.
//
// Each part is done here if its shard can be lent. A shard that somebody else has
// is asked for again when the other parts are done, and when others have run, which is
// mostly enough; only then is the part sent to it. Batches begin at different shards, so
// that two of them that touch the same ones do not follow each other from shard to shard.
func (set *Set) Run(b *Batch) {
	if b.joint {
		set.runJoint(b)
		return
	}
	parts, done := int32(0), int32(0)
	for _, part := range b.parts {
		if len(part) > 0 {
			parts++
		}
	}
	b.pending.Store(parts)
	b.begin++
	for try, late := 0, parts; late > 0; try++ {
		if try > 1 {
			yield()
		}
		for i := range b.parts {
			n := (i + int(b.begin)) % len(b.parts)
			if len(b.parts[n]) == 0 || try > 0 && !b.late[n] {
				continue
			}
			s := set.shards[n]
			switch b.late[n] = !s.lend(); {
			case !b.late[n]:
				late--
				if !s.stepLent(b, n) {
					done++
				}
			case try == lendTries-1:
				late--
				s.inbox <- job{batch: b, part: n}
			}
		}
	}
	// With nothing done here, the last part to finish elsewhere always says so.
	if done < parts && (done == 0 || b.pending.Add(-done) != 0) {
		<-b.done
	}
}

// Each runs f on every core in turn, at the shard's time, and returns when it
// has run on all and what it changed is as durable as the journal promises. The
// error is the journal's first; f has run on all the same.
func (set *Set) Each(f func(n int, c *Core, now uint64)) (err error) {
	for n := range set.shards {
		if failed := set.On(n, func(c *Core, now uint64) { f(n, c, now) }); err == nil {
			err = failed
		}
	}
	return err
}

// On runs f on the core of shard n, as Each does on all.
func (set *Set) On(n int, f func(c *Core, now uint64)) error {
	s := set.shards[n]
	done := make(chan error, 1)
	j := job{run: f, done: func(err error) { done <- err }}
	if s.lend() {
		s.doLent(j)
	} else {
		s.inbox <- j
	}
	return <-done
}

// Bound sets how large all cores together may grow. Each gets an equal part, of keys
// to one key, so that no shard asks another for room; keys are spread evenly, unless
// many of them share a tag. A KeysMax must not be below the number of shards.
func (set *Set) Bound(b Bounds) {
	of := len(set.shards)
	if b.KeysMax != 0 && b.KeysMax < of {
		panic("shard: fewer keys than shards")
	}
	set.Each(func(n int, c *Core, _ uint64) {
		part := Bounds{KeysMax: b.KeysMax / of, BytesMax: b.BytesMax / of, EvictSoonest: b.EvictSoonest}
		if n < b.KeysMax%of {
			part.KeysMax++
		}
		c.Bound(part)
	})
}

// Journal begins to hand changes to a journal: with everyPart before they are
// answered, else within FlushInterval. Call it before any batch runs.
func (set *Set) Journal(j Journal, everyPart bool) {
	set.pieces = newPieces()
	for n, s := range set.shards {
		set.On(n, func(c *Core, _ uint64) {
			c.Journal(n, len(set.shards))
			s.journal, s.everyPart, s.pieces = j, everyPart, set.pieces
		})
	}
}

// Flush hands over what the journal is owed, and says whether that was everything:
// not while the journal is behind. No batch may be running.
func (set *Set) Flush() (all bool) {
	all = true
	for n, s := range set.shards {
		for more := s.journal != nil; more; {
			set.On(n, func(c *Core, now uint64) {
				if s.journal.Behind() {
					all = all && !c.Owes() && set.pieces.empty()
					more = false
					return
				}
				set.pieces.flush(s.journal)
				if more = c.Owes(); !more {
					return
				}
				records, _ := c.TakeRecords(now, s.journal.Buffer(), RecordsBytesMax)
				s.journal.Submit(now, records, nil)
			})
		}
	}
	return all
}

// SnapshotSlotsPerTick is how many slots are exported before a shard is let go.
const SnapshotSlotsPerTick = 1024

// Export hands the records of all keys to emit, while batches run. A key that lives
// throughout is exported exactly once, as it is when its slot is reached. Slots that
// are used for the first time meanwhile are left out, so that it ends however fast
// keys come: what is in them has changed since the beginning, and the journal has it.
// emit must not keep the records.
func (set *Set) Export(emit func(now uint64, records []byte) error) error {
	ends := make([]uint32, len(set.shards))
	set.Each(func(n int, c *Core, _ uint64) { ends[n] = uint32(c.Slots()) })
	var records []byte
	for n, end := range ends {
		for cursor := uint32(1); cursor != 0 && cursor <= end; {
			var at uint64
			set.On(n, func(c *Core, now uint64) {
				slots := min(SnapshotSlotsPerTick, int(end+1-cursor))
				at = now
				records, cursor = c.Export(now, cursor, slots, records[:0])
			})
			if len(records) == 0 {
				continue
			}
			if err := emit(at, records); err != nil {
				return err
			}
			yield()
		}
		for _, rest := range []func(int, func(uint64, []byte) error) error{set.exportIDs, set.exportLeases} {
			if err := rest(n, emit); err != nil {
				return err
			}
		}
	}
	return set.exportNotes(emit)
}

package shard

// The core: one shard's keys and what can be done with them, at instants that
// the caller gives. Step is the way of every command.

import (
	"hash/maphash"

	"sluice/algorithms"
)

// Core is the state of one shard. It is not safe for concurrent use: a Shard
// sees to it that one goroutine at a time has it.
type Core struct {
	slab   slab
	index  index
	keys   keys
	limits limits
	logs   logs
	wheel  wheel
	seed   maphash.Seed
	stored algorithms.Stored // of the key that is being decided
	stats  Stats
	counts []Counts // by series
	watch  watch
	making int    // entries that the group which is being tried will need
	pinned []slot // entries that it has found, which may not be thrown away for it
	bounds Bounds
	ledger ledger
	ids    ids
	notes  notes

	reserved map[string]*reserved // by the name of the state
	leases   leases
	asking   Op // about a state that is not an operation's own

	touched uint32 // keeps loads that are done for the caches' sake

	toldAgain bool // a grant of before was told again, see mustWait

	unverified int // operations since verify last walked over everything
}

// Stats counts what a core has done. A batch's work is counted when it is done.
type Stats struct {
	Allowed uint64 // decisions that spent
	Denied  uint64 // decisions that did not pass
	Expired uint64 // keys that the wheel freed
	Evicted uint64 // keys that were thrown away for others
	Crowded uint64 // of these, those that were because there were too many; the others took memory
}

// NewCore returns an empty core whose wheel stands at now.
func NewCore(now uint64) *Core {
	c := &Core{limits: newLimits(), logs: newLogs(), seed: maphash.MakeSeed()}
	c.index = newIndex(&c.slab)
	c.wheel.entries = &c.slab
	c.wheel.now = now >> tickBits
	return c
}

// Len is the number of keys, those that have become fresh and were not swept
// yet among them.
func (c *Core) Len() int { return c.index.count }

// Bytes is the memory of the table: entries, index, keys, wheel, logs, limits, ids,
// leases and usage, notes and what the journal is owed.
func (c *Core) Bytes() int {
	return c.slab.bytes() + c.index.bytes() + c.keys.bytes() + c.wheel.bytes() +
		c.logs.bytes + c.logs.rowBytes() + c.limits.bytes() + c.ledger.bytes() + c.ids.memory() + c.leases.bytes + c.notes.bytes
}

// Stats returns the counts so far.
func (c *Core) Stats() Stats { return c.stats }

// phasedOpsMin is how many operations make it worth to go over them in phases.
const phasedOpsMin = 4

// Step does the operations of one part of a batch at one instant, in order.
//
// A large part is worked through in phases: first the index is probed for all,
// then all entries are touched, then all keys, and only then is decided. The
// loads of a phase do not depend on each other, so their cache misses overlap, the
// more of them the fewer instructions there are between two; so what is waited for
// is touched by itself first. What the phases find is a hint: an operation before
// may have freed the entry, so a hint is believed only after the key has been
// compared.
func (c *Core) Step(now uint64, ops []Op, part []uint32) {
	c.ready(ops, part)
	for at := 0; at < len(part); {
		i := part[at]
		if n := int(ops[i].Join); n > 0 {
			if group := ops[i : int(i)+n]; !c.atOnce(now, group) {
				together(now, group, func(*Op) *Core { return c })
			}
			at += n
			continue
		}
		c.do(now, &ops[i])
		at++
	}
	if invariants {
		c.verified(len(part))
	}
}

// ready prepares the operations of a part.
func (c *Core) ready(ops []Op, part []uint32) {
	if len(part) >= phasedOpsMin {
		c.warm(ops, part)
		return
	}
	for _, i := range part {
		c.prepare(&ops[i])
	}
}

// prepare hashes the key and probes the index.
func (c *Core) prepare(op *Op) {
	op.hash = c.hash(op.Key)
	op.hint = c.index.candidate(op.hash)
}

// do does one operation that stands alone.
func (c *Core) do(now uint64, op *Op) {
	switch op.Kind {
	case Allow:
		c.allow(now, op)
	case Peek:
		c.peek(now, op)
	case Try:
		c.peek(now, op)
		op.Unsaved = op.Decision.Allowed && !op.Refused()
	case Reset:
		c.reset(now, op)
	case Look:
		c.look(now, op)
	case Debit:
		c.debit(now, op)
	case Refund:
		c.refund(now, op)
	case Release:
		c.permit(now, op)
	case Renew:
		c.permit(now, op)
	case Return:
		c.giveLease(now, op)
	case Report:
		c.report(now, op)
	case Tell:
		c.tell(now, op)
	}
}

// hash is the hash of a key under the table's seed.
func (c *Core) hash(key []byte) uint64 { return maphash.Bytes(c.seed, key) }

// warm prepares all operations and touches the entries and the keys that the hints
// name.
func (c *Core) warm(ops []Op, part []uint32) {
	touched := c.touched
	for _, i := range part {
		op := &ops[i]
		op.hash = c.hash(op.Key)
	}
	for _, i := range part {
		touched ^= c.index.touch(ops[i].hash)
	}
	for _, i := range part {
		op := &ops[i]
		op.hint = c.index.candidate(op.hash)
	}
	for _, i := range part {
		if op := &ops[i]; op.hint != 0 && c.slab.at(op.hint).hash != op.hash {
			op.hint = 0
		}
	}
	for _, i := range part {
		if op := &ops[i]; op.hint != 0 {
			touched ^= uint32(c.keys.block(c.slab.at(op.hint).key)[0])
		}
	}
	c.touched = touched
}

// find returns the key's entry, or 0.
func (c *Core) find(op *Op) slot {
	if op.hint != 0 && c.is(op.hint, op) {
		return op.hint
	}
	return c.index.find(op.hash, func(i slot) bool { return c.is(i, op) })
}

// is says whether an entry is the key's.
func (c *Core) is(i slot, op *Op) bool {
	e := c.slab.at(i)
	return e.hash == op.hash && e.limit != 0 && c.keys.same(e.key, op.Key)
}

// load puts what an entry stores into c.stored, for a decision of op. An entry
// whose expiry has come is fresh. It says whether the key is of another kind than
// the limit that is asked about; then nothing can be decided.
func (c *Core) load(now uint64, i slot, op *Op) (wrongType bool) {
	k := &c.stored
	k.Limit, k.Log = nil, nil
	op.Call.Now = now
	if i != 0 {
		if e := c.slab.at(i); e.expiry > now {
			k.Limit, k.State, k.FreshAt = c.limits.at(e.limit), e.state, e.expiry
			if k.Limit.Logged() {
				k.Log = c.logs.at(e.state.C)
			}
			op.WrongType = k.Limit.Kind() != op.Call.Limit.Kind()
		}
	}
	if k.Log == nil && op.Call.Limit.Logged() {
		k.Log = c.logs.at(0)
	}
	return op.WrongType
}

// allow decides and, if the call passes, stores.
func (c *Core) allow(now uint64, op *Op) {
	tight := op.Call.Limit.Logged() && !c.roomForRuns(now)
	i := c.find(op)
	if c.load(now, i, op) || c.holds(op) {
		return
	}
	if tight && c.growsLog(op) || i == 0 && op.Call.Cost <= op.Call.Limit.Burst && !c.makeRoom(now, op) {
		c.refuse(op)
		return
	}
	c.spend(i, op)
}

// refuse ends a call that has no room. What would be denied is denied all the same.
func (c *Core) refuse(op *Op) {
	algorithms.Peek(&op.Call, &c.stored, &op.Decision)
	if op.Decision.Allowed {
		op.Full = true
		return
	}
	c.denied(op)
}

// spend decides on what has been loaded and, if the call passes, stores. There is
// room.
func (c *Core) spend(i slot, op *Op) {
	logBytes := c.loadedBytes()
	algorithms.Allow(&op.Call, &c.stored, &op.Decision)
	if !op.Decision.Allowed {
		c.denied(op)
		return
	}
	c.allowed(op)
	c.store(i, op, logBytes)
}

// store writes what has been charged to the key's entry, or to a new one.
func (c *Core) store(i slot, op *Op, logBytes int) {
	k := &c.stored
	if k.Limit.Algorithm == algorithms.Concurrency {
		k.Log.Name(op.ID, op.Decision.Remaining)
	}
	if k.Log != nil {
		c.logs.bytes += k.Log.Bytes() - logBytes
	}
	op.Mark = algorithms.Mark(k)
	if i == 0 || c.slab.at(i).expiry <= op.Call.Now {
		c.endLife(op.Key)
	}
	if i == 0 {
		c.create(op)
	} else {
		c.update(i, op)
	}
}

func (c *Core) peek(now uint64, op *Op) {
	if !c.load(now, c.find(op), op) && !c.holds(op) {
		algorithms.Peek(&op.Call, &c.stored, &op.Decision)
	}
}

// update stores a charged state in the key's entry.
func (c *Core) update(i slot, op *Op) {
	e := c.slab.at(i)
	k := &c.stored
	ownLog := k.Log != nil && k.Log != c.logs.at(0)
	if !ownLog {
		c.dropLog(e)
		c.adoptLog()
	} else if !k.Limit.Logged() {
		c.dropLog(e)
	}
	if was := c.limits.at(e.limit); *was != *op.Call.Limit {
		if algorithms.Recast(was, op.Call.Limit) {
			c.endLife(op.Key)
		}
		ref := c.limits.use(op.Call.Limit)
		c.limits.drop(e.limit)
		e.limit = ref | e.limit&^limitRefMask
	}
	c.touch(i, e)
	earlier := k.FreshAt < e.expiry
	e.state, e.expiry = k.State, k.FreshAt
	if earlier {
		c.wheel.unlink(e)
		c.wheel.link(i, e)
	}
}

// dropLog frees the log of an entry that has one.
func (c *Core) dropLog(e *entry) {
	if c.limits.at(e.limit).Logged() {
		c.logs.drop(e.state.C)
	}
}

// adoptLog makes the log that was just charged, if any, the key's own.
func (c *Core) adoptLog() {
	if c.stored.Limit.Logged() {
		c.stored.State.C = c.logs.adopt()
	}
}

// create makes an entry for a charged state. There must be room.
func (c *Core) create(op *Op) {
	c.adoptLog()
	i := c.put(op.hash, op.Key)
	c.touch(i, c.slab.at(i))
}

// put makes an entry that holds c.stored. There must be room.
func (c *Core) put(hash uint64, key []byte) slot {
	class, _ := c.blockFor(len(key))
	i := c.slab.take()
	k := &c.stored
	*c.slab.at(i) = entry{
		state: k.State, hash: hash, expiry: k.FreshAt,
		key: c.keys.putIn(class, key), limit: c.limits.use(k.Limit),
	}
	c.index.insert(hash, i)
	c.wheel.link(i, c.slab.at(i))
	return i
}

// remove frees an entry and all that belongs to it.
func (c *Core) remove(i slot, e *entry) {
	c.dropLog(e)
	c.wheel.unlink(e)
	c.index.remove(e.hash, i)
	c.keys.drop(e.key)
	c.limits.drop(e.limit)
	c.slab.give(i)
}

func (c *Core) reset(now uint64, op *Op) {
	op.Found = false
	if i := c.find(op); i != 0 {
		e := c.slab.at(i)
		op.Found = e.expiry > now
		c.endLife(op.Key)
		c.forget(e)
		c.remove(i, e)
	}
}

func (c *Core) look(now uint64, op *Op) {
	op.Found = false
	i := c.find(op)
	if i == 0 || c.slab.at(i).expiry <= now {
		return
	}
	op.Found = true
	if op.View != nil {
		*op.View = c.view(now, c.slab.at(i))
	}
}

func (c *Core) view(now uint64, e *entry) View {
	k := algorithms.Stored{Limit: c.limits.at(e.limit), State: e.state, FreshAt: e.expiry}
	v := View{Limit: *k.Limit, State: e.state, Now: now, FreshAt: e.expiry}
	if k.Limit.Logged() {
		k.Log = c.logs.at(e.state.C)
		v.Runs = k.Log.Len()
		k.Log.Permits(now, func(p algorithms.Permit) { v.Permits = append(v.Permits, p) })
	}
	v.Used, v.ResetAfter = algorithms.Used(&k, now), algorithms.ResetAfter(&k, now)
	return v
}

// SweepGraceNanos is how long a key that has become fresh may keep its entry. A
// key that is used again within it, as busy keys are, finds its entry and saves
// making a new one. To every question it is fresh all the same.
const SweepGraceNanos = 1 << 29

// Tick frees keys that have been fresh for SweepGraceNanos and leases that have
// ended, looking at no more than budget entries, and says whether some were left.
func (c *Core) Tick(now uint64, budget int) (more bool) {
	leasesMore := c.sweepLeases(now, budget)
	return c.wheel.advance(now-min(now, SweepGraceNanos), budget, c.ahead, c.expire) || leasesMore
}

// ahead touches what freeing the next entries of a list will need, in phases, so that
// cache misses overlap as they do in warm.
func (c *Core) ahead(now uint64, i slot, n int) {
	c.touched ^= touchDue(&c.slab, &c.index, &c.keys, now, i, n)
}

func touchDue(entries *slab, x *index, keys *keys, now uint64, i slot, n int) (touched uint32) {
	var due [sweepAhead]slot
	found := 0
	for ; i != 0 && n > 0; n-- {
		e := entries.at(i)
		if e.expiry <= now {
			touched ^= x.touch(e.hash)
			due[found], found = i, found+1
		}
		i = e.next
	}
	for _, i := range due[:found] {
		e := entries.at(i)
		touched ^= x.touchRun(e.hash, i) ^ uint32(keys.block(e.key)[0])
	}
	return touched
}

func (c *Core) expire(i slot, e *entry) {
	c.stats.Expired++
	if e.limit&flagDirty != 0 {
		c.forget(e)
	}
	c.remove(i, e)
}

// Settle frees every key whose time has come, to the nanosecond.
func (c *Core) Settle(now uint64) {
	for c.wheel.advance(now, 1<<30, c.ahead, c.expire) {
	}
	c.wheel.settle(now, c.expire)
	c.sweepLeases(now, len(c.leases.queue))
}

// Rewind moves the wheel back to an instant before its own. Only a clock that
// is set by hand does that.
func (c *Core) Rewind(now uint64) {
	w := wheel{entries: &c.slab, now: now >> tickBits}
	for i := slot(1); i < c.slab.next; i++ {
		if e := c.slab.at(i); e.limit != 0 {
			w.link(i, e)
		}
	}
	c.wheel = w
}

// Due is the latest instant at which Tick has something to do next.
func (c *Core) Due() uint64 { return min(min(c.wheel.due(), 1<<63)+SweepGraceNanos, c.leasesDue()) }

// Scan calls f for the keys in slots from cursor on, at most n slots, and
// returns the cursor to go on with, 0 at the end. A key that lives from the
// first call to the last is met exactly once: entries do not move. The key is
// the table's own.
func (c *Core) Scan(now uint64, cursor uint32, n int, f func(key []byte, v View)) uint32 {
	i := max(slot(cursor), 1)
	for ; i < c.slab.next && n > 0; i++ {
		n--
		if e := c.slab.at(i); e.limit != 0 && e.expiry > now {
			f(c.keys.get(e.key), c.view(now, e))
		}
	}
	if i >= c.slab.next {
		return 0
	}
	return uint32(i)
}

// Slots is the number of slots that a whole Scan visits.
func (c *Core) Slots() int { return max(int(c.slab.next), 1) - 1 }

// Clear makes every key fresh and gives the memory back.
func (c *Core) Clear() {
	was := *c
	*c = *NewCore(was.wheel.now << tickBits)
	c.stats, c.counts, c.watch, c.bounds, c.ledger = was.stats, was.counts, was.watch, was.bounds, was.ledger
	c.ids, c.reserved, c.notes = was.ids, was.reserved, was.notes
	for _, at := range was.leases.queue {
		a := at.one
		for i := range a.out {
			c.unreserveAll(a, &a.out[i])
		}
	}
	c.cleared()
	c.endLives()
	// The copies point into the core that was thrown away.
	c.index.entries, c.wheel.entries = &c.slab, &c.slab
}

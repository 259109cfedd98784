package shard

// All or nothing, and charging without asking. Deciding is pure, so whether a
// group of operations passes is found out by asking each as a peek would; only
// when all pass is anything charged. The keys of a group differ, so what was
// found out still holds when the charges are made one after the other.

import (
	"math"

	"sluice/algorithms"
)

// together decides a group of operations at one instant, each on the core that of
// names. All of them are of one kind, Allow, Try or Peek; or there are debits and
// refunds among them, which are done where all can be.
func together(now uint64, ops []Op, of func(*Op) *Core) {
	if charges(ops) {
		doTogether(now, ops, of)
		return
	}
	if ops[0].Kind == Lease {
		of(&ops[0]).lease(now, ops)
		return
	}
	all := true
	for i := range ops {
		c := of(&ops[i])
		c.try(now, &ops[i])
		all = all && ops[i].passes()
	}
	for i := range ops {
		c := of(&ops[i])
		c.making, c.pinned = 0, c.pinned[:0]
	}
	if ops[0].Kind != Allow {
		for i := range ops {
			ops[i].Unsaved = all && ops[i].Kind == Try
		}
		return
	}
	for i := range ops {
		op, c := &ops[i], of(&ops[i])
		switch {
		case op.Shadow && !op.Decision.Allowed && !op.Refused():
			c.count(op).Shadowed++
		case !all:
			if !op.Decision.Allowed {
				c.denied(op)
			}
		case op.Decision.Allowed && !op.Refused() && !op.Held && !op.Free:
			slot := c.find(op)
			c.load(now, slot, op)
			c.spend(slot, op)
		}
	}
}

// charges says whether there are debits or refunds in a group.
func charges(ops []Op) bool {
	for i := range ops {
		if k := ops[i].Kind; k == Debit || k == Refund {
			return true
		}
	}
	return false
}

// doTogether does a group of debits, refunds and looks, or none of it.
func doTogether(now uint64, ops []Op, of func(*Op) *Core) {
	all := true
	for i := range ops {
		op, c := &ops[i], of(&ops[i])
		at := c.find(op)
		if !c.load(now, at, op) && op.Kind == Debit {
			c.reach(now, at, op)
		}
		all = all && (op.Shadow || !op.Refused())
	}
	for i := range ops {
		op, c := &ops[i], of(&ops[i])
		if c.making, c.pinned = 0, c.pinned[:0]; all && !op.Refused() {
			c.do(now, op)
		}
	}
}

// reach sees whether a debit of what has been loaded can be made.
func (c *Core) reach(now uint64, at slot, op *Op) {
	if used := algorithms.Used(&c.stored, now); used > math.MaxInt64 || op.Call.Cost > math.MaxInt64-used {
		op.TooDeep = true
		return
	}
	c.room(now, at, op)
}

// room sees whether a charge of a group has room, and keeps it.
func (c *Core) room(now uint64, at slot, op *Op) {
	if at != 0 && c.slab.at(at).expiry > now {
		c.pinned = append(c.pinned, at)
	} else {
		// An entry that is fresh may be freed before its turn comes.
		op.Full = !c.makeRoom(now, op)
		c.making++
	}
	op.Full = op.Full || op.Call.Limit.Logged() && !c.roomForRuns(now)
}

// try answers as a peek, and sees to it that there would be room.
func (c *Core) try(now uint64, op *Op) {
	i := c.find(op)
	if c.load(now, i, op) || c.holds(op) {
		return
	}
	algorithms.Peek(&op.Call, &c.stored, &op.Decision)
	if op.Kind != Allow && op.Kind != Lease || op.Free || !op.Decision.Allowed {
		return
	}
	c.room(now, i, op)
}

// atOnceMax is how large a group may be that is decided and charged in one go.
const atOnceMax = 8

// atOnce decides a group whose keys are all this core's, and charges it if it passes:
// each operation is decided once, and what that leaves is stored when all have passed.
// It does nothing and returns false where that is not enough: on a denial, whose
// answers are those of looks, for logs, which a decision changes in place, and where
// room must be made.
func (c *Core) atOnce(now uint64, ops []Op) bool {
	if len(ops) > atOnceMax {
		return false
	}
	for i := range ops {
		if op := &ops[i]; op.Kind != Allow || op.Call.Limit.Logged() {
			return false
		}
	}
	var left [atOnceMax]struct {
		state   algorithms.State
		freshAt uint64
		slot    slot
		charged bool
	}
	made := 0
	for i := range ops {
		op := &ops[i]
		at := c.find(op)
		if c.load(now, at, op) || c.stored.Log != nil {
			return false
		}
		if op.Free {
			algorithms.Peek(&op.Call, &c.stored, &op.Decision)
		} else {
			algorithms.Allow(&op.Call, &c.stored, &op.Decision)
		}
		left[i].charged = op.Decision.Allowed && !op.Free
		if !op.Decision.Allowed && !op.Shadow {
			return false
		}
		if at == 0 && left[i].charged {
			if made > 0 && c.bounds != (Bounds{}) || c.full(op) {
				return false
			}
			made++
		}
		left[i].state, left[i].freshAt, left[i].slot = c.stored.State, c.stored.FreshAt, at
	}
	for i := range ops {
		switch op := &ops[i]; {
		case left[i].charged:
			c.stored.Limit, c.stored.State, c.stored.FreshAt = op.Call.Limit, left[i].state, left[i].freshAt
			c.allowed(op)
			c.store(left[i].slot, op, 0)
		case !op.Decision.Allowed:
			c.count(op).Shadowed++
		}
	}
	return true
}

// holds says whether the permit that is asked for is held already; then the
// answer is that of the first time, and nothing is charged.
func (c *Core) holds(op *Op) bool {
	if op.ID == "" || c.stored.Limit == nil || c.stored.Limit.Algorithm != algorithms.Concurrency {
		return false
	}
	p, ok := c.stored.Log.Permit(op.ID, op.Call.Now)
	if ok {
		op.Held, c.toldAgain = true, true
		op.Decision = algorithms.Decision{Allowed: true, Limit: op.Call.Limit.Burst, Remaining: p.Left, ResetAfter: algorithms.ResetAfter(&c.stored, op.Call.Now)}
	}
	return ok
}

// debit charges whatever the limit says, and answers as a peek does then.
func (c *Core) debit(now uint64, op *Op) {
	i := c.find(op)
	if c.load(now, i, op) {
		return
	}
	if i == 0 && !c.makeRoom(now, op) || op.Call.Limit.Logged() && !c.roomForRuns(now) {
		op.Full = true
		return
	}
	logBytes := c.loadedBytes()
	if !algorithms.Charge(&op.Call, &c.stored) {
		op.TooDeep = true
		return
	}
	c.allowed(op)
	c.store(i, op, logBytes)
	c.peekAfter(now, op)
}

// refund takes back the newest units, and answers as a peek does then.
func (c *Core) refund(now uint64, op *Op) {
	i := c.find(op)
	if c.load(now, i, op) {
		return
	}
	if c.stored.Limit != nil {
		logBytes := c.loadedBytes()
		used := algorithms.Refund(&c.stored, now, op.Call.Cost)
		c.rewrite(i, used == 0, logBytes)
	}
	c.peekAfter(now, op)
}

// giveBack takes units that were charged under a mark off what has been loaded
// from an entry that is not fresh.
func (c *Core) giveBack(now uint64, i slot, mark, units uint64) {
	logBytes := c.loadedBytes()
	used := algorithms.GiveBack(&c.stored, now, mark, units)
	c.rewrite(i, used == 0, logBytes)
}

// rewrite stores what has been taken off; a key of which nothing is left is gone.
func (c *Core) rewrite(i slot, fresh bool, logBytes int) {
	e := c.slab.at(i)
	c.logs.bytes += c.loadedBytes() - logBytes
	if fresh {
		c.endLife(c.keys.get(e.key))
		c.forget(e)
		c.remove(i, e)
		return
	}
	c.touch(i, e)
	e.state, e.expiry = c.stored.State, c.stored.FreshAt
	c.wheel.unlink(e)
	c.wheel.link(i, e)
}

// peekAfter answers what a peek with cost 0 says now.
func (c *Core) peekAfter(now uint64, op *Op) {
	cost := op.Call.Cost
	op.Call.Cost = 0
	c.load(now, c.find(op), op)
	algorithms.Peek(&op.Call, &c.stored, &op.Decision)
	op.Call.Cost = cost
}

// permit releases or renews a permit.
func (c *Core) permit(now uint64, op *Op) {
	op.Found = false
	i := c.find(op)
	if i == 0 || c.slab.at(i).expiry <= now {
		return
	}
	op.Call.Limit = c.limits.at(c.slab.at(i).limit)
	c.load(now, i, op)
	if op.Call.Limit.Algorithm != algorithms.Concurrency {
		op.WrongType = true
		return
	}
	if op.Kind == Release {
		op.Found = c.release(now, i, op.ID)
		return
	}
	logBytes := c.loadedBytes()
	if op.Found = algorithms.Renew(&c.stored, now, op.ID, op.Call.Cost); op.Found {
		c.rewrite(i, false, logBytes)
	}
}

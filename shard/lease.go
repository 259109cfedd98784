package shard

// Leases: units that a holder takes at once and spends on its own. They are charged
// when they are granted; what the holder does not need it may give back, as far as it
// still counts, until the lease's time is over. Then what is left counts as spent:
// nothing comes back, and nothing is minted.

import (
	"math"
	"slices"

	"sluice/algorithms"
)

// Leasing is what an operation about leases says beyond an Op, and what it is told.
// Units are those of the key: whole ones, or millionths of money.
type Leasing struct {
	// Lease says Key, Holder, Want, Min and TTL. Return says Holder and Spent, which
	// is what was not. Report says Holder, Seq, Start, Spent and Degraded. Tell says
	// Count.
	Key       []byte // whose account it is
	Holder    []byte // empty: nothing can be given back
	Want, Min uint64
	TTL       uint64 // nanoseconds
	Seq       uint64
	Spent     algorithms.Amount
	Degraded  algorithms.Amount
	Count     int // of windows

	// What Lease is told.
	Granted uint64
	Valid   uint64 // how long it may be spent, nanoseconds
	Now     uint64 // nanoseconds since 1970
	Start   uint64 // of the window, milliseconds since 1970; Report says it
	Holders int    // that have leases of the key out
	Total   uint64 // authorised in the window

	Taken   uint64  // by Return: how much less is used
	Usage   []Usage // by Tell
	Money   bool    // units are millionths
	Trouble Trouble
	Full    bool // no room for one lease more
}

// Trouble is why nothing was done.
type Trouble uint8

const (
	// Crowded: the key, or its window, has as many holders as there can be.
	Crowded Trouble = iota + 1
	// NotWhole: a decimal on a key that counts whole units, or money out of range.
	NotWhole
	// Early and Late: a report about a window that has not begun, or is closed.
	Early
	Late
)

// account returns the account of a key, without what has ended; nil if there is none.
func (c *Core) account(now uint64, key []byte) *account {
	a := c.leases.byKey[string(key)]
	if a != nil && a.due <= now && c.expireLeases(now, a) {
		return nil
	}
	return a
}

// lease grants what all limits of a group have, up to what is wanted, or nothing if
// that is less than Min. The group's keys live here.
func (c *Core) lease(now uint64, ops []Op) {
	l := ops[0].Leasing
	l.Granted, l.Valid, l.Holders, l.Total, l.Trouble, l.Full = 0, 0, 0, 0, 0, false
	l.Now, l.Start, l.Money = now, now/nanosPerMilli, false
	passes, grant := true, l.Want
	for i := range ops {
		op := &ops[i]
		if !op.Free {
			op.Call.Cost = l.Min
			l.Money = op.Call.Limit.Kind() == algorithms.Money
		}
		c.try(now, op)
		passes = passes && op.passes()
		if !op.Free && !op.Shadow {
			grant = min(grant, op.Decision.Remaining)
		}
	}
	a := c.account(now, l.Key)
	if !passes {
		c.denyLease(ops, a)
		return
	}
	if l.Trouble = c.leaseTrouble(a, l, len(ops)); l.Trouble != 0 {
		return
	}
	if l.Full = !c.roomForLease(now, a, len(l.Key), len(l.Holder)); !l.Full {
		c.grant(now, ops, grant)
	}
}

// denyLease counts and answers a lease that is not granted.
func (c *Core) denyLease(ops []Op, a *account) {
	l := ops[0].Leasing
	longest := uint64(0)
	for i := range ops {
		op := &ops[i]
		c.countDenial(op, op.Decision.Allowed)
		if op.Free || op.Shadow {
			continue
		}
		c.load(l.Now, c.find(op), op)
		if start, end := algorithms.Period(&op.Call, &c.stored); end-start > longest {
			longest, l.Start = end-start, start/nanosPerMilli
		}
	}
	if a == nil {
		return
	}
	l.Holders = a.holders
	if u := a.window(l.Start); u != nil && a.money == l.Money {
		l.Total = u.authorised
	}
}

// countDenial counts an operation of a lease that does not pass, and says whether it is
// one.
func (c *Core) countDenial(op *Op, passes bool) bool {
	switch {
	case op.Refused():
	case passes:
		return false
	case op.Shadow:
		c.count(op).Shadowed++
	default:
		c.denied(op)
	}
	return true
}

// leaseTrouble says why a lease cannot be kept account of.
func (c *Core) leaseTrouble(a *account, l *Leasing, limits int) Trouble {
	if a == nil || len(l.Holder) == 0 {
		return 0
	}
	h := c.leases.holders.byName[string(l.Holder)]
	if from, to := a.of(h); from == to && a.holders >= HoldersPerKeyMax || len(a.states)+limits > statesPerAccountMax {
		return Crowded
	}
	if n := len(a.windows); n > 0 && len(a.windows[n-1].parties) >= HoldersPerWindowMax {
		if _, known := a.windows[n-1].findParty(h); !known {
			return Crowded
		}
	}
	return 0
}

// roomForLease says whether there is memory for one lease or report more, under a key
// and of a holder whose names have so many bytes.
func (c *Core) roomForLease(now uint64, a *account, key, holder int) bool {
	fits := func() bool {
		growth := leaseBytes + usageBytes + partyBytes + holderBytes + holder
		if a == nil {
			growth += accountBytes + 2*key
		}
		return c.leases.out < LeasesPerShardMax && (c.bounds.BytesMax == 0 || c.Bytes()+growth <= c.bounds.BytesMax)
	}
	if fits() {
		return true
	}
	c.sweepUntil(now, fits)
	c.sweepLeases(now, sweepForRoomEntries)
	return fits()
}

// grant charges all limits of a group and notes the lease. What is only looked at is
// neither charged nor accounted.
func (c *Core) grant(now uint64, ops []Op, units uint64) {
	l := ops[0].Leasing
	l.Granted, l.Valid, l.Total = units, l.TTL, units
	var charges []charge
	a := c.leases.open(l.Key)
	begin, end, longest := uint64(0), uint64(math.MaxUint64), uint64(0)
	for i := range ops {
		op := &ops[i]
		if op.Free || op.Shadow && c.countDenial(op, op.Decision.Remaining >= units) {
			continue
		}
		op.Call.Cost = units
		slot := c.find(op)
		c.load(now, slot, op)
		c.spend(slot, op)
		if s, e := algorithms.Period(&op.Call, &c.stored); !op.Shadow {
			end = min(end, e)
			if e-s > longest {
				longest, begin = e-s, s
			}
		}
		if len(l.Holder) > 0 {
			charges = append(charges, charge{state: a.state(op.Key), mark: op.Mark})
		}
	}
	if longest == 0 { // nothing is enforced
		a.tidy()
		c.expireLeases(now, a)
		return
	}
	l.Start, l.Valid = begin/nanosPerMilli, min(l.TTL, end-now)
	a.period = longest
	u := c.leases.openWindow(a, l.Start, begin+longest+max(longest, UsageKeptNanosMin))
	c.note(now, a, u, l, charges)
}

// note puts a lease into the account and its window.
func (c *Core) note(now uint64, a *account, u *usage, l *Leasing, charges []charge) {
	t := &c.leases
	if a.money != l.Money {
		c.recount(a, l.Money)
	}
	u.authorised = plus(u.authorised, l.Granted)
	u.owed = true
	c.owe(a)
	if len(l.Holder) > 0 {
		for i := range charges {
			charges[i].life = c.reserve(a.states[charges[i].state])
		}
		h := t.use(l.Holder)
		if from, to := a.of(h); to-from >= LeasesPerHolderMax {
			c.endLease(a, from)
		}
		t.add(a, lease{holder: h, units: l.Granted, end: now + l.TTL, window: u.start, charges: charges, untold: c.ledger.on})
		if p, isNew := t.party(u, h); isNew {
			c.tellParty(a, u, p)
		}
	}
	l.Holders, l.Total = a.holders, u.authorised
}

// plus adds, and stops at what replies can hold.
func plus(a, b uint64) uint64 { return min(a+b, math.MaxInt64) }

// giveLease takes units back that a holder has out, its newest leases first.
func (c *Core) giveLease(now uint64, op *Op) {
	l := op.Leasing
	l.Taken, l.Trouble = 0, 0
	a := c.account(now, op.Key)
	if a == nil {
		return
	}
	l.Money = a.money
	units, ok := l.Spent.Of(a.kind())
	if !ok {
		l.Trouble = NotWhole
		return
	}
	from, to := a.of(c.leases.holders.byName[string(l.Holder)])
	for i := to - 1; i >= from && units > 0; i-- {
		out := &a.out[i]
		n := min(units, out.units)
		units -= n
		out.units -= n
		if u := a.window(out.window); u != nil {
			u.authorised -= min(n, u.authorised)
			u.owed = true
		}
		l.Taken += c.takeBack(now, a, out, n)
		if out.units == 0 {
			c.endLease(a, i)
		}
	}
	c.owe(a)
}

func (a *account) kind() algorithms.Kind {
	if a.money {
		return algorithms.Money
	}
	return algorithms.Rate
}

// takeBack takes units of a lease back from all limits that it has charged, as far as
// they still count, and says by how much less the one is used that gave least.
func (c *Core) takeBack(now uint64, a *account, out *lease, units uint64) (taken uint64) {
	taken = units
	for i := range out.charges {
		ch := &out.charges[i]
		taken = min(taken, c.takeFrom(now, a, ch, units))
	}
	return taken
}

// takeFrom takes units back from one limit, and says by how much less it is used.
func (c *Core) takeFrom(now uint64, a *account, ch *charge, units uint64) uint64 {
	op := &c.asking
	op.Key, op.WrongType = a.states[ch.state], false
	c.prepare(op)
	i := c.find(op)
	if i == 0 || c.slab.at(i).expiry <= now || !c.lives(op.Key, ch.life) {
		return 0
	}
	op.Call.Limit = c.limits.at(c.slab.at(i).limit)
	if op.Call.Limit.Kind() != a.kind() {
		return 0
	}
	c.load(now, i, op)
	logBytes, before := c.loadedBytes(), algorithms.Used(&c.stored, now)
	after := algorithms.GiveBack(&c.stored, now, ch.mark, units)
	if after == 0 {
		// The key's record goes before the account's would. Were it the last that
		// reaches the disk, the units would be there to be given back again.
		c.tellOut(a)
	}
	c.rewrite(i, after == 0, logBytes)
	return before - after
}

// endLease takes a lease out of an account: what is left of it counts as spent.
func (c *Core) endLease(a *account, i int) {
	out := a.out[i]
	a.out = slices.Delete(a.out, i, i+1)
	if from, to := a.of(out.holder); from == to {
		a.holders--
	}
	c.letGo(a, &out)
	a.tidy()
}

// tidy lets go of the states that no lease charges any more.
func (a *account) tidy() {
	if len(a.out) == 0 {
		a.out, a.states = nil, nil
	}
}

// letGo ends what a lease that is not in its account any more has held.
func (c *Core) letGo(a *account, out *lease) {
	t := &c.leases
	for i := range out.charges {
		if !c.lives(a.states[out.charges[i].state], 0) {
			// Before the life's number begins anew on disk, the lease must be gone there.
			c.tellOut(a)
			break
		}
	}
	c.unreserveAll(a, out)
	t.drop(out.holder)
	t.out--
	t.bytes -= leaseBytes
}

// unreserveAll notes that nothing of a lease can be given back any more.
func (c *Core) unreserveAll(a *account, out *lease) {
	for i := range out.charges {
		c.unreserve(a.states[out.charges[i].state])
	}
}

// expireLeases takes what has ended out of an account, and says whether nothing is
// left and the account is gone.
func (c *Core) expireLeases(now uint64, a *account) (gone bool) {
	t := &c.leases
	var ended []lease
	due, kept, before := uint64(math.MaxUint64), a.out[:0], holderRef(0)
	a.holders = 0
	for _, out := range a.out {
		if out.end <= now {
			ended = append(ended, out)
			continue
		}
		if out.holder != before {
			a.holders++
		}
		kept, before, due = append(kept, out), out.holder, min(due, out.end)
	}
	clear(a.out[len(kept):])
	a.out = kept
	for i := range ended {
		c.letGo(a, &ended[i])
	}
	a.tidy()
	a.windows = slices.DeleteFunc(a.windows, func(u *usage) bool {
		if u.closes <= now {
			t.closeWindow(u)
			return true
		}
		due = min(due, u.closes)
		return false
	})
	if len(a.out) == 0 && len(a.windows) == 0 {
		t.close(a)
		return true
	}
	a.due = due
	t.queue.moved(a)
	return false
}

// sweepLeases takes out what has ended, from no more than budget accounts, and says
// whether some were left.
func (c *Core) sweepLeases(now uint64, budget int) (more bool) {
	t := &c.leases
	for ; len(t.queue) > 0 && t.queue[0].due <= now; budget-- {
		if budget <= 0 {
			return true
		}
		c.expireLeases(now, t.queue[0].one)
	}
	return false
}

// leasesDue is the instant at which sweepLeases has something to do next.
func (c *Core) leasesDue() uint64 {
	if q := c.leases.queue; len(q) > 0 {
		return q[0].due
	}
	return math.MaxUint64
}

// Leases is how many leases are out.
func (c *Core) Leases() int { return c.leases.out }

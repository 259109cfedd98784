package algorithms

// The frame of every decision: settle what is stored, compare, say the waits,
// and charge if the call passes. What differs between algorithms is in their
// models; what is the same for all, the laws above all, is here.

import "math"

// State is what one key stores: 32 bytes whose words belong to the model of the
// limit that they were last charged under. At is the instant of that charge.
type State struct {
	At, A, B, C uint64
}

// Stored is what a keeper has on a key. A nil Limit means the key is fresh.
type Stored struct {
	Limit *Limit // the limit that State was last charged under
	State State
	// FreshAt is the first instant at which the state is as good as none. It is
	// exact, but that of a debt that ends after 2554 is the last instant there is.
	// The state need not be kept from then on. Allow sets it.
	FreshAt uint64
	// Log is the key's log when Limit or the call's limit is a sliding log:
	// its own, or an empty one that becomes its own when the call passes.
	Log *Log
}

// Call is one question. Cost is in whole units; Allow wants at least 1, Peek
// may be asked with 0. KeyHash is xxhash64 of the key, seed 0.
type Call struct {
	Limit   *Limit
	Cost    uint64
	Now     uint64 // nanoseconds since 1970
	KeyHash uint64
}

// Never is the RetryAfter of a call that can never pass.
const Never = -1

// WaitMaxMillis is the longest wait that is shown.
const WaitMaxMillis = 1<<53 - 1

// Decision is the answer to one call. Waits are in milliseconds, rounded up.
type Decision struct {
	Allowed    bool
	Limit      uint64 // what the cost is measured against: the burst for buckets
	Remaining  uint64 // units that would still pass now, 0 … Limit
	RetryAfter int64  // 0 when allowed; on a denial at least 1, or Never
	ResetAfter int64  // until the key is fresh if nobody calls
	Delay      int64  // how long an admitted call of a leaky bucket waits
}

// Allow decides a call and writes the answer to d. If the call passes it is
// charged: k then holds the new state under the call's limit. If not, k is as
// it was.
//
// Questions and answers go by pointer because they are larger than registers
// hold, and copying them costs more than deciding.
func Allow(c *Call, k *Stored, d *Decision) {
	s, used := settle(k, c.Now)
	if !judge(c, k, d, s, used) {
		return
	}
	l := c.Limit
	m := &byID[l.Algorithm].model
	s = take(m, c, k, s, used)
	if m.delay != nil {
		d.Delay = m.delay(s, l)
	}
	k.Limit = l
	k.State = m.charge(s, l, c.Cost, k.Log)
	k.FreshAt = m.freshAt(k.State, l)
	d.Remaining -= c.Cost
	d.ResetAfter = resetAfter(k.State, l, k.FreshAt)
}

// Peek answers as Allow would and charges nothing. Remaining is what is there
// now, the cost not taken off; a cost of 0 is always allowed.
func Peek(c *Call, k *Stored, d *Decision) {
	s, used := settle(k, c.Now)
	if !judge(c, k, d, s, used) {
		return
	}
	if used > 0 {
		d.ResetAfter = resetAfter(s, k.Limit, FreshAt(s, k.Limit))
	}
	if m := &byID[c.Limit.Algorithm].model; m.delay != nil {
		d.Delay = m.delay(take(m, c, k, s, used), c.Limit)
	}
}

// Used says how many units, rounded up, count against a key at now.
func Used(k *Stored, now uint64) uint64 {
	_, used := settle(k, now)
	return used
}

// FreshAt is the first instant at which a stored state is as good as none.
func FreshAt(s State, l *Limit) uint64 {
	return byID[l.Algorithm].model.freshAt(s, l)
}

// ResetAfter says in how many milliseconds, rounded up, a stored state is fresh if
// nobody calls, counted from now as a decision counts it.
func ResetAfter(k *Stored, now uint64) int64 {
	s, _ := settle(k, now)
	return resetAfter(s, k.Limit, k.FreshAt)
}

// Mark names what the last charge of a state went to: the window, the run, the
// count, or the time since the key was fresh. GiveBack takes from nothing else.
func Mark(k *Stored) uint64 {
	return byID[k.Limit.Algorithm].model.mark(k.State, k.Limit)
}

// Recast says whether what counts under one limit becomes one new charge under another,
// in which earlier charges are not told apart any more.
func Recast(was, l *Limit) bool {
	if was.Algorithm == l.Algorithm {
		return was.Algorithm == SlidingCounter && was.Window != l.Window
	}
	return !isMeter(was) || !isMeter(l)
}

// Newest is the mark of whatever was charged last.
const Newest = math.MaxUint64

// GiveBack takes units back that were charged under a mark of the same model, as
// far as they still count at now: nothing comes back from a window that has ended,
// nor from a state that has been fresh since. A key whose limit is of another model
// meanwhile gives nothing back. k holds what is left; used 0 is a fresh key.
func GiveBack(k *Stored, now, mark, units uint64) (used uint64) {
	s, before := settle(k, now)
	if before == 0 {
		return 0
	}
	k.State = byID[k.Limit.Algorithm].model.back(s, k.Limit, mark, units, k.Log)
	k.FreshAt = FreshAt(k.State, k.Limit)
	_, used = settle(k, now)
	return used
}

// Refund takes back the newest units, down to a fresh key. Those of the last charge are
// first: in a log that was charged under a longer window before, others end later.
func Refund(k *Stored, now, units uint64) (used uint64) {
	if k.Limit.Algorithm == SlidingLog {
		before := Used(k, now)
		units -= before - GiveBack(k, now, Mark(k), units)
	}
	return GiveBack(k, now, Newest, units)
}

// Charge charges a call whatever the limit says, so that a debt may come of it.
// It refuses, and changes nothing, when more than 2^63 − 1 units would be used.
func Charge(c *Call, k *Stored) (ok bool) {
	s, used := settle(k, c.Now)
	if used > unitsStoredMax || c.Cost > unitsStoredMax-used {
		return false
	}
	charge(c, k, s, used)
	return true
}

// charge stores a settled state with the call's cost, under the call's limit.
func charge(c *Call, k *Stored, s State, used uint64) {
	m := &byID[c.Limit.Algorithm].model
	s = take(m, c, k, s, used)
	k.Limit = c.Limit
	k.State = m.charge(s, c.Limit, c.Cost, k.Log)
	k.FreshAt = m.freshAt(k.State, c.Limit)
}

// unitsStoredMax bounds a count in a state: a debt of 2^63 − 1 units.
const unitsStoredMax = math.MaxInt64

// Legal says whether a state that a keeper has read from a file can have been
// stored under l. States of a sliding log are made from its runs instead.
func Legal(s State, l *Limit) bool {
	return byID[l.Algorithm].model.legal(s, l)
}

// settle brings a stored state up to now, or to its own instant if that is
// later, and says how many units are used then.
func settle(k *Stored, now uint64) (State, uint64) {
	if k.Limit == nil {
		return State{At: now}, 0
	}
	return byID[k.Limit.Algorithm].model.settle(k.State, k.Limit, max(now, k.State.At), k.Log)
}

// judge says whether a call passes against a settled state, and writes to d all
// that a denial needs.
func judge(c *Call, k *Stored, d *Decision, s State, used uint64) bool {
	capacity := c.Limit.Burst
	*d = Decision{Limit: capacity}
	if used < capacity {
		d.Remaining = capacity - used
	}
	if c.Cost <= d.Remaining {
		d.Allowed = true
		return true
	}
	if used > 0 {
		d.ResetAfter = resetAfter(s, k.Limit, FreshAt(s, k.Limit))
	}
	if c.Cost > capacity {
		d.RetryAfter = Never
		return false
	}
	d.RetryAfter = byID[k.Limit.Algorithm].model.until(s, k.Limit, capacity-c.Cost, k.Log)
	return false
}

// take expresses a settled state under the call's limit, before the charge.
// What is fresh is taken from nothing: of its old limit only the log that it may
// have is still of use.
func take(m *model, c *Call, k *Stored, s State, used uint64) State {
	if used == 0 {
		return m.adopt(State{At: c.Now, C: s.C}, k.Limit, c.Limit, 0, c.KeyHash)
	}
	if k.Limit == c.Limit || *k.Limit == *c.Limit {
		return s
	}
	return m.adopt(s, k.Limit, c.Limit, used, c.KeyHash)
}

// resetAfter is how long from a settled state to the instant at which it is fresh.
// An instant that instants cannot hold is that of a debt, and only a meter has one.
func resetAfter(s State, l *Limit, freshAt uint64) int64 {
	if freshAt == math.MaxUint64 {
		return byID[l.Algorithm].model.until(s, l, 0, nil)
	}
	return Millis(freshAt - s.At)
}

// Millis rounds nanoseconds up to whole milliseconds, up to WaitMaxMillis.
func Millis(ns uint64) int64 {
	ms := ns / millisecond
	if ns%millisecond != 0 {
		ms++
	}
	return int64(min(ms, WaitMaxMillis))
}

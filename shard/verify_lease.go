package shard

// What must hold of leases and usage between two operations, in one walk over all
// accounts. Tests ask for it with the rest of verify.go, and -tags invariants does.

import (
	"cmp"
	"fmt"
	"slices"
)

// verifyLeases: accounts stand in the heap once, what is in them is in order, and
// everything that is counted is counted right.
func (c *Core) verifyLeases() error {
	t := &c.leases
	uses := make(map[holderRef]int)
	charged := make(map[string]int)
	bytes, out := 0, 0
	if len(t.byKey) != len(t.queue) {
		return fmt.Errorf("leases: %d accounts in the heap, %d by key", len(t.queue), len(t.byKey))
	}
	if err := t.queue.verify(); err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	for _, at := range t.queue {
		a := at.one
		if t.byKey[string(a.key)] != a {
			return fmt.Errorf("leases: the account of %.20q is not the one in the heap", a.key)
		}
		if err := a.verify(); err != nil {
			return err
		}
		bytes += accountBytes + 2*len(a.key) + leaseBytes*len(a.out) + usageBytes*len(a.windows)
		out += len(a.out)
		for _, l := range a.out {
			uses[l.holder]++
			for _, ch := range l.charges {
				charged[string(a.states[ch.state])]++
			}
		}
		for _, u := range a.windows {
			bytes += partyBytes * len(u.parties)
			for _, p := range u.parties {
				uses[p.holder]++
			}
		}
	}
	for h, n := range uses {
		row := t.holders.rows[h]
		if bytes += holderBytes + len(row.name); row.uses != n || t.holders.byName[row.name] != h {
			return fmt.Errorf("leases: holder %d is used %d times, told %d, or not found by its name", h, n, row.uses)
		}
	}
	if len(uses) != len(t.holders.byName) || out != t.out || bytes != t.bytes {
		return fmt.Errorf("leases: %d holders, %d leases, %d bytes, told %d, %d, %d", len(uses), out, bytes, len(t.holders.byName), t.out, t.bytes)
	}
	for state, n := range charged {
		if r := c.reserved[state]; r == nil || r.open < n {
			return fmt.Errorf("leases: %.20q has %d charges that may be given back and is not noted so", state, n)
		}
	}
	return nil
}

// verify: everything is in order, and nothing ends before the account is looked at.
func (a *account) verify() error {
	holders := 0
	for i := range a.out {
		switch l := &a.out[i]; {
		case i > 0 && l.holder < a.out[i-1].holder || l.end < a.due || l.holder == 0:
			return fmt.Errorf("leases: lease %d of %.20q is out of order, or ends early", i, a.key)
		case i == 0 || l.holder != a.out[i-1].holder:
			holders++
		}
	}
	if holders != a.holders || len(a.out) == 0 && a.states != nil {
		return fmt.Errorf("leases: %.20q has %d holders, told %d, and %d states", a.key, holders, a.holders, len(a.states))
	}
	if !slices.IsSortedFunc(a.windows, func(u, v *usage) int { return cmp.Compare(u.start, v.start) }) || len(a.windows) > UsageWindowsMax {
		return fmt.Errorf("leases: the %d windows of %.20q are out of order, or too many", len(a.windows), a.key)
	}
	for _, u := range a.windows {
		if u.closes < a.due || !slices.IsSortedFunc(u.parties, func(p, q party) int { return cmp.Compare(p.holder, q.holder) }) {
			return fmt.Errorf("leases: window %d of %.20q closes early, or its holders are out of order", u.start, a.key)
		}
	}
	return nil
}

// verify: what is due first stands in front, and each knows its place.
func (g agenda[T]) verify() error {
	for i, a := range g {
		if *a.one.seat() != i || a.due != a.one.dueAt() || i > 0 && g[(i-1)/agendaWidth].due > a.due {
			return fmt.Errorf("number %d of the agenda is not in its place", i)
		}
	}
	return nil
}

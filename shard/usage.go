package shard

// Usage: what the windows of a key add up to, as its holders report it. A report is a
// holder's running total for one window, and the one with the highest number counts,
// so it may be sent again and again. How exact the sums are does not depend on how
// exactly limits were enforced.

import (
	"math"

	"sluice/algorithms"
)

// Usage is the sums of one window, in the units of the key.
type Usage struct {
	Start      uint64 // milliseconds since 1970
	Authorised uint64 // granted by leases and not given back
	Spent      uint64 // as reported
	Degraded   uint64 // as reported
	Holders    int    // that were granted a lease or have reported
}

// recount counts an account in other units: the key has become one of another kind.
// From whole units to money is exact; the other way nothing can be kept. What leases
// had out was of a state that is gone.
func (c *Core) recount(a *account, money bool) {
	a.money = money
	in := func(n *uint64) {
		if !money {
			*n = 0
			return
		}
		*n = min(*n, math.MaxInt64/algorithms.Millionths) * algorithms.Millionths
	}
	for _, u := range a.windows {
		in(&u.authorised)
		u.owed = true
		for i := range u.parties {
			p := &u.parties[i]
			in(&p.spent)
			in(&p.degraded)
			c.tellParty(a, u, p)
		}
	}
	for i := range a.out {
		a.out[i].units = 0
	}
}

// report counts what a holder says that it has spent; Found says whether it does.
func (c *Core) report(now uint64, op *Op) {
	l := op.Leasing
	op.Found, l.Trouble = false, 0
	a := c.account(now, op.Key)
	money := l.Spent.Decimal || l.Degraded.Decimal
	if a != nil {
		money = a.money
	}
	kind := algorithms.Rate
	if money {
		kind = algorithms.Money
	}
	spent, whole := l.Spent.Of(kind)
	degraded, alsoWhole := l.Degraded.Of(kind)
	closes, trouble := reportCloses(now, a, l.Start)
	switch {
	case !whole || !alsoWhole:
		l.Trouble = NotWhole
	case trouble != 0:
		l.Trouble = trouble
	case !c.roomForLease(now, a, len(op.Key), len(l.Holder)):
		op.Full = true
	default:
		c.countReport(op, l, money, closes, spent, degraded)
	}
}

// reportCloses says until when the window is open that a report is about.
func reportCloses(now uint64, a *account, start uint64) (closes uint64, trouble Trouble) {
	if start > now/nanosPerMilli {
		return 0, Early
	}
	period := uint64(0)
	if a != nil {
		if u := a.window(start); u != nil {
			return u.closes, 0
		}
		if len(a.windows) >= UsageWindowsMax && start < a.windows[0].start {
			return 0, Late
		}
		period = a.period
	}
	if period == 0 {
		return now + UsageKeptNanosMin, 0
	}
	if closes = start*nanosPerMilli + period + max(period, UsageKeptNanosMin); closes <= now {
		return 0, Late
	}
	return closes, 0
}

// countReport counts a report.
func (c *Core) countReport(op *Op, l *Leasing, money bool, closes, spent, degraded uint64) {
	t := &c.leases
	a := t.open(op.Key)
	a.money = money
	u := t.openWindow(a, l.Start, closes)
	h := t.holders.byName[string(l.Holder)]
	if _, known := u.findParty(h); !known && len(u.parties) >= HoldersPerWindowMax {
		l.Trouble = Crowded
		return
	}
	h = t.use(l.Holder)
	p, _ := t.party(u, h)
	t.drop(h)
	if l.Seq < p.seq {
		c.toldAgain = true
		return
	}
	op.Found = true
	p.seq, p.spent, p.degraded = l.Seq+1, spent, degraded
	c.tellParty(a, u, p)
}

// tell lists the windows of a key, the newest first.
func (c *Core) tell(now uint64, op *Op) {
	l := op.Leasing
	l.Usage = l.Usage[:0]
	a := c.account(now, op.Key)
	if a == nil {
		return
	}
	l.Money = a.money
	for i := len(a.windows) - 1; i >= 0 && len(l.Usage) < l.Count; i-- {
		u := a.windows[i]
		sum := Usage{Start: u.start, Authorised: u.authorised, Holders: len(u.parties)}
		for j := range u.parties {
			sum.Spent = plus(sum.Spent, u.parties[j].spent)
			sum.Degraded = plus(sum.Degraded, u.parties[j].degraded)
		}
		l.Usage = append(l.Usage, sum)
	}
}

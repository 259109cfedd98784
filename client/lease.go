package client

// Leases: units that the server has charged already, to be spent here without asking.
// A lease is spent from the front while the next one waits behind it. What is
// arithmetic about them is in this file; it takes the time and never waits.
//
// How large a lease is follows the traffic. The first call on a key is decided by the
// server, exactly. A lease that is used up before LeaseTime is over doubles the next
// one; one of which half had to be given back halves it; after a pause the key is cold
// again. A lease never exceeds accuracy × limit ÷ holders, so that all that is out at a
// time is a share of the limit that no accuracy is lost below.

import (
	"time"
)

const (
	// LeaseTime is how long a lease is meant to last. One that is used up sooner makes
	// the next one larger; what is left of it after that is given back.
	LeaseTime = time.Second
	// LeaseTTL is how long a lease may be spent at most.
	LeaseTTL = 2 * LeaseTime
	// RecheckInterval is how long a denial is repeated here before the server is asked
	// again.
	RecheckInterval = 100 * time.Millisecond

	// aheadParts is the part of a lease, one in so many, that is left when the next one
	// is asked for.
	aheadParts = 8
)

// lease is units to spend.
type lease struct {
	left    int64
	granted int64         // less what was given back
	from    time.Duration // when it began to be spent
	until   time.Duration // when it ends; it is not spent from then on
	window  int64         // in which it was charged, its start in ms since 1970; unaccounted for none
}

// unaccounted is the window of what the server decided itself, which nobody reports.
const unaccounted = -1

// leasable says whether units of a limit can be spent without the server: not where
// each call has a delay of its own, and not fractions.
func (l *Limit) leasable() bool { return l.algorithm != leakyBucket && l.algorithm != budget }

// spend takes a cost out of the leases.
func (e *entry) spend(cost int64, now time.Duration) bool {
	if e.cur.left >= cost && now < e.cur.until {
		e.cur.left -= cost
		return true
	}
	return e.spendAhead(cost, now)
}

// spendAhead is spend where the lease in front is too short.
func (e *entry) spendAhead(cost int64, now time.Duration) bool {
	if now >= e.cur.until {
		e.retire(&e.cur)
	}
	if now >= e.ahead.until {
		e.retire(&e.ahead)
	}
	if e.cur.left+e.ahead.left < cost || e.ahead.left == 0 {
		return false
	}
	cost -= e.cur.left
	e.cur.left = 0
	e.retire(&e.cur)
	e.cur, e.ahead = e.ahead, lease{}
	e.cur.from = now
	e.cur.left -= cost
	return true
}

// retire ends a lease: what was spent of it is accounted for, what is left is lost.
func (e *entry) retire(l *lease) {
	if l.granted > 0 && l.window != unaccounted {
		e.tally.in(l.window, func(t *sums) { t.spent += l.granted - l.left })
	}
	from := l.from
	*l = lease{from: from}
}

// runsOut says whether the next lease should be asked for now.
func (e *entry) runsOut(now time.Duration) bool {
	return e.cur.left <= e.cur.granted/aheadParts && e.cur.granted > 0 && e.ahead.left == 0 && e.flight == nil &&
		e.most > 1 && now-e.cur.from < LeaseTime && now >= e.askFrom && (e.denial.cost == 0 || now >= e.denial.recheck)
}

// next is how many units to ask for, 0 if the server should decide the call itself. What
// callers are waiting for is spent as soon as it comes, so it may be more than most.
func (e *entry) next(cost int64, now time.Duration) int64 {
	switch {
	case now-e.used > LeaseTTL:
		e.size = 1
	case e.cur.left <= e.cur.granted/aheadParts && now-e.cur.from < LeaseTime && e.known.ever:
		e.size *= 2
	}
	e.size = max(1, min(e.size, e.most))
	if cost > e.most || e.size < 2 {
		return 0
	}
	return max(e.size, e.waiting+cost)
}

// granted takes in what the server granted. What there is no place for is returned to
// be given back.
func (e *entry) granted(l lease, now time.Duration) (tooMuch int64) {
	switch {
	case now >= l.until:
		e.retire(&l)
	case e.cur.left == 0 || now >= e.cur.until:
		e.retire(&e.cur)
		e.cur = l
	case e.ahead.left == 0 || now >= e.ahead.until:
		e.retire(&e.ahead)
		e.ahead = l
	default:
		return l.left
	}
	return 0
}

// giveBack is what should be given back now: what is left when nobody used the key for
// LeaseTime, when the lease in front has lasted that long and half of it is left, or
// when it ends before the next look at it.
func (e *entry) giveBack(now, again time.Duration) int64 {
	if now >= e.cur.until {
		e.retire(&e.cur)
	}
	if now >= e.ahead.until {
		e.retire(&e.ahead)
	}
	left := e.cur.left + e.ahead.left
	idle := now - e.used
	slow := now-e.cur.from >= LeaseTime && e.cur.left > e.cur.granted/2
	ends := e.cur.until-now <= again && idle >= again
	if left == 0 || e.flight != nil || idle < LeaseTime && !slow && !ends {
		return 0
	}
	if 2*left >= e.cur.granted+e.ahead.granted {
		e.size = max(1, e.size/2)
	}
	return e.drop()
}

// drop takes all that is left out of the leases.
func (e *entry) drop() (left int64) {
	for _, l := range []*lease{&e.cur, &e.ahead} {
		left += l.left
		l.granted -= l.left
		l.left = 0
		e.retire(l)
	}
	e.share.returned(left)
	return left
}

// bound sets how large a lease may be, from what the limit is and how many hold
// leases of it.
func (e *entry) bound(accuracy float64, leaseMax, limit, holders int64) {
	e.most = max(1, min(leaseMax, int64(accuracy*float64(limit)/float64(max(1, holders)))))
	if !e.limit.leasable() || e.unleasable {
		e.most = 1
	}
}

// deny remembers a denial.
func (e *entry) deny(cost int64, retry, now time.Duration) {
	e.denial = denial{cost: cost, passesAt: now + retry, recheck: now + RecheckInterval, never: retry == Never}
}

// slowDown is for a key of which there is less than is wanted. Everybody would ask for
// every unit that is earned; so whoever is called often waits until most calls have come,
// and finds more. What a call is told in the meantime is when that is.
func (e *entry) slowDown(heard, now time.Duration) {
	if e.most > 1 && e.calls > 0 && now > heard {
		if pause := time.Duration(float64(now-heard) / float64(e.calls) * float64(e.most)); pause < RecheckInterval {
			e.askFrom = now + pause
		}
	}
}

// denied says whether the call is denied without asking, and for how long.
func (e *entry) denied(cost int64, now time.Duration) (retry time.Duration, ok bool) {
	d := &e.denial
	slow := now < e.askFrom
	switch {
	case slow && (d.cost != cost || !d.never && d.passesAt < e.askFrom):
		return upToMillis(e.askFrom - now), true
	case d.cost != cost || now >= d.recheck:
		return 0, false
	case d.never:
		return Never, true
	case now >= d.passesAt:
		return 0, false
	}
	return upToMillis(d.passesAt - now), true
}

// upToMillis rounds a wait up to whole milliseconds.
func upToMillis(d time.Duration) time.Duration {
	if rest := d % time.Millisecond; rest > 0 {
		d += time.Millisecond - rest
	}
	return d
}

// decision is what a call that passes here is told.
func (e *entry) decision(now time.Duration) (d Decision) {
	e.decide(&d, now)
	return d
}

// decide fills in a decision that is zero: copying one costs as much as making it.
func (e *entry) decide(d *Decision, now time.Duration) {
	k := &e.known
	d.Allowed, d.Source, d.Money, d.Limit, d.LimitName = true, SourceLease, k.money, k.limit, k.name
	d.Remaining = min(k.limit, k.remaining+e.cur.left+e.ahead.left)
	d.Stale = now - k.at
	d.ResetAfter = max(0, k.resetAt-now)
}

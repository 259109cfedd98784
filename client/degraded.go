package client

// Deciding without the server. A key's limit is divided among the processes by what
// each of them was granted before: this process goes on with its own share of the
// limit, from its share of what was left when the server was heard last. So the sum
// over all processes stays near the limit for as long as the traffic keeps its
// proportions. Whatever is admitted this way is flagged, counted, charged to the
// server's limit afterwards as far as it would still count, and reported.

import (
	"math"
	"time"
)

const (
	// ShareMin is the share of a limit that a process goes on with at least.
	ShareMin = 0.02

	// shareMemory is how much of what was seen before a new observation leaves.
	shareMemory = 0.95
)

// Policy is what is decided while the server cannot be reached.
type Policy uint8

// The policies.
const (
	// FailLocal goes on with this process's share of the limit. It is the default.
	FailLocal Policy = iota
	// FailOpen admits every call.
	FailOpen
	// FailClosed denies every call, with Decision.Unavailable.
	FailClosed
)

// share is the part of what the server granted that this process got.
type share struct {
	mine, total float64
	window      int64
	seen        int64 // granted in all, in the window
}

// saw takes in how much was granted here and to all.
func (s *share) saw(window, granted, total int64) {
	all := total - s.seen
	switch {
	case s.total == 0:
		s.mine, s.total = float64(granted), float64(total)
	case window == s.window && all >= granted && all > 0:
		s.mine = s.mine*shareMemory + float64(granted)
		s.total = s.total*shareMemory + float64(all)
	}
	s.window, s.seen = window, total
}

// returned takes back what was granted here and not spent.
func (s *share) returned(units int64) {
	s.mine = max(0, s.mine-float64(units))
	s.total = max(0, s.total-float64(units))
	s.seen = max(0, s.seen-units)
}

// of is the share, or what stands for it where nothing was seen.
func (s *share) of(unknown float64) float64 {
	if s.total > 0 {
		unknown = s.mine / s.total
	}
	return min(1, max(ShareMin, unknown))
}

// local is a limit that this process enforces by itself.
type local struct {
	active   bool
	since    time.Duration // when it began
	at       time.Duration
	free     float64
	most     float64       // free at most
	rate     float64       // units a nanosecond; 0 with windows
	length   time.Duration // of a window; 0 with a rate
	endsAt   time.Duration // the window
	admitted int64         // with windows in this one, else in all
}

// begin starts from a share of what the server said last, or of the whole limit if it
// never said anything. unix is the server's time.
func (d *local) begin(e *entry, l Limit, part float64, now, unix time.Duration) {
	full := float64(l.capacity())
	k := &e.known
	*d = local{active: true, since: now, at: now, free: part * full, most: max(1, part*full)}
	if k.ever {
		d.free = part * float64(k.remaining)
	}
	if l.algorithm != fixedWindow && l.algorithm != budget {
		d.rate = part * float64(l.units) / float64(l.window)
		if k.ever {
			d.at = k.at
		}
		d.pass(now)
		return
	}
	d.length = l.length()
	d.endsAt = now + d.length - unix%d.length
	if k.ever && k.resetAt > now && k.resetAt-now <= d.length {
		d.endsAt = k.resetAt
	} else if k.ever && k.resetAt <= now {
		d.free = d.most
	}
	d.free = min(d.free, d.most)
}

// capacity is what a cost is measured against.
func (l *Limit) capacity() int64 {
	if l.burst != 0 {
		return l.burst
	}
	return l.units
}

// length is about how long a limit's window is.
func (l *Limit) length() time.Duration {
	const day = 24 * time.Hour
	switch l.period {
	case Day:
		return day
	case Week:
		return 7 * day
	case Month:
		return 30 * day
	case Year:
		return 365 * day
	}
	return l.window
}

// pass lets time go by.
func (d *local) pass(now time.Duration) {
	if d.length > 0 {
		if now >= d.endsAt {
			d.endsAt += (now-d.endsAt)/d.length*d.length + d.length
			d.free, d.admitted = d.most, 0
		}
		return
	}
	d.free = min(d.most, d.free+float64(now-d.at)*d.rate)
	d.at = now
}

// allow decides a call, and says when it would pass.
func (d *local) allow(cost int64, now time.Duration) (retry time.Duration, ok bool) {
	d.pass(now)
	const hair = 1e-9 // of a unit: sums of parts fall short of whole ones by less
	need := float64(cost) - d.free - hair
	switch {
	case need <= 0:
		d.free = max(0, d.free-float64(cost))
		d.admitted += cost
		return 0, true
	case float64(cost) > d.most:
		return ProbeInterval, false // not here; the server may be back
	case d.length > 0:
		return upToMillis(d.endsAt - now), false
	}
	return max(time.Millisecond, upToMillis(time.Duration(min(need/d.rate, math.MaxInt64/2)))), false
}

// reset is how long it takes until this process's share is whole again.
func (d *local) reset(now time.Duration) time.Duration {
	switch {
	case d.free >= d.most:
		return 0
	case d.length > 0:
		return upToMillis(d.endsAt - now)
	}
	return upToMillis(time.Duration(min((d.most-d.free)/d.rate, math.MaxInt64/2)))
}

// owed is what the server should charge of what was admitted: what would still count.
func (d *local) owed(now time.Duration) int64 {
	if !d.active {
		return 0
	}
	d.pass(now)
	if d.length > 0 {
		return d.admitted
	}
	return min(d.admitted, int64(math.Ceil(d.most-d.free)))
}

// degrade decides a call without the server, under the lock of the entry's part.
func (c *Client) degrade(p *part, e *entry, cost int64, now time.Duration) Decision {
	l, policy := c.fallback(e.limit, e.known.name)
	d := Decision{Source: SourceDegraded, Limit: e.known.limit, LimitName: e.known.name, Money: l.algorithm == budget}
	if e.known.ever {
		d.Stale = now - e.known.at
	} else {
		d.Limit = l.capacity()
	}
	unix := c.unix()
	switch policy {
	case FailClosed:
		d.Unavailable, d.RetryAfter = true, ProbeInterval
		return p.count(d)
	case FailOpen:
		d.Allowed, d.Remaining = true, d.Limit
	case FailLocal:
		if !e.local.active {
			part := e.share.of(c.usualShare())
			if e.limit == requests {
				part = 1 // of them no lease tells a share
			}
			e.local.begin(e, l, part, now, unix)
		}
		if d.RetryAfter, d.Allowed = e.local.allow(cost, now); cost > l.capacity() {
			d.RetryAfter = Never
		}
		d.Remaining = min(d.Limit, int64(e.local.free))
		d.ResetAfter = e.local.reset(now)
	}
	if d.Allowed {
		e.tally.in(e.windowAt(unix), func(s *sums) { s.degraded += cost })
	}
	return p.count(d)
}

// fallback is the limit that is enforced without the server, and the policy. Of a plan,
// bound is the limit that bound last.
func (c *Client) fallback(l Limit, bound string) (Limit, Policy) {
	if l.algorithm != plan {
		return l, c.policy
	}
	if own, ok := c.planPolicy[l.text]; ok {
		return own.limit, own.policy
	}
	return c.standIn(l.text, bound), c.policy
}

// windowAt is the window, its start in ms since 1970, in which something admitted now
// is accounted: that of the limit, or where this process does not know its windows the
// one it heard of last.
func (e *entry) windowAt(unix time.Duration) int64 {
	aligned := time.Hour
	if e.limit.algorithm != plan && e.limit.period == 0 && e.limit.align == alignEpoch {
		aligned = e.limit.window
	} else if e.share.window != 0 {
		return e.share.window
	}
	return (unix - unix%aligned).Milliseconds()
}

// count counts a decision, under the part's lock.
func (p *part) count(d Decision) Decision {
	*p.counter(d)++
	return d
}

// uncount takes back what was no decision.
func (p *part) uncount(d Decision) { *p.counter(d)-- }

func (p *part) counter(d Decision) *uint64 {
	if d.Allowed {
		return &p.tally[d.Source][1]
	}
	return &p.tally[d.Source][0]
}

package client

// The calls beside Allow while the server is away. Each follows the same policy and the
// same local limits; what was decided for nothing is undone.

import (
	"math"
	"sync"
)

// aside decides a call without the server, in its own right.
func (c *Client) aside(key string, l Limit, cost int64) Decision {
	p, h := c.table.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.degrade(p, c.entry(p, h, key, l), cost, c.now())
}

// undo takes units back that aside has let pass.
func (c *Client) undo(key string, l Limit, units int64) {
	p, h := c.table.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.find(h, key, &l)
	if e == nil {
		return // it had to make room; what it admitted is on its way to the server
	}
	if d := &e.local; d.active {
		d.free = min(d.most, d.free+float64(units))
		d.admitted = max(0, d.admitted-units)
	}
	unix := c.unix()
	e.tally.in(e.windowAt(unix), func(s *sums) { s.degraded = max(0, s.degraded-units) })
}

// recount counts a decision that allowed as one that denied: others with it denied.
func (c *Client) recount(key string, d Decision) {
	p, _ := c.table.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uncount(d)
	d.Allowed = false
	p.count(d)
}

// peekAside is Peek without the server.
func (c *Client) peekAside(key string, l Limit, cost int64) Decision {
	d := c.aside(key, l, max(1, cost))
	p, _ := c.table.part(key)
	p.mu.Lock()
	p.uncount(d)
	p.mu.Unlock()
	if d.Allowed {
		c.undo(key, l, max(1, cost))
		d.Remaining = min(d.Limit, d.Remaining+max(1, cost))
	}
	return d
}

// allAside is AllowAll without the server.
func (c *Client) allAside(calls []Call) Decisions {
	all := Decisions{Decision: Decision{Allowed: true, Source: SourceDegraded}}
	for _, call := range calls {
		d := c.aside(call.Key, call.Limit, call.Cost)
		all.Each = append(all.Each, d)
		all.Allowed = all.Allowed && d.Allowed
		all.Unavailable = all.Unavailable || d.Unavailable
		if d.RetryAfter == Never || all.RetryAfter == Never { // the longest wait
			all.RetryAfter = Never
		} else {
			all.RetryAfter = max(all.RetryAfter, d.RetryAfter)
		}
	}
	for i, call := range calls {
		if d := &all.Each[i]; d.Allowed && !all.Allowed {
			c.recount(call.Key, *d)
			c.undo(call.Key, call.Limit, call.Cost)
			d.Remaining = min(d.Limit, d.Remaining+call.Cost)
		}
	}
	return all
}

// manyAside is AllowMany without the server.
func (c *Client) manyAside(calls []Call) (list []Decision) {
	for _, call := range calls {
		list = append(list, c.aside(call.Key, call.Limit, call.Cost))
	}
	return list
}

// permits are those that were taken without the server, by key.
type permits struct {
	mu   sync.Mutex
	held map[string]int64
}

// acquireAside is Acquire without the server: this process goes on with its share of
// the permits, at least one.
func (c *Client) acquireAside(key string, limit, n int64) Decision {
	d := Decision{Source: SourceDegraded, Limit: limit, RetryAfter: ProbeInterval}
	if c.policy == FailClosed {
		d.Unavailable = true
		return d
	}
	c.aground.mu.Lock()
	defer c.aground.mu.Unlock()
	most := max(1, int64(math.Ceil(float64(limit)*max(ShareMin, c.usualShare()))))
	if c.policy == FailOpen {
		most = math.MaxInt64
	}
	held := c.aground.held[key]
	if n > most-held {
		d.Remaining = max(0, most-held)
		return d
	}
	if c.aground.held == nil {
		c.aground.held = make(map[string]int64)
	}
	c.aground.held[key] = held + n
	d.Allowed, d.RetryAfter, d.Remaining = true, 0, min(limit, most-held-n)
	return d
}

// releaseAside gives permits of acquireAside back.
func (c *Client) releaseAside(key string, n int64) {
	c.aground.mu.Lock()
	defer c.aground.mu.Unlock()
	if c.aground.held[key] -= n; c.aground.held[key] <= 0 {
		delete(c.aground.held, key)
	}
}

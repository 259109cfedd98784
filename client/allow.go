package client

// Allow, the call that everything else is about. Mostly it is a subtraction under a
// lock that nobody else wants; the rest of this file is for when it is not.

import (
	"context"
	"errors"
	"time"
)

// Allow decides whether a call of that cost may pass, and spends the cost if it may.
// A denial is a Decision, not an error. When the server cannot be reached the decision
// is made without it (Decision.Source tells), and is no error either; errors are for
// wrong arguments, replies of another shape and a context that is done.
func (c *Client) Allow(ctx context.Context, key string, l Limit, cost int64, opts ...CallOption) (d Decision, err error) {
	if len(opts) > 0 {
		return c.allowOptions(ctx, key, l, cost, opts)
	}
	p, h := c.table.part(key)
	now := c.now()
	p.mu.Lock()
	e := p.find(h, key, &l)
	if e == nil || cost < 1 {
		p.mu.Unlock()
		return c.allowSlow(ctx, p, h, key, l, cost)
	}
	if !e.spend(cost, now) {
		p.mu.Unlock()
		return c.allowSlow(ctx, p, h, key, l, cost)
	}
	e.used = now
	e.calls++
	e.decide(&d, now)
	p.tally[SourceLease][1]++
	if e.runsOut(now) {
		c.refill(ctx, p, e, now)
	}
	p.mu.Unlock()
	return d, nil
}

// refill asks for the next lease ahead of need, under the part's lock.
func (c *Client) refill(ctx context.Context, p *part, e *entry, now time.Duration) {
	if n, err := c.nodeOf(ctx, e.key); err == nil && !n.away.Load() {
		if want := e.next(1, now); want > 0 {
			c.lease(n, p, e, want, 1, now)
		}
	}
}

// allowSlow is Allow for a call that no lease covers: it asks, or waits for somebody
// who does, until there is an answer or the time is up.
func (c *Client) allowSlow(ctx context.Context, p *part, h uint64, key string, l Limit, cost int64) (Decision, error) {
	if err := check(key, l, cost, 1); err != nil {
		return Decision{}, err
	}
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	end := c.watch.Elapsed() + c.timeout
	n, err := c.nodeOf(ctx, key)
	if err != nil && !errors.Is(err, ErrUnavailable) {
		return Decision{}, err
	}
	asked := false
	var waited *entry // for which this call is counted as waiting
	for {
		p.mu.Lock()
		if waited != nil {
			waited.waiting -= cost
			waited = nil
		}
		if p.closed {
			p.mu.Unlock()
			return Decision{}, ErrClosed
		}
		e := c.entry(p, h, key, l)
		now, left := c.now(), end-c.watch.Elapsed()
		if d, ok := c.decideHere(p, e, cost, now, asked, n == nil || n.away.Load() || left <= 0); ok {
			p.mu.Unlock()
			return d, nil
		}
		f := e.flight
		if exact := e.known.ever && cost > e.most; f == nil || exact {
			want := int64(0)
			if !exact {
				want = e.next(cost, now)
			}
			e.used = now
			if want == 0 {
				return c.allowServer(ctx, n, p, e, cost, left) // it unlocks
			}
			f = c.lease(n, p, e, want, cost, now)
		}
		e.waiting += cost
		waited, asked = e, true
		p.mu.Unlock()
		if err := c.await(ctx, n, p, e, f, left); err != nil && !errors.Is(err, ErrUnavailable) {
			p.mu.Lock()
			e.waiting -= cost
			p.mu.Unlock()
			return Decision{}, err
		}
	}
}

// entry returns the entry of a key under a limit, under the part's lock. The one that
// has to go for it gives its leases back.
func (c *Client) entry(p *part, h uint64, key string, l Limit) *entry {
	if e := p.find(h, key, &l); e != nil {
		return e
	}
	if old := p.spare(c.table.partMax); old != nil {
		c.evict(p, old)
	}
	return p.add(h, key, l)
}

// decideHere decides a call without asking, where that can be done: out of a lease,
// because the server denied it a moment ago (in this call, if it asked), or because the
// server is away.
func (c *Client) decideHere(p *part, e *entry, cost int64, now time.Duration, asked, away bool) (Decision, bool) {
	if e.spend(cost, now) {
		e.used = now
		e.calls++
		return p.count(e.decision(now)), true
	}
	if retry, ok := e.denied(cost, now); ok {
		e.used = now
		e.calls++
		d := e.decision(now)
		d.Allowed, d.RetryAfter = false, retry
		if asked {
			d.Source = SourceServer
		}
		return p.count(d), true
	}
	if away {
		e.used = now
		return c.degrade(p, e, cost, now), true
	}
	return Decision{}, false
}

// allowServer has the server decide a call. It is called with the part locked, and
// unlocks it. While nothing is known of the key, others wait for the first answer.
func (c *Client) allowServer(ctx context.Context, n *node, p *part, e *entry, cost int64, left time.Duration) (Decision, error) {
	var f *flight
	if !e.known.ever && e.flight == nil {
		f = &flight{done: make(chan struct{})}
		e.flight = f
	}
	now := c.now()
	debit := c.debit(e, now)
	p.mu.Unlock()
	if debit != nil {
		c.spawn(func() { n.send(context.Background(), debit) })
	}
	args := e.limit.words([]any{"RL.ALLOW", e.key}, e.limit.amount(cost))
	sent := c.now()
	var late func(*node, any)
	if e.limit.algorithm == plan {
		late = unwanted(nil, permitOf(e.key, e.limit))
	}
	reply, err := c.askNode(ctx, n, left, args, late)
	var d Decision
	if err == nil {
		d, err = answer("RL.ALLOW", reply, e.limit)
	}
	now = c.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if f != nil {
		if e.flight == f {
			e.flight = nil
		}
		if err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
			f.err = err
		}
		close(f.done)
	}
	switch {
	case errors.Is(err, ErrUnavailable):
		return c.degrade(p, e, cost, now), nil
	case err != nil:
		return Decision{}, err
	}
	c.decided(e, d, cost, sent, now)
	c.learn(e.limit)
	return p.count(d), nil
}

// permitOf frees the permit that a reply of RL.ALLOW tells of.
func permitOf(key string, l Limit) func(reply any) [][]any {
	return func(reply any) (commands [][]any) {
		if d, err := answer("RL.ALLOW", reply, l); err == nil && d.ID != "" {
			commands = append(commands, freeing(key, l, d.ID))
		}
		return commands
	}
}

// decided takes in a decision of the server, under the part's lock.
func (c *Client) decided(e *entry, d Decision, cost int64, sent, now time.Duration) {
	e.hear(known{ever: true, at: now, limit: d.Limit, remaining: d.Remaining, resetAt: now + d.ResetAfter, name: d.LimitName, money: d.Money})
	if e.holder == "" { // no lease has told how many hold some
		e.bound(c.accuracy, c.leaseMax, d.Limit, 1)
	}
	if !d.Allowed {
		e.deny(cost, d.RetryAfter, now)
		return
	}
	e.denial = denial{}
	if e.cur.left == 0 {
		e.retire(&e.cur)
		e.cur = lease{granted: 1, from: sent, until: now + LeaseTTL, window: unaccounted}
		e.size = max(e.size, cost)
	}
}

// allowOptions is Allow where options have the server decide.
func (c *Client) allowOptions(ctx context.Context, key string, l Limit, cost int64, opts []CallOption) (Decision, error) {
	args, err := command("RL.ALLOW", key, l, cost, 1, optIdempotent, opts)
	if err != nil {
		return Decision{}, err
	}
	reply, err := c.askFor(ctx, key, c.timeout, args, unwanted(opts, permitOf(key, l)))
	p, h := c.table.part(key)
	if errors.Is(err, ErrUnavailable) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return c.degrade(p, c.entry(p, h, key, l), max(1, cost), c.now()), nil
	}
	if err != nil {
		return Decision{}, err
	}
	d, err := answer("RL.ALLOW", reply, l)
	if err != nil {
		return Decision{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count(d), nil
}

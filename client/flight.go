package client

// Requests about an entry: one lease is under way for a key at a time, and everybody
// who needs it waits for that one. Nobody waits longer than Timeout; what comes later
// is taken in all the same.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// flight is a request that is under way.
type flight struct {
	done chan struct{} // closed when it is over
	err  error         // what the server said is wrong with the call; read after done
	late atomic.Bool   // somebody has waited too long for it
}

// lease begins to ask for a lease, under the part's lock, and returns the flight.
func (c *Client) lease(n *node, p *part, e *entry, want, least int64, now time.Duration) *flight {
	f := &flight{done: make(chan struct{})}
	if e.holder == "" {
		e.name(c)
	}
	args := append(e.limit.words([]any{"RL.LEASE", e.key}, want), "MIN", least, "TTL", millis(LeaseTTL), "HOLDER", e.holder)
	debit := c.debit(e, now)
	if c.spawn(func() {
		if debit != nil {
			n.send(context.Background(), debit) // before the lease, so that it counts; not again, lest it count twice
		}
		c.land(n, p, e, f, args, want, least)
	}) {
		e.flight = f
	} else {
		f.err = ErrClosed
		close(f.done)
	}
	return f
}

// name gives the entry the name by which the server knows what it holds and what it
// reports. An entry that comes back after it had to make room has another one, so that
// its running totals begin anew.
func (e *entry) name(c *Client) { e.holder = fmt.Sprintf("%s-%x", c.id, c.holders.Add(1)) }

// debit is the command that charges what was admitted without the server, as far as it
// would still count; nil if there is nothing to charge.
func (c *Client) debit(e *entry, now time.Duration) []any {
	units := e.local.owed(now)
	if units < 1 {
		return nil
	}
	e.local.admitted = 0
	return e.limit.words([]any{"RL.DEBIT", e.key}, e.limit.amount(units))
}

// land asks for a lease and takes in what comes of it.
func (c *Client) land(n *node, p *part, e *entry, f *flight, args []any, want, least int64) {
	sent := c.now()
	r := n.send(context.Background(), args)
	var l Grant
	if r.err == nil {
		l, r.err = granted(r.reply)
	}
	now := c.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.done)
	if e.flight == f {
		e.flight = nil
	}
	if r.err != nil {
		switch {
		case errors.Is(r.err, ErrUnavailable):
		case errors.Is(r.err, ErrReply), errors.Is(r.err, ErrClosed):
			f.err = r.err
		default:
			e.unleasable, e.most = true, 1 // what is wrong with the call, if it is the call, RL.ALLOW will say
		}
		return
	}
	c.leasedUnits.Add(uint64(l.Granted))
	c.offset.Store(l.ServerTime.UnixNano() - int64((sent+now)/2))
	heard := e.known.at
	e.hear(known{ever: true, at: now, limit: l.Limit, remaining: l.Remaining, resetAt: now + l.ResetAfter, name: e.known.name})
	e.bound(c.accuracy, c.leaseMax, l.Limit, l.Holders)
	window := l.WindowStart.UnixMilli()
	e.share.saw(window, l.Granted, l.GrantedTotal)
	if e.share.total > 0 {
		c.sawShare(e.share.of(0))
	}
	if l.Granted < want {
		e.slowDown(heard, now)
	}
	e.calls = 0
	if l.Granted == 0 {
		e.deny(least, l.RetryAfter, now)
		return
	}
	e.denial = denial{}
	g := lease{left: l.Granted, granted: l.Granted, from: now, until: sent + l.ValidFor, window: window}
	if more := e.granted(g, now); more > 0 {
		e.share.returned(more)
		c.returnLater(returning{e.key, e.holder, more})
	}
}

// hear takes in what the server said.
func (e *entry) hear(k known) {
	e.known = k
	e.local = local{}
}

// await waits for a flight: nil when it is over, ErrUnavailable when it takes longer
// than the caller may wait.
func (c *Client) await(ctx context.Context, n *node, p *part, e *entry, f *flight, left time.Duration) error {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if !f.late.Swap(true) {
		n.failed("no reply in time")
		p.mu.Lock()
		if e.flight == f {
			e.flight = nil // whoever comes next may ask anew
		}
		p.mu.Unlock()
	}
	return ErrUnavailable
}

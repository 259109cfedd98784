package client

// What is done beside the calls: leases that nobody needs are given back, and what was
// spent is reported. A part of the table is looked at from its newest entry on, and only as
// far as something can have changed since the last look.

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// KeepInterval is how often leases are looked after.
	KeepInterval = LeaseTime / 4
	// ReportInterval is how often what was spent is reported.
	ReportInterval = LeaseTime
	// CloseTimeout is how long Close takes at most to give back and to report.
	CloseTimeout = time.Second

	// pipelineMax is how many commands are sent together.
	pipelineMax = 256
)

// returning is units to be given back.
type returning struct {
	key, holder string
	units       int64
}

// keep looks after things until the client is closed.
func (c *Client) keep() {
	tick := time.NewTicker(KeepInterval)
	defer tick.Stop()
	last := c.now()
	flushed := last
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
		now := c.now()
		c.look(last, now)
		last = now
		if now-flushed >= ReportInterval && c.outbox.len() > 0 && !c.closed.Load() {
			flushed = now
			c.beside(c.flush)
		}
	}
}

// beside does something that no call waits for, in its own time.
func (c *Client) beside(do func(context.Context)) {
	ctx, cancel := context.WithTimeout(c.life, max(lateFactor*c.timeout, CloseTimeout))
	defer cancel()
	do(ctx)
}

// look goes over what has changed since the last look.
func (c *Client) look(last, now time.Duration) {
	for i := range c.table.parts {
		if c.closed.Load() {
			return // Close gives everything back
		}
		p := &c.table.parts[i]
		var back []returning
		p.mu.Lock()
		for e := p.newest; e != nil && e.used >= last-LeaseTTL-KeepInterval; e = e.older {
			if n := e.giveBack(now, KeepInterval); n > 0 {
				back = append(back, returning{e.key, e.holder, n})
			}
			c.report(e)
		}
		p.mu.Unlock()
		if len(back) > 0 {
			c.beside(func(ctx context.Context) { c.giveBackAll(ctx, back) })
		}
	}
}

// evict takes an entry out, under its part's lock; what it holds is given back.
func (c *Client) evict(p *part, e *entry) {
	left := e.drop()
	c.report(e)
	c.outbox.lose(e.tally.changed())
	p.remove(e)
	if left > 0 {
		c.returnLater(returning{e.key, e.holder, left})
	}
}

// forget forgets what the server said of a key, because this process has had it changed;
// leases of it are given back, for no longer than a call waits.
func (c *Client) forget(key string) {
	p, h := c.table.part(key)
	var back []returning
	p.mu.Lock()
	for e := p.entries[h]; e != nil; e = e.chain {
		if e.key != key {
			continue
		}
		e.denial = denial{}
		if left := e.drop(); left > 0 {
			back = append(back, returning{e.key, e.holder, left})
		}
	}
	p.mu.Unlock()
	if len(back) > 0 {
		ctx, cancel := context.WithTimeout(c.life, c.timeout)
		defer cancel()
		c.giveBackAll(ctx, back)
	}
}

// returnLater gives units back in a goroutine.
func (c *Client) returnLater(r returning) {
	c.spawn(func() { c.beside(func(ctx context.Context) { c.giveBackAll(ctx, []returning{r}) }) })
}

// giveBackAll gives units back. What does not arrive counts as spent.
func (c *Client) giveBackAll(ctx context.Context, list []returning) {
	byNode := map[*node][]returning{}
	for _, r := range list {
		if n, err := c.nodeOf(ctx, r.key); err == nil && !n.away.Load() {
			byNode[n] = append(byNode[n], r)
		}
	}
	for n, list := range byNode {
		c.giveBack(ctx, n, list)
	}
}

func (c *Client) giveBack(ctx context.Context, n *node, list []returning) {
	for len(list) > 0 {
		some := list[:min(len(list), pipelineMax)]
		list = list[len(some):]
		_, err := n.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, r := range some {
				p.Do(ctx, "RL.RETURN", r.key, r.holder, r.units)
				c.returnedUnits.Add(uint64(r.units))
			}
			return nil
		})
		if isAway(n.judge("RL.RETURN", err)) {
			return
		}
	}
}

// settle gives everything back and reports everything, at the end.
func (c *Client) settle(ctx context.Context) {
	for i := range c.table.parts {
		p := &c.table.parts[i]
		var back []returning
		p.mu.Lock()
		p.closed = true
		for e := p.newest; e != nil; e = e.older {
			if left := e.drop(); left > 0 {
				back = append(back, returning{e.key, e.holder, left})
			}
			c.report(e)
		}
		p.mu.Unlock()
		c.giveBackAll(ctx, back)
	}
	c.flush(ctx)
}

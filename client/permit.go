package client

// Permits: how much may be under way at once. A permit frees itself at its TTL, so
// a process that crashed leaks nothing; while it is held it is renewed in the
// background, so that work may take as long as it takes.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Permit is what Acquire took. Release it when the work is done.
type Permit struct {
	// Decision tells the limit, how many permits are left (Remaining), and on a denial
	// when one frees itself at the latest (RetryAfter).
	Decision
	client *Client
	key    string
	ttl    time.Duration
	aside  int64 // taken without the server
	ended  chan struct{}
	lost   chan struct{}
	once   sync.Once
}

// Acquire takes a permit, of which limit may be held at once, and renews it until it
// is released. If this process dies, it frees itself after ttl. A denial is in the
// permit's Decision.
func (c *Client) Acquire(ctx context.Context, key string, limit int64, ttl time.Duration, opts ...CallOption) (*Permit, error) {
	l := rate(fixedWindow, limit, ttl) // the same bounds
	if err := check(key, l, 1, 1); err != nil {
		return nil, err
	}
	args := []any{"RL.ACQUIRE", key, limit, millis(ttl)}
	permits := int64(1)
	if n, ok := option(opts, optPermits); ok {
		permits = n.n
		args = append(args, permits)
	}
	args, err := appendOptions(args, optID|optPermits, opts)
	if err != nil {
		return nil, err
	}
	p := &Permit{client: c, key: key, ttl: ttl, ended: make(chan struct{}), lost: make(chan struct{})}
	late := unwanted(opts, func(reply any) (commands [][]any) {
		if d, err := acquired(reply); err == nil && d.Allowed {
			commands = append(commands, freeing(key, l, d.ID))
		}
		return commands
	})
	asked := c.now()
	reply, err := c.askFor(ctx, key, c.timeout, args, late)
	if errors.Is(err, ErrUnavailable) {
		if p.Decision = c.acquireAside(key, limit, permits); p.Allowed {
			p.aside = permits
		}
		c.counted(key, p.Decision)
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if p.Decision, err = acquired(reply); err != nil {
		return nil, err
	}
	c.counted(key, p.Decision)
	if p.Allowed {
		c.spawn(func() { p.renew(asked) })
	}
	return p, nil
}

// acquired is RL.ACQUIRE's reply.
func acquired(reply any) (d Decision, err error) {
	r := read("RL.ACQUIRE", reply)
	d.Allowed = r.flag("granted")
	d.Limit = r.integer("limit", 1, UnitsMax)
	d.Remaining = r.integer("available", 0, UnitsMax)
	d.RetryAfter = r.wait("retry_after_ms", -1)
	d.ID = r.textOrNil("id")
	r.end()
	if r.err == nil && d.Allowed != (d.ID != "") {
		r.fail("an id with a permit and none without")
	}
	return d, r.err
}

// renewParts is how often a permit is renewed within its TTL: two renewals may be
// lost.
const renewParts = 3

// renew renews the permit until it is released or lost. since is when it was asked for,
// and then when the last renewal was that worked: without one for the TTL it is over.
func (p *Permit) renew(since time.Duration) {
	tick := time.NewTicker(max(p.ttl/renewParts, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-p.client.quit:
			return
		case <-tick.C:
		}
		sent := p.client.now()
		held, err := p.client.Renew(context.Background(), p.key, p.ID, p.ttl)
		select {
		case <-p.ended: // it was not lost, whatever the server says
			return
		default:
		}
		switch {
		case err == nil && held:
			since = sent
		case err == nil, p.client.now()-since >= p.ttl:
			close(p.lost)
			return
		}
	}
}

// Lost is closed when the permit is not held any more: the server says so, or could not be
// reached for the whole of ttl. It may be somebody else's by now. A permit that was taken
// without the server is never lost.
func (p *Permit) Lost() <-chan struct{} { return p.lost }

// Release gives the permit back. Releasing it again, or late, frees nobody else's. It
// says whether the permit was still held.
func (p *Permit) Release(ctx context.Context) (held bool, err error) {
	p.once.Do(func() {
		close(p.ended)
		if held = p.aside > 0; held {
			p.client.releaseAside(p.key, p.aside)
		}
	})
	if p.ID == "" {
		return held, nil
	}
	return p.client.Release(ctx, p.key, p.ID)
}

// Release gives a permit back that Acquire took under an ID, also in another process, and
// says whether it was still held.
func (c *Client) Release(ctx context.Context, key, id string) (held bool, err error) {
	return c.flag(ctx, key, "RL.RELEASE", key, id)
}

// Renew lets a permit that Acquire took under an ID last for ttl from now, also in another
// process; 0 is the time that it was taken for. It says whether the permit is still held.
func (c *Client) Renew(ctx context.Context, key, id string, ttl time.Duration) (held bool, err error) {
	if ttl < 0 || ttl > WindowMax || ttl%time.Millisecond != 0 {
		return false, fmt.Errorf("%w: ttl must be whole milliseconds, at most %s, got %s", ErrInvalid, WindowMax, ttl)
	}
	args := []any{"RL.RENEW", key, id}
	if ttl > 0 {
		args = append(args, millis(ttl))
	}
	return c.flag(ctx, key, args...)
}

// ReleasePlan gives back the permit that a plan's concurrency limit gave with a
// decision (Decision.ID), and says whether it was still held.
func (c *Client) ReleasePlan(ctx context.Context, key, name, id string) (held bool, err error) {
	if err := Plan(name).err(); err != nil {
		return false, err
	}
	if id == "" {
		return false, fmt.Errorf("%w: the decision gave no permit", ErrInvalid)
	}
	defer c.forget(key)
	return c.flag(ctx, key, "RL.RELEASE", key, "@"+name, id)
}

// Holder is somebody who holds permits of a key.
type Holder struct {
	ID        string
	Permits   int64
	ExpiresIn time.Duration
}

// Holders lists who holds permits of a key, the one that ends first first.
func (c *Client) Holders(ctx context.Context, key string) ([]Holder, error) {
	reply, err := c.manage(ctx, key, "RL.HOLDERS", key)
	if err != nil {
		return nil, err
	}
	r := read("RL.HOLDERS", reply)
	var list []Holder
	for r.more() {
		in := r.inner()
		list = append(list, Holder{in.text("id"), in.integer("n", 1, UnitsMax), in.wait("expires_in_ms", 0)})
		r.take(in)
	}
	return list, r.err
}

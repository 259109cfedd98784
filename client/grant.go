package client

// Leases by hand, for those who do not have Allow spend them: a worker that takes a
// thousand units for a batch, or a program that is itself a gateway for others.

import (
	"context"
	"fmt"
	"time"
)

// Grant is the answer to Lease. What is granted is charged already.
type Grant struct {
	Granted, Limit, Remaining int64 // units; with Money millionths
	Money                     bool
	// RetryAfter is 0 when something is granted, else the wait until it could be, or Never.
	RetryAfter time.Duration
	// ResetAfter is how long it takes until nothing is used any more, if nobody calls.
	ResetAfter time.Duration
	// ValidFor is how long what is granted may be spent.
	ValidFor time.Duration
	// ServerTime is when the server granted it, and WindowStart the window in which it is
	// accounted.
	ServerTime, WindowStart time.Time
	// Holders is how many have leases of the key out, GrantedTotal how many units are
	// authorised in the window.
	Holders, GrantedTotal int64

	client      *Client
	key, holder string
	limit       Limit
}

// granted is RL.LEASE's reply.
func granted(reply any) (g Grant, err error) {
	r := read("RL.LEASE", reply)
	g.Granted = r.units("granted", &g.Money)
	g.Limit = r.units("limit", &g.Money)
	g.Remaining = r.units("remaining", &g.Money)
	g.RetryAfter = r.wait("retry_after_ms", -1)
	g.ResetAfter = r.wait("reset_after_ms", 0)
	g.ValidFor = r.wait("valid_ms", 0)
	g.ServerTime = r.instant("server_time_ms")
	g.WindowStart = r.instant("window_start_ms")
	g.Holders = r.integer("holders", 0, UnitsMax)
	g.GrantedTotal = r.unitsUpTo("granted_total", &g.Money, 1<<63-1)
	r.end()
	switch {
	case g.Granted == 0 && g.RetryAfter == 0:
		r.fail("retry_after_ms where nothing is granted")
	case g.Granted > 0 && g.RetryAfter != 0:
		r.fail("retry_after_ms 0 where something is granted")
	}
	return g, r.err
}

// Lease takes what there is of a limit, up to want units, to be spent by the caller on its
// own within Grant.ValidFor. With Holding what is left can be given back and what was spent
// reported. Allow does all of that by itself.
func (c *Client) Lease(ctx context.Context, key string, l Limit, want int64, opts ...CallOption) (*Grant, error) {
	if err := check(key, l, want, 1); err != nil {
		return nil, err
	}
	args := l.words([]any{"RL.LEASE", key}, l.amount(want))
	if least, ok := option(opts, optLeast); ok {
		if least.n < 1 || least.n > want {
			return nil, fmt.Errorf("%w: AtLeast must be from 1 to what is wanted, %d, got %d", ErrInvalid, want, least.n)
		}
		args = append(args, "MIN", l.amount(least.n))
	}
	args, err := appendOptions(args, optLeast|optTTL|optHolder, opts)
	if err != nil {
		return nil, err
	}
	holder, held := option(opts, optHolder)
	reply, err := c.askFor(ctx, key, c.timeout, args, unwanted(opts, func(reply any) (commands [][]any) {
		if g, err := granted(reply); err == nil && g.Granted > 0 && held {
			commands = append(commands, []any{"RL.RETURN", key, holder.text, l.amount(g.Granted)})
		}
		return commands
	}))
	if err != nil {
		return nil, err
	}
	g, err := granted(reply)
	if err != nil {
		return nil, err
	}
	g.client, g.key, g.holder, g.limit = c, key, holder.text, l
	return &g, nil
}

// held is what is wrong with a grant that nobody is known to hold.
func (g *Grant) held() error {
	if g.holder == "" {
		return fmt.Errorf("%w: the lease was taken without Holding", ErrInvalid)
	}
	return nil
}

// Return gives units back that were not spent, and tells how many the server took: never
// more than this holder has out, and nothing once the lease has ended.
func (g *Grant) Return(ctx context.Context, units int64) (taken int64, err error) {
	if err := g.held(); err != nil {
		return 0, err
	}
	if units < 1 || units > UnitsMax {
		return 0, fmt.Errorf("%w: what is given back must be from 1 to %d, got %d", ErrInvalid, int64(UnitsMax), units)
	}
	reply, err := g.client.ask(ctx, g.key, "RL.RETURN", g.key, g.holder, g.limit.amount(units))
	if err != nil {
		return 0, err
	}
	r := read("RL.RETURN", []any{reply})
	var money bool
	taken = r.units("units", &money)
	return taken, r.err
}

// Report tells the server what this holder has spent in the lease's window, and what it
// has let pass without the server: running totals, with a number seq that is higher each
// time. counted is false if a report with that number or a higher one has arrived before.
func (g *Grant) Report(ctx context.Context, seq uint64, spent, degraded int64) (counted bool, err error) {
	if err := g.held(); err != nil {
		return false, err
	}
	if spent < 0 || spent > UnitsMax || degraded < 0 || degraded > UnitsMax || seq > UnitsMax {
		return false, fmt.Errorf("%w: seq, spent and degraded must be from 0 to %d, got %d, %d and %d", ErrInvalid, int64(UnitsMax), seq, spent, degraded)
	}
	args := []any{"RL.REPORT", g.holder, seq, g.key, g.WindowStart.UnixMilli(), g.limit.amount(spent)}
	if degraded > 0 {
		args = append(args, "DEGRADED", g.limit.amount(degraded))
	}
	return g.client.flag(ctx, g.key, args...)
}

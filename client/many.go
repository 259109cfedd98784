package client

// Several decisions in one command: AllowAll charges all of them or none, AllowMany
// decides each by itself.

import (
	"context"
	"errors"
	"fmt"
)

// The most calls that one command takes.
const (
	AllowAllMax  = 64
	AllowManyMax = 1000
)

// Call is one of several calls.
type Call struct {
	Key   string
	Limit Limit
	Cost  int64 // units
}

// Decisions is the answer to AllowAll.
type Decisions struct {
	// Decision is that of the whole: allowed, and on a denial RetryAfter, the longest
	// wait of the limits that deny, or Never. Source and ID are set as in any decision.
	Decision
	// Each has a decision for each call: what Allow would say of it, or, if the whole
	// is denied, what Peek would say.
	Each []Decision
}

// words appends calls as groups of a command.
func words(args []any, calls []Call, most int) ([]any, error) {
	if len(calls) < 1 || len(calls) > most {
		return nil, fmt.Errorf("%w: from 1 to %d calls, got %d", ErrInvalid, most, len(calls))
	}
	for i, call := range calls {
		if err := check(call.Key, call.Limit, call.Cost, 1); err != nil {
			return nil, fmt.Errorf("call %d: %w", i+1, err)
		}
		if !call.Limit.plain() {
			return nil, fmt.Errorf("%w: call %d: among several calls a limit has no burst, alignment, zone or anchor", ErrInvalid, i+1)
		}
		args = append(args, call.Key)
		args = call.Limit.bare(args, call.Limit.amount(call.Cost))
	}
	return args, nil
}

// bare appends a plain limit without its zone.
func (l Limit) bare(args []any, cost any) []any {
	if l.period != 0 {
		l.text = ""
	}
	return l.words(args, cost)
}

// AllowAll charges several limits together, or none of them; no other caller sees a
// half-made decision. The same key under the same limit twice is an error.
func (c *Client) AllowAll(ctx context.Context, calls []Call, opts ...CallOption) (Decisions, error) {
	args, err := words([]any{"RL.ALLOWALL"}, calls, AllowAllMax)
	if err != nil {
		return Decisions{}, err
	}
	if args, err = appendOptions(args, optID|optIdempotent, opts); err != nil {
		return Decisions{}, err
	}
	if byNode, err := c.byNode(ctx, len(calls), func(i int) string { return calls[i].Key }); err == nil && len(byNode) > 1 {
		return Decisions{}, fmt.Errorf("%w: AllowAll cannot reach over several nodes; keys with the same {tag} live together", ErrInvalid)
	}
	reply, err := c.askFor(ctx, calls[0].Key, c.timeout, args, unwanted(opts, func(reply any) (commands [][]any) {
		all, err := together(reply, calls)
		for _, call := range calls {
			if err == nil && all.ID != "" && call.Limit.algorithm == plan {
				commands = append(commands, freeing(call.Key, call.Limit, all.ID))
			}
		}
		return commands
	}))
	if errors.Is(err, ErrUnavailable) {
		return c.allAside(calls), nil
	}
	if err != nil {
		return Decisions{}, err
	}
	all, err := together(reply, calls)
	for i, d := range all.Each {
		d.Allowed = all.Allowed // or it was only looked at
		c.counted(calls[i].Key, d)
	}
	return all, err
}

// together is RL.ALLOWALL's reply.
func together(reply any, calls []Call) (Decisions, error) {
	r := read("RL.ALLOWALL", reply)
	var all Decisions
	all.Allowed = r.flag("allowed")
	all.RetryAfter = r.wait("retry_after_ms", -1)
	for _, call := range calls {
		all.Each = append(all.Each, r.element(call.Limit))
	}
	if r.more() {
		all.ID = r.textOrNil("id")
	}
	r.end()
	if r.err != nil {
		return Decisions{}, r.err
	}
	return all, nil
}

// element reads a decision that is an array inside of the reply.
func (r *reader) element(l Limit) Decision {
	in := r.inner()
	d := in.decision()
	if l.algorithm == plan {
		d.LimitName = in.textOrNil("limit name")
		if in.more() {
			d.ID = in.textOrNil("id")
		}
	}
	r.take(in)
	return d
}

// AllowMany makes many independent decisions in order, in one command for each node of
// the server.
func (c *Client) AllowMany(ctx context.Context, calls []Call) ([]Decision, error) {
	if _, err := words(nil, calls, AllowManyMax); err != nil {
		return nil, err
	}
	byNode, err := c.byNode(ctx, len(calls), func(i int) string { return calls[i].Key })
	if errors.Is(err, ErrUnavailable) {
		return c.manyAside(calls), nil
	}
	if err != nil {
		return nil, err
	}
	list := make([]Decision, len(calls))
	for _, some := range byNode {
		part := make([]Call, len(some))
		for i, at := range some {
			part[i] = calls[at]
		}
		decided, err := c.allowMany(ctx, part)
		if err != nil {
			return nil, err
		}
		for i, at := range some {
			list[at] = decided[i]
		}
	}
	return list, err
}

// allowMany is AllowMany on one node.
func (c *Client) allowMany(ctx context.Context, calls []Call) ([]Decision, error) {
	args, err := words([]any{"RL.MALLOW"}, calls, AllowManyMax)
	if err != nil {
		return nil, err
	}
	reply, err := c.askFor(ctx, calls[0].Key, c.timeout, args, unwanted(nil, func(reply any) (commands [][]any) {
		list, _ := each(reply, calls)
		for i, d := range list {
			if d.ID != "" {
				commands = append(commands, freeing(calls[i].Key, calls[i].Limit, d.ID))
			}
		}
		return commands
	}))
	if errors.Is(err, ErrUnavailable) {
		return c.manyAside(calls), nil
	}
	if err != nil {
		return nil, err
	}
	list, err := each(reply, calls)
	if err != nil {
		return nil, err
	}
	for i, d := range list {
		c.counted(calls[i].Key, d)
	}
	return list, nil
}

// each is RL.MALLOW's reply.
func each(reply any, calls []Call) ([]Decision, error) {
	r := read("RL.MALLOW", reply)
	list := make([]Decision, 0, len(calls))
	for _, call := range calls {
		list = append(list, r.element(call.Limit))
	}
	if r.end(); r.err != nil {
		return nil, r.err
	}
	return list, nil
}

package client

// Work whose true cost is known only afterwards: reserve an estimate, do the work,
// settle at what it cost.

import (
	"context"
	"errors"
	"fmt"
)

// Reservation is what Reserve took. If it was allowed, settle it once, with Commit or
// Cancel; what nobody settles is settled by the server at its TTL.
type Reservation struct {
	Decision
	client *Client
	key    string
	limit  Limit
	aside  int64 // units that were let pass without the server
}

// Reserve charges an estimate now, in units, to be settled when the true cost is
// known. A denial is in the reservation's Decision. A reservation that was made without
// the server is settled without it.
func (c *Client) Reserve(ctx context.Context, key string, l Limit, units int64, opts ...CallOption) (*Reservation, error) {
	args, err := command("RL.RESERVE", key, l, units, 1, optTTL|optID|optCancel, opts)
	if err != nil {
		return nil, err
	}
	late := unwanted(opts, func(reply any) (commands [][]any) {
		if d, err := reserved(reply, l); err == nil && d.Allowed {
			commands = append(commands, []any{"RL.CANCEL", d.ID})
		}
		return commands
	})
	reply, err := c.askFor(ctx, key, c.timeout, args, late)
	if errors.Is(err, ErrUnavailable) {
		units = max(1, units)
		return &Reservation{Decision: c.aside(key, l, units), client: c, key: key, limit: l, aside: units}, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := reserved(reply, l)
	if err != nil {
		return nil, err
	}
	c.counted(key, d)
	return &Reservation{Decision: d, client: c, key: key, limit: l}, nil
}

// reserved is RL.RESERVE's reply.
func reserved(reply any, l Limit) (Decision, error) {
	r := read("RL.RESERVE", reply)
	d := r.decision()
	if l.algorithm == plan {
		d.LimitName = r.textOrNil("limit name")
	}
	d.ID = r.textOrNil("id")
	r.end()
	return d, r.err
}

// Reservation is the reservation of that ID, made by Reserve in this process or another,
// of that key and limit. Whether there is one says the server when it is settled.
func (c *Client) Reservation(key string, l Limit, id string) (*Reservation, error) {
	if err := check(key, l, 1, 1); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, fmt.Errorf("%w: a reservation has an ID", ErrInvalid)
	}
	return &Reservation{Decision: Decision{Allowed: true, ID: id}, client: c, key: key, limit: l}, nil
}

// Commit settles the reservation at what the work cost, in units: less than was
// reserved is given back, more is charged even past the limit. Spend is for plans. It
// answers what Peek with cost 0 says afterwards.
func (r *Reservation) Commit(ctx context.Context, actual int64, opts ...CallOption) (Decision, error) {
	if actual < 0 || actual > UnitsMax {
		return Decision{}, fmt.Errorf("%w: the actual cost must be from 0 to %d, got %d", ErrInvalid, int64(UnitsMax), actual)
	}
	return r.settle(ctx, []any{"RL.COMMIT", r.ID, r.limit.amount(actual)}, actual, opts)
}

// Cancel gives all of the reservation back. It answers what Peek with cost 0 says
// afterwards.
func (r *Reservation) Cancel(ctx context.Context) (Decision, error) {
	return r.settle(ctx, []any{"RL.CANCEL", r.ID}, 0, nil)
}

func (r *Reservation) settle(ctx context.Context, args []any, actual int64, opts []CallOption) (Decision, error) {
	if r.aside > 0 && r.Allowed {
		r.client.undo(r.key, r.limit, r.aside-actual)
		r.aside = actual
		return r.Decision, nil
	}
	if r.ID == "" {
		return Decision{}, fmt.Errorf("%w: nothing was reserved", ErrInvalid)
	}
	mask := optionKind(0)
	if r.limit.algorithm == plan {
		mask = optSpend
	}
	args, err := appendOptions(args, mask, opts)
	if err != nil {
		return Decision{}, err
	}
	// Where the server has several nodes the id lives with its key.
	reply, err := r.client.ask(ctx, r.key, args...)
	if err != nil {
		return Decision{}, err
	}
	r.client.forget(r.key)
	return answer(args[0].(string), reply, r.limit)
}

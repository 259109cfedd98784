package client

// What operators ask: who is denied, what the commands are, and what time it is. The
// server answers RL.TOP and RL.DENIALS to those who may administer it.

import (
	"context"
	"fmt"
	"time"
)

// Heavy is a key that is denied, or charged, more than others.
type Heavy struct {
	Key               string // of a long one the beginning, and …
	Plan, Limit, Rule string // "" where there is none
	Algorithm         string
	Count             int64 // in the last minutes; it may be too high by Over
	Over              int64
}

// TopDenied lists the keys that are denied most, the heaviest first, at most count of them
// (0: the server's 10); of one plan, or of all where plan is "".
func (c *Client) TopDenied(ctx context.Context, plan string, count int) ([]Heavy, error) {
	return c.top(ctx, "DENIED", plan, count)
}

// TopHot is TopDenied for the keys that are charged most.
func (c *Client) TopHot(ctx context.Context, plan string, count int) ([]Heavy, error) {
	return c.top(ctx, "HOT", plan, count)
}

func (c *Client) top(ctx context.Context, kind, plan string, count int) (list []Heavy, err error) {
	args := []any{"RL.TOP", kind}
	if plan != "" {
		args = append(args, "PLAN", plan)
	}
	err = c.maps(ctx, "", counted(args, count), func(f *fields) {
		list = append(list, Heavy{
			Key: f.text("key"), Plan: f.text("plan"), Limit: f.text("limit"), Rule: f.text("rule"), Algorithm: f.text("algorithm"),
			Count: f.integer("count", 0, UnitsMax), Over: f.integer("error", 0, UnitsMax),
		})
	})
	return list, err
}

// Denial is a call that was denied.
type Denial struct {
	At                time.Time
	Key               string // of a long one the beginning, and …
	Plan, Limit, Rule string // "" where there is none
	Algorithm         string
	Cost              string        // units; of a budget a decimal
	RetryAfter        time.Duration // or Never
	Client            int64         // the connection, by the number that CLIENT ID tells; 0: the control plane
}

// Denials lists the last calls that were denied, the newest first, at most count of them
// (0: the server's 10); of one key and its limits under plans, or of all where key is "".
func (c *Client) Denials(ctx context.Context, key string, count int) (list []Denial, err error) {
	args := []any{"RL.DENIALS"}
	if key != "" {
		args = append(args, "KEY", key)
	}
	err = c.maps(ctx, key, counted(args, count), func(f *fields) {
		list = append(list, Denial{
			At: f.instant("time_ms"), Key: f.text("key"), Plan: f.text("plan"), Limit: f.text("limit"), Rule: f.text("rule"),
			Algorithm: f.text("algorithm"), Cost: f.text("cost"), RetryAfter: f.wait("retry_after_ms", -1), Client: f.integer("client", 0, UnitsMax),
		})
	})
	return list, err
}

// counted appends how many are asked for, where that is said.
func counted(args []any, count int) []any {
	if count > 0 {
		args = append(args, "COUNT", count)
	}
	return args
}

// maps asks for an array of maps, and has each read.
func (c *Client) maps(ctx context.Context, key string, args []any, each func(*fields)) error {
	reply, err := c.manage(ctx, key, args...)
	if err != nil {
		return err
	}
	r := read(fmt.Sprint(args[0]), reply)
	for r.more() {
		f := readFields(r.command, r.next("a map"))
		if each(f); f.err != nil {
			return f.err
		}
	}
	return r.err
}

// Help is what the server says of its commands, or of one of them, as lines of text.
func (c *Client) Help(ctx context.Context, command ...string) ([]string, error) {
	args := []any{"RL.HELP"}
	for _, word := range command {
		args = append(args, word)
	}
	return c.texts(ctx, args...)
}

// texts asks for an array of texts.
func (c *Client) texts(ctx context.Context, args ...any) (list []string, err error) {
	reply, err := c.manage(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	r := read(fmt.Sprint(args[0]), reply)
	for r.more() {
		list = append(list, r.text("a text"))
	}
	return list, r.err
}

// Throttled is the answer to Throttle.
type Throttled struct {
	Limited          bool
	Limit, Remaining int64
	RetryAfter       time.Duration // whole seconds; Never when the call passes, and when it never can
	ResetAfter       time.Duration // whole seconds
}

// Throttle is Allow for those who come from redis-cell: a token bucket of burst + 1 that
// earns count in a period of whole seconds. A quantity of 0 looks and spends nothing.
func (c *Client) Throttle(ctx context.Context, key string, burst, count int64, period time.Duration, quantity int64) (t Throttled, err error) {
	if err := check(key, rate(tokenBucket, count, period), quantity, 0); err != nil {
		return t, err
	}
	if burst < 0 || burst >= UnitsMax || period%time.Second != 0 {
		return t, fmt.Errorf("%w: burst must be from 0 to %d and period whole seconds, got %d and %s", ErrInvalid, int64(UnitsMax)-1, burst, period)
	}
	reply, err := c.ask(ctx, key, "RL.THROTTLE", key, burst, count, int64(period/time.Second), quantity)
	if err != nil {
		return t, err
	}
	r := read("RL.THROTTLE", reply)
	t.Limited = r.flag("limited")
	t.Limit, t.Remaining = r.integer("limit", 1, UnitsMax), r.integer("remaining", 0, UnitsMax)
	t.RetryAfter, t.ResetAfter = r.seconds("retry_after", -1), r.seconds("reset_after", 0)
	r.end()
	if r.err != nil {
		return Throttled{}, r.err
	}
	return t, nil
}

// seconds reads whole seconds.
func (r *reader) seconds(name string, low int64) time.Duration {
	n := r.integer(name, low, UnitsMax/1000)
	if n < 0 {
		return Never
	}
	return waitOf(1000 * n)
}

// ServerTime is the server's clock.
func (c *Client) ServerTime(ctx context.Context) (time.Time, error) {
	reply, err := c.manage(ctx, "", "RL.CLOCK", "GET")
	if err != nil {
		return time.Time{}, err
	}
	r := read("RL.CLOCK", []any{reply})
	t := r.instant("ms since 1970")
	return t, r.err
}

// SetServerTime sets the clock of a server that was started with --test-clock, to an
// instant in whole milliseconds, also an earlier one; of others it is an error.
func (c *Client) SetServerTime(ctx context.Context, t time.Time) error {
	return c.define(ctx, "RL.CLOCK", "SET", t.UnixMilli())
}

// AdvanceServerTime moves the clock of a server that was started with --test-clock
// forward, and returns when everything that is due then has been freed and settled.
func (c *Client) AdvanceServerTime(ctx context.Context, d time.Duration) error {
	return c.define(ctx, "RL.CLOCK", "ADVANCE", fmt.Sprintf("%dns", d))
}

package client

// Views of what the server keeps: the state of a key, and the accounts of its windows.

import (
	"context"
	"time"
)

// Usage is the account of one window of a key, in units; with a budget millionths.
type Usage struct {
	Start      time.Time // of the window
	Authorised int64     // granted by leases and not given back
	Spent      int64     // out of leases, as the holders reported
	Degraded   int64     // admitted without the server, as the holders reported
	Holders    int64     // processes that had leases or reported
	Money      bool      // units are millionths
}

// Usage tells the accounts of a key's windows, the newest first, at most count of them
// (0: as many as the server tells by itself).
func (c *Client) Usage(ctx context.Context, key string, count int) ([]Usage, error) {
	args := counted([]any{"RL.USAGE", key}, count)
	var list []Usage
	err := c.maps(ctx, key, args, func(f *fields) {
		u := Usage{Start: f.instant("window_start_ms")}
		u.Authorised, u.Spent, u.Degraded = f.units("authorised", &u.Money), f.units("spent", &u.Money), f.units("degraded", &u.Money)
		u.Holders = f.integer("holders", 0, UnitsMax)
		list = append(list, u)
	})
	return list, err
}

// State is what the server keeps of a key.
type State struct {
	Algorithm              string
	Limit, Used, Remaining int64 // units; with Money millionths
	Money                  bool
	Window, ResetAfter     time.Duration
}

// Inspect shows what the server keeps of a key; ok is false for a fresh one.
func (c *Client) Inspect(ctx context.Context, key string) (s State, ok bool, err error) {
	reply, err := c.manage(ctx, key, "RL.INSPECT", key)
	if err != nil || reply == nil {
		return State{}, false, err
	}
	f := readFields("RL.INSPECT", reply)
	s = State{Algorithm: f.text("algorithm")}
	s.Limit, s.Used, s.Remaining = f.units("limit", &s.Money), f.units("used", &s.Money), f.units("remaining", &s.Money)
	s.ResetAfter = f.wait("reset_after_ms", 0)
	if f.has("window_ms") { // the windows of a calendar have no length
		s.Window = f.wait("window_ms", 0)
	}
	if f.err != nil {
		return State{}, false, f.err
	}
	return s, true, nil
}

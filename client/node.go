package client

// The way to the server. A call waits for its reply no longer than Timeout; the
// reply may still come later and is not lost on whoever began the call. A breaker
// for each node of the server keeps callers from waiting for one that is away: after
// BreakerFailures calls in a row without a timely reply nobody asks it any more, and
// a probe goes out every ProbeInterval until one comes back in time.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// BreakerFailures is how many calls in a row must fail before a node counts as away.
	BreakerFailures = 3
	// ProbeInterval is how often a node that is away is asked whether it is back.
	ProbeInterval = 100 * time.Millisecond

	// ManageTimeout is how long calls that are no decisions wait, such as SetPlan, Usage and
	// Explain, if Timeout is not longer.
	ManageTimeout = time.Second

	// lateFactor is how many times Timeout a call goes on after its caller has gone, so
	// that what the server granted meanwhile is known.
	lateFactor = 10
)

// node is one server, and whether it answers.
type node struct {
	client   *Client
	rdb      redis.UniversalClient
	failures atomic.Int32
	away     atomic.Bool
}

// result is what came of a call.
type result struct {
	reply any
	err   error
}

// ask sends a command about a key and waits for the reply, no longer than Timeout.
func (c *Client) ask(ctx context.Context, key string, args ...any) (any, error) {
	return c.askFor(ctx, key, c.timeout, args, nil)
}

// manage is ask for what nobody's request waits for.
func (c *Client) manage(ctx context.Context, key string, args ...any) (any, error) {
	return c.askFor(ctx, key, max(c.timeout, ManageTimeout), args, nil)
}

// askFor is ask with another time. late, if not nil, is what takes back what a reply
// grants that comes when the caller has gone on without it, see unwanted.
func (c *Client) askFor(ctx context.Context, key string, wait time.Duration, args []any, late func(*node, any)) (any, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	n, err := c.nodeOf(ctx, key)
	if err != nil {
		return nil, err
	}
	if n.away.Load() {
		return nil, ErrUnavailable
	}
	return c.askNode(ctx, n, wait, args, late)
}

// unwanted gives back what a reply has granted that nobody waits for any more; commands
// says how. Whoever has a name for it may ask again, so then it is kept.
func unwanted(opts []CallOption, commands func(reply any) [][]any) (late func(*node, any)) {
	for _, o := range opts {
		if o.kind == optID || o.kind == optIdempotent {
			return nil
		}
	}
	return func(n *node, reply any) {
		for _, args := range commands(reply) {
			n.send(context.Background(), args)
		}
	}
}

// freeing is the command that frees the permit that a decision took.
func freeing(key string, l Limit, id string) []any {
	if l.algorithm == plan {
		return []any{"RL.RELEASE", key, "@" + l.PlanName(), id}
	}
	return []any{"RL.RELEASE", key, id}
}

// askNode is askFor for a node that is not known to be away.
func (c *Client) askNode(ctx context.Context, n *node, wait time.Duration, args []any, late func(*node, any)) (any, error) {
	done, gone := make(chan result), make(chan struct{})
	defer close(gone)
	if !c.spawn(func() {
		r := n.sendFor(ctx, max(wait, lateFactor*c.timeout), args)
		select {
		case done <- r:
		case <-gone:
			if late != nil && r.err == nil {
				late(n, r.reply)
			}
		}
	}) {
		return nil, ErrClosed
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-timer.C:
		n.failed("no reply in time")
		return nil, fmt.Errorf("%w: no reply within %s", ErrUnavailable, wait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends a command and waits for its reply for as long as somebody may still
// make use of it.
func (n *node) send(ctx context.Context, args []any) result {
	return n.sendFor(ctx, lateFactor*n.client.timeout, args)
}

// beyond is the life of a client with the values of a caller's context: a call goes on after
// its caller has gone, and what is known of the caller, such as a trace, goes with it.
type beyond struct {
	context.Context
	caller context.Context
}

// Value is the caller's, but for what belongs to the life itself, by which package context
// ends what comes from it.
func (b beyond) Value(key any) any {
	if v := b.Context.Value(key); v != nil {
		return v
	}
	return b.caller.Value(key)
}

func (n *node) sendFor(ctx context.Context, wait time.Duration, args []any) result {
	c := n.client
	ctx, cancel := context.WithTimeout(beyond{c.life, ctx}, wait)
	defer cancel()
	began := c.watch.Elapsed()
	reply, err := n.rdb.Do(ctx, args...).Result()
	took := c.watch.Elapsed() - began
	c.calls.add(took)
	err = n.judge(fmt.Sprint(args[0]), err)
	if !errors.Is(err, ErrUnavailable) && took <= c.timeout {
		n.failures.Store(0)
	}
	return result{reply, err}
}

// judge says what an error of go-redis means: a reply of the server that is an
// error, or a server that is away.
func (n *node) judge(command string, err error) error {
	var said redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return nil
	case errors.Is(err, redis.ErrClosed), n.client.life.Err() != nil:
		return ErrClosed
	case !errors.As(err, &said):
		n.failed(err.Error())
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch word, _, _ := strings.Cut(said.Error(), " "); word {
	case "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK":
		n.failed(said.Error())
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case "MISCONF", "OOM", "READONLY": // it answers, and cannot decide
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("sluice: %s: %w", command, err)
}

// isAway says whether an error means that the server did not answer.
func isAway(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrClosed) }

// failed counts a call without a timely reply.
func (n *node) failed(why string) {
	c := n.client
	if n.failures.Add(1) < BreakerFailures || c.closed.Load() || !n.away.CompareAndSwap(false, true) {
		return
	}
	c.log.Warn("the server is away; deciding without it", "why", why)
	c.spawn(n.probe)
}

// probe asks a node that is away until it answers in time.
func (n *node) probe() {
	c := n.client
	tick := time.NewTicker(ProbeInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
			err := n.ping()
			if errors.Is(err, redis.ErrClosed) { // it left the ring or the cluster
				c.nodes.CompareAndDelete(n.rdb, n)
				return
			}
			if err == nil {
				n.failures.Store(0)
				n.away.Store(false)
				c.log.Info("the server is back")
				return
			}
		}
	}
}

// ping is nil if a node answers in time.
func (n *node) ping() error {
	ctx, cancel := context.WithTimeout(n.client.life, n.client.timeout)
	defer cancel()
	done := make(chan error, 1)
	if !n.client.spawn(func() { done <- n.rdb.Ping(ctx).Err() }) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

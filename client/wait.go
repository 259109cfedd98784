package client

// Wait is for callers that would rather be late than denied, such as workers.

import (
	"context"
	"fmt"
	"time"
)

// Wait blocks until a call of that cost passes, and until the delay that LeakyBucket
// gives is over. It fails at once with ErrQueueFull if WaitersMax calls wait already,
// with ErrTooLate if the wait would pass the context's deadline, and with ErrDenied if
// the call can never pass; and with the context's error when that is done. A call
// that fails has spent nothing.
func (c *Client) Wait(ctx context.Context, key string, l Limit, cost int64, opts ...CallOption) (Decision, error) {
	select {
	case c.waiters <- struct{}{}:
		defer func() { <-c.waiters }()
	default:
		return Decision{}, fmt.Errorf("%w: %d", ErrQueueFull, cap(c.waiters))
	}
	for {
		d, err := c.Allow(ctx, key, l, cost, opts...)
		switch {
		case err != nil:
			return d, err
		case d.Allowed:
			if err = c.pause(ctx, d.Delay); err != nil {
				// The place in the queue goes to others; if it cannot be given back now it drains.
				c.Refund(context.WithoutCancel(ctx), key, l, cost)
			}
			return d, err
		case d.RetryAfter == Never:
			return d, d.Err()
		}
		if err := c.pause(ctx, d.RetryAfter); err != nil {
			return d, err
		}
	}
}

// pause waits, unless the wait would pass the context's deadline.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && c.watch.Wall().Add(d).After(end) {
		return fmt.Errorf("%w: by %s", ErrTooLate, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.quit:
		return ErrClosed
	}
}

// Package client asks a Sluice server whether calls may pass.
//
// # In a minute
//
// Make one Client a process. Ask it with a key, whom or what is limited; a Limit; and
// a cost, how many units the call spends:
//
//	c, err := client.New("127.0.0.1:6380")
//	...
//	defer c.Close()
//
//	d, err := c.Allow(ctx, "user:42", client.TokenBucket(100, time.Minute), 1)
//	if err != nil {
//		return err // an argument is wrong, or ctx is done
//	}
//	if !d.Allowed {
//		return d.Err() // errors.Is(err, client.ErrDenied); d.RetryAfter says when to come back
//	}
//
// A denial is a Decision, not an error. Limits are values that cost nothing to make;
// Plan names one that the server keeps, which changes without a deploy.
//
// # Which call
//
//	Allow      decide and spend, in one step
//	Peek       what Allow would say
//	Wait       block until the call passes: for workers
//	AllowAll   several limits, all or none
//	AllowMany  several decisions in one round trip
//	Reserve    an estimate now, Commit or Cancel when the true cost is known
//	Acquire    a permit, while work is under way; Release gives it back
//	Debit, Refund, Reset, Holders: corrections and views
//
// For HTTP servers see package sluice/client/middleware; for tests
// sluice/client/sluicetest, which starts a server with a clock to turn in one line.
package client

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
//	Explain    how every limit of a plan stands for a key
//	Request    an HTTP request, by the server's rules
//	Usage      what was spent, by key and window
//	Lease      units to spend without Allow; Return and Report what became of them
//	Debit, Refund, Reset, Inspect, Holders: corrections and views
//	Reservation, Renew, Release: what another process took, by its ID
//	TopDenied, TopHot, Denials: who is limited
//
// Every RL. command of the server has a typed call, and a reply of another shape than it
// should have is an error that matches ErrReply.
//
// # Leases, and the time without a server
//
// Allow decides most calls on a busy key without a round trip, out of units that the
// server has leased to this process; all that is leased at a time is at most Accuracy of
// the limit, 1 % by default. Exact switches that off. While the server cannot be reached,
// OnFailure says what is decided; no call on a request's path fails, or waits longer than
// Timeout, because of it. What was spent is reported, and Usage adds it up.
// docs/guides/client.md explains all of it, with figures.
//
// For HTTP servers see package sluice/client/middleware, for gRPC sluice/client/grpc, for
// HTTP clients sluice/client/retry, for Prometheus sluice/client/metrics, and for tests
// sluice/client/sluicetest, which starts a server with a clock to turn in one line.
package client

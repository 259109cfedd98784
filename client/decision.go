package client

// The answer to one call. A denial is an answer, not an error: errors are for
// what keeps the caller from having one.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// These are matched with errors.Is.
var (
	// ErrDenied is what Decision.Err says of a call that must not go on.
	ErrDenied = errors.New("sluice: denied")
	// ErrUnavailable says that the server did not answer in time.
	ErrUnavailable = errors.New("sluice: the server cannot be reached")
	// ErrInvalid says that an argument is wrong; nothing was sent.
	ErrInvalid = errors.New("sluice: invalid argument")
	// ErrReply says that the server replied in a shape that this client does not know.
	ErrReply = errors.New("sluice: unexpected reply")
	// ErrQueueFull says that WaitersMax calls of Wait are waiting already.
	ErrQueueFull = errors.New("sluice: too many calls are waiting")
	// ErrTooLate says that a call would have to wait past its context's deadline.
	ErrTooLate = errors.New("sluice: the wait would pass the deadline")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("sluice: the client is closed")
)

// Never is the RetryAfter of a call that can never pass, because its cost is above
// the limit.
const Never time.Duration = -1

// Source says who made a decision.
type Source uint8

// Who makes decisions.
const (
	SourceServer   Source = iota // the server, in this call
	SourceLease                  // this process: out of units that the server leased to it, or as the server denied a moment ago
	SourceDegraded               // this process by itself, because the server cannot be reached
)

func (s Source) String() string {
	switch s {
	case SourceServer:
		return "server"
	case SourceLease:
		return "lease"
	case SourceDegraded:
		return "degraded"
	}
	return "Source(" + strconv.Itoa(int(s)) + ")"
}

// Decision is the answer to one call.
type Decision struct {
	Allowed bool
	// Unavailable is set on a denial that says nothing about the limit: the server
	// cannot be reached, and FailClosed was asked for.
	Unavailable bool
	// Source says who decided.
	Source Source
	// Money is set where Limit and Remaining are millionths (see Whole).
	Money bool
	// Limit is what the cost is measured against, in units.
	Limit int64
	// Remaining is how many units would still pass now, as far as this process knows:
	// what the server said last, less what was spent here since. Stale is the age of
	// what the server said; 0 where it was asked in this call.
	Remaining int64
	Stale     time.Duration
	// RetryAfter is 0 when allowed; on a denial the wait, at least a millisecond,
	// after which the same call passes if nobody else calls, or Never.
	RetryAfter time.Duration
	// ResetAfter is how long it takes until nothing is used any more, if nobody calls.
	ResetAfter time.Duration
	// Delay is how long a call that LeakyBucket admits should wait before it begins.
	Delay time.Duration
	// LimitName is the limit of the plan that decided; "" without a plan.
	LimitName string
	// ID names the permit that a plan's concurrency limit gave; "" where there is none.
	// Give it back with ReleasePlan.
	ID string
}

// Err is nil for a call that may go on, else an error that matches ErrDenied and
// holds the decision; with Unavailable it matches ErrUnavailable too.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &DeniedError{Decision: d}
}

// DeniedError is a decision as an error, for code that wants denials as errors.
type DeniedError struct {
	Decision Decision
}

func (e *DeniedError) Error() string {
	d := &e.Decision
	switch {
	case d.Unavailable:
		return "sluice: denied: the server cannot be reached"
	case d.RetryAfter == Never:
		return "sluice: denied: the cost is above the limit"
	}
	return fmt.Sprintf("sluice: denied: retry after %s", d.RetryAfter)
}

// Is makes errors.Is find ErrDenied, and ErrUnavailable where it applies.
func (e *DeniedError) Is(target error) bool {
	return target == ErrDenied || target == ErrUnavailable && e.Decision.Unavailable
}

// waitOf is a number of milliseconds as a wait; −1 is Never. The longest wait that
// a Duration holds, 292 years, stands for every longer one.
func waitOf(ms int64) time.Duration {
	switch {
	case ms < 0:
		return Never
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// decimal is millionths as the server has them: a decimal without trailing zeros.
func decimal(millionths int64) string {
	whole, rest := millionths/Whole, millionths%Whole
	if rest == 0 {
		return strconv.FormatInt(whole, 10)
	}
	text := fmt.Sprintf("%d.%06d", whole, rest)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return text
}

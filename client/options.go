package client

// How a client is set up. Every option has a default that suits a server in the
// same data centre; the defaults are the exported constants.

import (
	"fmt"
	"log/slog"
	"time"
)

// The defaults of New's options.
const (
	// TimeoutDefault is how long a decision waits for the server.
	TimeoutDefault = 5 * time.Millisecond
	// AccuracyDefault is the share of a limit that all leases together may be.
	AccuracyDefault = 0.01
	// KeysMaxDefault is of how many keys something is known.
	KeysMaxDefault = 1 << 16
	// WaitersMaxDefault is how many calls of Wait may wait at a time.
	WaitersMaxDefault = 1024
)

// Option sets up a client.
type Option func(*settings) error

// settings are what a client is made of.
type settings struct {
	timeout    time.Duration
	accuracy   float64
	leaseMax   int64
	keysMax    int
	waitersMax int
	policy     Policy
	planPolicy map[string]planPolicy
	planLimit  Limit // where the server is away and a plan has no entry in planPolicy
	log        *slog.Logger
	clock      func() time.Duration // nil: the machine's
}

// planPolicy is what is decided on a plan without the server.
type planPolicy struct {
	policy Policy
	limit  Limit
}

func defaults() settings {
	return settings{
		timeout: TimeoutDefault, accuracy: AccuracyDefault, leaseMax: UnitsMax, keysMax: KeysMaxDefault,
		waitersMax: WaitersMaxDefault, planLimit: TokenBucket(60, time.Minute), planPolicy: map[string]planPolicy{},
		log: slog.New(slog.DiscardHandler),
	}
}

// Accuracy is the share of a limit that all leases of a key together may be, from 0
// (the server decides every call) to 0.5. The default is AccuracyDefault, 1 %.
func Accuracy(share float64) Option {
	return func(s *settings) error {
		if !(share >= 0 && share <= 0.5) {
			return fmt.Errorf("%w: Accuracy must be from 0 to 0.5, got %v", ErrInvalid, share)
		}
		s.accuracy = share
		return nil
	}
}

// Exact has the server decide every call: no leases. A round trip a call is the price.
func Exact() Option { return Accuracy(0) }

// LeaseMax is how many units a lease has at most, whatever Accuracy would permit.
func LeaseMax(units int64) Option {
	return func(s *settings) error {
		if units < 1 || units > UnitsMax {
			return fmt.Errorf("%w: LeaseMax must be from 1 to %d, got %d", ErrInvalid, int64(UnitsMax), units)
		}
		s.leaseMax = units
		return nil
	}
}

// KeysMax is of how many keys the client knows something at a time. The key that was
// not used for longest makes room; what it has leased is given back.
func KeysMax(n int) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("%w: KeysMax must be at least 1, got %d", ErrInvalid, n)
		}
		s.keysMax = n
		return nil
	}
}

// OnFailure is what is decided while the server cannot be reached.
func OnFailure(p Policy) Option {
	return func(s *settings) error {
		if p > FailClosed {
			return fmt.Errorf("%w: OnFailure must be FailLocal, FailOpen or FailClosed", ErrInvalid)
		}
		s.policy = p
		return nil
	}
}

// OnPlanFailure is OnFailure for one plan. With FailLocal this process goes on with its
// share of limit; without this option, with its share of the plan's own limit as far as
// the server has told it, else of 60 units a minute.
func OnPlanFailure(name string, p Policy, limit Limit) Option {
	return func(s *settings) error {
		if p > FailClosed {
			return fmt.Errorf("%w: OnPlanFailure must be FailLocal, FailOpen or FailClosed", ErrInvalid)
		}
		if err := Plan(name).err(); err != nil {
			return err
		}
		if limit.algorithm == plan {
			return fmt.Errorf("%w: the limit of OnPlanFailure must not be a plan itself", ErrInvalid)
		}
		if err := limit.err(); err != nil {
			return err
		}
		s.planPolicy[name] = planPolicy{p, limit}
		return nil
	}
}

// Timeout is how long a decision waits for the server before it is made without
// it. The default is TimeoutDefault.
func Timeout(d time.Duration) Option {
	return func(s *settings) error {
		if d < 100*time.Microsecond || d > time.Minute {
			return fmt.Errorf("%w: Timeout must be from 100µs to 1m, got %s", ErrInvalid, d)
		}
		s.timeout = d
		return nil
	}
}

// WaitersMax is how many calls of Wait may wait at a time; one more is an error at
// once. The default is WaitersMaxDefault.
func WaitersMax(n int) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("%w: WaitersMax must be at least 1, got %d", ErrInvalid, n)
		}
		s.waitersMax = n
		return nil
	}
}

// Logger is where the client tells what happens to it: the server is away, is back,
// reports were lost. Decisions are never logged. By default nothing is.
func Logger(l *slog.Logger) Option {
	return func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: Logger must not be nil", ErrInvalid)
		}
		s.log = l
		return nil
	}
}

// Clock is what the client measures time with: the time since any fixed instant,
// never going back, for any number of goroutines. By default it is the machine's
// clock, suspend included. It is for tests; package sluicetest sets it.
func Clock(elapsed func() time.Duration) Option {
	return func(s *settings) error {
		if elapsed == nil {
			return fmt.Errorf("%w: Clock must not be nil", ErrInvalid)
		}
		s.clock = elapsed
		return nil
	}
}

// optionKind is what a CallOption says.
type optionKind uint16

const (
	optEndpoint optionKind = 1 << iota
	optSpend
	optID
	optIdempotent
	optTTL
	optCancel
	optPermits
	optHolder
	optLeast
)

var optionNames = map[optionKind]string{
	optEndpoint: "Endpoint", optSpend: "Spend", optID: "ID", optIdempotent: "Idempotent",
	optTTL: "TTL", optCancel: "CancelOnExpiry", optPermits: "Permits", optHolder: "Holding", optLeast: "AtLeast",
}

// CallOption says more about one call. Each documents the calls it belongs to; with
// others it is an error.
type CallOption struct {
	kind optionKind
	text string
	n    int64
	ttl  time.Duration
}

// Endpoint names the endpoint whose price, in the plan, is the cost of the call; the
// call's own cost must be 0 then. It belongs to Allow, Peek and Reserve with a Plan.
func Endpoint(name string) CallOption { return CallOption{kind: optEndpoint, text: name} }

// Spend is what a call charges to the budget of its Plan, in millionths.
func Spend(millionths int64) CallOption { return CallOption{kind: optSpend, n: millionths} }

// ID names the permit, the reservation or the plan's permit that the call makes; the
// same ID again gives the first answer again. Without it the server makes one.
func ID(id string) CallOption { return CallOption{kind: optID, text: id} }

// Idempotent makes the same call again, with the same id, answer as it did the
// first time and charge nothing, for ttl (0: the server's 60 s). It belongs to Allow
// and AllowAll, and has the server decide.
func Idempotent(id string, ttl time.Duration) CallOption {
	return CallOption{kind: optIdempotent, text: id, ttl: ttl}
}

// TTL is how long a reservation stays open, and a lease may be spent; the default is the
// server's, 60 s. It belongs to Reserve and Lease.
func TTL(d time.Duration) CallOption { return CallOption{kind: optTTL, ttl: d} }

// CancelOnExpiry gives a reservation back that nobody settled in time, instead of
// charging what was reserved. It belongs to Reserve.
func CancelOnExpiry() CallOption { return CallOption{kind: optCancel} }

// Permits is how many permits Acquire takes; the default is 1.
func Permits(n int64) CallOption { return CallOption{kind: optPermits, n: n} }

// Holding is the name under which the server knows who has a lease. It belongs to Lease;
// without it nothing of the lease can be given back or reported.
func Holding(holder string) CallOption { return CallOption{kind: optHolder, text: holder} }

// AtLeast has the server grant that many units or none; the default is 1 (of a budget the
// smallest amount). It belongs to Lease.
func AtLeast(units int64) CallOption { return CallOption{kind: optLeast, n: units} }

// appendOptions appends options as words of a command that takes those in mask.
func appendOptions(args []any, mask optionKind, opts []CallOption) ([]any, error) {
	var seen optionKind
	for _, o := range opts {
		name := optionNames[o.kind]
		switch {
		case o.kind&mask == 0:
			return nil, fmt.Errorf("%w: %s does not belong to this call", ErrInvalid, name)
		case o.kind&seen != 0:
			return nil, fmt.Errorf("%w: %s is given twice", ErrInvalid, name)
		case o.ttl < 0 || o.ttl > WindowMax || o.ttl%time.Millisecond != 0:
			return nil, fmt.Errorf("%w: the time of %s must be whole milliseconds, at most %s, got %s", ErrInvalid, name, WindowMax, o.ttl)
		case o.n < 0 || o.n > UnitsMax:
			return nil, fmt.Errorf("%w: %s must be from 0 to %d, got %d", ErrInvalid, name, int64(UnitsMax), o.n)
		}
		seen |= o.kind
		switch o.kind {
		case optEndpoint:
			args = append(args, "ENDPOINT", o.text)
		case optSpend:
			args = append(args, "SPEND", decimal(o.n))
		case optID:
			args = append(args, "ID", o.text)
		case optIdempotent:
			args = append(args, "IDEMPOTENT", o.text)
			if o.ttl > 0 {
				args = append(args, "TTL", millis(o.ttl))
			}
		case optTTL:
			args = append(args, "TTL", millis(o.ttl))
		case optCancel:
			args = append(args, "ONEXPIRE", "CANCEL")
		case optHolder:
			args = append(args, "HOLDER", o.text)
		}
	}
	return args, nil
}

// option returns the option of a kind.
func option(opts []CallOption, kind optionKind) (CallOption, bool) {
	for _, o := range opts {
		if o.kind == kind {
			return o, true
		}
	}
	return CallOption{}, false
}

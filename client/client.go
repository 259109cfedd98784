package client

// The client: how it is made and ended, and the calls that are one command each.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sluice/internal/clock"
)

// Client asks a server for decisions. It may be used by any number of goroutines.
// Make one a process with New and Close it at the end.
type Client struct {
	settings
	rdb    redis.UniversalClient
	owned  bool // rdb was made here
	single *node
	nodes  sync.Map    // *redis.Client → *node, where the server has several
	mapped atomic.Bool // the cluster has told which node has which keys

	id      string        // of this process, in what the server knows of leases
	holders atomic.Uint64 // that have been named
	table   *table
	offset  atomic.Int64 // server's time since 1970 less now(), nanoseconds
	usual   usualShare
	lessons sync.Map // plan's name → *lesson
	outbox  outbox
	aground permits // that were taken without the server
	watch   *clock.Stopwatch
	waiters chan struct{} // holds one for each call of Wait that waits

	calls                      histogram
	leasedUnits, returnedUnits atomic.Uint64

	closed atomic.Bool
	quit   chan struct{}   // closed when Close begins
	life   context.Context // over when Close does not wait any more
	end    context.CancelFunc
	mu     sync.RWMutex // held by spawn and Close
	group  sync.WaitGroup
}

// New returns a client of the server at an address, HOST:PORT. It does not wait for
// the server, and does not fail if there is none: calls are decided without it then.
func New(addr string, opts ...Option) (*Client, error) {
	if addr == "" {
		return nil, fmt.Errorf("%w: the address must be HOST:PORT, got none", ErrInvalid)
	}
	s, err := set(opts)
	if err != nil {
		return nil, err
	}
	o := &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true,
		MaxRetries:    -1, // a call that is sent twice may be charged twice
		DialerRetries: 1, DialTimeout: time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // of other servers
	}
	o.Dialer = quietly(o)
	c := start(redis.NewClient(o), s)
	c.owned = true
	return c, nil
}

// NewFrom returns a client that talks through a go-redis client of any kind, which
// stays the caller's to close. Have it retry nothing (MaxRetries: -1): a call that is
// sent twice may be charged twice. What go-redis logs of it, such as dials that fail, goes
// where redis.SetLogger says, by default to standard error.
func NewFrom(rdb redis.UniversalClient, opts ...Option) (*Client, error) {
	if rdb == nil {
		return nil, fmt.Errorf("%w: the go-redis client must not be nil", ErrInvalid)
	}
	s, err := set(opts)
	if err != nil {
		return nil, err
	}
	return start(rdb, s), nil
}

func set(opts []Option) (settings, error) {
	s := defaults()
	for _, o := range opts {
		if err := o(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func start(rdb redis.UniversalClient, s settings) *Client {
	c := &Client{
		settings: s, rdb: rdb, watch: clock.NewStopwatch(), id: rand.Text()[:processIDBytes],
		table: newTable(s.keysMax), waiters: make(chan struct{}, s.waitersMax), quit: make(chan struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.single = &node{client: c, rdb: rdb}
	c.offset.Store(c.watch.Wall().UnixNano() - int64(c.now())) // until the server tells better
	c.spawn(func() { c.single.ping() })                        // the first decision finds a connection
	c.spawn(c.keep)
	return c
}

// processIDBytes is how long the name of a process is.
const processIDBytes = 16

// now is the time since the client was made, or what the option Clock says.
func (c *Client) now() time.Duration {
	if c.clock == nil {
		return c.watch.Elapsed()
	}
	return c.clock()
}

// unix is the server's time since 1970, as far as this process knows.
func (c *Client) unix() time.Duration { return c.now() + time.Duration(c.offset.Load()) }

// spawn runs f in a goroutine that Close waits for, and says whether it does: not any
// more after Close.
func (c *Client) spawn(f func()) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed.Load() {
		return false
	}
	c.group.Go(f)
	return true
}

// Close gives back what leases are left, sends the last reports, for no longer than
// CloseTimeout, and ends the client. Calls after it fail with ErrClosed. Permits that
// are held are renewed no more and free themselves. With a client of NewFrom, a call that
// hangs may end later, when go-redis gives it up.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed.Swap(true) {
		c.mu.Unlock()
		return ErrClosed
	}
	c.mu.Unlock()
	close(c.quit)
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	done := make(chan struct{})
	go func() {
		c.group.Wait() // what is under way first: it may bring leases
		c.settle(ctx)
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	c.end()
	if !c.owned {
		return nil
	}
	err := c.rdb.Close() // ends what hangs
	<-done
	return err
}

// check is what is wrong with a key, a limit and a cost.
func check(key string, l Limit, cost, costMin int64) error {
	if err := l.err(); err != nil {
		return err
	}
	if len(key) > keyBytesMax {
		return fmt.Errorf("%w: a key has at most %d bytes, got %d", ErrInvalid, keyBytesMax, len(key))
	}
	if cost < costMin || cost > UnitsMax {
		more := ""
		if cost == 0 {
			more = "; to look without spending use Peek"
		}
		return fmt.Errorf("%w: cost must be from %d to %d, got %d%s", ErrInvalid, costMin, int64(UnitsMax), cost, more)
	}
	return nil
}

// keyBytesMax is the longest key.
const keyBytesMax = 65_536

// command builds a command about a key and a limit. mask is the options that it takes
// beside those of plans.
func command(name, key string, l Limit, cost, costMin int64, mask optionKind, opts []CallOption) ([]any, error) {
	if l.algorithm == plan {
		mask |= optEndpoint | optSpend
		if name == "RL.ALLOW" {
			mask |= optID
		}
	}
	_, priced := option(opts, optEndpoint)
	if priced {
		costMin = 0
		if cost != 0 {
			return nil, fmt.Errorf("%w: with Endpoint the plan has the price: the cost must be 0, got %d", ErrInvalid, cost)
		}
	}
	if err := check(key, l, cost, costMin); err != nil {
		return nil, err
	}
	var price any
	if !priced {
		price = l.amount(cost)
	}
	return appendOptions(l.words([]any{name, key}, price), mask, opts)
}

// Peek answers as Allow would and spends nothing. Its cost may be 0: always allowed.
func (c *Client) Peek(ctx context.Context, key string, l Limit, cost int64, opts ...CallOption) (Decision, error) {
	args, err := command("RL.PEEK", key, l, cost, 0, 0, opts)
	if err != nil {
		return Decision{}, err
	}
	reply, err := c.ask(ctx, key, args...)
	if errors.Is(err, ErrUnavailable) {
		return c.peekAside(key, l, cost), nil
	}
	if err != nil {
		return Decision{}, err
	}
	return answer("RL.PEEK", reply, l)
}

// Debit charges units whatever the limit says; a debt may come of it. It answers
// what Peek with cost 0 says afterwards.
func (c *Client) Debit(ctx context.Context, key string, l Limit, units int64) (Decision, error) {
	return c.charge(ctx, "RL.DEBIT", key, l, units)
}

// Refund takes back the newest units of a key, down to none used. It answers what
// Peek with cost 0 says afterwards.
func (c *Client) Refund(ctx context.Context, key string, l Limit, units int64) (Decision, error) {
	return c.charge(ctx, "RL.REFUND", key, l, units)
}

func (c *Client) charge(ctx context.Context, name, key string, l Limit, units int64) (Decision, error) {
	args, err := command(name, key, l, units, 1, 0, nil)
	if err != nil {
		return Decision{}, err
	}
	reply, err := c.ask(ctx, key, args...)
	if err != nil {
		return Decision{}, err
	}
	c.forget(key)
	return answer(name, reply, l)
}

// Reset makes keys fresh, as if nobody had used them, and returns how many were not.
func (c *Client) Reset(ctx context.Context, keys ...string) (sum int64, err error) {
	byNode, err := c.byNode(ctx, len(keys), func(i int) string { return keys[i] })
	for _, some := range byNode {
		args := []any{"RL.RESET"}
		for _, i := range some {
			args = append(args, keys[i])
			defer c.forget(keys[i])
		}
		n, err := c.count(ctx, keys[some[0]], args)
		if sum += n; err != nil {
			return sum, err
		}
	}
	return sum, err
}

// ResetPlan makes all limits of a plan fresh for a key, and returns how many were
// not.
func (c *Client) ResetPlan(ctx context.Context, key, name string) (int64, error) {
	if err := Plan(name).err(); err != nil {
		return 0, err
	}
	defer c.forget(key)
	return c.count(ctx, key, []any{"RL.RESET", key, "@" + name})
}

// count asks for a number.
func (c *Client) count(ctx context.Context, key string, args []any) (int64, error) {
	reply, err := c.manage(ctx, key, args...)
	if err != nil {
		return 0, err
	}
	r := read(fmt.Sprint(args[0]), []any{reply})
	n := r.integer("a number", 0, UnitsMax)
	return n, r.err
}

// flag asks for a yes or no.
func (c *Client) flag(ctx context.Context, key string, args ...any) (bool, error) {
	reply, err := c.ask(ctx, key, args...)
	if err != nil {
		return false, err
	}
	r := read(fmt.Sprint(args[0]), []any{reply})
	yes := r.flag("1 or 0")
	return yes, r.err
}

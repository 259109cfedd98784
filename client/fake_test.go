package client

// A server for the tests of what the client does by itself: fixed windows of every
// key, in memory, without a network. It counts what it is asked and can be made to
// hang, to be slow, to be gone and to lose replies. Under testing/synctest its time is
// the bubble's.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// fault is what is wrong with the fake.
type fault int

const (
	healthy fault = iota
	gone          // refuses
	hangs         // never answers
	loses         // does what it is asked, and never answers
)

// fake is the server. Its windows are as long as the limit's and begin at 0.
type fake struct {
	mu      sync.Mutex
	fault   fault
	delay   time.Duration
	used    map[string]int64
	leased  map[string]int64 // of a key's window
	out     map[string]map[string]int64
	reports map[about]report
	asked   map[string]int
	window  int64
	flying  map[string]int  // leases under way, by key
	most    int             // of them at a time
	said    string          // an error for every call
	ids     map[string]bool // permits and reservations that are out
}

var errGone = errors.New("connection refused")

func newFake() *fake {
	return &fake{
		used: map[string]int64{}, leased: map[string]int64{}, out: map[string]map[string]int64{},
		reports: map[about]report{}, asked: map[string]int{}, flying: map[string]int{}, ids: map[string]bool{},
	}
}

// client returns a client of the fake. The test closes it; that closes the connections
// too.
func (f *fake) client(tb testing.TB, opts ...Option) *Client {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: "fake:1", MaxRetries: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	rdb.AddHook(f)
	c, err := NewFrom(rdb, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	c.owned = true
	return c
}

// set changes the fake while it is used.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// trips is how many calls there were of some commands.
func (f *fake) trips(names ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		n += f.asked[name]
	}
	return n
}

func (f *fake) DialHook(next redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errGone }
}

func (f *fake) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return f.process(ctx, cmd) }
}

func (f *fake) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := f.process(ctx, cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

func (f *fake) process(ctx context.Context, cmd redis.Cmder) (err error) {
	defer func() { cmd.SetErr(err) }()
	f.mu.Lock()
	name := strings.ToUpper(cmd.Name())
	f.asked[name]++
	fault, delay := f.fault, f.delay
	var reply any
	if fault == healthy || fault == loses {
		reply, err = f.answer(name, cmd.Args())
	}
	key := fmt.Sprint(cmd.Args()[len(cmd.Args())-1])
	if name == "RL.LEASE" {
		key = cmd.Args()[1].(string)
		f.flying[key]++
		f.most = max(f.most, f.flying[key])
	}
	f.mu.Unlock()
	if fault == hangs || fault == loses {
		delay = time.Hour
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if name == "RL.LEASE" {
		f.set(func() { f.flying[key]-- })
	}
	switch cmd := cmd.(type) {
	case *redis.Cmd:
		cmd.SetVal(reply)
	case *redis.StatusCmd:
		cmd.SetVal("PONG")
	}
	if fault == gone {
		return errGone
	}
	return err
}

// errorReply is an error as go-redis has those of servers.
type errorReply string

func (e errorReply) Error() string { return string(e) }
func (errorReply) RedisError()     {}

// answer does a command.
func (f *fake) answer(name string, args []any) (any, error) {
	if f.said != "" {
		return nil, errorReply(f.said)
	}
	if name == "PING" {
		return "PONG", nil
	}
	if name == "RL.CLOCK" {
		return time.Now().UnixMilli(), nil
	}
	if name == "RL.REPORT" {
		r := report{holder: args[1].(string), seq: args[2].(uint64), key: args[3].(string), window: args[4].(int64), spent: args[5].(int64)}
		if len(args) > 6 {
			r.degraded = args[7].(int64)
		}
		a := about{r.key, r.holder, r.window}
		if f.reports[a].seq < r.seq {
			f.reports[a] = r
		}
		return int64(1), nil
	}
	if reply, ok := f.named(name, args); ok {
		return reply, nil
	}
	key := args[1].(string)
	if name == "RL.RETURN" {
		holder, n := args[2].(string), args[3].(int64)
		if n = min(n, f.out[key][holder]); n == 0 {
			return n, nil
		}
		f.out[key][holder] -= n
		f.used[key] -= n
		f.leased[key] -= n
		return n, nil
	}
	return f.limit(name, key, args)
}

// named does a command about a permit or a reservation; every one that is asked for is
// granted.
func (f *fake) named(name string, args []any) (reply any, ok bool) {
	id := fmt.Sprint("id", f.asked[name])
	last := fmt.Sprint(args[len(args)-1])
	planned := func(id string) []any { // a decision of a plan with a permit
		f.ids[id] = true
		return append(ints(1, 10, 9, 0, 1000, 0), "inflight", id)
	}
	switch name {
	case "RL.ALLOW":
		if limit := args[2].(string); limit[0] == '@' {
			return planned(id), true
		}
	case "RL.MALLOW":
		return []any{planned(id + "a"), planned(id + "b")}, true
	case "RL.ALLOWALL":
		return []any{int64(1), int64(0), planned(id)[:7], planned(id)[:7], id}, true
	case "RL.REQUEST":
		f.ids[id] = true
		return []any{
			"allowed", int64(1), "rule", "r", "key", "k", "plan", "p", "limit_name", "inflight", "limit", int64(10), "remaining", int64(9),
			"retry_after_ms", int64(0), "reset_after_ms", int64(1000), "delay_ms", int64(0), "id", id, "headers", []any{}, "permits", []any{"{k}#inflight"},
		}, true
	case "RL.ACQUIRE":
		f.ids[id] = true
		return []any{int64(1), args[2], int64(0), int64(0), id}, true
	case "RL.RESERVE":
		f.ids[id] = true
		return append(ints(1, 10, 9, 0, 1000, 0), id), true
	case "RL.RENEW":
		if f.ids[args[2].(string)] {
			return int64(1), true
		}
		return int64(0), true
	case "RL.RELEASE":
		delete(f.ids, last)
		return int64(1), true
	case "RL.CANCEL":
		delete(f.ids, last)
		return ints(1, 10, 10, 0, 0, 0), true
	}
	return nil, false
}

// idsOut is how many permits and reservations are out.
func (f *fake) idsOut() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ids)
}

// limit does a command about a limit.
func (f *fake) limit(name, key string, args []any) (any, error) {
	limit := args[3].(int64)
	ms, _ := strconv.ParseInt(strings.TrimSuffix(args[4].(string), "ms"), 10, 64)
	units := args[5].(int64)
	now := time.Now().UnixMilli()
	if start := now - now%ms; start != f.window {
		f.window, f.used, f.leased = start, map[string]int64{}, map[string]int64{}
	}
	reset := f.window + ms - now
	least := units
	if name == "RL.LEASE" {
		least = args[7].(int64)
	}
	free := max(0, limit-f.used[key])
	switch {
	case name == "RL.DEBIT":
	case free < least:
		units = 0
	default:
		units = min(units, free)
	}
	f.used[key] += units
	retry, allowed := int64(0), int64(1)
	if units == 0 {
		retry, allowed = reset, 0
	}
	left := max(0, limit-f.used[key])
	if name != "RL.LEASE" {
		return ints(allowed, limit, left, retry, reset, 0), nil
	}
	holder := args[11].(string)
	if f.out[key] == nil {
		f.out[key] = map[string]int64{}
	}
	f.out[key][holder] += units
	f.leased[key] += units
	return ints(units, limit, left, retry, reset, min(reset, LeaseTTL.Milliseconds()), now, f.window, int64(len(f.out[key])), f.leased[key]), nil
}

func (f *fake) usedOf(key string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used[key]
}

func (f *fake) sums() (spent, degraded int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.reports {
		spent += r.spent
		degraded += r.degraded
	}
	return spent, degraded
}

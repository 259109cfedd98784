package client_test

// Every RL. command that a server has must be a typed call here: the server is asked for
// its table, and each row of it is called, once as it is and then with replies of other
// shapes, none of which may pass for an answer.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/client"
	"sluice/client/sluicetest"
)

// calls has a call for each command of the table, in an order in which all of them find
// what they need.
var calls = []struct {
	command string
	call    func(c *client.Client) error
}{
	{"rl.plan|set", func(c *client.Client) error {
		return c.SetPlan(ctx, "p", "limits: {rpm: {algorithm: token_bucket, limit: 10, window: 1m}}")
	}},
	{"rl.plan|get", func(c *client.Client) error { return of(c.PlanText(ctx, "p")) }},
	{"rl.plan|list", func(c *client.Client) error { return of(c.Plans(ctx)) }},
	{"rl.rule|set", func(c *client.Client) error {
		return c.SetRule(ctx, "r", "{match: /, per: ip, plan: p}")
	}},
	{"rl.rule|get", func(c *client.Client) error { return of(c.RuleText(ctx, "r")) }},
	{"rl.rule|list", func(c *client.Client) error { return of(c.Rules(ctx)) }},
	{"rl.request", func(c *client.Client) error {
		return of(c.Request(ctx, client.Request{Method: "GET", Path: "/", IP: "10.0.0.1"}))
	}},
	{"rl.explain", func(c *client.Client) error { return of(c.Explain(ctx, "u", client.Plan("p"), 1)) }},
	{"rl.rule|del", func(c *client.Client) error { return c.DeleteRule(ctx, "r") }},
	{"rl.plan|del", func(c *client.Client) error { return c.DeletePlan(ctx, "p") }},
	{"rl.allow", func(c *client.Client) error { return of(c.Allow(ctx, "allow", small, 1)) }},
	{"rl.peek", func(c *client.Client) error { return of(c.Peek(ctx, "k", small, 1)) }},
	{"rl.mallow", func(c *client.Client) error {
		return of(c.AllowMany(ctx, []client.Call{{Key: "k", Limit: small, Cost: 1}}))
	}},
	{"rl.allowall", func(c *client.Client) error {
		return of(c.AllowAll(ctx, []client.Call{{Key: "k", Limit: small, Cost: 1}}))
	}},
	{"rl.debit", func(c *client.Client) error { return of(c.Debit(ctx, "k", small, 20)) }},
	{"rl.refund", func(c *client.Client) error { return of(c.Refund(ctx, "k", small, 1)) }},
	{"rl.inspect", func(c *client.Client) error { return of2(c.Inspect(ctx, "k")) }},
	{"rl.reset", func(c *client.Client) error { return of(c.Reset(ctx, "k")) }},
	{"rl.reserve", func(c *client.Client) error { return of(c.Reserve(ctx, "k", small, 2, client.ID("r1"))) }},
	{"rl.commit", func(c *client.Client) error {
		r, err := c.Reservation("k", small, "r1")
		if err != nil {
			return err
		}
		return of(r.Commit(ctx, 1))
	}},
	{"rl.cancel", func(c *client.Client) error {
		r, err := c.Reservation("k", small, "r1")
		if err != nil {
			return err
		}
		return of(r.Cancel(ctx))
	}},
	{"rl.acquire", func(c *client.Client) error { return of(c.Acquire(ctx, "jobs", 5, time.Minute, client.ID("p1"))) }},
	{"rl.renew", func(c *client.Client) error { return of(c.Renew(ctx, "jobs", "p1", time.Minute)) }},
	{"rl.holders", func(c *client.Client) error { return of(c.Holders(ctx, "jobs")) }},
	{"rl.release", func(c *client.Client) error { return of(c.Release(ctx, "jobs", "p1")) }},
	{"rl.lease", func(c *client.Client) error {
		return of(c.Lease(ctx, "leased", small, 5, client.Holding("h"), client.AtLeast(2), client.TTL(time.Minute)))
	}},
	{"rl.return", func(c *client.Client) error { return of(lent(c).Return(ctx, 2)) }},
	{"rl.report", func(c *client.Client) error { return of(lent(c).Report(ctx, 1, 3, 1)) }},
	{"rl.usage", func(c *client.Client) error { return of(c.Usage(ctx, "leased", 1)) }},
	{"rl.throttle", func(c *client.Client) error { return of(c.Throttle(ctx, "cell", 1, 1, time.Minute, 2)) }},
	{"rl.top", func(c *client.Client) error { return of(c.TopDenied(ctx, "", 5)) }},
	{"rl.denials", func(c *client.Client) error { return of(c.Denials(ctx, "", 5)) }},
	{"rl.help", func(c *client.Client) error { return of(c.Help(ctx, "RL.CLOCK", "GET")) }},
	{"rl.clock|get", func(c *client.Client) error { return of(c.ServerTime(ctx)) }},
	{"rl.clock|set", func(c *client.Client) error { return c.SetServerTime(ctx, time.UnixMilli(1_800_000_001_000)) }},
	{"rl.clock|advance", func(c *client.Client) error { return c.AdvanceServerTime(ctx, time.Second) }},
}

// small is a limit of which no lease is taken.
var small = client.TokenBucket(10, 10*time.Second)

func of[T any](_ T, err error) error          { return err }
func of2[T, U any](_ T, _ U, err error) error { return err }

// lent is a lease. Taking it is not what is tried.
func lent(c *client.Client) *client.Grant {
	g, err := c.Lease(context.WithValue(ctx, asIs{}, true), "leased", small, 1, client.Holding("h"))
	if err != nil {
		panic(err)
	}
	return g
}

// asIs marks a call whose reply is not replaced.
type asIs struct{}

// spy is between a client and its server: it hears what is asked, and may say something
// else.
type spy struct {
	redis.Hook
	asked   map[string]bool
	instead func(command string, reply any) any
}

func (s *spy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		name := strings.ToLower(cmd.FullName())
		if strings.HasPrefix(name, "rl.plan") || strings.HasPrefix(name, "rl.rule") || strings.HasPrefix(name, "rl.clock") {
			name += "|" + strings.ToLower(fmt.Sprint(cmd.Args()[1]))
		}
		if cmd, ok := cmd.(*redis.Cmd); ok && ctx.Value(asIs{}) == nil {
			s.asked[name] = true
			if s.instead != nil && err == nil {
				cmd.SetVal(s.instead(name, cmd.Val()))
			}
		}
		return err
	}
}

// spied returns a client that a spy listens to.
func spied(t *testing.T, srv *sluicetest.Server, protocol int) (*client.Client, *spy) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), MaxRetries: -1, Protocol: protocol})
	s := &spy{asked: map[string]bool{}}
	rdb.AddHook(s)
	c, err := client.NewFrom(rdb, client.Timeout(10*time.Second), client.Clock(srv.Elapsed), client.Exact())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); rdb.Close() })
	return c, s
}

func TestEveryCommandHasATypedCall(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		srv := sluicetest.New(t)
		c, s := spied(t, srv, protocol)
		for _, row := range calls {
			if err := row.call(c); err != nil {
				t.Errorf("RESP%d: %s: %v", protocol, row.command, err)
			}
			if !s.asked[row.command] {
				t.Errorf("%s is not what was asked", row.command)
			}
		}
		names, err := srv.Redis().Do(ctx, "COMMAND", "LIST").StringSlice()
		if err != nil {
			t.Fatal(err)
		}
		parents := map[string]bool{}
		for _, name := range names {
			if parent, _, ok := strings.Cut(name, "|"); ok {
				parents[parent] = true
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, "rl.") && !parents[name] && !strings.HasSuffix(name, "|help") && !s.asked[name] {
				t.Errorf("the server has %s, and the client no typed call for it", name)
			}
		}
	}
}

// Other shapes that a reply may have.
var shapes = map[string]func(reply any) any{
	"nothing":      func(any) any { return nil },
	"a text":       func(any) any { return "PONG" },
	"a number":     func(any) any { return int64(-7) },
	"a fraction":   func(any) any { return 1.5 },
	"one more":     func(reply any) any { return longer(reply) },
	"one less":     func(reply any) any { return shorter(reply) },
	"other things": func(reply any) any { return changed(reply) },
}

// fits are the shapes that are right for a command, or cannot be made of its reply.
var fits = map[string][]string{
	"rl.plan|get": {"a text", "one more", "one less"}, "rl.rule|get": {"a text", "one more", "one less"},
	"rl.plan|list": {"one more", "one less"}, "rl.rule|list": {"one more", "one less"}, "rl.help": {"one more", "one less"},
	"rl.inspect": {"nothing"}, // a fresh key
}

func TestOtherShapesAreNoAnswers(t *testing.T) {
	for name, shape := range shapes {
		for _, protocol := range []int{2, 3} {
			srv := sluicetest.New(t)
			c, s := spied(t, srv, protocol)
			for _, row := range calls {
				right := false
				for _, fit := range fits[row.command] {
					right = right || fit == name
				}
				changes := true
				s.instead = func(_ string, reply any) any {
					other := shape(reply)
					changes = fmt.Sprintf("%#v", other) != fmt.Sprintf("%#v", reply)
					return other
				}
				if err := row.call(c); !right && changes && !errors.Is(err, client.ErrReply) {
					t.Errorf("RESP%d: %s replies %s: %v", protocol, row.command, name, err)
				}
			}
		}
	}
}

// longer is a reply with one more element.
func longer(reply any) any {
	if list, ok := reply.([]any); ok {
		return append(append([]any{}, list...), int64(1))
	}
	return reply
}

// shorter is a reply without its last element, or one of its pairs.
func shorter(reply any) any {
	switch reply := reply.(type) {
	case []any:
		if len(reply) == 0 {
			return reply
		}
		if last, ok := reply[len(reply)-1].([]any); ok {
			return append(append([]any{}, reply[:len(reply)-1]...), shorter(last))
		}
		if last, ok := reply[len(reply)-1].(map[any]any); ok {
			return append(append([]any{}, reply[:len(reply)-1]...), shorter(last))
		}
		return reply[:len(reply)-1]
	case map[any]any:
		less := map[any]any{}
		for name, value := range reply {
			if name != "limit" && name != "window_start_ms" && name != "key" {
				less[name] = value
			}
		}
		return less
	}
	return reply
}

// changed is a reply of the same length with fractions for its elements.
func changed(reply any) any {
	switch reply := reply.(type) {
	case []any:
		other := make([]any, len(reply))
		for i := range other {
			other[i] = changed(reply[i])
		}
		return other
	case map[any]any:
		other := map[any]any{}
		for name := range reply {
			other[name] = 1.5
		}
		return other
	}
	return 1.5
}

func TestLeaseByHand(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	minute := client.FixedWindow(100, time.Minute)
	g, err := c.Lease(ctx, "k", minute, 60, client.Holding("a"))
	if err != nil || g.Granted != 60 || g.Remaining != 40 || g.ValidFor != time.Minute || g.Holders != 1 || !g.ServerTime.Equal(srv.Now()) {
		t.Fatalf("%+v, %v", g, err)
	}
	if none, err := c.Lease(ctx, "k", minute, 60, client.AtLeast(50)); err != nil || none.Granted != 0 || none.RetryAfter != time.Minute {
		t.Errorf("%+v, %v", none, err)
	}
	for _, want := range []int64{50, 10, 0} {
		if taken, err := g.Return(ctx, 50); taken != want || err != nil {
			t.Errorf("took %d, %v, want %d", taken, err, want)
		}
	}
	for _, want := range []bool{true, false} {
		if counted, err := g.Report(ctx, 1, 7, 2); counted != want || err != nil {
			t.Errorf("counted %v, %v, want %v", counted, err, want)
		}
	}
	if list, err := c.Usage(ctx, "k", 0); err != nil || len(list) != 1 || list[0].Spent != 7 || list[0].Degraded != 2 || list[0].Authorised != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	money, err := c.Lease(ctx, "m", client.Budget(25*client.Whole, time.Hour), 1_500_000, client.Holding("a"), client.AtLeast(1))
	if err != nil || !money.Money || money.Granted != 1_500_000 || money.GrantedTotal != 1_500_000 {
		t.Fatalf("%+v, %v", money, err)
	}
	if taken, err := money.Return(ctx, 250_000); taken != 250_000 || err != nil {
		t.Errorf("took %d, %v", taken, err)
	}
	if counted, err := money.Report(ctx, 1, 1_250_000, 10); !counted || err != nil {
		t.Errorf("counted %v, %v", counted, err)
	}
	nameless, err := c.Lease(ctx, "n", minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		of(nameless.Return(ctx, 1)), of(nameless.Report(ctx, 1, 1, 0)), of(g.Return(ctx, 0)), of(g.Report(ctx, 2, -1, 0)),
		of(c.Lease(ctx, "k", minute, 0)), of(c.Lease(ctx, "k", minute, 5, client.AtLeast(6))), of(c.Lease(ctx, "k", minute, 5, client.ID("i"))),
		of(c.Renew(ctx, "k", "p", time.Microsecond)), of(c.Reservation("k", minute, "")), of(c.Throttle(ctx, "k", -1, 1, time.Second, 1)),
		of(c.Throttle(ctx, "k", 1, 1, 1500*time.Millisecond, 1)),
	} {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

// What operators ask tells what happened.
func TestWatching(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	for range 2 {
		if d, err := c.Allow(ctx, "user:42", small, 11); d.Allowed || err != nil {
			t.Fatal(d, err)
		}
	}
	want := client.Denial{At: srv.Now(), Key: "user:42", Algorithm: "token_bucket", Cost: "11", RetryAfter: client.Never}
	list, err := c.Denials(ctx, "user:42", 0)
	if err != nil || len(list) != 1 { // the second was denied here
		t.Fatalf("%+v, %v", list, err)
	}
	want.Client = list[0].Client
	if list[0] != want || want.Client == 0 {
		t.Errorf("%+v", list[0])
	}
	if top, err := c.TopDenied(ctx, "", 1); err != nil || len(top) != 1 || top[0] != (client.Heavy{Key: "user:42", Algorithm: "token_bucket", Count: 1}) {
		t.Errorf("%+v, %v", top, err)
	}
	if top, err := c.TopHot(ctx, "nobody", 1); err == nil || !strings.Contains(err.Error(), "NOPLAN") {
		t.Errorf("%+v, %v", top, err)
	}
	cell, err := c.Throttle(ctx, "cell", 15, 30, time.Minute, 16)
	if err != nil || cell != (client.Throttled{Limit: 16, RetryAfter: client.Never, ResetAfter: 32 * time.Second}) {
		t.Errorf("%+v, %v", cell, err)
	}
	if cell, err = c.Throttle(ctx, "cell", 15, 30, time.Minute, 1); err != nil || !cell.Limited || cell.RetryAfter != 2*time.Second {
		t.Errorf("%+v, %v", cell, err)
	}
	if err := c.AdvanceServerTime(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if now, err := c.ServerTime(ctx); err != nil || !now.Equal(srv.Now()) || now.Unix() != 1_800_000_060 {
		t.Errorf("%s, %v", now, err)
	}
}

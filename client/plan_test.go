package client_test

// Plans and rules against the real server, in both protocols.

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/client"
	"sluice/client/sluicetest"
)

const proPlan = `{limits: {
	rpm:   {algorithm: sliding_counter, limit: 600, window: 1m},
	burst: {algorithm: token_bucket, limit: 20, window: 1s, burst: 40},
	spend: {algorithm: budget, limit: 25.00, window: day},
	inflight: {algorithm: concurrency, limit: 2, window: 30s}},
	costs: {search: 10}, overrides: {"user:7": {rpm: {limit: 5}}}}`

func proServer(t *testing.T) (*sluicetest.Server, *client.Client) {
	t.Helper()
	srv := sluicetest.New(t)
	c := srv.Client()
	if err := c.SetPlan(ctx, "pro", proPlan); err != nil {
		t.Fatal(err)
	}
	return srv, c
}

func TestPlan(t *testing.T) {
	srv, c := proServer(t)
	pro := client.Plan("pro")
	d, err := c.Allow(ctx, "user:42", pro, 1, client.Spend(13_200), client.ID("p1"))
	if err != nil || !d.Allowed || d.ID != "p1" || d.LimitName != "inflight" || d.Remaining != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if held, err := c.ReleasePlan(ctx, "user:42", "pro", "p1"); !held || err != nil {
		t.Errorf("released %v, %v", held, err)
	}
	d, err = c.Allow(ctx, "user:42", pro, 0, client.Endpoint("search"))
	if err != nil || !d.Allowed || d.ID == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	d, err = c.Allow(ctx, "user:42", pro, 30)
	if err != nil || d.Allowed || d.LimitName != "burst" || d.RetryAfter != 50*time.Millisecond || d.ID != "" {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, protocol := range []int{2, 3} {
		rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), Protocol: protocol})
		c, err := client.NewFrom(rdb, client.Timeout(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Explain(ctx, "user:42", pro, 1)
		if err != nil || len(list) != 4 {
			t.Fatalf("%+v, %v", list, err)
		}
		burst, spend := list[0], list[3]
		if burst.Name != "burst" || burst.Burst != 40 || burst.Used != 11 || burst.Remaining != 29 || !burst.Allowed || burst.Key != "{user:42}#burst" {
			t.Errorf("%+v", burst)
		}
		if spend.Name != "spend" || !spend.Money || spend.Limit != 25*client.Whole || spend.Used != 13_200 {
			t.Errorf("%+v", spend)
		}
		c.Close()
		rdb.Close()
	}
	if list, err := c.Explain(ctx, "user:7", pro, 1); err != nil || list[2].Source != "override" || list[2].Override != "user:7" || list[2].Limit != 5 {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := c.ResetPlan(ctx, "user:42", "pro"); n != 4 || err != nil {
		t.Errorf("reset %d, %v", n, err)
	}
	r, err := c.Reserve(ctx, "user:42", pro, 20, client.Spend(client.Whole))
	if err != nil || !r.Allowed || r.ID == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if d, err := r.Commit(ctx, 5, client.Spend(2*client.Whole)); err != nil || d.LimitName == "" {
		t.Errorf("%+v, %v", d, err)
	}
	list, err := c.Explain(ctx, "user:42", pro, 1)
	if err != nil || list[0].Used != 5 || list[3].Used != 2*client.Whole {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.Allow(ctx, "k", client.Plan("nobody's"), 1); err == nil || errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Explain(ctx, "k", client.GCRA(1, time.Second), 1); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestRequest(t *testing.T) {
	srv, c := proServer(t)
	if err := c.SetRule(ctx, "api", "{match: /api/, per: user, plan: pro}"); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []int{2, 3} {
		rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), Protocol: protocol})
		c, err := client.NewFrom(rdb, client.Timeout(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Request(ctx, client.Request{Method: "GET", Path: "/api/orders", User: "42"})
		if err != nil || !v.Allowed || v.Rule != "api" || v.Plan != "pro" || v.Key != "api|user:42" || v.ID == "" || len(v.Permits) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if v.Headers["RateLimit-Limit"] != "2" {
			t.Errorf("%v", v.Headers)
		}
		if err := c.ReleasePermit(ctx, v); err != nil {
			t.Error(err)
		}
		if list, err := c.Holders(ctx, v.Permits[0]); len(list) != 0 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
		v, err = c.Request(ctx, client.Request{Method: "GET", Path: "/health"})
		if err != nil || !v.Allowed || v.Rule != "" || len(v.Headers) != 0 {
			t.Errorf("%+v, %v", v, err)
		}
		c.Close()
		rdb.Close()
	}
	if _, err := c.Request(ctx, client.Request{Path: "/"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	// Without a user and an address there is nobody to count.
	if _, err := c.Request(ctx, client.Request{Method: "GET", Path: "/api/"}); err == nil || errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestDefinitions(t *testing.T) {
	_, c := proServer(t)
	if err := c.SetRule(ctx, "api", "{match: /api/, per: user, plan: pro}"); err != nil {
		t.Fatal(err)
	}
	plans, err := c.Plans(ctx)
	rules, errRules := c.Rules(ctx)
	if !slices.Equal(plans, []string{"pro"}) || !slices.Equal(rules, []string{"api"}) || err != nil || errRules != nil {
		t.Error(plans, rules, err, errRules)
	}
	if text, err := c.RuleText(ctx, "api"); text != `{"match":"/api/","per":"user","plan":"pro"}` || err != nil {
		t.Error(text, err)
	}
	if text, err := c.PlanText(ctx, "pro"); len(text) < 50 || err != nil {
		t.Error(text, err)
	}
	if err := c.SetPlan(ctx, "pro", "{}"); err == nil {
		t.Error("an empty plan was taken")
	}
	if err := errors.Join(c.DeleteRule(ctx, "api"), c.DeletePlan(ctx, "pro")); err != nil {
		t.Error(err)
	}
	if plans, err := c.Plans(ctx); len(plans) != 0 || err != nil {
		t.Error(plans, err)
	}
}

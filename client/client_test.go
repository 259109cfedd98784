package client_test

// The typed calls against the real server, under its test clock.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/client"
	"sluice/client/sluicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// short shows a decision as the notation of the cases has it.
func short(d client.Decision) string {
	if d.Allowed {
		return fmt.Sprint("A ", d.Remaining)
	}
	return fmt.Sprint("D ", d.Remaining, " ", d.RetryAfter)
}

// ask returns a function that fails the test on an error and shows the decision.
func ask(t *testing.T) func(client.Decision, error) string {
	return func(d client.Decision, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return short(d)
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func TestAllow(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	show := ask(t)
	bucket := client.TokenBucket(10, 10*time.Second)
	same(t, "8 of 10", show(c.Allow(ctx, "k", bucket, 8)), "A 2")
	same(t, "5 more", show(c.Allow(ctx, "k", bucket, 5)), "D 2 3s")
	same(t, "peek", show(c.Peek(ctx, "k", bucket, 0)), "A 2")
	srv.Advance(3 * time.Second)
	same(t, "after the wait", show(c.Allow(ctx, "k", bucket, 5)), "A 0")
	same(t, "more than ever", show(c.Allow(ctx, "k", bucket, 11)), "D 0 -1ns")
	same(t, "debit", show(c.Debit(ctx, "k", bucket, 5)), "A 0")
	same(t, "in debt", show(c.Allow(ctx, "k", bucket, 1)), "D 0 6s")
	same(t, "refund", show(c.Refund(ctx, "k", bucket, 7)), "A 2")
	if n, err := c.Reset(ctx, "k", "other"); n != 1 || err != nil {
		t.Errorf("reset %d, %v", n, err)
	}
	same(t, "fresh", show(c.Allow(ctx, "k", bucket, 10)), "A 0")

	first := show(c.Allow(ctx, "once", bucket, 1, client.Idempotent("r1", time.Minute)))
	same(t, "again", show(c.Allow(ctx, "once", bucket, 1, client.Idempotent("r1", time.Minute))), first)
	same(t, "charged once", show(c.Peek(ctx, "once", bucket, 0)), "A 9")

	money := client.Budget(25*client.Whole, 24*time.Hour)
	d, err := c.Allow(ctx, "money", money, 13_200)
	if err != nil || !d.Money || d.Limit != 25*client.Whole || d.Remaining != 24_986_800 {
		t.Errorf("%+v, %v", d, err)
	}
	same(t, "leaky", show(c.Allow(ctx, "leaky", client.LeakyBucket(5, time.Second), 2)), "A 3")
	if d, _ = c.Allow(ctx, "leaky", client.LeakyBucket(5, time.Second), 1); d.Delay != 400*time.Millisecond {
		t.Errorf("delay %s", d.Delay)
	}
}

// What is wrong is said before anything is sent, and changes nothing.
func TestRefusals(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	bucket := client.TokenBucket(10, time.Second)
	long := strings.Repeat("k", 65_537)
	for _, row := range []struct {
		want string
		call func() (client.Decision, error)
	}{
		{"limit must be", func() (client.Decision, error) { return c.Allow(ctx, "k", client.TokenBucket(0, time.Second), 1) }},
		{"to look without spending use Peek", func() (client.Decision, error) { return c.Allow(ctx, "k", bucket, 0) }},
		{"got -1", func() (client.Decision, error) { return c.Allow(ctx, "k", bucket, -1) }},
		{"65536 bytes", func() (client.Decision, error) { return c.Allow(ctx, long, bucket, 1) }},
		{"Endpoint does not belong", func() (client.Decision, error) {
			return c.Allow(ctx, "k", bucket, 0, client.Endpoint("search"))
		}},
		{"the cost must be 0", func() (client.Decision, error) {
			return c.Allow(ctx, "k", client.Plan("pro"), 1, client.Endpoint("search"))
		}},
		{"Idempotent is given twice", func() (client.Decision, error) {
			return c.Allow(ctx, "k", bucket, 1, client.Idempotent("a", 0), client.Idempotent("b", 0))
		}},
		{"TTL does not belong", func() (client.Decision, error) { return c.Peek(ctx, "k", bucket, 1, client.TTL(time.Second)) }},
		{"Budget", func() (client.Decision, error) {
			_, err := c.AllowMany(ctx, []client.Call{{Key: "k", Limit: bucket, Cost: 1}, {Key: "b", Limit: bucket.Burst(2), Cost: 1}})
			return client.Decision{}, fmt.Errorf("%w Budget", err)
		}},
	} {
		if d, err := row.call(); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %+v, %v, want %q", d, err, row.want)
		}
	}
	if n := srv.Redis().DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys", n)
	}
	// What only the server can know is an error of the server, in its words.
	_, err := c.Allow(ctx, "k", client.FixedWindow(1, time.Second).Calendar(client.Day, "Mars/Olympus"), 1)
	if err == nil || errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "RL.ALLOW: ERR") {
		t.Errorf("got %v", err)
	}
}

func TestAllowAll(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	calls := []client.Call{
		{Key: "t:rpm", Limit: client.SlidingCounter(2, time.Minute), Cost: 1},
		{Key: "t:burst", Limit: client.TokenBucket(1, time.Second), Cost: 1},
	}
	all, err := c.AllowAll(ctx, calls)
	if err != nil || !all.Allowed || len(all.Each) != 2 || all.Each[0].Remaining != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	all, err = c.AllowAll(ctx, calls)
	if err != nil || all.Allowed || all.RetryAfter != time.Second || !all.Each[0].Allowed || all.Each[1].Allowed {
		t.Fatalf("%+v, %v", all, err)
	}
	if !errors.Is(all.Err(), client.ErrDenied) {
		t.Error(all.Err())
	}
	same(t, "nothing charged", ask(t)(c.Peek(ctx, "t:rpm", calls[0].Limit, 0)), "A 1")
	many, err := c.AllowMany(ctx, calls)
	if err != nil || len(many) != 2 || short(many[0]) != "A 0" || short(many[1]) != "D 0 1s" {
		t.Errorf("%+v, %v", many, err)
	}
	if _, err = c.AllowAll(ctx, nil); !errors.Is(err, client.ErrInvalid) {
		t.Error(err)
	}
}

// Every decision is counted for who made it, whatever call it was part of; looking is none.
func TestDecisionsAreCounted(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	bucket := client.TokenBucket(100, time.Minute) // of which 2 without the server
	one := client.Call{Key: "a", Limit: bucket, Cost: 1}
	do := func() {
		t.Helper()
		for _, err := range []error{
			of(c.Allow(ctx, "k", bucket, 1)), of(c.AllowAll(ctx, []client.Call{one, {Key: "b", Limit: bucket, Cost: 101}})),
			of(c.AllowMany(ctx, []client.Call{one})), of(c.Reserve(ctx, "r", bucket, 1)), of(c.Acquire(ctx, "p", 10, time.Minute)),
			of(c.Peek(ctx, "k", bucket, 1)), of(c.Request(ctx, client.Request{Method: "GET", Path: "/", User: "u"})),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	do()
	srv.Down()
	do()
	want := client.Stats{}
	want.Allowed[client.SourceServer], want.Denied[client.SourceServer] = 5, 2
	want.Allowed[client.SourceDegraded], want.Denied[client.SourceDegraded] = 5, 2
	if s := c.Stats(); s.Allowed != want.Allowed || s.Denied != want.Denied {
		t.Errorf("allowed %v, denied %v, want %v and %v", s.Allowed, s.Denied, want.Allowed, want.Denied)
	}
	all, err := c.AllowAll(ctx, []client.Call{one, {Key: "b", Limit: bucket, Cost: 101}})
	if err != nil || all.Allowed || all.RetryAfter != client.Never {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestReserve(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	show := ask(t)
	tokens := client.TokenBucket(1000, time.Minute)
	r, err := c.Reserve(ctx, "llm", tokens, 400, client.ID("r1"), client.TTL(10*time.Second))
	if err != nil || !r.Allowed || r.ID != "r1" || r.Remaining != 600 {
		t.Fatalf("%+v, %v", r, err)
	}
	same(t, "commit", show(r.Commit(ctx, 250)), "A 750")
	same(t, "again", show(r.Commit(ctx, 250)), "A 750")
	r, err = c.Reserve(ctx, "llm", tokens, 700, client.CancelOnExpiry())
	if err != nil || !r.Allowed || r.ID == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	same(t, "cancel", show(r.Cancel(ctx)), "A 750")
	r, err = c.Reserve(ctx, "llm", tokens, 800)
	if err != nil || r.Allowed || r.RetryAfter != 3*time.Second {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err = r.Commit(ctx, 1); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("settled what was not reserved: %v", err)
	}
}

func TestPermits(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	p, err := c.Acquire(ctx, "jobs", 1, 10*time.Second, client.ID("p1"))
	if err != nil || !p.Allowed || p.ID != "p1" || p.Remaining != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	q, err := c.Acquire(ctx, "jobs", 1, 10*time.Second)
	if err != nil || q.Allowed || q.RetryAfter != 10*time.Second || !errors.Is(q.Err(), client.ErrDenied) {
		t.Fatalf("%+v, %v", q, err)
	}
	list, err := c.Holders(ctx, "jobs")
	if err != nil || len(list) != 1 || list[0] != (client.Holder{ID: "p1", Permits: 1, ExpiresIn: 10 * time.Second}) {
		t.Errorf("%+v, %v", list, err)
	}
	for _, want := range []bool{true, false} {
		if held, err := p.Release(ctx); held != want || err != nil {
			t.Errorf("released %v, %v, want %v", held, err, want)
		}
	}
	if held, err := q.Release(ctx); held || err != nil {
		t.Errorf("released a denial: %v, %v", held, err)
	}
}

// A client whose server is not there is made all the same, and goes on without it
// (C128): no call is an error, and nothing waits.
func TestNoServer(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	srv.Down()
	bucket := client.TokenBucket(1000, time.Minute) // this process goes on with ShareMin, 20
	calls := []client.Call{{Key: "a", Limit: bucket, Cost: 15}, {Key: "b", Limit: bucket, Cost: 15}}
	for range client.BreakerFailures {
		if d, err := c.Peek(ctx, "k", bucket, 1); !d.Allowed || d.Source != client.SourceDegraded || err != nil {
			t.Errorf("%+v, %v", d, err)
		}
	}
	all, err := c.AllowAll(ctx, calls)
	if !all.Allowed || all.Source != client.SourceDegraded || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	calls[1].Key, calls[1].Cost = "c", 10
	if all, err = c.AllowAll(ctx, calls); all.Allowed || all.RetryAfter <= 0 || !all.Each[1].Allowed || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	// What was not charged is still there.
	if many, err := c.AllowMany(ctx, []client.Call{{Key: "c", Limit: bucket, Cost: 20}, calls[0]}); err != nil || !many[0].Allowed || many[1].Allowed {
		t.Errorf("%+v, %v", many, err)
	}
	r, err := c.Reserve(ctx, "r", bucket, 20)
	if err != nil || !r.Allowed {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := r.Commit(ctx, 5); err != nil {
		t.Error(err)
	}
	same(t, "after 5 of 20", ask(t)(c.Allow(ctx, "r", bucket, 15)), "A 0")
	p, err := c.Acquire(ctx, "jobs", 10, time.Minute)
	q, _ := c.Acquire(ctx, "jobs", 10, time.Minute)
	if err != nil || !p.Allowed || q.Allowed {
		t.Errorf("%+v, %+v, %v", p, q, err)
	}
	if held, err := p.Release(ctx); !held || err != nil {
		t.Errorf("released %v, %v", held, err)
	}
	if q, _ = c.Acquire(ctx, "jobs", 10, time.Minute); !q.Allowed {
		t.Errorf("%+v", q)
	}
	for i := range 61 {
		v, err := c.Request(ctx, client.Request{Method: "GET", Path: "/", User: "42"})
		if v.Allowed != (i < 60) || v.Source != client.SourceDegraded || err != nil {
			t.Errorf("request %d: %+v, %v", i, v, err)
		}
	}
	// What is no call on a request's path says that the server is away.
	if _, err := c.Holders(ctx, "jobs"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	c.Close()
	if _, err := c.Allow(ctx, "k", bucket, 1); !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := c.Close(); !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []client.Option{client.Timeout(0), client.WaitersMax(0), client.Logger(nil), client.Clock(nil)} {
		if _, err := client.New("127.0.0.1:1", o); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := client.New(""); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := client.NewFrom(nil); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

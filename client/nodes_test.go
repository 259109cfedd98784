package client_test

// Several nodes: a Ring and a ClusterClient of go-redis, each on two servers.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/client"
	"sluice/client/sluicetest"
)

const slots = 16_384

// cluster is how a ClusterClient is made for nodes that are in no cluster mode: the first
// half of the slots is the first one's.
func cluster(a, b *sluicetest.Server) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{a.Addr(), b.Addr()}, MaxRedirects: -1, MaxRetries: -1, DialerRetries: 1,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{
				{Start: 0, End: slots/2 - 1, Nodes: []redis.ClusterNode{{Addr: a.Addr()}}},
				{Start: slots / 2, End: slots - 1, Nodes: []redis.ClusterNode{{Addr: b.Addr()}}},
			}, nil
		},
	})
}

// ring is a Ring that leaves keys where they are when a node is down.
func ring(a, b *sluicetest.Server) *redis.Ring {
	return redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"a": a.Addr(), "b": b.Addr()}, MaxRetries: -1, DialerRetries: 1, HeartbeatFrequency: time.Hour,
	})
}

// several runs a test on either kind, with the servers and a key on each of them.
func several(t *testing.T, run func(t *testing.T, c *client.Client, a, b *sluicetest.Server, onA, onB string)) {
	for name, connect := range map[string]func(a, b *sluicetest.Server) redis.UniversalClient{
		"ring":    func(a, b *sluicetest.Server) redis.UniversalClient { return ring(a, b) },
		"cluster": func(a, b *sluicetest.Server) redis.UniversalClient { return cluster(a, b) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := sluicetest.New(t), sluicetest.New(t)
			rdb := connect(a, b)
			c, err := client.NewFrom(rdb, client.Timeout(10*time.Second), client.Clock(a.Elapsed), client.Exact())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close(); rdb.Close() })
			on := map[bool]string{}
			for i := range 64 {
				key := fmt.Sprint("user:", i)
				allowed(t, c, key)
				on[a.Redis().Exists(ctx, key).Val() == 1] = key
			}
			if len(on) != 2 || a.Redis().DBSize(ctx).Val()+b.Redis().DBSize(ctx).Val() != 64 {
				t.Fatalf("keys are on one node, or on both: %v", on)
			}
			run(t, c, a, b, on[true], on[false])
		})
	}
}

var thousand = client.FixedWindow(1000, time.Minute)

func allowed(t *testing.T, c *client.Client, key string) client.Decision {
	t.Helper()
	d, err := c.Allow(ctx, key, thousand, 1)
	if err != nil || !d.Allowed {
		t.Fatalf("%s: %+v, %v", key, d, err)
	}
	return d
}

// What is about several keys reaches the node of each.
func TestSeveralNodes(t *testing.T) {
	several(t, func(t *testing.T, c *client.Client, a, b *sluicetest.Server, onA, onB string) {
		many, err := c.AllowMany(ctx, []client.Call{{Key: onA, Limit: thousand, Cost: 10}, {Key: onB, Limit: thousand, Cost: 20}, {Key: onA, Limit: thousand, Cost: 30}})
		if err != nil || len(many) != 3 || many[0].Remaining != 989 || many[1].Remaining != 979 || many[2].Remaining != 959 {
			t.Errorf("%+v, %v", many, err)
		}
		both := []client.Call{{Key: onA, Limit: thousand, Cost: 1}, {Key: onB, Limit: thousand, Cost: 1}}
		if _, err := c.AllowAll(ctx, both); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("AllowAll over two nodes: %v", err)
		}
		both[0].Key, both[1].Key = "{t}:minute", "{t}:hour"
		if all, err := c.AllowAll(ctx, both); err != nil || !all.Allowed {
			t.Errorf("%+v, %v", all, err)
		}
		if err := c.SetPlan(ctx, "pro", "limits: {rpm: {algorithm: token_bucket, limit: 10, window: 1m}}"); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{onA, onB} {
			if d, err := c.Allow(ctx, key, client.Plan("pro"), 1); err != nil || !d.Allowed || d.LimitName != "rpm" {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if n, err := c.Reset(ctx, onA, onB, "nobody"); n != 2 || err != nil {
			t.Errorf("reset %d, %v", n, err)
		}
		r, err := c.Reserve(ctx, onB, thousand, 5)
		if err != nil || !r.Allowed {
			t.Fatalf("%+v, %v", r, err)
		}
		if d, err := r.Commit(ctx, 2); err != nil || d.Remaining != 998 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// One node goes: its keys are decided without it, those of the other as ever. It comes
// back, and decides again.
func TestOneNodeOfSeveralIsAway(t *testing.T) {
	several(t, func(t *testing.T, c *client.Client, a, b *sluicetest.Server, onA, onB string) {
		b.Down()
		for range client.BreakerFailures + 1 {
			if d := allowed(t, c, onB); d.Source != client.SourceDegraded {
				t.Errorf("%+v", d)
			}
			if d := allowed(t, c, onA); d.Source != client.SourceServer {
				t.Errorf("%+v", d)
			}
		}
		if !c.Stats().Away {
			t.Error("nobody counts as away")
		}
		if err := c.SetPlan(ctx, "p", "limits: {rpm: {algorithm: token_bucket, limit: 10, window: 1m}}"); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("a plan that one node does not have: %v", err)
		}
		b.Up()
		for end := time.Now().Add(10 * time.Second); c.Stats().Away; {
			if time.Now().After(end) {
				t.Fatal("it is away still")
			}
			if _, err := c.Peek(ctx, onA, thousand, 0); err != nil {
				t.Fatal(err)
			}
		}
		if d := allowed(t, c, onB); d.Source != client.SourceServer {
			t.Errorf("%+v", d)
		}
	})
}

// A cluster that does not tell where its keys are holds nobody up, and is no error.
func TestClusterWithoutAMap(t *testing.T) {
	srv := sluicetest.New(t)
	told := make(chan struct{})
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{srv.Addr()}, MaxRedirects: -1, MaxRetries: -1,
		ClusterSlots: func(ctx context.Context) ([]redis.ClusterSlot, error) {
			select {
			case <-told:
				return []redis.ClusterSlot{{Start: 0, End: slots - 1, Nodes: []redis.ClusterNode{{Addr: srv.Addr()}}}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	c, err := client.NewFrom(rdb, client.Timeout(20*time.Millisecond), client.Exact())
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	defer c.Close()
	for range client.BreakerFailures + 1 {
		if d := allowed(t, c, "k"); d.Source != client.SourceDegraded {
			t.Errorf("%+v", d)
		}
	}
	if d, err := c.Request(ctx, client.Request{Method: "GET", Path: "/", User: "u"}); err != nil || d.Source != client.SourceDegraded {
		t.Errorf("%+v, %v", d, err)
	}
	if !c.Stats().Away {
		t.Error("nobody counts as away")
	}
	close(told)
	for end := time.Now().Add(10 * time.Second); ; {
		if d, err := c.Peek(ctx, "k", thousand, 1); err == nil && d.Source == client.SourceServer {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is away still")
		}
	}
}

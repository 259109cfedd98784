package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// hot returns a client that holds leases of many units for the keys.
func hot(b *testing.B, keys ...string) *Client {
	c := newFake().client(b, Accuracy(0.5))
	b.Cleanup(func() { c.Close() })
	limit := FixedWindow(UnitsMax, WindowMax)
	for _, key := range keys {
		if _, err := c.Allow(context.Background(), key, limit, 1); err != nil {
			b.Fatal(err)
		}
		p, h := c.table.part(key)
		p.mu.Lock()
		e := p.find(h, key, &limit)
		e.cur = lease{left: 1 << 50, granted: 1 << 50, until: c.now() + time.Hour, window: unaccounted}
		e.cur.from = e.cur.until // it is never slow
		p.mu.Unlock()
	}
	return c
}

// BenchmarkLeasedAllow is a decision out of a lease, the clock read included.
func BenchmarkLeasedAllow(b *testing.B) {
	c := hot(b, "user:1234567")
	ctx := context.Background()
	limit := FixedWindow(UnitsMax, WindowMax)
	b.ReportAllocs()
	for b.Loop() {
		if d, err := c.Allow(ctx, "user:1234567", limit, 1); !d.Allowed || d.Source != SourceLease || err != nil {
			b.Fatal(d, err)
		}
	}
}

// BenchmarkLeasedAllowCores is the same from one goroutine and from two, each on keys of
// its own: how far decisions scale. Both have as many keys in all.
func BenchmarkLeasedAllowCores(b *testing.B) {
	var keys []string
	for i := range 64 {
		keys = append(keys, fmt.Sprint("user:", i))
	}
	c := hot(b, keys...)
	ctx := context.Background()
	limit := FixedWindow(UnitsMax, WindowMax)
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("cores=%d", cores), func(b *testing.B) {
			b.ReportAllocs()
			var group sync.WaitGroup
			for core := range cores {
				own := keys[core*len(keys)/cores : (core+1)*len(keys)/cores]
				group.Go(func() {
					for i := range b.N / cores {
						if d, err := c.Allow(ctx, own[i%len(own)], limit, 1); !d.Allowed || err != nil {
							b.Error(d, err)
						}
					}
				})
			}
			group.Wait()
		})
	}
}

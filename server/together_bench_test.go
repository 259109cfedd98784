package server

// What groups and leases cost between two system calls, as session_bench_test.go
// measures single calls.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"sluice/shard"
)

// fillWith prepares pipelines of requests that are made one by one.
func (f *feed) fillWith(requests, depth int, words func(r *rand.Rand) []string) {
	r := rand.New(rand.NewPCG(1, 2))
	f.pipelines, f.next = nil, 0
	for range requests / depth {
		var p []byte
		for range depth {
			p = append(p, request(words(r)...)...)
		}
		f.pipelines = append(f.pipelines, p)
	}
}

// tagOn is a hash tag that lives on shard n of two.
func tagOn(n int) string {
	for i := 0; ; i++ {
		if tag := fmt.Sprint("t", i); shard.Route(xxhash.Sum64String(tag), 2) == n {
			return tag
		}
	}
}

// BenchmarkTogether compares groups a second of RL.ALLOWALL over two shards with those
// of RL.MALLOW, whose groups are independent; two groups a request, 16 requests a
// pipeline. They take turns and each counts in its best, as in BenchmarkPlan. The ratio
// is to be at least 0.25.
func BenchmarkTogether(b *testing.B) {
	const turn, keys = 2000, 100_000
	_, c := newFed(b)
	limits := func(command string) func(*rand.Rand) []string {
		return func(r *rand.Rand) []string {
			n := r.IntN(keys)
			return []string{command, fmt.Sprintf("{%s}:%012d", tagOn(0), n), "token_bucket", "100", "1s", "1",
				fmt.Sprintf("{%s}:%012d", tagOn(1), n), "token_bucket", "10000", "1m", "1"}
		}
	}
	many, all := &feed{}, &feed{}
	many.fillWith(100_000, 16, limits("RL.MALLOW"))
	all.fillWith(100_000, 16, limits("RL.ALLOWALL"))
	best := func(least time.Duration, f *feed) time.Duration {
		began := time.Now() // reason: what a benchmark is for
		f.run(c, turn)
		return min(least, time.Since(began))
	}
	many.run(c, keys)
	leastMany, leastAll := time.Hour, time.Hour
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += turn {
		b.StopTimer()
		leastMany = best(leastMany, many)
		b.StartTimer()
		leastAll = best(leastAll, all)
	}
	b.ReportMetric(float64(leastMany)/float64(leastAll), "ratio")
	b.ReportMetric(float64(2*turn)/leastMany.Seconds(), "mallow-groups/s")
	b.ReportMetric(float64(2*turn)/leastAll.Seconds(), "allowall-groups/s")
}

// BenchmarkLease measures a lease and its return, of 20 holders and many keys.
func BenchmarkLease(b *testing.B) {
	_, c := newFed(b)
	f := &feed{}
	turn := 0
	var key, holder string
	f.fillWith(200_000, 16, func(r *rand.Rand) []string {
		if turn++; turn%2 == 0 {
			return []string{"RL.RETURN", key, holder, "1"}
		}
		key, holder = fmt.Sprintf("user:%012d", r.IntN(50_000)), fmt.Sprintf("gateway-%02d", r.IntN(20))
		return []string{"RL.LEASE", key, "token_bucket", "1000000", "1m", "10", "HOLDER", holder}
	})
	b.ReportAllocs()
	b.ResetTimer()
	f.run(c, b.N)
}

// BenchmarkIDs measures calls that are remembered for a second, pipelines of 100, among
// as many ids as that makes; every tenth is sent twice. What it costs to forget them is in
// it.
func BenchmarkIDs(b *testing.B) {
	const depth, keys, turn = 100, 100_000, 20_000
	for _, row := range []struct{ name, request string }{
		{"RL.ALLOW", "RL.ALLOW user:%012d token_bucket 1000000 1m 1 IDEMPOTENT id-%012d TTL 1s"},
		{"RL.RESERVE", "RL.RESERVE user:%012d token_bucket 1000000 1m 1 ID id-%012d TTL 1s"},
	} {
		b.Run(row.name, func(b *testing.B) {
			server, c := newFed(b)
			f := &feed{}
			f.fillWith(turn, depth, func(r *rand.Rand) []string {
				return strings.Fields(fmt.Sprintf(row.request, r.IntN(keys), 0))
			})
			n := 0
			renew := func(p []byte) {
				for at := range bytes.SplitAfterSeq(p, []byte("\r\nid-")) {
					if n++; len(at) > 0 && !bytes.HasPrefix(at, []byte("*")) {
						id := n - n%10/9
						for i := 11; i >= 0; i, id = i-1, id/10 {
							at[i] = '0' + byte(id%10)
						}
					}
				}
			}
			least := time.Hour
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += turn {
				b.StopTimer()
				for _, p := range f.pipelines {
					renew(p)
				}
				b.StartTimer()
				began := time.Now() // reason: what a benchmark is for
				f.run(c, turn)
				server.SettleDue()
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least)/turn, "least-ns/op")
		})
	}
}

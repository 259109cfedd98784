package server

// What measuring costs without the kernel: run it with and without -tags unmeasured.
// `make bench-metrics` compares whole servers.

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkMeasuring measures RL.ALLOW, read, parsed, decided and answered, without the
// kernel, in short turns; least-ns/op is that of the best one. So who else is at work on
// the machine counts for little. A tenth of the calls is denied.
func BenchmarkMeasuring(b *testing.B) {
	for _, depth := range []int{1, 16, 100} {
		b.Run(fmt.Sprintf("pipeline=%d", depth), func(b *testing.B) {
			const keys, turn = 100_000, 2000
			_, c := newFed(b)
			f := &feed{}
			variants := make([]string, 10)
			for i := range variants {
				variants[i] = "token_bucket 1000 1s 1"
			}
			variants[9] = "token_bucket 1000 1s 1001"
			f.fill(200_000, depth, keys, variants[:min(depth, 10)]...)
			f.run(c, 3*keys)
			least := time.Hour
			b.ResetTimer()
			for n := 0; n < b.N; n += turn {
				began := time.Now() // reason: what a benchmark is for
				f.run(c, turn)
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least)/turn, "least-ns/op")
		})
	}
}

package server

// What measuring costs without the kernel: run it with and without -tags unmeasured.
// `make bench-metrics` compares whole servers.

import (
	"fmt"
	"testing"
)

// BenchmarkMeasuring measures RL.ALLOW, read, parsed, decided and answered. A tenth of the
// calls is denied.
func BenchmarkMeasuring(b *testing.B) {
	for _, depth := range []int{1, 16, 100} {
		b.Run(fmt.Sprintf("pipeline=%d", depth), func(b *testing.B) {
			const keys = 100_000
			_, c := newFed(b)
			f := &feed{}
			variants := make([]string, 10)
			for i := range variants {
				variants[i] = "token_bucket 1000 1s 1"
			}
			variants[9] = "token_bucket 1000 1s 1001"
			f.fill(200_000, depth, keys, variants[:min(depth, 10)]...)
			f.run(c, 3*keys)
			benchLeast(b, c, f)
		})
	}
}

package server

import (
	"testing"
	"time"
)

// BenchmarkGuards measures a command at -P 100, without the kernel, in its best turn: so
// who else is at work on the machine counts for little. make bench-guards runs it with
// guards and without, where a command repeats the one before and where it does not.
func BenchmarkGuards(b *testing.B) {
	for _, row := range []struct {
		name     string
		variants []string
	}{
		{"repeated", []string{"token_bucket 100 1s 1"}},
		{"parsed", []string{"token_bucket 100 1s 1", "token_bucket 100 1s 2"}},
	} {
		b.Run(row.name, func(b *testing.B) {
			_, c := newFed(b)
			f := &feed{}
			f.fill(20_000, 100, 10_000, row.variants...)
			const turn = 2000
			f.run(c, 10*turn)
			least := time.Hour
			b.ResetTimer()
			for n := 0; n < b.N; n += turn {
				began := time.Now() // reason: what a benchmark is for
				f.run(c, turn)
				least = min(least, time.Since(began))
			}
			b.ReportMetric(float64(least)/turn, "best-ns/op")
		})
	}
}

package shard

// What the sweep costs when millions of keys fall due together: processor time for
// each key, and the longest turn.

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"sluice/algorithms"
)

// In rows the keys come to an end in the order in which they came, in mixed at random
// within a second, so that lists of the wheel lead all over the slab.
func BenchmarkSweep(b *testing.B) {
	const keys = 2_000_000
	for _, mixed := range []bool{false, true} {
		name := map[bool]string{false: "rows", true: "mixed"}[mixed]
		b.Run(name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			newStopwatch(b)
			var spent, longest time.Duration
			for b.Loop() {
				runtime.GC()
				b.StopTimer()
				c := sweepCore(keys, mixed)
				b.StartTimer()
				times := tickTimes(c, start+3*second)
				for _, t := range times {
					spent += t
				}
				longest = max(longest, slices.Max(times))
				if c.Len() != 0 {
					b.Fatalf("%d keys were left", c.Len())
				}
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/keys, "cpu-ns/key")
			b.ReportMetric(float64(longest.Microseconds()), "max-µs/turn")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sweepCore is a core of keys that are all fresh within two seconds from start.
func sweepCore(keys int, mixed bool) *Core {
	l := newLimit(algorithms.TokenBucket, 1_000_000, time.Second)
	c, q, r := NewCore(start), newQuestions(100, l), rand.New(rand.NewPCG(3, 3))
	for i := 0; i < keys; i += len(q.ops) {
		for j := range q.ops {
			q.ops[j].Key = benchKey(q.ops[j].Key, uint64(i+j))
			q.ops[j].Call.Cost = 1_000_000
			if mixed {
				q.ops[j].Call.Cost = 1 + r.Uint64N(1_000_000)
			}
		}
		c.Step(start, q.ops, q.part)
	}
	return c
}

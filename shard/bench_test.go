package shard

// What things cost. Names are made for benchstat:
//
//	go test -run '^$' -bench Step -count 8 ./shard | benchstat -col /batch -
//
// Keys are drawn evenly over all that live, so at a million and more nearly every
// operation misses the caches; that is the point.

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sluice/algorithms"
)

// stopwatch measures processor time, so that figures mean something on a machine
// that has other things to do.
type stopwatch struct {
	b     *testing.B
	began time.Duration
}

func newStopwatch(b *testing.B) stopwatch {
	runtime.LockOSThread()
	b.Cleanup(runtime.UnlockOSThread)
	return stopwatch{b, threadTime()}
}

// report tells the time of each of n operations an iteration.
func (w stopwatch) report(n int, unit string) {
	w.b.ReportMetric(float64((threadTime()-w.began).Nanoseconds())/float64(w.b.N*n), unit)
}

var benchKeys = flag.Int("shard.keys", 1_000_000, "the largest number of keys of BenchmarkStep")

// benchKey is key20 with eight bytes that are quick to write.
func benchKey(b []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(b[:0], "user:0000000"...), n)
}

// questions are operations on drawn keys, made before they are timed.
type questions struct {
	ops  []Op
	part []uint32
	rand *rand.Rand
}

func newQuestions(size int, l *algorithms.Limit) *questions {
	q := &questions{rand: rand.New(rand.NewPCG(1, 1))}
	for i := range size {
		q.part = append(q.part, uint32(i))
		q.ops = append(q.ops, Op{Key: benchKey(nil, 0), Call: algorithms.Call{Limit: l, Cost: 1}})
	}
	return q
}

// draw writes other keys into the operations.
func (q *questions) draw(keys uint64) {
	for i := range q.ops {
		binary.LittleEndian.PutUint64(q.ops[i].Key[12:], q.rand.Uint64N(keys))
	}
}

// benchCore is a core of n keys that live for a day.
func benchCore(n int, l *algorithms.Limit) *Core {
	c := NewCore(start)
	q := newQuestions(100, l)
	for i := 0; i < n; i += len(q.ops) {
		for j := range q.ops {
			q.ops[j].Key = benchKey(q.ops[j].Key, uint64(i+j))
		}
		c.Step(start, q.ops, q.part)
	}
	return c
}

// sizes are numbers of keys up to the largest that is asked for.
func sizes() (n []int) {
	for keys := 100_000; keys <= *benchKeys; keys *= 10 {
		n = append(n, keys)
	}
	return n
}

func BenchmarkStep(b *testing.B) {
	day := newLimit(algorithms.TokenBucket, 1000, 24*time.Hour)
	for _, keys := range sizes() {
		c := benchCore(keys, day)
		for _, batch := range []int{1, 16, 100} {
			b.Run(fmt.Sprintf("keys=%.0e/batch=%d", float64(keys), batch), func(b *testing.B) {
				q, now := newQuestions(batch, day), start
				b.ReportAllocs()
				w := newStopwatch(b)
				for b.Loop() {
					q.draw(uint64(keys))
					now += 1000
					c.Step(now, q.ops, q.part)
					c.Tick(now, SweepEntriesMin+SweepEntriesPerKey*batch)
				}
				w.report(batch, "cpu-ns/decision")
			})
		}
	}
}

// Every algorithm on a thousand hot keys: what a decision costs beside memory.
func BenchmarkStepAlgorithm(b *testing.B) {
	for _, row := range algorithms.Rates() {
		b.Run(row.Name, func(b *testing.B) {
			l := newLimit(row.ID, 100, time.Second)
			c, q, now := NewCore(start), newQuestions(100, l), start
			b.ReportAllocs()
			w := newStopwatch(b)
			for b.Loop() {
				q.draw(1000)
				now += 100_000 // the keys are at their limit: half of the calls pass
				c.Step(now, q.ops, q.part)
				c.Tick(now, SweepEntriesMin+SweepEntriesPerKey*100)
			}
			w.report(100, "cpu-ns/decision")
		})
	}
}

// Keys that come, are used once and go: what an attack with random keys costs.
func BenchmarkStepChurn(b *testing.B) {
	l := newLimit(algorithms.TokenBucket, 1, 100*time.Millisecond)
	c, q, now, n := NewCore(start), newQuestions(100, l), start, uint64(0)
	b.ReportAllocs()
	w := newStopwatch(b)
	for b.Loop() {
		for i := range q.ops {
			q.ops[i].Key = benchKey(q.ops[i].Key, n)
			n++
		}
		now += 100_000
		c.Step(now, q.ops, q.part)
		c.Tick(now, SweepEntriesMin+SweepEntriesPerKey*100)
	}
	w.report(100, "cpu-ns/decision")
	b.ReportMetric(float64(c.Len()), "keys")
}

// benchIndex is an index over n entries with random hashes, and the hashes.
func benchIndex(n int) (*Core, []uint64) {
	c, r := NewCore(start), rand.New(rand.NewPCG(2, 2))
	hashes := make([]uint64, n+1)
	for i := 1; i <= n; i++ {
		hashes[i] = r.Uint64()
		s := c.slab.take()
		*c.slab.at(s) = entry{hash: hashes[i], limit: 1}
		c.index.insert(hashes[i], s)
	}
	return c, hashes
}

func BenchmarkIndexFind(b *testing.B) {
	for _, keys := range sizes() {
		c, hashes := benchIndex(keys)
		b.Run(fmt.Sprintf("keys=%.0e", float64(keys)), func(b *testing.B) {
			r, met := rand.New(rand.NewPCG(3, 3)), slot(0)
			w := newStopwatch(b)
			for b.Loop() {
				hash := hashes[1+r.IntN(keys)]
				met += c.index.find(hash, func(i slot) bool { return c.slab.at(i).hash == hash })
			}
			w.report(1, "cpu-ns/op")
			if met == 0 {
				b.Error("nothing was found")
			}
		})
	}
}

// One key comes and one goes, so that the index stays as large as it is.
func BenchmarkIndexInsert(b *testing.B) {
	for _, keys := range sizes() {
		c, _ := benchIndex(keys)
		b.Run(fmt.Sprintf("keys=%.0e", float64(keys)), func(b *testing.B) {
			r := rand.New(rand.NewPCG(4, 4))
			w := newStopwatch(b)
			for b.Loop() {
				i := slot(1 + r.IntN(keys))
				e := c.slab.at(i)
				c.index.remove(e.hash, i)
				e.hash = r.Uint64()
				c.index.insert(e.hash, i)
			}
			w.report(1, "cpu-ns/op")
		})
	}
}

// Entries come and are freed in their time; an operation is one entry's life in the
// wheel.
func BenchmarkWheelAdvance(b *testing.B) {
	for _, window := range []time.Duration{10 * time.Millisecond, time.Second, time.Minute, time.Hour} {
		b.Run("window="+window.String(), func(b *testing.B) {
			const living = 100_000
			c, now := NewCore(start), start
			w := &c.wheel
			add := func() {
				i := c.slab.take()
				e := c.slab.at(i)
				*e = entry{expiry: now + uint64(window), limit: 1}
				w.link(i, e)
			}
			for range living {
				now += uint64(window) / living
				add()
			}
			freed := 0
			expire := func(i slot, e *entry) {
				w.unlink(e)
				c.slab.give(i)
				freed++
			}
			watch := newStopwatch(b)
			for b.Loop() {
				now += uint64(window) / living
				add()
				w.advance(now, 1000, unwarned, expire)
			}
			watch.report(1, "cpu-ns/op")
			if b.N > 2*living && freed < b.N/2 {
				b.Errorf("%d of %d were freed", freed, b.N)
			}
		})
	}
}

func BenchmarkSetRun(b *testing.B) {
	for _, shards := range []int{1, 2} {
		for _, batch := range []int{1, 16, 100} {
			b.Run(fmt.Sprintf("shards=%d/batch=%d", shards, batch), func(b *testing.B) {
				clock := newStanding()
				set := NewSet(shards, clock)
				defer set.Close()
				l := newLimit(algorithms.TokenBucket, 1000, 24*time.Hour)
				const keys = 100_000
				fill := func(batches *Batch, room []byte, n int, number func() uint64) {
					batches.Clear()
					for i := range n {
						hash := number()
						key := benchKey(room[20*i:20*i:20*i+20], hash)
						op := batches.Add(hash * 0x9e3779b97f4a7c15)
						op.Kind, op.Key, op.Call = Allow, key, algorithms.Call{Limit: l, Cost: 1}
					}
					set.Run(batches)
				}
				for n, batches := uint64(0), NewBatch(shards); n < keys; {
					fill(batches, make([]byte, 20*100), 100, func() uint64 { n++; return n - 1 })
				}
				b.ReportAllocs()
				b.SetParallelism(50 / runtime.GOMAXPROCS(0))
				var callers atomic.Uint64
				b.ResetTimer()
				began := processTime()
				b.RunParallel(func(pb *testing.PB) {
					batches, room := NewBatch(shards), make([]byte, 20*batch)
					r := rand.New(rand.NewPCG(5, callers.Add(1)))
					for pb.Next() {
						fill(batches, room, batch, func() uint64 { return r.Uint64N(keys) })
					}
				})
				b.ReportMetric(float64((processTime()-began).Nanoseconds())/float64(b.N*batch), "cpu-ns/decision")
			})
		}
	}
}

// What a key takes, told by the core and by the heap.
func BenchmarkKeyMemory(b *testing.B) {
	for _, row := range []struct {
		name string
		l    *algorithms.Limit
	}{
		{"token_bucket", newLimit(algorithms.TokenBucket, 1000, 24*time.Hour)},
		{"sliding_log", newLimit(algorithms.SlidingLog, 1000, 24*time.Hour)},
	} {
		for _, keys := range []int{1_000_000, 1_500_000} {
			b.Run(fmt.Sprintf("%s/keys=%.1e", row.name, float64(keys)), func(b *testing.B) {
				var heap uint64
				var c *Core
				for b.Loop() {
					c = nil
					before := heapBytes()
					c = benchCore(keys, row.l)
					heap = heapBytes() - before
				}
				b.ReportMetric(float64(c.Bytes())/float64(keys), "bytes/key")
				b.ReportMetric(float64(heap)/float64(keys), "heap-bytes/key")
			})
		}
	}
}

// heapBytes is what lives on the heap.
func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A whole collection with 4 million keys alive.
func BenchmarkForcedGC(b *testing.B) {
	const keys = 4_000_000
	for _, row := range []algorithms.ID{algorithms.TokenBucket, algorithms.SlidingLog} {
		b.Run(row.String(), func(b *testing.B) {
			c := benchCore(keys, newLimit(row, 1000, 24*time.Hour))
			runtime.GC()
			began := processTime()
			for b.Loop() {
				runtime.GC()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/GC")
			b.ReportMetric(float64((processTime()-began).Microseconds())/1000/float64(b.N), "cpu-ms/GC")
			runtime.KeepAlive(c)
		})
	}
}

// The longest time that one call takes while 4 million keys come one by one, and
// one turn of the sweep when they go: processor time, without the collector. Even of
// that a virtual machine takes some away now and then; so all is done three times
// with the same hashes, and of each call the shortest time counts.
func BenchmarkLongestStep(b *testing.B) {
	const keys, rounds = 4_000_000, 3
	seed := NewCore(start).seed
	for _, row := range []struct {
		name  string
		limit func(i int) *algorithms.Limit
	}{
		{"token_bucket", always(newLimit(algorithms.TokenBucket, 1000, time.Hour))},
		{"sliding_log", always(newLimit(algorithms.SlidingLog, 1000, time.Hour))},
		{"distinct_limits", func(i int) *algorithms.Limit {
			return newLimit(algorithms.TokenBucket, uint64(1000+i), time.Hour)
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			newStopwatch(b)
			var steps, ticks []time.Duration
			for b.Loop() {
				for range rounds {
					runtime.GC()
					c := NewCore(start)
					c.seed = seed
					steps = shortest(steps, stepTimes(c, keys, row.limit))
					ticks = shortest(ticks, tickTimes(c, start+24*3600*second))
				}
			}
			for name, times := range map[string][]time.Duration{"step": steps, "tick": ticks} {
				b.ReportMetric(float64(slices.Max(times).Microseconds()), "max-µs/"+name)
			}
		})
	}
}

// shortest is the shorter of two times, call by call.
func shortest(a, b []time.Duration) []time.Duration {
	for i := range a {
		b[i] = min(a[i], b[i])
	}
	return b
}

func always(l *algorithms.Limit) func(int) *algorithms.Limit {
	return func(int) *algorithms.Limit { return l }
}

// stepTimes makes keys one by one and returns how long each took.
func stepTimes(c *Core, keys int, limit func(i int) *algorithms.Limit) []time.Duration {
	times := make([]time.Duration, keys)
	q := newQuestions(1, nil)
	for i := range times {
		q.ops[0].Key = benchKey(q.ops[0].Key, uint64(i))
		q.ops[0].Call.Limit = limit(i)
		began := threadTime()
		c.Step(start+uint64(i), q.ops, q.part)
		times[i] = threadTime() - began
	}
	return times
}

// tickTimes frees all keys, a turn of the shard's goroutine at a time.
func tickTimes(c *Core, now uint64) (times []time.Duration) {
	for more := true; more; {
		began := threadTime()
		more = c.Tick(now, SweepEntriesMax)
		times = append(times, threadTime()-began)
	}
	return times
}

package simulation

// How long a call waits while something large happens in the background: a snapshot of
// a million keys, ten million keys that are due in one second (G23). Calls come at a
// fixed rate, whether the ones before have been answered or not, and each is measured
// from the moment at which it should have begun. The figures are reported, not asserted:
// what else the machine does is in them.
//
//	make bench-parts BENCH='Pause'

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/internal/clock"
	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/server"
	"sluice/shard"
)

const (
	pauseShards  = 2
	pauseDepth   = 20 // calls in a batch
	pauseClients = 8
	pauseRate    = 20_000 // calls a second, of all clients
)

// scene is a set under the real clock.
type scene struct {
	b     *testing.B
	set   *shard.Set
	clock *clock.Server
	boot  func() time.Duration
}

func newScene(b *testing.B) *scene {
	source, err := clock.NewOS()
	if err != nil {
		b.Fatal(err)
	}
	c, err := clock.NewServer(source, 0)
	if err != nil {
		b.Fatal(err)
	}
	return &scene{b, shard.NewSet(pauseShards, c), c, func() time.Duration { return time.Duration(source.Boot()) }}
}

// spender charges keys, a batch at a time.
type spender struct {
	*scene
	batch *shard.Batch
	limit *algorithms.Limit
	next  func() int // the number of a key
}

func (s *scene) spender(l *algorithms.Limit, next func() int) *spender {
	return &spender{s, shard.NewBatch(pauseShards), l, next}
}

func (s *spender) spend(n int) {
	for range n {
		key := fmt.Appendf(nil, "user:%015d", s.next())
		op := s.batch.Add(server.TagHash(key))
		op.Key, op.Kind, op.Call.Limit, op.Call.Cost = key, shard.Allow, s.limit, 1
	}
	s.set.Run(s.batch)
	s.batch.Clear()
}

// fill makes keys 0 … n−1.
func (s *scene) fill(l *algorithms.Limit, n int) {
	at := -1
	for all := s.spender(l, func() int { at++; return at }); at < n-1; {
		all.spend(500)
	}
}

// watch has clients charge random keys from first on, at a rate, while something goes
// on, and reports how long they waited.
func (s *scene) watch(l *algorithms.Limit, first, keys int, going func() bool) {
	var clients sync.WaitGroup
	var over atomic.Bool
	var took [pauseClients][]time.Duration
	for n := range pauseClients {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			client := s.spender(l, func() int { return first + r.IntN(keys) })
			for due := s.boot(); !over.Load(); due += time.Second * pauseDepth * pauseClients / pauseRate {
				if wait := due - s.boot(); wait > 0 {
					time.Sleep(wait) // reason: calls come at a fixed rate
				}
				client.spend(pauseDepth)
				took[n] = append(took[n], s.boot()-due)
			}
		})
	}
	for going() {
		time.Sleep(20 * time.Millisecond) // reason: it goes on in real time
	}
	over.Store(true)
	clients.Wait()
	all := slices.Concat(took[:]...)
	slices.Sort(all)
	at := func(share float64) float64 { return float64(all[int(share*float64(len(all)-1))].Microseconds()) / 1000 }
	s.b.ReportMetric(at(0.5), "p50-ms")
	s.b.ReportMetric(at(0.99), "p99-ms")
	s.b.ReportMetric(at(0.999), "p99.9-ms")
	s.b.ReportMetric(at(1), "max-ms")
	s.b.ReportMetric(0, "ns/op")
}

// BenchmarkSnapshotPause writes snapshots of a million keys under everysec while calls
// come at 200,000 a second, and once does not, to compare.
func BenchmarkSnapshotPause(b *testing.B) {
	for _, saving := range []bool{false, true} {
		b.Run(fmt.Sprintf("saving=%v", saving), func(b *testing.B) {
			s := newScene(b)
			k, err := keeper.Open(keeper.Options{
				FS: persistence.OS{}, Dir: b.TempDir(), Mode: persistence.EverySec,
				Elapsed: s.boot, TagHash: server.TagHash, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := k.Load(s.set, s.clock, nil); err != nil {
				b.Fatal(err)
			}
			k.Start()
			l := hourly(b)
			s.fill(l, benchKeys)
			time.Sleep(2 * time.Second) // reason: what filling has left to be written is written
			began := s.boot()
			b.ResetTimer()
			s.watch(l, 0, benchKeys, func() bool {
				if saving && !k.Status().Saving && s.boot()-began < 4*time.Second {
					k.BackgroundSave()
				}
				return s.boot()-began < 5*time.Second
			})
			b.ReportMetric(float64(k.Status().Saves), "snapshots")
			b.StopTimer()
			if err := k.Close(false); err != nil {
				b.Fatal(err)
			}
			s.set.Close()
		})
	}
}

func hourly(b testing.TB) *algorithms.Limit {
	l, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.TokenBucket, Units: algorithms.UnitsMax, Window: uint64(time.Hour)}, 1)
	if err != nil {
		b.Fatal(err)
	}
	return &l
}

// BenchmarkExpiryPause has ten million keys become fresh within one second while calls
// come at 200,000 a second, and tells how long it took until all were reclaimed.
func BenchmarkExpiryPause(b *testing.B) {
	const keys = 10_000_000
	s := newScene(b)
	// Every key is fresh at the same second: the end of a window that all of them share.
	span := 20 * time.Second
	l, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.FixedWindow, Units: 10, Window: uint64(span)}, 1)
	if err != nil {
		b.Fatal(err)
	}
	window := func() uint64 { return s.clock.Now() / uint64(span) }
	for first := window(); window() == first; {
		time.Sleep(10 * time.Millisecond) // reason: the window begins with the clock
	}
	filling := window()
	s.fill(&l, keys)
	if window() != filling {
		b.Fatalf("%d keys could not be made within one window of %v", keys, span)
	}
	left := func() (n int) {
		s.set.Each(func(_ int, c *shard.Core, _ uint64) { n += c.Len() })
		return n
	}
	for window() == filling {
		time.Sleep(time.Millisecond) // reason: the window ends with the clock
	}
	due, n := s.boot(), keys
	b.ResetTimer()
	s.watch(hourly(b), 1<<40, 100_000, func() bool {
		n = left()
		return n > 200_000 && s.boot()-due < 30*time.Second
	})
	b.ReportMetric((s.boot() - due).Seconds(), "s-to-reclaim")
	b.StopTimer()
	s.set.Close()
}

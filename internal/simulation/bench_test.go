package simulation

// How fast a million keys come back, and how large they are on disk.

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/internal/clock"
	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/server"
	"sluice/shard"
)

const benchKeys = 1_000_000

// filled is a set of n keys of 20 bytes, each charged once, a few apart in time.
func filled(b testing.TB, n, shards int, c *clock.Test) *shard.Set {
	set := shard.NewSet(shards, c)
	l, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.TokenBucket, Units: 100, Window: uint64(time.Hour)}, 1)
	if err != nil {
		b.Fatal(err)
	}
	batch := shard.NewBatch(shards)
	for i := 0; i < n; i += 500 {
		c.Advance(time.Microsecond)
		for j := range 500 {
			key := fmt.Appendf(nil, "user:%015d", i+j)
			op := batch.Add(server.TagHash(key))
			op.Key, op.Kind, op.Call.Limit, op.Call.Cost = key, shard.Allow, &l, uint64(1+j%40)
		}
		set.Run(batch)
		batch.Clear()
	}
	return set
}

// open is a keeper of a directory of the operating system that journals nothing.
func open(b testing.TB, dir string) *keeper.Keeper {
	k, err := keeper.Open(keeper.Options{
		FS: persistence.OS{}, Dir: dir, Mode: persistence.Off,
		Elapsed: func() time.Duration { return 0 }, TagHash: server.TagHash, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return k
}

// BenchmarkLoad tells how many keys a second come back from a snapshot, and how many
// bytes each took there beyond its key.
func BenchmarkLoad(b *testing.B) {
	for _, shards := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			c, dir := clock.NewTest(), b.TempDir()
			set := filled(b, benchKeys, shards, c)
			k := open(b, dir)
			if _, err := k.Load(set, c, nil); err != nil {
				b.Fatal(err)
			}
			k.Start()
			if err := k.Save(); err != nil {
				b.Fatal(err)
			}
			bytes := k.Status().LastSaveBytes
			if err := k.Close(false); err != nil {
				b.Fatal(err)
			}
			set.Close()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				set, k := shard.NewSet(shards, c), open(b, dir)
				b.StartTimer()
				recovery, err := k.Load(set, c, nil)
				b.StopTimer()
				if err != nil || recovery.SnapshotRecords != benchKeys {
					b.Fatal(recovery, err)
				}
				k.Close(false)
				set.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(bytes)/benchKeys-20, "B/key")
			b.ReportMetric(benchKeys*float64(b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

// BenchmarkSpend tells what a decision costs under each mode of the journal: time, and
// processor time of the whole process, which other work on the machine disturbs less.
// What a key has used lasts, so that every call is one to write down.
func BenchmarkSpend(b *testing.B) {
	for _, keys := range []int{100_000, 1_000_000} {
		for _, mode := range []persistence.Mode{persistence.Off, persistence.OSDecides, persistence.EverySec, persistence.Always} {
			b.Run(fmt.Sprintf("keys=%d/journal=%v", keys, mode), func(b *testing.B) { benchSpend(b, keys, mode) })
		}
	}
}

func benchSpend(b *testing.B, keys int, mode persistence.Mode) {
	const shards, depth = 2, 100
	source, err := clock.NewOS()
	if err != nil {
		b.Fatal(err)
	}
	now, err := clock.NewServer(source, 0)
	if err != nil {
		b.Fatal(err)
	}
	k, err := keeper.Open(keeper.Options{
		FS: persistence.OS{}, Dir: b.TempDir(), Mode: mode, SnapshotJournalBytes: 256 << 20,
		Elapsed: func() time.Duration { return time.Duration(source.Boot()) }, TagHash: server.TagHash, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	set := shard.NewSet(shards, now)
	if _, err := k.Load(set, now, nil); err != nil {
		b.Fatal(err)
	}
	k.Start()
	l, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.TokenBucket, Units: 1000, Window: uint64(1000 * time.Hour)}, 1)
	if err != nil {
		b.Fatal(err)
	}
	names, r := make([][]byte, keys), rand.New(rand.NewPCG(1, 2))
	for i := range names {
		names[i] = fmt.Appendf(nil, "user:%015d", i)
	}
	batch := shard.NewBatch(shards)
	spend := func(next func(i int) int, n int) {
		for i := 0; i < n; i += depth {
			for j := range depth {
				key := names[next(i+j)]
				op := batch.Add(server.TagHash(key))
				op.Key, op.Kind, op.Call.Limit, op.Call.Cost = key, shard.Allow, &l, 1
			}
			set.Run(batch)
			batch.Clear()
		}
	}
	spend(func(i int) int { return i }, keys)
	b.ResetTimer()
	before := processorTime(b)
	spend(func(int) int { return r.IntN(keys) }, b.N)
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	b.StopTimer()
	if err := k.Close(false); err != nil {
		b.Fatal(err)
	}
	set.Close()
}

// processorTime is what the process has used, in user and in system mode.
func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Benchmarks: encoding a record, replaying a snapshot and a journal, and committing in groups on a real disk.

package persistence_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/persistence"
)

// tokenBucket is a record as a token bucket writes it: 20 bytes of key, 40 of state.
func tokenBucket(dst []byte, i int) []byte {
	var key [20]byte
	var value [40]byte
	binary.LittleEndian.PutUint64(key[:], uint64(i))
	binary.LittleEndian.PutUint64(value[:], uint64(i))
	return persistence.AppendRecord(dst, kindPut, key[:], value[:])
}

func BenchmarkAppendRecord(b *testing.B) {
	key, value, dst := make([]byte, 20), make([]byte, 40), make([]byte, 0, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if len(dst) > 1<<20-100 {
			dst = dst[:0]
		}
		dst = persistence.AppendRecord(dst, kindPut, key, value)
	}
}

func BenchmarkReplay(b *testing.B) {
	const records, perFrame = 1_000_000, 1000
	for _, source := range []string{"snapshot", "journal"} {
		b.Run(source, func(b *testing.B) {
			dir := b.TempDir()
			store, _, _, err := load(persistence.OS{}, dir)
			must(b, err)
			w, err := store.BeginSnapshot(1)
			must(b, err)
			var buffer []byte
			for i := range records {
				if buffer = tokenBucket(buffer, i); i%perFrame == perFrame-1 {
					if source == "snapshot" {
						must(b, w.Append(1, buffer))
					} else {
						must(b, store.Append(1, buffer))
					}
					buffer = buffer[:0]
				}
			}
			saved, err := w.Commit()
			must(b, err)
			must(b, store.Close(1))
			if source == "snapshot" {
				b.ReportMetric(float64(saved.Bytes)/records-20, "B/key-without-key")
			}
			for b.Loop() {
				store, err := persistence.Open(persistence.OS{}, dir, persistence.Options{})
				must(b, err)
				n := 0
				_, err = store.Replay(each(func(r persistence.Record) error { n += len(r.Value); return nil }), nil)
				must(b, err)
				if n != records*40 {
					b.Fatalf("%d bytes of values", n)
				}
				must(b, store.Close(1))
			}
			b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkGroupCommit has eight shards that each wait for every batch of 16 records, as connections do under Always.
func BenchmarkGroupCommit(b *testing.B) {
	for mode := persistence.Always; mode <= persistence.Off; mode++ {
		for _, shards := range []int{1, 8} {
			b.Run(fmt.Sprintf("%v/%d", mode, shards), func(b *testing.B) { groupCommit(b, mode, shards) })
		}
	}
}

func groupCommit(b *testing.B, mode persistence.Mode, shards int) {
	store, _, _, err := load(persistence.OS{}, b.TempDir())
	must(b, err)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	began := time.Unix(0, 0)
	c := persistence.NewCommitter(store, persistence.Config{
		Mode: mode, Ticks: ticker.C, Clock: func() time.Duration { return time.Since(began) },
	})
	b.ReportAllocs()
	b.ResetTimer()
	var wait sync.WaitGroup
	for shard := range shards {
		wait.Go(func() {
			answer := make(chan error, 1)
			done := func(err error) { answer <- err }
			for i := shard; i < b.N; i += shards {
				buffer := c.Buffer()
				for n := range 16 {
					buffer = tokenBucket(buffer, i*16+n)
				}
				c.Submit(uint64(i), buffer, done)
				if err := <-answer; err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "batches/s")
	b.ReportMetric(float64(c.Stats().Syncs)/float64(b.N), "syncs/batch")
	must(b, c.Close(1))
}

package shard

// What the journal costs a shard: taking the record of an entry that has changed, and
// giving one back.

import (
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

func BenchmarkTakeRecords(b *testing.B) {
	const keys = 100_000
	f, l := newFiller(NewCore(start), 100), newLimit(algorithms.TokenBucket, algorithms.UnitsMax, time.Hour)
	f.Journal(0, 1)
	f.fill(start, 0, keys, l)
	records := make([]byte, 0, RecordsBytesMax+1024)
	now, bytes := start, 0
	b.ResetTimer()
	for n := 0; n < b.N; n += keys {
		b.StopTimer()
		now += second
		f.fill(now, 0, keys, l)
		b.StartTimer()
		for more := true; more; {
			records, more = f.TakeRecords(now, records[:0], RecordsBytesMax)
			bytes += len(records)
		}
	}
	b.ReportMetric(float64(bytes)/float64((b.N+keys-1)/keys*keys)-20, "B/op-beside-key")
}

func BenchmarkRestore(b *testing.B) {
	const keys = 100_000
	f, l := newFiller(NewCore(start), 100), newLimit(algorithms.TokenBucket, 1000, 1000*time.Hour)
	f.fill(start, 0, keys, l)
	var records []byte
	cut := make([]persistence.Record, 0, RestoreRecordsPerTurn)
	for cursor := uint32(1); cursor != 0; {
		var some []byte
		some, cursor = f.Export(start, cursor, 1000, nil)
		records = append(records, some...)
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += keys {
		c := NewCore(start)
		for rest := records; len(rest) > 0; {
			some := cut[:0]
			for len(rest) > 0 && len(some) < RestoreRecordsPerTurn {
				var r persistence.Record
				r, rest, _ = persistence.CutRecord(rest)
				some = append(some, r)
			}
			if err := c.restoreAll(start, some); err != nil {
				b.Fatal(err)
			}
		}
	}
}

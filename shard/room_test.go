package shard

// The bounds: what happens at them, who goes first, and whether what is counted is
// what is taken.

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
)

// A full table takes no new key. Those that are there are decided as ever, and so is
// every look and every denial.
func TestFullRefusesOnlyNewKeys(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 10, time.Hour)
	a.Bound(Bounds{KeysMax: 3})
	for i := range 3 {
		a.allow(start, fmt.Sprint(i), l, 4)
	}
	before := a.Stats()
	for range 10 {
		if op := a.ask(start, Allow, []byte("new"), l, 1); !op.Full {
			t.Fatal("a fourth key of three")
		}
	}
	if a.Stats() != before || a.Len() != 3 {
		t.Errorf("calls that were not decided are counted: %+v, %d keys", a.Stats(), a.Len())
	}
	if op := a.ask(start, Peek, []byte("new"), l, 1); op.Full || !op.Decision.Allowed || op.Decision.Remaining != 10 {
		t.Errorf("a look at a new key: %+v", op.Decision)
	}
	if op := a.ask(start, Allow, []byte("new"), l, 11); op.Full || op.Decision.Allowed || op.Decision.RetryAfter != -1 {
		t.Errorf("a denial of a new key: %+v", op.Decision)
	}
	if op := a.ask(start, Allow, []byte("1"), l, 6); op.Full || !op.Decision.Allowed || op.Decision.Remaining != 0 {
		t.Errorf("a key that is there: %+v", op.Decision)
	}
	if op := a.ask(start, Allow, []byte("1"), l, 1); op.Full || op.Decision.Allowed {
		t.Errorf("its denial: %+v", op.Decision)
	}
	a.found(start, Reset, "2")
	if !a.allow(start, "new", l, 1) || a.allow(start, "newer", l, 1) {
		t.Error("a key that is reset makes room for one")
	}
	must(t, a.Core)
}

// Whatever is over goes before anything is refused or thrown away, however many keys
// the wheel must look at to find it.
func TestRoomIsMadeOfWhatIsOver(t *testing.T) {
	for _, evict := range []bool{false, true} {
		a, long, short := newAsker(), newLimit(algorithms.TokenBucket, 10, 10*time.Second), newLimit(algorithms.TokenBucket, 10, time.Second)
		const keys = 5000
		a.Bound(Bounds{KeysMax: keys, EvictSoonest: evict})
		// All are due at the same time to begin with, and all but the first live on.
		for i := range keys {
			a.allow(start, fmt.Sprint(i), short, 10)
		}
		for i := 1; i < keys; i++ {
			a.allow(start+second-1, fmt.Sprint(i), long, 1)
		}
		now := start + 2*second
		if !a.allow(now, "new", long, 1) {
			t.Errorf("evict %v: no room, although a key is over", evict)
		}
		if s := a.Stats(); s.Expired != 1 || s.Evicted != 0 {
			t.Errorf("evict %v: %+v", evict, s)
		}
		if a.allow(now, "newer", long, 1) != evict {
			t.Errorf("evict %v: another key", evict)
		}
		must(t, a.Core)
	}
}

// A thousand keys with times of their own: what goes first is among those that would
// have been fresh first.
func TestEvictSoonest(t *testing.T) {
	r, a := newRand(t, 31), newAsker()
	const keys = 1000
	a.Bound(Bounds{KeysMax: keys, EvictSoonest: true})
	freshAt := make(map[string]uint64)
	add := func(key string, now uint64) {
		l := newLimit(algorithms.FixedWindow, 10, time.Duration(1+r.IntN(3_600_000))*time.Millisecond)
		l.Align = algorithms.AlignFirst
		if !a.allow(now, key, l, 1) {
			t.Fatal("no room")
		}
		freshAt[key] = now + l.Window
	}
	for i := range keys {
		add(fmt.Sprint(i), start)
	}
	now := start
	for i := range 3000 {
		now += 1_000_000
		add(fmt.Sprint("new", i), now)
		var gone []string
		sooner := 0
		for key := range freshAt {
			if !a.found(now, Look, key) {
				gone = append(gone, key)
			}
		}
		if len(freshAt)-len(gone) > keys {
			t.Fatalf("%d keys of %d", len(freshAt)-len(gone), keys)
		}
		for _, key := range gone {
			if at := freshAt[key]; at > now {
				for _, other := range freshAt {
					if other > now && other < at {
						sooner++
					}
				}
			}
			delete(freshAt, key)
		}
		if sooner > keys/5 {
			t.Fatalf("round %d: %d of %d keys would have been fresh before the one that went", i, sooner, keys)
		}
	}
	if s := a.Stats(); s.Evicted == 0 || s.Crowded != s.Evicted {
		t.Errorf("%+v", s)
	}
	must(t, a.Core)
}

// Where the memory of a length of key is missing, throwing away keys of other lengths
// would not help, so none goes.
func TestEvictionOnlyWhereItHelps(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.TokenBucket, 10, time.Hour)
	a.Bound(Bounds{BytesMax: 2 << 20, EvictSoonest: true})
	for i := range 100_000 {
		a.allow(start, fmt.Sprintf("%020d", i), l, 1)
	}
	s, n := a.Stats(), a.Len()
	if s.Evicted == 0 || s.Crowded != 0 || a.Bytes() > 2<<20 {
		t.Fatalf("%+v, %d bytes", s, a.Bytes())
	}
	for i := range 100 {
		if a.allow(start, fmt.Sprintf("%0100d", i), l, 1) {
			t.Fatal("a long key found room in a table full of short ones")
		}
	}
	if a.Len() != n || a.Stats() != s {
		t.Errorf("%d keys and %+v, want %d and %+v", a.Len(), a.Stats(), n, s)
	}
	must(t, a.Core)
}

// The table stays below its bound whatever comes: keys of all lengths, limits that no
// two keys share, logs that grow.
func TestBytesStayBelowTheBound(t *testing.T) {
	const bound = 4 << 20
	for _, evict := range []bool{false, true} {
		r, a := newRand(t, 32), newAsker()
		a.Bound(Bounds{BytesMax: bound, EvictSoonest: evict})
		a.Journal(0, 1)
		now, full := start, 0
		var records []byte
		for range scaled(200_000) {
			now += uint64(r.IntN(200_000))
			id := pick(r, algorithms.TokenBucket, algorithms.SlidingLog, algorithms.SlidingCounter)
			l := newLimit(id, 1000+uint64(r.IntN(50)), time.Duration(1+r.IntN(3_000))*time.Millisecond)
			if r.IntN(3) == 0 {
				l = newLimit(id, 1+r.Uint64N(90_000), time.Duration(1+r.IntN(30_000))*time.Millisecond)
			}
			length := 1 + r.IntN(30)
			if r.IntN(50) == 0 {
				length = 1 + r.IntN(3000)
			}
			key := fmt.Appendf(nil, "%0*d", length, r.IntN(20_000))
			if op := a.ask(now, Allow, key, l, 1); op.Full {
				full++
			}
			a.Tick(now, SweepEntriesMin)
			if r.IntN(500) == 0 {
				for more := true; more; {
					records, more = a.TakeRecords(now, records[:0], RecordsBytesMax)
				}
			}
			// A log, a list or a directory that grows does so by one step, which is
			// not known before.
			if a.Bytes() > bound*21/20 {
				t.Fatalf("evict %v: %d bytes, bound %d, of which logs %d+%d, limits %d, ledger %d, keys %d", evict, a.Bytes(), bound,
					a.logs.bytes, a.logs.rowBytes(), a.limits.bytes(), a.ledger.bytes(), a.keys.bytes())
			}
		}
		if full == 0 {
			t.Errorf("evict %v: the bound was never reached", evict)
		}
		must(t, a.Core)
	}
}

// A sliding log at the bound: its denials are told, and a call that it has room for
// passes; it grows again when there is memory.
func TestLogsAtTheBound(t *testing.T) {
	a := newAsker()
	a.Bound(Bounds{BytesMax: 1 << 20})
	l, now := newLimit(algorithms.SlidingLog, 100_000, time.Minute), start
	for ; ; now++ {
		if op := a.ask(now, Allow, []byte("log"), l, 1); op.Full {
			break
		}
	}
	runs := a.logs.at(1).Len()
	if a.Bytes() < 1<<20 || runs < 10_000 {
		t.Fatalf("%d bytes and %d runs at the bound", a.Bytes(), runs)
	}
	tight := newLimit(algorithms.SlidingLog, 1000, time.Minute)
	if op := a.ask(now, Allow, []byte("log"), tight, 1); op.Full || op.Decision.Allowed {
		t.Errorf("a denial at the bound: %+v", op.Decision)
	}
	if a.allow(now, "other", l, 1) {
		t.Error("a new log was made beyond the bound")
	}
	if !a.allow(now, "bucket", newLimit(algorithms.TokenBucket, 1, time.Second), 1) {
		t.Error("a key that needs no more memory was refused")
	}
	now += 60*second + 20_000
	if !a.allow(now, "log", l, 1) {
		t.Error("no room although all runs have ended")
	}
	if a.Settle(now); a.logs.at(1).Len() != 1 {
		t.Errorf("%d runs", a.logs.at(1).Len())
	}
	must(t, a.Core)
}

// Bytes is what the heap grows by: a few per cent more or less, for every kind of key.
func TestBytesIsWhatTheHeapTakes(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own")
	}
	keys := 300_000
	for _, row := range []struct {
		name  string
		key   func(i int) string
		limit func(i int) *algorithms.Limit
	}{
		{"buckets", func(i int) string { return fmt.Sprintf("user:%015d", i) }, sameLimit(algorithms.TokenBucket)},
		{"long keys", func(i int) string { return fmt.Sprintf("%s%0200d", strings.Repeat("k", i%50), i) }, sameLimit(algorithms.GCRA)},
		{"logs", func(i int) string { return fmt.Sprint(i % (keys / 3)) }, sameLimit(algorithms.SlidingLog)},
		{"limits of their own", func(i int) string { return fmt.Sprint(i) }, func(i int) *algorithms.Limit {
			return newLimit(algorithms.FixedWindow, 1+uint64(i), 1000*time.Hour)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := heap()
			a := &asker{Core: NewCore(start)}
			a.Journal(0, 1)
			for i := range keys {
				a.allow(start+uint64(i), row.key(i), row.limit(i), 1)
			}
			grown, told := int(heap()-before), a.Bytes()
			t.Logf("%d bytes a key, told %d", grown/keys, told/keys)
			if told < grown*95/100 || told > grown*108/100 {
				t.Errorf("the heap grew by %d bytes, Bytes says %d", grown, told)
			}
			runtime.KeepAlive(a)
		})
	}
}

func sameLimit(id algorithms.ID) func(int) *algorithms.Limit {
	l := newLimit(id, 10, 1000*time.Hour)
	return func(int) *algorithms.Limit { return l }
}

// heap is what lives in the heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Equal parts that make up the whole, to the key.
func TestBoundIsSharedOut(t *testing.T) {
	for _, row := range []struct{ keys, shards int }{{3, 3}, {10, 3}, {11, 3}, {1000, 7}, {0, 2}} {
		set := NewSet(row.shards, fixedClock(start))
		set.Bound(Bounds{KeysMax: row.keys, BytesMax: 1 << 20})
		sum, least, most := 0, 1<<30, 0
		set.Each(func(_ int, c *Core, _ uint64) {
			sum += c.bounds.KeysMax
			least, most = min(least, c.bounds.KeysMax), max(most, c.bounds.KeysMax)
		})
		set.Close()
		if sum != row.keys || most-least > 1 {
			t.Errorf("%d keys over %d shards: %d in all, from %d to %d", row.keys, row.shards, sum, least, most)
		}
	}
}

type fixedClock uint64

func (c fixedClock) Now() uint64 { return uint64(c) }

// Fifty times as many keys come as there is room for, each once: the bound holds, no
// key that lives is lost, and memory does not grow.
func TestC85FloodAtTheBound(t *testing.T) {
	const bound = 8 << 20
	l := newLimit(algorithms.TokenBucket, 10, time.Minute)
	f := newFiller(NewCore(start), 100)
	f.Bound(Bounds{BytesMax: bound})
	flood := scaled(4_000_000)
	passed := f.fill(start, 0, flood, l)
	if f.Len() != passed || passed < bound/150 || f.Bytes() > bound {
		t.Fatalf("%d passed, %d keys, %d bytes of %d", passed, f.Len(), f.Bytes(), bound)
	}
	r := rand.New(rand.NewPCG(1, 1))
	a := &asker{Core: f.Core}
	for range 1000 {
		if got := a.remaining(start, string(key20(nil, r.IntN(passed))), l); got != 9 {
			t.Fatalf("%d remain of a key that was charged", got)
		}
	}
	// When their minute is over the next ones find room at once, all of it.
	if again := f.fill(start+60*second, flood, flood+passed, l); again != passed || f.Bytes() > bound {
		t.Errorf("%d of %d passed after the first were over, %d bytes", again, passed, f.Bytes())
	}
	must(t, f.Core)
}

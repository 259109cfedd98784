package shard

import (
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
)

func TestTag(t *testing.T) {
	for _, row := range [][2]string{
		{"", ""}, {"user:42", "user:42"}, {"{user}:42", "user"}, {"a{user}b{other}", "user"},
		{"{}user", "{}user"}, {"{user", "{user"}, {"user}", "user}"}, {"}{user}", "user"}, {"{{user}}", "{user"},
		{"{}{user}", "{}{user}"}, {"{user:42}#rpm", "user:42"}, {"a{b}{c}", "b"}, {"{\x00}", "\x00"}, {"{", "{"}, {"{}", "{}"},
	} {
		if got := string(Tag([]byte(row[0]))); got != row[1] {
			t.Errorf("the tag of %q is %q, want %q", row[0], got, row[1])
		}
	}
}

// Every hash has a shard, shards have equal parts of the hashes, and a hash whose
// low bits alone differ stays where it is.
func TestRoute(t *testing.T) {
	r := newRand(t, 1)
	for _, n := range []int{1, 2, 3, 7, 8, 64, 100} {
		counts := make([]int, n)
		for range 1000 * n {
			hash := r.Uint64()
			s := Route(hash, n)
			if s < 0 || s >= n || s != Route(hash^r.Uint64()>>32, n) {
				t.Fatalf("hash %#x goes to shard %d of %d", hash, s, n)
			}
			counts[s]++
		}
		for s, count := range counts {
			if count < 850 || count > 1150 {
				t.Errorf("shard %d of %d has %d of %d hashes", s, n, count, 1000*n)
			}
		}
		if Route(0, n) != 0 || Route(1<<64-1, n) != n-1 {
			t.Errorf("%d shards: the ends go to %d and %d", n, Route(0, n), Route(1<<64-1, n))
		}
	}
}

// A batch is what was added and not taken back, each operation on its shard, in
// order.
func TestBatchTwin(t *testing.T) {
	r := newRand(t, 2)
	for range 200 {
		shards := 1 + r.IntN(5)
		b := NewBatch(shards)
		var want []uint64 // tag hashes
		for range r.IntN(300) {
			switch r.IntN(10) {
			case 0:
				n := r.IntN(len(want) + 1)
				b.Truncate(n)
				want = want[:n]
			case 1:
				if r.IntN(10) == 0 {
					b.Clear()
					want = want[:0]
				}
			default:
				hash := r.Uint64()
				op := b.Add(hash)
				if op.View != nil || op.Full || op.Unsaved {
					t.Fatal("an operation that is used again remembers its last answer")
				}
				op.Key, op.View, op.Full, op.Unsaved = fmt.Append(nil, hash), new(View), true, true
				want = append(want, hash)
			}
		}
		if len(b.Ops) != len(want) {
			t.Fatalf("%d operations, want %d", len(b.Ops), len(want))
		}
		parts := make([][]uint32, shards)
		for i, hash := range want {
			if string(b.Ops[i].Key) != fmt.Sprint(hash) {
				t.Fatalf("operation %d is another", i)
			}
			n := Route(hash, shards)
			parts[n] = append(parts[n], uint32(i))
		}
		for n := range parts {
			if fmt.Sprint(parts[n]) != fmt.Sprint(b.parts[n]) {
				t.Fatalf("shard %d gets %v, want %v", n, b.parts[n], parts[n])
			}
		}
	}
}

// A batch keeps its memory, unless it once was far too large.
func TestBatchMemory(t *testing.T) {
	b := NewBatch(2)
	fill := func(n int) {
		for i := range n {
			b.Add(uint64(i) << 63)
		}
	}
	fill(BatchOpsMax)
	b.Clear()
	if n := testing.AllocsPerRun(10, func() { fill(BatchOpsMax); b.Clear() }); n != 0 && !raceEnabled {
		t.Errorf("a batch that is used again allocates %v times", n)
	}
	fill(4 * BatchOpsMax)
	b.Clear()
	if cap(b.Ops) > 2*BatchOpsMax {
		t.Errorf("room for %d operations is kept", cap(b.Ops))
	}
}

// Run answers an empty batch, and the same batch again and again.
func TestRunAgain(t *testing.T) {
	set := newTestSet(t, 3, 1, newStanding())
	l := newLimit(algorithms.FixedWindow, 1000, time.Hour)
	b := NewBatch(3)
	set.Run(b)
	for n := range 1000 {
		b.Clear()
		b.add(Allow, "k", l, 1)
		set.Run(b)
		if op := &b.Ops[0]; !op.Decision.Allowed || op.Decision.Remaining != uint64(999-n) {
			t.Fatalf("call %d: %+v", n, op.Decision)
		}
	}
	if len(b.done) != 0 {
		t.Error("a token is left")
	}
}

// Decisions are counted by series, those of no series by their algorithm; what a
// shadow limit would have denied is counted apart and denies nothing.
func TestCounts(t *testing.T) {
	c := NewCore(0)
	one := newLimit(algorithms.FixedWindow, 1, time.Hour)
	ops := make([]Op, 4)
	for i := range ops {
		ops[i] = Op{Key: []byte{byte(i % 2)}, Call: algorithms.Call{Limit: one, Cost: 1}}
	}
	ops[1].Series, ops[3].Series = SeriesMin+4, SeriesMin+4
	c.Step(1, ops, []uint32{0, 1, 2, 3})
	pair := []Op{{Key: []byte{7}, Call: algorithms.Call{Limit: one, Cost: 1}, Join: 2}, {Key: []byte{0}, Call: algorithms.Call{Limit: one, Cost: 1}, Shadow: true, Series: SeriesMin}}
	c.Step(1, pair, []uint32{0, 1})
	got := c.Counts()
	for n, want := range map[int]Counts{int(algorithms.FixedWindow): {2, 1, 0}, SeriesMin: {0, 0, 1}, SeriesMin + 4: {1, 1, 0}} {
		if got[n] != want {
			t.Errorf("series %d: %v, want %v", n, got[n], want)
		}
	}
	if s := c.Stats(); s.Allowed != 3 || s.Denied != 2 {
		t.Errorf("%+v", s)
	}
}

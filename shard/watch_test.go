package shard

// The sketches against exact counts, and the ring of denials against a list.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
)

// A counter is never below what its key was counted, and above it by Over at most; a
// key that makes up a fair part of all is never missed.
func TestSketch(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(r, 1.2, 1, 100_000)
	c := NewCore(0)
	exact := make(map[string]uint64)
	var s sketch
	limit := newLimit(algorithms.FixedWindow, 1, time.Second)
	const n = 200_000
	for range n {
		op := Op{Key: fmt.Appendf(nil, "key:%d", zipf.Uint64()), Call: algorithms.Call{Limit: limit}}
		op.hash = c.hash(op.Key)
		s.add(0, &op, 1)
		exact[string(op.Key)]++
	}
	found := make(map[string]bool)
	s.all(0, func(h *Heavy) {
		key := string(h.Key())
		found[key] = true
		if h.Count < exact[key] || h.Count-h.Over > exact[key] {
			t.Errorf("%s was counted %d and is told as %d with an error of %d", key, exact[key], h.Count, h.Over)
		}
	})
	for key, count := range exact {
		if count > n/100 && !found[key] {
			t.Errorf("%s, counted %d of %d, is missed", key, count, n)
		}
	}
	var top uint64
	s.all(HalfLifeNanos, func(h *Heavy) { top = max(top, h.Count) })
	if want := exact["key:0"]; top < want/2 || top > want/2+n/1000 {
		t.Errorf("after a minute the heaviest is %d, was %d", top, want)
	}
	s.all(100*HalfLifeNanos, func(h *Heavy) { t.Errorf("%s is told after a hundred minutes", h.Key()) })
}

// Denials are remembered in order, up to a number, with the beginnings of long keys.
func TestDenials(t *testing.T) {
	c := NewCore(0)
	c.watch.keep = 5
	one := newLimit(algorithms.FixedWindow, 1, time.Hour)
	var want []string
	ask := func(key string, cost uint64) {
		ops := []Op{{Key: []byte(key), Client: 9, Call: algorithms.Call{Limit: one, Cost: cost}}}
		c.Step(uint64(1+len(want))*1_000_000, ops, []uint32{0})
		if !ops[0].Decision.Allowed {
			want = append([]string{fmt.Sprintf("%s %d", key[:min(len(key), WatchedKeyBytesMax)], cost)}, want...)
		}
	}
	check := func() {
		t.Helper()
		var got []string
		c.Denials(func(d *Denial) bool {
			got = append(got, fmt.Sprintf("%s %d", d.Key(), d.Cost))
			if d.Client != 9 || d.Time == 0 || d.Series() != uint32(algorithms.FixedWindow) {
				t.Errorf("%+v", d)
			}
			return true
		})
		if kept := want[:min(len(want), 5)]; strings.Join(got, ",") != strings.Join(kept, ",") {
			t.Errorf("got %v, want %v", got, kept)
		}
	}
	check()
	for i := range uint64(12) {
		ask("a", 1)
		ask(strings.Repeat("long", 30), 2+i)
		check()
	}
	c.Clear()
	check()
	seen := 0
	c.Denials(func(d *Denial) bool { seen++; return seen < 2 })
	if seen != 2 {
		t.Errorf("%d were told after an end was asked for", seen)
	}
	c.Heaviest(0, true, func(h *Heavy) {
		if h.Cut() != (h.Key()[0] == 'l') {
			t.Errorf("%s, cut: %v", h.Key(), h.Cut())
		}
	})
}

// What is charged all the time is seen, though only one of many charges is looked at.
func TestHot(t *testing.T) {
	c := NewCore(0)
	limit := newLimit(algorithms.FixedWindow, 1_000_000, time.Hour)
	ops := make([]Op, 16)
	part := make([]uint32, 16)
	for i := range ops {
		ops[i] = Op{Key: fmt.Appendf(nil, "k%d", i), Call: algorithms.Call{Limit: limit, Cost: 1}}
		part[i] = uint32(i)
	}
	for range 10_000 {
		c.Step(1, ops, part)
	}
	told := 0
	c.Heaviest(1, false, func(h *Heavy) {
		told++
		if h.Count < 8_000 || h.Count > 12_000 {
			t.Errorf("%s was charged 10000 times, and is told as %d", h.Key(), h.Count)
		}
	})
	if told != len(ops) {
		t.Errorf("%d keys are told of %d", told, len(ops))
	}
	if allocs := testing.AllocsPerRun(100, func() { c.Step(1, ops, part) }); allocs != 0 && !invariants {
		t.Errorf("%v allocations", allocs)
	}
}

// What somebody tries by hand is told as it was: at first, and in a minute with few
// charges after one with many.
func TestHotByHand(t *testing.T) {
	c := NewCore(0)
	limit := newLimit(algorithms.FixedWindow, 1_000_000, time.Hour)
	charge := func(now uint64, key string, times int) {
		ops := []Op{{Key: []byte(key), Call: algorithms.Call{Limit: limit, Cost: 1}}}
		for range times {
			c.Step(now, ops, []uint32{0})
		}
	}
	told := func(now uint64, key string) (count uint64) {
		c.Heaviest(now, false, func(h *Heavy) {
			if string(h.Key()) == key {
				count = h.Count - h.Over
			}
		})
		return count
	}
	charge(1, "first", 3)
	charge(1, "second", 40)
	if first, second := told(1, "first"), told(1, "second"); first != 3 || second != 40 {
		t.Errorf("3 and 40 charges are told as %d and %d", first, second)
	}
	charge(1, "busy", HotExactMax-43)
	if busy := told(1, "busy"); busy != HotExactMax-43 {
		t.Errorf("%d charges are told as %d", HotExactMax-43, busy)
	}
	charge(1, "busy", HotExactMax)
	if busy := told(1, "busy"); busy < 2*HotExactMax*9/10 || busy > 2*HotExactMax*11/10 {
		t.Errorf("%d charges are told as %d", 2*HotExactMax-43, busy)
	}
	const later = HalfLifeNanos + 1
	if first := told(later, "first"); first != 1 {
		t.Errorf("3 charges, halved, are told as %d", first)
	}
	charge(later, "third", 5)
	if third := told(later, "third"); third != 5 {
		t.Errorf("5 charges in the minute after are told as %d", third)
	}
}

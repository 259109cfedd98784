package shard

import (
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
)

// Whoever lives throughout is met exactly once, whatever comes and goes meanwhile
// and however the index grows; and nobody twice who is not made twice.
func TestScanMeetsExactlyOnce(t *testing.T) {
	for round := range 6 {
		r := newRand(t, uint64(round))
		a := newAsker()
		forever := newLimit(algorithms.TokenBucket, 10, 24*time.Hour)
		moment := newLimit(algorithms.SlidingLog, 10, 50*time.Millisecond)
		now := start
		for i := range 500 {
			a.allow(now, fmt.Sprint("stays ", i), forever, 5)
			a.allow(now, fmt.Sprint("goes ", i), pick(r, forever, moment), 1)
		}
		met := make(map[string]int)
		cursor, calls, made := uint32(0), 0, 0
		before := a.index.segments
		for {
			cursor = a.Scan(now, cursor, 1+r.IntN(20), func(key []byte, v View) {
				met[string(key)]++
				if v.FreshAt <= now || v.Now != now {
					t.Errorf("met %s, which was fresh at %d, at %d", key, v.FreshAt, now)
				}
			})
			if calls++; cursor == 0 {
				break
			}
			now += r.Uint64N(2_000_000)
			for range 40 {
				switch r.IntN(4) {
				case 0:
					a.found(now, Reset, fmt.Sprint("goes ", r.IntN(500)))
				case 1:
					a.allow(now, fmt.Sprint("stays ", r.IntN(500)), forever, 1)
				default:
					if calls < 150 { // or the scan would never catch up
						made++
						a.allow(now, fmt.Sprint("new ", made), pick(r, forever, moment), 1)
					}
				}
			}
			a.Tick(now, r.IntN(100))
		}
		for i := range 500 {
			if n := met[fmt.Sprint("stays ", i)]; n != 1 {
				t.Fatalf("round %d: key %d, which stayed, was met %d times", round, i, n)
			}
		}
		for key, n := range met {
			if n != 1 {
				t.Errorf("round %d: %q was met %d times", round, key, n)
			}
		}
		if a.index.segments == before {
			t.Errorf("round %d: the index did not grow", round)
		}
		must(t, a.Core)
	}
}

func TestScanEnds(t *testing.T) {
	a := newAsker()
	nobody := func(key []byte, _ View) { t.Errorf("met %q", key) }
	if cursor := a.Scan(start, 0, 10, nobody); cursor != 0 {
		t.Errorf("the scan of an empty core goes on at %d", cursor)
	}
	l := newLimit(algorithms.FixedWindow, 1, time.Hour)
	for i := range 10 {
		a.allow(start, fmt.Sprint(i), l, 1)
	}
	for n, calls := range map[int]int{1: 10, 3: 4, 9: 2, 10: 1, 100: 1} {
		met, cursor := 0, uint32(0)
		for range calls {
			cursor = a.Scan(start, cursor, n, func([]byte, View) { met++ })
		}
		if cursor != 0 || met != 10 {
			t.Errorf("%d slots a call: after %d calls %d keys were met, cursor %d", n, calls, met, cursor)
		}
	}
	for _, cursor := range []uint32{11, 1000, 1<<32 - 1} {
		if next := a.Scan(start, cursor, 10, nobody); next != 0 {
			t.Errorf("a scan from %d, behind the end, goes on at %d", cursor, next)
		}
	}
}

// A slab that is full to its last slot ends there.
func TestScanOfFullChunks(t *testing.T) {
	c := NewCore(start)
	f := newFiller(c, 100)
	f.fill(start, 0, 2*chunkEntries-1, newLimit(algorithms.TokenBucket, 1, time.Hour))
	met := 0
	if cursor := c.Scan(start, 0, 1<<30, func([]byte, View) { met++ }); cursor != 0 || met != 2*chunkEntries-1 {
		t.Errorf("met %d keys of %d, cursor %d", met, 2*chunkEntries-1, cursor)
	}
	c.Rewind(start - second)
	must(t, c)
}

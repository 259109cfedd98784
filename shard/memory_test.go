package shard

// What keys cost and that they give it back: C83, C85 and their kind.

import (
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
)

// filler makes keys in batches, as a busy server does.
type filler struct {
	*Core
	ops  []Op
	part []uint32
}

func newFiller(c *Core, size int) *filler {
	f := &filler{Core: c, ops: make([]Op, size)}
	for i := range f.ops {
		f.part = append(f.part, uint32(i))
		f.ops[i].Key = make([]byte, 0, 20)
	}
	return f
}

// fill charges the keys from … to−1 once, 20 bytes each, and says how many passed.
func (f *filler) fill(now uint64, from, to int, l *algorithms.Limit) (passed int) {
	for from < to {
		n := min(len(f.ops), to-from)
		for i := range f.ops[:n] {
			op := &f.ops[i]
			op.Key = key20(op.Key, from+i)
			op.Call.Limit, op.Call.Cost, op.Full = l, 1, false
		}
		f.Step(now, f.ops, f.part[:n])
		for i := range f.ops[:n] {
			if f.ops[i].Decision.Allowed && !f.ops[i].Full {
				passed++
			}
		}
		from += n
	}
	return passed
}

// A sweep, however often it runs, frees nothing that still counts.
func TestC83SweepSparesTheLiving(t *testing.T) {
	for _, row := range algorithms.Rates() {
		t.Run(row.Name, func(t *testing.T) {
			a, l := newAsker(), newLimit(row.ID, 10, time.Hour)
			for i := range 1000 {
				a.allow(start, fmt.Sprint(i), l, 5)
			}
			now := start
			for range 10 {
				now += second
				for a.Tick(now, 1<<30) {
				}
				a.Settle(now)
			}
			for i := range 1000 {
				if got := a.remaining(now, fmt.Sprint(i), l); got != 5 {
					t.Fatalf("%d of 10 remain of a half-used key", got)
				}
			}
			if a.Len() != 1000 || a.Stats().Expired != 0 {
				t.Errorf("%d keys, %d expired", a.Len(), a.Stats().Expired)
			}
			must(t, a.Core)
		})
	}
}

// A million keys for a second, twice over: all of them go, and the second round
// takes what the first did.
func TestC85MemoryComesBack(t *testing.T) {
	keys := scaled(1_000_000)
	l := newLimit(algorithms.TokenBucket, 10, time.Second)
	f, now := newFiller(NewCore(start), 100), start
	var bytes [2]int
	for round := range bytes {
		if passed := f.fill(now, round*keys, (round+1)*keys, l); passed != keys || f.Len() != keys {
			t.Fatalf("round %d: %d passed, %d keys, want %d", round, passed, f.Len(), keys)
		}
		bytes[round] = f.Bytes()
		now += second
		f.Settle(now)
		if f.Len() != 0 {
			t.Errorf("round %d: %d keys are left after their second", round, f.Len())
		}
	}
	if n := f.Stats().Expired; n != uint64(2*keys) {
		t.Errorf("%d keys expired, want %d", n, 2*keys)
	}
	if bytes[1] > bytes[0]*11/10 {
		t.Errorf("%d bytes in the first round, %d in the second", bytes[0], bytes[1])
	}
	if perKey := bytes[0] / keys; perKey > 110 {
		t.Errorf("%d bytes a key", perKey)
	}
	must(t, f.Core)
}

// Keys come at an even rate for a hundred of their lives, and only batches sweep:
// what is there stays what lives, and those within their grace.
func TestBatchesSweepWhatTheyMake(t *testing.T) {
	for _, window := range []time.Duration{100 * time.Millisecond, 3 * time.Second, time.Minute, 2 * time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			const batch = 50
			l := newLimit(algorithms.FixedWindow, 10, window)
			l.Align = algorithms.AlignFirst
			f, now := newFiller(NewCore(start), batch), start
			lives := scaled(100_000)
			gap := uint64(window) * 100 / uint64(lives) * batch // between batches
			living := int((uint64(window)+SweepGraceNanos)/gap+1) * batch
			most, bytes := 0, 0
			for i := 0; i < lives; i += batch {
				now += gap
				f.fill(now, i, i+batch, l)
				f.Tick(now, SweepEntriesMin+SweepEntriesPerKey*batch)
				most = max(most, f.Len())
				if i == lives/10 {
					bytes = f.Bytes()
				}
			}
			if most > 2*living+1000 {
				t.Errorf("%d keys at most, %d of them lived", most, living)
			}
			if chunk := 64 * chunkEntries; f.Bytes() > bytes*11/10+2*chunk {
				t.Errorf("%d bytes in the end, %d after the first ten lives", f.Bytes(), bytes)
			}
			must(t, f.Core)
		})
	}
}

// Short keys go and long ones come: what the short ones took is not lost.
func TestMemoryIsNotTiedToLengths(t *testing.T) {
	l := newLimit(algorithms.TokenBucket, 1, time.Second)
	a, now := newAsker(), start
	keys := scaled(50_000)
	var first, last int
	for _, length := range []int{20, 30, 40, 50, 60, 70, 90, 110, 20} {
		for i := range keys {
			a.allow(now, fmt.Sprintf("%0*d", length, i), l, 1)
		}
		if last = a.Bytes(); first == 0 {
			first = last
		}
		now += second
		a.Settle(now)
		must(t, a.Core)
	}
	// A page without a key is kept for each length that there was.
	if last > first*11/10+9*2*keyPageBytes {
		t.Errorf("%d keys of 20 bytes took %d bytes in the beginning and %d after others had come and gone", keys, first, last)
	}
}

// What a sliding log grew to is given back when its key goes.
func TestLogsGiveBack(t *testing.T) {
	l := newLimit(algorithms.SlidingLog, 10_000, time.Minute)
	a, now := newAsker(), start
	before := a.Bytes()
	for round := range 3 {
		for range 10 {
			for key := range 20 {
				for range 100 {
					now += 1000
					a.allow(now, fmt.Sprint(key), l, 1)
				}
			}
			must(t, a.Core)
		}
		if grown := a.Bytes() - before; grown < 20*1000*16 || grown > 3*20*1000*16+1<<20 {
			t.Errorf("round %d: 20,000 runs take %d bytes", round, grown)
		}
		now += 60 * second
		a.Settle(now)
		must(t, a.Core)
		if a.logs.bytes > 20*logKeptBytesMax {
			t.Errorf("round %d: %d bytes of logs are left", round, a.logs.bytes)
		}
	}
}

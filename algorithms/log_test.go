package algorithms

// The log against a sorted list: charges whose ends come in any order, looks at
// any instant, runs that are dropped, and memory that stays bounded.

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// list is the naive log: one entry a run, in order of their ends.
type list []struct{ end, units uint64 }

func (l *list) add(end, units uint64) {
	for i := range *l {
		if (*l)[i].end == end {
			(*l)[i].units += units
			return
		}
	}
	*l = append(*l, struct{ end, units uint64 }{end, units})
	slices.SortFunc(*l, func(a, b struct{ end, units uint64 }) int { return cmp.Compare(a.end, b.end) })
}

func (l *list) drop(t uint64) {
	*l = slices.DeleteFunc(*l, func(e struct{ end, units uint64 }) bool { return e.end <= t })
}

func (l *list) used(t uint64) (sum uint64) {
	for _, e := range *l {
		if e.end > t {
			sum += e.units
		}
	}
	return sum
}

func (l *list) endAtMost(x uint64) uint64 {
	for _, e := range *l {
		if l.used(e.end) <= x {
			return e.end
		}
	}
	return 0
}

func TestLogAgainstList(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(*lawSeed, seed))
		var log Log
		var naive list
		now, spread := uint64(1000), 1+r.Uint64N(60)
		for range 400 {
			switch r.IntN(8) {
			case 0:
				now += r.Uint64N(spread)
				log.drop(now)
				naive.drop(now)
			case 1:
				if r.IntN(40) == 0 {
					log.Reset()
					naive = nil
				}
			default:
				end, units := now+1+r.Uint64N(spread), 1+r.Uint64N(5)
				log.Append(end, units)
				naive.add(end, units)
			}
			compareLogs(t, seed, &log, &naive, now+r.Uint64N(spread))
			if t.Failed() {
				return
			}
		}
	}
}

func compareLogs(t *testing.T, seed uint64, log *Log, naive *list, at uint64) {
	t.Helper()
	var runs list
	log.Each(func(end, units uint64) { runs = append(runs, struct{ end, units uint64 }{end, units}) })
	if !slices.Equal(runs, *naive) || log.Len() != len(*naive) {
		t.Errorf("seed %d: got %v, want %v", seed, runs, *naive)
	}
	used := naive.used(at)
	if got := log.used(at); got != used {
		t.Errorf("seed %d: used at %d is %d, want %d", seed, at, got, used)
	}
	if used > 0 {
		if got, want := log.endAtMost(used-1), naive.endAtMost(used-1); got != want {
			t.Errorf("seed %d: at most %d at %d, want %d", seed, used-1, got, want)
		}
		if got, want := log.endAtMost(0), naive.endAtMost(0); got != want {
			t.Errorf("seed %d: empty at %d, want %d", seed, got, want)
		}
	}
}

// A log holds room for what counts, not for what has counted.
func TestLogMemory(t *testing.T) {
	for _, peak := range []uint64{1, 100, 5000} {
		var log Log
		bounded := func(what string) {
			t.Helper()
			if room := 16 * (8*log.Len() + roomRuns); log.Bytes() > room {
				t.Fatalf("%s, peak %d: %d bytes for %d runs", what, peak, log.Bytes(), log.Len())
			}
		}
		now := uint64(0)
		for range 3 * peak { // full: one ends for each that comes
			now++
			log.drop(now)
			log.add(now+peak, 1)
			bounded("full")
		}
		if log.Bytes() != 16*cap(log.runs) {
			t.Errorf("%d bytes for room of %d runs", log.Bytes(), cap(log.runs))
		}
		if most := 16 * max(4*int(peak), 8); log.Bytes() > most || uint64(log.Len()) != peak {
			t.Errorf("peak %d: %d bytes for %d runs", peak, log.Bytes(), log.Len())
		}
		for range peak + 10 { // and then a trickle
			now++
			log.drop(now)
			log.add(now+1, 1)
			bounded("trickle")
		}
		if most := 16 * (8 + roomRuns); log.Bytes() > most {
			t.Errorf("peak %d: %d bytes for a trickle", peak, log.Bytes())
		}
	}
	var log Log
	log.add(5, 1)
	room := log.Bytes()
	if log.Reset(); log.Len() != 0 || log.used(0) != 0 || log.Bytes() != room {
		t.Errorf("after a reset: %+v", log)
	}
}

// Sums are kept modulo 2^64: here are 2.4 times as many units.
func TestLogSumsWrap(t *testing.T) {
	var log Log
	for i := range uint64(5000) {
		log.drop(i)
		log.add(i+2, UnitsMax)
		if want := min(i+1, 2) * UnitsMax; log.used(i) != want {
			t.Fatalf("after %d: %d used, want %d", i, log.used(i), want)
		}
	}
}

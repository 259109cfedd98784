package shard

// Marks against a map.

import (
	"maps"
	"slices"
	"testing"
)

func TestMarksTwin(t *testing.T) {
	r := newRand(t, 61)
	var m marks
	twin := make(map[slot]bool)
	for range 20_000 {
		i := slot(r.IntN(1 << (1 + r.IntN(18))))
		if r.IntN(3) == 0 && len(twin) > 0 {
			for i = range twin {
				break
			}
			m.remove(i)
			delete(twin, i)
		} else {
			m.add(i)
			twin[i] = true
		}
		if m.count != len(twin) {
			t.Fatalf("%d marks, want %d", m.count, len(twin))
		}
	}
	var got []slot
	for n := m.word(0); n < len(m.words); n = m.word(n + 1) {
		for bit := range slot(64) {
			if m.words[n]>>bit&1 != 0 {
				got = append(got, slot(n)*64+bit)
			}
		}
	}
	if want := slices.Sorted(maps.Keys(twin)); !slices.Equal(got, want) {
		t.Errorf("%d slots were gone through, want %d", len(got), len(want))
	}
	for _, i := range got {
		m.remove(i)
	}
	if n := m.word(0); n != len(m.words) || m.count != 0 {
		t.Errorf("word %d of an empty set", n)
	}
}

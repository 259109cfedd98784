package shard

// An agenda against a sorted list.

import (
	"slices"
	"testing"
)

func TestAgendaTwin(t *testing.T) {
	r := newRand(t, 62)
	var g agenda[*ID]
	var twin []*ID
	for range 20_000 {
		switch n := len(twin); {
		case n == 0 || r.IntN(5) < 2:
			id := &ID{Deadline: r.Uint64N(1000)}
			g.enter(id)
			twin = append(twin, id)
		case r.IntN(3) == 0:
			id := twin[r.IntN(n)]
			id.Deadline = r.Uint64N(1000)
			g.moved(id)
		case r.IntN(2) == 0:
			i := r.IntN(n)
			g.leave(twin[i])
			twin = slices.Delete(twin, i, i+1)
		default:
			first := g[0].one
			g.leave(first)
			i := slices.Index(twin, first)
			if least := slices.MinFunc(twin, func(a, b *ID) int { return int(a.Deadline) - int(b.Deadline) }); least.Deadline != first.Deadline {
				t.Fatalf("due at %d is in front, and another at %d", first.Deadline, least.Deadline)
			}
			twin = slices.Delete(twin, i, i+1)
		}
		if err := g.verify(); err != nil || len(g) != len(twin) {
			t.Fatalf("%d are on the agenda, want %d; %v", len(g), len(twin), err)
		}
	}
}

package shard

// Agendas: what comes due, the soonest in front. Ids and the accounts of leases stand in
// them; keys do not, there are too many, they have the wheel.

import heaps "container/heap"

// timed is what an agenda is of.
type timed interface {
	dueAt() uint64 // an instant
	seat() *int    // where it stands in its agenda
}

// agenda is a heap. enter, leave and moved are for its users, the others are what
// container/heap asks for.
type agenda[T timed] []T

// Len is how many there are.
func (g agenda[T]) Len() int { return len(g) }

// Less says whether one is due before another.
func (g agenda[T]) Less(i, j int) bool { return g[i].dueAt() < g[j].dueAt() }

// Swap has two change places.
func (g agenda[T]) Swap(i, j int) {
	g[i], g[j] = g[j], g[i]
	*g[i].seat(), *g[j].seat() = i, j
}

// Push puts one at the end.
func (g *agenda[T]) Push(x any) {
	one := x.(T)
	*one.seat() = len(*g)
	*g = append(*g, one)
}

// Pop takes the last one off.
func (g *agenda[T]) Pop() any {
	last := len(*g) - 1
	one := (*g)[last]
	clear((*g)[last:])
	*g = (*g)[:last]
	return one
}

// enter puts one in, leave takes it out, moved says that it is due at another time.
func (g *agenda[T]) enter(one T) { heaps.Push(g, one) }
func (g *agenda[T]) leave(one T) { heaps.Remove(g, *one.seat()) }
func (g *agenda[T]) moved(one T) { heaps.Fix(g, *one.seat()) }

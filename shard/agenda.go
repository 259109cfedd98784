package shard

// Agendas: what comes due, the soonest in front. Ids and the accounts of leases stand in
// them; keys do not, there are too many, they have the wheel.
//
// An agenda is a heap of width four that holds the instants beside what is due then. So
// going down touches one line of cache a level, half as many levels as in a heap of width
// two, and nothing of what is due is read: where there are a hundred thousand, all of
// that is waiting for memory.

// agendaWidth is how many follow each.
const agendaWidth = 4

// timed is what an agenda is of.
type timed interface {
	dueAt() uint64 // an instant
	seat() *int    // where it stands in its agenda
}

type agenda[T timed] []appointment[T]

type appointment[T timed] struct {
	due uint64
	one T
}

// enter puts one in.
func (g *agenda[T]) enter(one T) {
	*g = append(*g, appointment[T]{one.dueAt(), one})
	g.settle(len(*g) - 1)
}

// leave takes one out.
func (g *agenda[T]) leave(one T) {
	i, last := *one.seat(), len(*g)-1
	(*g)[i] = (*g)[last]
	clear((*g)[last:])
	if *g = (*g)[:last]; i < last {
		g.settle(i)
	}
}

// moved says that one is due at another time.
func (g agenda[T]) moved(one T) {
	i := *one.seat()
	g[i].due = one.dueAt()
	g.settle(i)
}

// settle brings what stands at i where it belongs.
func (g agenda[T]) settle(i int) {
	a := g[i]
	for i > 0 {
		before := (i - 1) / agendaWidth
		if g[before].due <= a.due {
			break
		}
		i = g.seat(i, g[before], before)
	}
	for {
		first := i*agendaWidth + 1
		if first >= len(g) {
			break
		}
		next := first
		for j := first + 1; j < min(first+agendaWidth, len(g)); j++ {
			if g[j].due < g[next].due {
				next = j
			}
		}
		if g[next].due >= a.due {
			break
		}
		i = g.seat(i, g[next], next)
	}
	g.seat(i, a, i)
}

// seat gives a the place i and returns the one that it had.
func (g agenda[T]) seat(i int, a appointment[T], had int) int {
	g[i] = a
	*a.one.seat() = i
	return had
}

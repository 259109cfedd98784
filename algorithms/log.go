package algorithms

// The sliding log: every charge counts until the instant at which it ends, one
// window after it was made. What a key stores of it is
//
//	A   the latest end of all runs, an instant
//	B   not used
//	C   belongs to the keeper, which finds the key's Log by it
//
// and a Log beside it.

var slidingLog = model{
	settle: func(s State, _ *Limit, t uint64, log *Log) (State, uint64) {
		s.At = t
		return s, log.used(t)
	},
	until: func(s State, _ *Limit, x uint64, log *Log) int64 {
		return Millis(log.endAtMost(x) - s.At)
	},
	freshAt: func(s State, _ *Limit) uint64 { return s.A },
	adopt:   adoptLog,
	charge:  chargeLog,
	mark:    func(s State, l *Limit) uint64 { return s.At + l.Window },
	back:    backLog,
	legal:   func(State, *Limit) bool { return false }, // made from its runs
}

// adoptLog keeps the runs of a log as they are. Units from another algorithm
// become one charge made now: they stand in B until the call's own are added.
func adoptLog(s State, was, _ *Limit, used, _ uint64) State {
	switch {
	case was == nil || was.Algorithm != SlidingLog:
		return State{At: s.At, B: used}
	case used == 0:
		return State{At: s.At, C: s.C}
	default:
		return s
	}
}

func chargeLog(s State, l *Limit, cost uint64, log *Log) State {
	end := s.At + l.Window
	log.drop(s.At)
	log.add(end, plus(s.B, cost))
	return State{At: s.At, A: max(s.A, end), C: s.C}
}

func backLog(s State, _ *Limit, mark, units uint64, log *Log) State {
	log.drop(s.At)
	if mark == Newest {
		log.cut(units)
	} else {
		log.reduce(mark, units)
	}
	s.A = log.last(s.At)
	return s
}

// Run is a charge in a log: units that count until End, told as a running sum.
type Run struct {
	End uint64 // nanoseconds since 1970
	Sum uint64 // units of this run and of all before it, modulo 2^64
}

// Log is the charges of one key, in order of their ends. Because each run holds
// the sum up to it, what is used at an instant is one binary search and one
// subtraction; nothing has to be thrown away to look. Only a charge drops what
// has ended, since from then on time cannot be earlier.
//
// The zero Log is empty. A run takes 16 bytes. The slice holds at most twice as
// many as still count and append's spare room; a log that has shrunk gives memory
// back, so that its room is never more than eight times its runs and roomRuns.
type Log struct {
	runs []Run
	ids  []holder // whose each run is, in a log of permits; else nil
	head int      // runs before head have been dropped
	base uint64   // the sum of all dropped runs
}

// roomRuns is the room that a log keeps however few runs it has: 4 KiB.
const roomRuns = 256

// Len is the number of runs.
func (g *Log) Len() int { return len(g.runs) - g.head }

// Bytes is the memory that the runs take.
func (g *Log) Bytes() int { return cap(g.runs)*16 + cap(g.ids)*(32+idBytesMean) }

// idBytesMean is what the id of a permit is taken to need.
const idBytesMean = 48

// Spare is how many runs can be added without more memory.
func (g *Log) Spare() int { return cap(g.runs) - len(g.runs) }

// Each calls f with the end and the units of each run, oldest end first.
func (g *Log) Each(f func(end, units uint64)) {
	sum := g.base
	for _, r := range g.runs[g.head:] {
		f(r.End, r.Sum-sum)
		sum = r.Sum
	}
}

// Append adds units that count until end, for a keeper that restores a log.
func (g *Log) Append(end, units uint64) { g.add(end, units) }

// Reset empties the log and keeps its memory.
func (g *Log) Reset() { *g = Log{runs: g.runs[:0]} }

// before is the sum of all runs before index i, counted from head.
func (g *Log) before(i int) uint64 {
	if i == 0 {
		return g.base
	}
	return g.runs[g.head+i-1].Sum
}

// after is the index, counted from head, of the first run that ends after t.
func (g *Log) after(t uint64) int {
	lo, hi := 0, g.Len()
	if hi == 0 || g.runs[g.head].End > t {
		return 0
	}
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); g.runs[g.head+mid].End > t {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// used is the number of units that still count at t.
func (g *Log) used(t uint64) uint64 {
	return g.before(g.Len()) - g.before(g.after(t))
}

// endAtMost is the earliest instant at which at most x units count. More than
// x must be in the log.
func (g *Log) endAtMost(x uint64) uint64 {
	total := g.before(g.Len())
	lo, hi := 0, g.Len()-1
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); total-g.runs[g.head+mid].Sum <= x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.runs[g.head+lo].End
}

// drop forgets the runs that have ended at t.
func (g *Log) drop(t uint64) {
	n := g.after(t)
	g.base = g.before(n)
	g.head += n
	if g.head > len(g.runs)/2 {
		g.runs = pack(g.runs, g.head)
		if g.ids != nil {
			g.ids = pack(g.ids, g.head)
		}
		g.head = 0
	}
}

// pack moves what stands from head on to the front, into less memory where much
// of it has become spare.
func pack[T any](s []T, head int) []T {
	live := s[head:]
	if cap(s) > 4*len(live)+roomRuns {
		return append(make([]T, 0, 2*len(live)), live...)
	}
	n := copy(s, live)
	clear(s[n:])
	return s[:n]
}

// add puts units that count until end in their place. That is the back of the
// log unless the key was charged with a longer window before.
func (g *Log) add(end, units uint64) {
	i := g.Len()
	if i > 0 && g.runs[len(g.runs)-1].End >= end {
		i = g.after(end - 1)
	}
	at := g.head + i
	if at == len(g.runs) || g.runs[at].End != end {
		g.runs = append(g.runs, Run{})
		copy(g.runs[at+1:], g.runs[at:])
		g.runs[at] = Run{End: end, Sum: g.before(i)}
	}
	for ; at < len(g.runs); at++ {
		g.runs[at].Sum += units
	}
}

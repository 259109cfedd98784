package algorithms

// Concurrency: permits that are held until they are released or their time to
// live, the window, has passed. A permit is a run of a log with an id: it counts
// until it ends, and who holds it can end it sooner or later.
//
// The words of the State are those of a sliding log.

var permits = model{
	settle:  slidingLog.settle,
	until:   slidingLog.until,
	freshAt: slidingLog.freshAt,
	adopt: func(s State, was, _ *Limit, used, _ uint64) State {
		if was == nil {
			return State{At: s.At}
		}
		return s
	},
	charge: func(s State, l *Limit, n uint64, log *Log) State {
		end := s.At + l.Window
		log.drop(s.At)
		log.grant(end, n, l.Window)
		return State{At: s.At, A: max(s.A, end), C: s.C}
	},
	mark:  slidingLog.mark,
	back:  func(s State, _ *Limit, _, _ uint64, _ *Log) State { return s }, // permits go back by id
	legal: slidingLog.legal,
}

// holder is whose a run is.
type holder struct {
	id   string
	left uint64
	ttl  uint64
}

// grant adds a permit for n units that ends at end, behind those that end at the
// same instant. Its id is empty until Name gives it one.
func (g *Log) grant(end, n, ttl uint64) {
	i := g.after(end)
	if g.ids == nil {
		g.ids = make([]holder, len(g.runs))
	}
	at := g.head + i
	before := g.before(i)
	g.runs = append(g.runs, Run{})
	copy(g.runs[at+1:], g.runs[at:])
	g.runs[at] = Run{End: end, Sum: before}
	g.ids = append(g.ids, holder{})
	copy(g.ids[at+1:], g.ids[at:])
	g.ids[at] = holder{ttl: ttl}
	for ; at < len(g.runs); at++ {
		g.runs[at].Sum += n
	}
}

// Permit is one permit of a log.
type Permit struct {
	ID    string
	Left  uint64 // units that were left when it was granted
	Units uint64
	End   uint64 // nanoseconds since 1970
	TTL   uint64 // that it was granted for, nanoseconds
}

// Name gives the permit that was granted last an id, and remembers how many units
// were left then. Nothing may have happened to the log since.
func (g *Log) Name(id string, left uint64) {
	for i := len(g.ids) - 1; i >= g.head; i-- {
		if g.ids[i].id == "" {
			g.ids[i].id, g.ids[i].left = id, left
			return
		}
	}
}

// AppendPermit adds a permit, for a keeper that restores a log.
func (g *Log) AppendPermit(p Permit) {
	g.grant(p.End, p.Units, p.TTL)
	g.Name(p.ID, p.Left)
}

// permit finds the index of a live permit by its id, −1 without one.
func (g *Log) permit(id string, now uint64) int {
	for i := g.head + g.after(now); i < len(g.ids); i++ {
		if g.ids[i].id == id {
			return i
		}
	}
	return -1
}

// at returns the permit at an index.
func (g *Log) at(i int) Permit {
	return Permit{g.ids[i].id, g.ids[i].left, g.runs[i].Sum - g.before(i-g.head), g.runs[i].End, g.ids[i].ttl}
}

// Permit finds a live permit by its id.
func (g *Log) Permit(id string, now uint64) (p Permit, ok bool) {
	if i := g.permit(id, now); i >= 0 {
		return g.at(i), true
	}
	return p, false
}

// Permits calls f for each live permit, the one that ends first first.
func (g *Log) Permits(now uint64, f func(Permit)) {
	for i := g.head + g.after(now); i < len(g.ids); i++ {
		f(g.at(i))
	}
}

// Release ends the permit of an id in what k stores, at now. A permit that is
// not held any more, or never was, is not ok.
func Release(k *Stored, now uint64, id string) (ok bool) {
	g := k.Log
	i := g.permit(id, now)
	if i < 0 {
		return false
	}
	g.remove(i)
	k.State.A = g.last(k.State.At)
	k.FreshAt = k.State.A
	return true
}

// Renew lets the permit of an id last for ttl from now, or, where that is 0, for as
// long as it was granted for. It is a charge of now: no permit ends later than the
// longest window after the state's own instant.
func Renew(k *Stored, now uint64, id string, ttl uint64) (ok bool) {
	g := k.Log
	i := g.permit(id, now)
	if i < 0 {
		return false
	}
	p := g.at(i)
	g.remove(i)
	k.State.At = max(now, k.State.At)
	g.drop(k.State.At)
	if ttl == 0 {
		ttl = p.TTL
	}
	p.End = k.State.At + ttl
	g.AppendPermit(p)
	k.State.A = g.last(k.State.At)
	k.FreshAt = k.State.A
	return true
}

// remove takes a run out, at an index of the slice.
func (g *Log) remove(i int) {
	units := g.runs[i].Sum - g.before(i-g.head)
	for j := i; j < len(g.runs); j++ {
		g.runs[j].Sum -= units
	}
	g.runs = append(g.runs[:i], g.runs[i+1:]...)
	if g.ids != nil {
		g.ids = append(g.ids[:i], g.ids[i+1:]...)
	}
}

// last is the latest end of all runs, or t for an empty log.
func (g *Log) last(t uint64) uint64 {
	if g.Len() == 0 {
		return t
	}
	return g.runs[len(g.runs)-1].End
}

// cut takes back the newest units.
func (g *Log) cut(units uint64) {
	for units > 0 && g.Len() > 0 {
		i := len(g.runs) - 1
		n := g.runs[i].Sum - g.before(i-g.head)
		if n > units {
			g.runs[i].Sum -= units
			return
		}
		units -= n
		g.runs = g.runs[:i]
	}
}

// reduce takes units back from the run that ends at end, as far as it has them.
func (g *Log) reduce(end, units uint64) {
	i := g.head + g.after(end-1)
	if i >= len(g.runs) || g.runs[i].End != end {
		return
	}
	n := g.runs[i].Sum - g.before(i-g.head)
	if n <= units {
		g.remove(i)
		return
	}
	for ; i < len(g.runs); i++ {
		g.runs[i].Sum -= units
	}
}

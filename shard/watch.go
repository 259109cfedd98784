package shard

// What a core remembers of who is busy and who is denied, in bounded memory and
// without allocating: two sketches of the heaviest keys and a ring of the last denials.
//
// A sketch is the space-saving algorithm in small sets, so that an update looks at a
// few neighbours only. A key belongs to the set that its hash says. If it has a counter
// there, that goes up; if not, it takes over the smallest one and what that had counted,
// which is from then on the most by which its own count may be too high. All counts are
// halved once a minute, so a sketch tells of the last minutes.
//
// Every denial is counted. Of charges those are that come first in a minute, so that what
// somebody tries by hand is told as it was; when there have been many, one of some is
// looked at and stands for all of them, for more would cost more than a decision.
//
//	set 0   ┃ user:42 90 (0) ┃ ip:10.0.0.9 31 (4) ┃ … 8 counters
//	set 1   ┃ …

const (
	// WatchedKeyBytesMax is how much of a key is remembered.
	WatchedKeyBytesMax = 64
	// DenialsMax is how many denials a set of shards remembers.
	DenialsMax = 10_000
	// HalfLifeNanos is how often the counts of a sketch are halved.
	HalfLifeNanos = 60_000_000_000

	sketchSets = 32
	sketchWays = 8
	// HotExactMax is how many charges are all counted between two halvings: a thousand a
	// second.
	HotExactMax = 1 << 16
	// HotEvery is of how many charges one is looked at after that, on average. It is
	// picked at random, so that keys that come in turns are met alike.
	HotEvery = 16
)

// watch is all that a core remembers.
type watch struct {
	denied  sketch
	hot     sketch
	chance  uint64
	denials []Denial // a ring
	at      int      // where the next one goes
	count   uint64   // denials so far
	keep    int      // how many there may be
}

// watched is a key, as much of it as is remembered.
type watched struct {
	text   [WatchedKeyBytesMax]byte
	length uint32 // of the whole key
	series uint32
}

func (w *watched) set(op *Op) {
	w.length = uint32(copy(w.text[:], op.Key))
	if len(op.Key) > WatchedKeyBytesMax {
		w.length = uint32(len(op.Key))
	}
	w.series = seriesOf(op)
}

// Key is the key, cut where it is longer than is remembered.
func (w *watched) Key() []byte { return w.text[:min(w.length, WatchedKeyBytesMax)] }

// Cut says that there is more of the key.
func (w *watched) Cut() bool { return w.length > WatchedKeyBytesMax }

// Series is what the decision was counted under.
func (w *watched) Series() uint32 { return w.series }

// Heavy is a counter of a sketch.
type Heavy struct {
	watched
	hash  uint64
	Count uint64 // since the beginning, halved every minute
	Over  uint64 // by how much at most Count is too high
}

// Denial is one call that was denied.
type Denial struct {
	watched
	Time   uint64 // ns since 1970
	Cost   uint64
	Wait   int64 // ms until the call would pass; -1: never
	Client uint32
	Number uint64 // of the core's denials, from 1
}

type sketch struct {
	counters *[sketchSets][sketchWays]Heavy // nil: nothing was counted yet
	halve    uint64                         // when to do so next
	added    uint32                         // how often something was added since
	skip     uint32                         // how many are to be left out
}

// add counts n for the key of an operation.
func (s *sketch) add(now uint64, op *Op, n uint64) {
	if s.counters == nil {
		s.counters, s.halve = new([sketchSets][sketchWays]Heavy), now+HalfLifeNanos
	}
	s.age(now)
	s.added++
	set := &s.counters[op.hash%sketchSets]
	least := &set[0]
	for i := range set {
		h := &set[i]
		if h.hash == op.hash && h.Count > 0 {
			h.Count += n
			return
		}
		if h.Count < least.Count {
			least = h
		}
	}
	least.Over = least.Count
	least.Count += n
	least.hash = op.hash
	least.set(op)
}

// age halves what has been counted, once for every minute that has gone by.
func (s *sketch) age(now uint64) {
	if s.counters == nil || now < s.halve {
		return
	}
	times := min((now-s.halve)/HalfLifeNanos+1, 63)
	s.halve, s.added, s.skip = now+HalfLifeNanos, 0, 0
	for i := range s.counters {
		for j := range s.counters[i] {
			h := &s.counters[i][j]
			h.Count >>= times
			h.Over >>= times
		}
	}
}

// all calls f for every counter.
func (s *sketch) all(now uint64, f func(*Heavy)) {
	s.age(now)
	if s.counters == nil {
		return
	}
	for i := range s.counters {
		for j := range s.counters[i] {
			if h := &s.counters[i][j]; h.Count > 0 {
				f(h)
			}
		}
	}
}

// sawCharge counts a charge, or one of many for all of them.
func (w *watch) sawCharge(now uint64, op *Op) {
	if w.hot.skip > 0 {
		w.hot.skip--
		return
	}
	w.lookAt(now, op)
}

// lookAt is what sawCharge does for the charges that are not left out; by itself, so that
// leaving one out is no call.
func (w *watch) lookAt(now uint64, op *Op) {
	if w.hot.age(now); w.hot.added < HotExactMax {
		w.hot.add(now, op, 1)
		return
	}
	w.chance = w.chance*6364136223846793005 + 1442695040888963407
	w.hot.skip = uint32(w.chance>>33) % (2*HotEvery - 1)
	w.hot.add(now, op, HotEvery)
}

// sawDenial remembers a denial.
func (w *watch) sawDenial(now uint64, op *Op) {
	w.denied.add(now, op, 1)
	if w.keep == 0 {
		return
	}
	if w.denials == nil {
		w.denials = make([]Denial, w.keep)
	}
	w.count++
	d := &w.denials[w.at]
	d.set(op)
	d.Time, d.Cost, d.Wait, d.Client, d.Number = now, op.Call.Cost, op.Decision.RetryAfter, op.Client, w.count
	if w.at++; w.at == len(w.denials) {
		w.at = 0
	}
}

// Heaviest calls f for the keys that are denied most, or charged most; there may be
// a few hundred. Counts of charges are estimates where there were more than HotExactMax in
// a minute. What f is given is the core's own.
func (c *Core) Heaviest(now uint64, denied bool, f func(*Heavy)) {
	if denied {
		c.watch.denied.all(now, f)
	} else {
		c.watch.hot.all(now, f)
	}
}

// Denials calls f for the last denials, newest first, until it returns false.
func (c *Core) Denials(f func(*Denial) bool) {
	w := &c.watch
	for i := range w.denials {
		d := &w.denials[(w.at-1-i+2*len(w.denials))%len(w.denials)]
		if d.Number == 0 || !f(d) {
			return
		}
	}
}

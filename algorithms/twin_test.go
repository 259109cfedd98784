package algorithms

// The twins: a key as a keeper holds it and the oracle's key, asked the same
// questions. What they are asked is a history: a short random life of one key
// under a handful of limits. Histories are drawn to hit corners: they look at the
// state and the last answer, and step to the instants at which something changes.
//
// A history is drawn from two numbers, a seed and its number, and fails alone:
// what a failing test prints is the shortest part of it that still fails.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	lawCalls = flag.Int("laws.calls", 100_000, "calls that each law is tested with, for each algorithm")
	lawSeed  = flag.Uint64("laws.seed", 1, "seed of all random histories, 0 draws one")
)

const (
	startOfTests = 1_800_000_000 * uint64(second) // T0
	endOfTime    = 7_258_118_400 * uint64(second) // 2200-01-01
)

// key is what a keeper holds: a stored state with its log beside it.
type key struct{ stored Stored }

func newKey() *key { return &key{Stored{Log: new(Log)}} }

// ask answers one step, and frees the log when it is not needed any more.
func (k *key) ask(s step) (d Decision) {
	if s.peek {
		Peek(&s.call, &k.stored, &d)
		return d
	}
	Allow(&s.call, &k.stored, &d)
	switch l := k.stored.Limit; {
	case l == nil:
	case l.Algorithm == Concurrency && d.Allowed:
		k.stored.Log.Name("permit", d.Remaining)
	case !l.Logged():
		k.stored.Log.Reset()
	}
	return d
}

func (k *key) clone() *key {
	c := *k
	log := *k.stored.Log
	log.runs, log.ids = slices.Clone(log.runs), slices.Clone(log.ids)
	c.stored.Log = &log
	return &c
}

// String is all that a key remembers.
func (k *key) String() string {
	var b strings.Builder
	fmt.Fprint(&b, k.stored.Limit, k.stored.State, k.stored.FreshAt)
	k.stored.Log.Each(func(end, units uint64) { fmt.Fprint(&b, " ", end, ":", units) })
	return b.String()
}

// differs is an error where two keys do not remember the same.
func (k *key) differs(what string, want *key) error {
	a, b := k.stored, want.stored
	runs := a.Log.runs[a.Log.head:]
	same := (a.Limit == nil) == (b.Limit == nil) && (a.Limit == nil || *a.Limit == *b.Limit) &&
		a.State == b.State && a.FreshAt == b.FreshAt && len(runs) == b.Log.Len()
	for i := 0; same && i < len(runs); i++ {
		other := b.Log.runs[b.Log.head+i]
		same = runs[i].End == other.End && runs[i].Sum-a.Log.base == other.Sum-b.Log.base
	}
	if same {
		return nil
	}
	return fmt.Errorf("%s:\ngot  %v\nwant %v", what, k, want)
}

// settled is the instant at which a call at now is judged.
func (k *key) settled(now uint64) uint64 {
	if k.stored.Limit == nil {
		return now
	}
	return max(now, k.stored.State.At)
}

// step is one call of a history.
type step struct {
	call Call
	peek bool
}

// String writes a step as the contract does, with nanoseconds since 1970.
func (s step) String() string {
	l, verb := s.call.Limit, "allow"
	if s.peek {
		verb = "peek"
	}
	return fmt.Sprintf("@%d %s %s %d %dms %d burst %d align %d hash %d",
		s.call.Now, verb, l.Algorithm, l.Units, l.Window/millisecond, s.call.Cost, l.Burst, l.Align, s.call.KeyHash)
}

// twins asks the package and the oracle.
type twins struct {
	key    *key
	oracle oracle
}

func newTwins() *twins { return &twins{key: newKey()} }

// ask is the answer to a step, and an error where the twins differ.
func (w *twins) ask(s step) (Decision, error) {
	got := w.key.ask(s)
	want := w.oracle.decide(&s.call, !s.peek, &got)
	if got != want {
		return got, fmt.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Allowed && !s.peek {
		if fresh := w.oracle.freshAt(w.key.stored.FreshAt); fresh != w.key.stored.FreshAt {
			return got, fmt.Errorf("fresh at %d, want %d", w.key.stored.FreshAt, fresh)
		}
	}
	used := roundUp(w.oracle.used(w.oracle.settle(s.call.Now)))
	if got := Used(&w.key.stored, s.call.Now); whole(got).Cmp(used) != 0 {
		return Decision{}, fmt.Errorf("used %d, want %d", got, used)
	}
	return got, nil
}

// disagree asks all steps of a fresh key and returns the first difference.
func disagree(steps []step) error {
	w := newTwins()
	for _, s := range steps {
		if _, err := w.ask(s); err != nil {
			return err
		}
	}
	return nil
}

// shrink drops steps as long as the rest still fails.
func shrink(steps []step, fails func([]step) error) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(steps), i, i+1); fails(less) != nil {
			steps = less
		}
	}
	return steps
}

// transcript writes steps a line each.
func transcript(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// history is a random life of one key.
type history struct {
	*rand.Rand
	limits []*Limit
	now    uint64
	hash   uint64
	call   Call
	calls  int // how many the history has left
}

// histories runs f over random histories that begin under limits of a, until
// they have made -laws.calls calls. f returns an error for a broken law.
func histories(t *testing.T, a *Algorithm, f func(h *history) error) {
	t.Helper()
	seed := *lawSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for number, calls := uint64(0), 0; calls < *lawCalls; number++ {
		h := newHistory(seed, number, a)
		calls += h.calls
		if err := f(h); err != nil {
			t.Fatalf("-laws.seed=%d, history %d: %v", seed, number, err)
		}
	}
}

func newHistory(seed, number uint64, a *Algorithm) *history {
	return drawHistory(rand.New(rand.NewPCG(seed, number<<8|uint64(a.ID))), a)
}

func drawHistory(dice *rand.Rand, a *Algorithm) *history {
	h := &history{Rand: dice}
	h.hash = h.Uint64()
	h.calls = 1 + h.IntN(60)
	h.limits = []*Limit{h.limit(a.ID)}
	for range h.IntN(4) {
		switch id := a.ID; h.IntN(4) {
		case 0:
			id = h.kin(a.ID)
			fallthrough
		case 1:
			h.limits = append(h.limits, h.limit(id))
		default:
			h.limits = append(h.limits, h.sibling(h.limits[h.IntN(len(h.limits))]))
		}
	}
	h.call = Call{Limit: h.limits[0], KeyHash: h.hash}
	h.now = [...]uint64{0, 1, startOfTests, endOfTime - h.span(year), h.Uint64N(endOfTime)}[h.IntN(5)]
	return h
}

const (
	day  = 24 * 3600 * uint64(second)
	year = 365 * day
)

// span is a random number from 0 to most, small ones as likely as large ones.
func (h *history) span(most uint64) uint64 {
	n := h.Uint64() >> h.IntN(64)
	if most == 1<<64-1 {
		return n
	}
	return n % (most + 1)
}

func pick[T any](h *history, choices ...T) T { return choices[h.IntN(len(choices))] }

func (h *history) window() uint64 {
	return pick(h, 1, 2, 7, 1000, 1000, 7000, 13_000, 60_000, 3_600_000, 86_400_000,
		WindowMaxNanos/millisecond, 1+h.span(1_000_000), 1+h.span(WindowMaxNanos/millisecond-1)) * millisecond
}

func (h *history) units() uint64 {
	return pick(h, 1, 2, 3, 5, 10, 10, 100, 1000, 1500, 1_000_000, 1_000_000_001,
		UnitsMax, UnitsMax-1, 1+h.span(100), 1+h.span(UnitsMax-1))
}

// limit is a random limit of an algorithm.
func (h *history) limit(id ID) *Limit {
	return h.legal(Limit{
		Algorithm: id, Units: h.units(), Window: h.window(),
		Burst: pick(h, 0, 0, 1, 2, h.units(), h.units()), Align: Align(h.IntN(3)),
	})
}

// kin is an algorithm whose states convert into those of another.
func (h *history) kin(id ID) ID {
	if Of(id).Kind != Rate {
		return id // each is a kind of its own
	}
	return Rates()[h.IntN(len(Rates()))].ID
}

// sibling is a limit in which one thing is other than in l.
func (h *history) sibling(l *Limit) *Limit {
	s := *l
	switch h.IntN(6) {
	case 0:
		s.Units = pick(h, l.Units-1, l.Units+1, l.Units*2, 1+l.Units/2, h.units())
	case 1:
		s.Burst = pick(h, l.Burst-1, l.Burst+1, l.Burst*2, 1+l.Burst/2, h.units())
	case 2:
		s.Window = pick(h, l.Window-millisecond, l.Window+millisecond, l.Window*2, l.Window*3, h.window())
	case 3:
		s.Align = Align(h.IntN(3))
	case 4:
		s.Algorithm = h.kin(l.Algorithm)
	}
	return h.legal(s)
}

// legal is l with what is not legal replaced by what is.
func (h *history) legal(l Limit) *Limit {
	spec := Spec{
		Algorithm: l.Algorithm, Units: min(max(l.Units, 1), UnitsMax),
		Window: min(max(l.Window, millisecond), WindowMaxNanos),
	}
	o := Of(l.Algorithm).Options
	if o&OptionBurst != 0 {
		spec.Burst = min(l.Burst, UnitsMax)
	}
	if o&OptionAlign != 0 {
		spec.Align, spec.AlignSet = l.Align, true
	}
	for {
		l, err := NewLimit(spec, UnitsMax)
		if err == nil {
			return &l
		}
		spec.Burst /= 2 // it takes too long to fill
	}
}

// next draws a call for a key whose last answer was d.
func (h *history) next(k *key, d *Decision) step {
	if h.IntN(3) == 0 {
		h.call.Limit = h.limits[h.IntN(len(h.limits))]
	}
	h.now = min(h.instant(k, d), endOfTime)
	h.call.Now = h.now
	l := h.call.Limit
	var now Decision
	Peek(&Call{Limit: l, Now: h.now, KeyHash: h.hash}, &k.stored, &now)
	h.call.Cost = min(pick(h, 1, 1, 1, now.Remaining, now.Remaining, now.Remaining+1, 1+h.span(now.Remaining),
		1+h.span(l.Burst), l.Burst, l.Burst+1, UnitsMax), UnitsMax)
	s := step{call: h.call, peek: h.IntN(4) == 0}
	switch {
	case s.peek && h.IntN(4) == 0:
		s.call.Cost = 0
	case s.call.Cost == 0:
		s.call.Cost = 1
	}
	return s
}

// instant is when the next call comes. Most of the choices are instants at which
// the answer changes, and their neighbours.
func (h *history) instant(k *key, d *Decision) uint64 {
	st, base := &k.stored.State, k.settled(h.now)
	near := func(t uint64) uint64 { return t + pick[uint64](h, 0, 0, 1, 1<<64-1, millisecond, 1<<64-millisecond) }
	l := h.call.Limit
	if k.stored.Limit != nil {
		l = k.stored.Limit
	}
	switch h.IntN(12) {
	case 0, 1, 2:
		return h.now
	case 3:
		return base + 1
	case 4, 5:
		if d.RetryAfter > 0 {
			return near(base + uint64(d.RetryAfter)*millisecond)
		}
		return base + h.span(l.Window)
	case 6:
		return near(max(k.stored.FreshAt, base))
	case 7:
		return near(max(st.A, base)) // the end of a window, an end in a log; else in between
	case 8:
		return base + h.Uint64N(1+2*l.Window/max(l.Burst, 1))
	case 9:
		if end := k.someEnd(h); end > base {
			return near(end)
		}
		return base + h.span(l.Window)
	case 10:
		return base + h.span(2*l.Window)
	default:
		return base - h.span(min(base, 2*l.Window))
	}
}

// someEnd is an end in the key's log.
func (k *key) someEnd(h *history) (end uint64) {
	n := k.stored.Log.Len()
	if n == 0 {
		return 0
	}
	i := h.IntN(n)
	k.stored.Log.Each(func(e, _ uint64) {
		if i == 0 {
			end = e
		}
		i--
	})
	return end
}

// equal is an error where two answers differ.
func equal[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
}

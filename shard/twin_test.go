package shard

// The core's twin: a Go map from keys to what the algorithms package stores, asked
// one operation after the other. It knows no table, wheel, batch or hint, and a key
// whose time is over is simply not looked at any more.

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"sluice/algorithms"
)

type twin struct {
	*rand.Rand
	core *Core
	now  uint64
	keys map[string]*algorithms.Stored

	names  [][]byte
	limits []*algorithms.Limit
	ops    []Op // used again and again, as a connection does
	views  []View
	stats  Stats
	sweeps bool // whether anything is ever swept
	// forward says that the clock is never set back: what is over may still be on
	// disk and would be alive again.
	forward bool
}

const batchOpsMax = 200

func newTwin(r *rand.Rand, names int) *twin {
	w := &twin{Rand: r, now: start + r.Uint64N(second), keys: make(map[string]*algorithms.Stored), sweeps: true}
	w.core = NewCore(w.now)
	w.ops, w.views = make([]Op, batchOpsMax), make([]View, batchOpsMax)
	for n := range names {
		w.names = append(w.names, w.name(n))
	}
	for range 12 {
		w.limits = append(w.limits, w.limit())
	}
	return w
}

// name is a key of one of many lengths that no other key has.
func (w *twin) name(n int) []byte {
	length := 3 + w.IntN(30)
	switch w.IntN(20) {
	case 0:
		length = 3 + pick(w.Rand, 0, 60, 250, 251, 252, 253, 1000)
	case 1:
		if n%8 == 0 {
			length = KeyBytesMax - w.IntN(3)
		}
	case 2:
		if n == 0 {
			return []byte{}
		}
	}
	b := make([]byte, length)
	b[0], b[1], b[length-1] = byte(n), byte(n>>8), byte(n)
	return b
}

// limit is one of any algorithm, small enough to be used up and short enough to
// end, or as large as can be.
func (w *twin) limit() *algorithms.Limit {
	a := algorithms.Rates()[w.IntN(len(algorithms.Rates()))]
	s := algorithms.Spec{
		Algorithm: a.ID,
		Units:     1 + w.Uint64N(9),
		Window:    uint64(pick(w.Rand, 1, 7, 50, 1000, 10_000, 3_600_000)) * uint64(time.Millisecond),
	}
	switch w.IntN(12) {
	case 0:
		s.Units = 1 + w.Uint64N(1000)
	case 1:
		s.Window = algorithms.WindowMaxNanos
	}
	if a.Options&algorithms.OptionBurst != 0 && s.Window < second && w.IntN(2) == 0 {
		s.Burst = 1 + w.Uint64N(20)
	}
	if a.Options&algorithms.OptionAlign != 0 {
		s.Align = pick(w.Rand, algorithms.AlignEpoch, algorithms.AlignFirst, algorithms.AlignJitter)
	}
	return limitOf(s)
}

// stored is what the map has on a key that is not fresh, else nil.
func (w *twin) stored(key []byte) *algorithms.Stored {
	if k := w.keys[string(key)]; k != nil && k.FreshAt > w.now {
		return k
	}
	return nil
}

// decide answers an Allow or a Peek from the map.
func (w *twin) decide(op *Op) (d algorithms.Decision) {
	call := op.Call
	call.Now = w.now
	k := w.stored(op.Key)
	if k == nil {
		k = &algorithms.Stored{Log: new(algorithms.Log)}
	}
	if op.Kind != Allow {
		algorithms.Peek(&call, k, &d)
		return d
	}
	algorithms.Allow(&call, k, &d)
	if !d.Allowed {
		w.stats.Denied++
		return d
	}
	w.stats.Allowed++
	w.keys[string(op.Key)] = k
	if k.Limit.Algorithm != algorithms.SlidingLog {
		k.Log = new(algorithms.Log)
	}
	return d
}

// view is what Look shows of a key.
func (w *twin) view(k *algorithms.Stored) View {
	return View{
		Limit: *k.Limit, State: k.State, Used: algorithms.Used(k, w.now),
		Now: w.now, FreshAt: k.FreshAt, ResetAfter: algorithms.ResetAfter(k, w.now), Runs: k.Log.Len(),
	}
}

// sameView compares views, but for the word that the keeper of a log has for
// itself.
func sameView(got, want View) error {
	if got.Limit.Algorithm == algorithms.SlidingLog {
		got.State.C, want.State.C = 0, 0
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("view\ngot  %+v\nwant %+v", got, want)
	}
	return nil
}

// answer holds an answered operation against the map.
func (w *twin) answer(op *Op) error {
	if op.Full {
		return fmt.Errorf("no room")
	}
	k := w.stored(op.Key)
	switch op.Kind {
	case Allow, Peek, Try:
		if op.Unsaved && (op.Kind != Try || !op.Decision.Allowed) || op.Kind == Try && op.Decision.Allowed && !op.Unsaved {
			return fmt.Errorf("kind %d, allowed %v, unsaved %v", op.Kind, op.Decision.Allowed, op.Unsaved)
		}
		if want := w.decide(op); op.Decision != want {
			return fmt.Errorf("decision\ngot  %+v\nwant %+v", op.Decision, want)
		}
		return nil
	case Reset:
		delete(w.keys, string(op.Key))
	case Look:
		if op.View != nil && k != nil && op.Found {
			if err := sameView(*op.View, w.view(k)); err != nil {
				return err
			}
		}
	}
	if op.Found != (k != nil) {
		return fmt.Errorf("found %v, want %v", op.Found, k != nil)
	}
	return nil
}

// batch asks the core many questions at once, on few keys or on all, and the map
// one after the other.
func (w *twin) batch() error {
	names := w.names[:pick(w.Rand, 1, 3, len(w.names), len(w.names), len(w.names))]
	size := pick(w.Rand, 1, 1+w.IntN(5), 1+w.IntN(40), 1+w.IntN(batchOpsMax))
	spend := w.IntN(4) // how much of the batch spends
	var part []uint32
	for i := range w.ops {
		if w.IntN(batchOpsMax) >= size {
			continue // belongs to another shard
		}
		part = append(part, uint32(i))
		op := &w.ops[i]
		op.Key = names[w.IntN(len(names))]
		op.Kind, op.Unsaved = pick(w.Rand, Allow, Peek, Try, Reset, Look), false
		if w.IntN(4) < spend {
			op.Kind = Allow
		}
		op.Call = algorithms.Call{Limit: w.limits[w.IntN(len(w.limits))], Cost: 1 + w.Uint64N(3), KeyHash: keyHash(op.Key)}
		if w.IntN(30) == 0 {
			op.Call.Cost = op.Call.Limit.Burst + w.Uint64N(2)
		}
		if op.Kind == Peek {
			op.Call.Cost -= w.Uint64N(2)
		}
		op.View = pick(w.Rand, nil, &w.views[i])
	}
	others := snapshot(w.ops, part)
	w.core.Step(w.now, w.ops, part)
	for n, i := range part {
		op := &w.ops[i]
		if err := w.answer(op); err != nil {
			return fmt.Errorf("operation %d of %d, kind %d on %.20q (%d bytes): %w", n, len(part), op.Kind, op.Key, len(op.Key), err)
		}
	}
	return others.same(w.ops)
}

// untouched is a copy of the operations that are not of a part.
type untouched map[uint32]Op

func snapshot(ops []Op, part []uint32) untouched {
	u := make(untouched)
	for i, n := 0, 0; i < len(ops); i++ {
		if n < len(part) && part[n] == uint32(i) {
			n++
			continue
		}
		u[uint32(i)] = ops[i]
	}
	return u
}

func (u untouched) same(ops []Op) error {
	for i, was := range u {
		op := ops[i]
		if string(op.Key) != string(was.Key) || op.Call != was.Call || op.Decision != was.Decision ||
			op.Kind != was.Kind || op.Found != was.Found || op.View != was.View {
			return fmt.Errorf("operation %d is of another shard and was touched", i)
		}
	}
	return nil
}

// move turns the clock: not at all, by a moment, to where a key becomes fresh, or
// far on.
func (w *twin) move() {
	switch w.IntN(6) {
	case 0:
	case 1:
		w.now += w.Uint64N(1000)
	case 2, 3:
		w.now += w.Uint64() >> (24 + w.IntN(30))
	default:
		k := w.stored(w.names[w.IntN(len(w.names))])
		if k == nil || k.FreshAt-w.now > 100*year {
			return
		}
		w.now = k.FreshAt - w.Uint64N(2)
	}
}

// settled frees all that is over, in the core and in the map, and counts.
func (w *twin) settled() error {
	w.core.Settle(w.now)
	for key := range w.keys {
		if w.stored([]byte(key)) == nil {
			delete(w.keys, key)
		}
	}
	if w.core.Len() != len(w.keys) {
		return fmt.Errorf("%d keys after all was swept, want %d", w.core.Len(), len(w.keys))
	}
	return nil
}

// scan walks over the core in pieces and holds what it meets against the map.
func (w *twin) scan() error {
	met := make(map[string]View)
	n := 1 + w.IntN(100)
	for cursor := uint32(0); ; {
		cursor = w.core.Scan(w.now, cursor, n, func(key []byte, v View) { met[string(key)] = v })
		if cursor == 0 {
			break
		}
	}
	for _, name := range w.names {
		k := w.stored(name)
		v, in := met[string(name)]
		if in != (k != nil) {
			return fmt.Errorf("the scan met %.20q: %v, want %v", name, in, k != nil)
		}
		if in {
			delete(met, string(name))
			if err := sameView(v, w.view(k)); err != nil {
				return err
			}
		}
	}
	if len(met) > 0 {
		return fmt.Errorf("the scan met keys that nobody made, or one twice: %d", len(met))
	}
	return nil
}

// back sets the clock back. What was swept as over would be alive again then, so
// the map must forget it too.
func (w *twin) back() error {
	if err := w.settled(); err != nil {
		return err
	}
	w.now -= min(w.Uint64()>>(10+w.IntN(30)), w.now)
	if w.IntN(2) == 0 {
		w.core.Rewind(w.now)
	}
	return nil
}

// step is one random operation on the whole core.
func (w *twin) step() (what string, err error) {
	switch n := w.IntN(24); {
	case n < 15:
		return "batch", w.batch()
	case n < 19:
		w.move()
		return "move", nil
	case n < 20:
		return "scan", w.scan()
	case !w.sweeps:
		return "nothing", nil
	case n < 22:
		w.core.Tick(w.now, pick(w.Rand, 0, 1, 5, 1000))
		return "tick", nil
	case n < 23:
		return "settle", w.settled()
	case w.IntN(3) > 0 && !w.forward:
		return "back", w.back()
	case w.IntN(3) > 0:
		w.limits[w.IntN(len(w.limits))] = w.limit()
		return "another limit", nil
	default:
		w.core.Clear()
		clear(w.keys)
		return "clear", nil
	}
}

// run takes random steps and stops at the first difference.
func (w *twin) run(steps int) error {
	var before string
	for n := range steps {
		if w.now > start+500*year {
			return nil
		}
		what, err := w.step()
		if err == nil {
			err = w.core.verify()
		}
		if err == nil && (w.core.stats.Allowed != w.stats.Allowed || w.core.stats.Denied != w.stats.Denied) {
			err = fmt.Errorf("counted %+v, want %+v", w.core.Stats(), w.stats)
		}
		if err != nil {
			return fmt.Errorf("step %d, %s after %s: %w", n, what, before, err)
		}
		before = what
	}
	return nil
}

func TestCoreTwin(t *testing.T) {
	for round := range scaled(120) {
		r := newRand(t, uint64(round))
		w := newTwin(r, pick(r, 3, 30, 300))
		if err := w.run(150); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// What is over is over, whether anybody sweeps or not.
func TestC86CoreTwinWithoutSweeper(t *testing.T) {
	for round := range scaled(60) {
		r := newRand(t, 1000+uint64(round))
		w := newTwin(r, pick(r, 3, 30, 300))
		w.sweeps = false
		if err := w.run(150); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func FuzzCore(f *testing.F) {
	f.Add([]byte("a core that is asked what random numbers ask"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newTwin(rand.New(&tape{left: data}), 3)
		if err := w.run(len(data) / 16); err != nil {
			t.Fatal(err)
		}
	})
}

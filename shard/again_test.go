package shard

// Calls with ids, held against a naive twin: a map of what ids were answered, a map of
// what keys store, and every call done one after the other.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// told makes an answer of all that was decided.
type told struct{}

func (told) AppendAnswer(out []byte, ops []Op) []byte {
	for i := range ops {
		out = fmt.Appendf(out, "%v;", ops[i].Decision)
	}
	return out
}

// tagOf is a hash that Route sends to a shard of its own for each first byte.
func tagOf(name []byte) uint64 { return uint64(name[len(name)-1]) * 0x9E3779B97F4A7C15 }

// oneCall is a call of some keys, with or without an id.
type oneCall struct {
	id       string // "": none
	question byte
	ttl      uint64
	keys     []string
	costs    []uint64
}

// rememberTwin is what a set should be.
type rememberTwin struct {
	*rand.Rand
	limits []*algorithms.Limit
	keys   map[string]*algorithms.Stored
	ids    map[string]rememberedCall
}

type rememberedCall struct {
	question byte
	key      string
	answer   []byte
	deadline uint64
}

func newRememberTwin(r *rand.Rand) *rememberTwin {
	return &rememberTwin{Rand: r, keys: make(map[string]*algorithms.Stored), ids: make(map[string]rememberedCall), limits: []*algorithms.Limit{
		newLimit(algorithms.TokenBucket, 6, 3*time.Second), newLimit(algorithms.FixedWindow, 5, 2*time.Second),
		newLimit(algorithms.SlidingCounter, 4, time.Second), newLimit(algorithms.LeakyBucket, 3, time.Minute),
	}}
}

func (w *rememberTwin) limitOf(key string) *algorithms.Limit {
	return w.limits[int(key[len(key)-1])%len(w.limits)]
}

// call is a random one.
func (w *rememberTwin) call() oneCall {
	c := oneCall{ttl: second * (1 + w.Uint64N(3)), question: byte(pick(w.Rand, 0, 0, 0, 0, 1))}
	if w.IntN(4) > 0 {
		c.id = fmt.Sprint("id", w.IntN(30))
	}
	for _, k := range w.Perm(12)[:pick(w.Rand, 1, 1, 1, 2, 5)] {
		c.keys = append(c.keys, fmt.Sprint("key", string(rune('a'+k))))
		c.costs = append(c.costs, 1+w.Uint64N(3))
	}
	return c
}

// add puts a call into a batch and returns what it says of its id.
func (c *oneCall) add(w *rememberTwin, b *Batch) *Again {
	for i, key := range c.keys {
		op := b.Add(tagOf([]byte(key)))
		op.Kind, op.Key, op.Call = Allow, []byte(key), algorithms.Call{Limit: w.limitOf(key), Cost: c.costs[i]}
	}
	if len(c.keys) > 1 {
		b.Join(len(c.keys))
	}
	if c.id == "" {
		return nil
	}
	a := &Again{Name: []byte(c.id), Key: []byte(c.keys[0]), TTL: c.ttl}
	a.Question[7] = c.question
	b.Answers = told{}
	b.Remember(len(c.keys), a, tagOf(a.Name))
	return a
}

// expect does a call. answer is nil where it was not remembered.
func (w *rememberTwin) expect(now uint64, c *oneCall) (answer []byte, decisions []algorithms.Decision, trouble AgainTrouble) {
	if known, ok := w.ids[c.id]; ok && c.id != "" && known.deadline > now {
		if known.question != c.question || known.key != c.keys[0] {
			return nil, nil, OtherQuestion
		}
		return known.answer, nil, 0
	}
	decide := func(how func(*algorithms.Call, *algorithms.Stored, *algorithms.Decision)) (all bool) {
		all, decisions = true, nil
		for i, key := range c.keys {
			k := w.keys[key]
			if k == nil || k.FreshAt <= now {
				k = &algorithms.Stored{}
				w.keys[key] = k
			}
			var d algorithms.Decision
			how(&algorithms.Call{Limit: w.limitOf(key), Cost: c.costs[i], Now: now}, k, &d)
			decisions, all = append(decisions, d), all && d.Allowed
		}
		return all
	}
	if !decide(algorithms.Peek) {
		return nil, decisions, 0
	}
	decide(algorithms.Allow)
	if c.id == "" {
		return nil, decisions, 0
	}
	for i := range decisions {
		answer = fmt.Appendf(answer, "%v;", decisions[i])
	}
	w.ids[c.id] = rememberedCall{c.question, c.keys[0], answer, now + c.ttl}
	return answer, decisions, 0
}

// check compares what became of a call with what should have.
func (w *rememberTwin) check(t *testing.T, now uint64, c *oneCall, a *Again, ops []Op) {
	t.Helper()
	answer, decisions, trouble := w.expect(now, c)
	if a != nil && (a.Trouble != trouble || !bytes.Equal(a.Answer, answer) || a.Unsaved) {
		t.Fatalf("%+v: %q, trouble %d, want %q, %d", c, a.Answer, a.Trouble, answer, trouble)
	}
	for i := range decisions {
		if ops[i].Decision != decisions[i] || ops[i].Refused() {
			t.Fatalf("%+v, key %d: %+v, want %+v", c, i, ops[i].Decision, decisions[i])
		}
	}
}

// restarted is a set made of a snapshot of another, or of what its journal was given.
func restarted(t *testing.T, set *Set, shards int, clock Clock, journal *memory, always bool) *Set {
	t.Helper()
	var records []byte
	if journal != nil {
		if !set.Flush() {
			t.Fatal("not flushed")
		}
		records = bytes.Clone(journal.records)
	} else if err := set.Export(func(_ uint64, some []byte) error {
		records = append(records, some...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	next := newTestSet(t, shards, 4, clock)
	r := next.Restore(tagOf)
	for len(records) > 0 {
		var one persistence.Record
		one, records, _ = persistence.CutRecord(records)
		if err := r.Do([]persistence.Record{one}); err != nil {
			t.Fatal(err)
		}
	}
	r.End()
	if journal != nil {
		next.Journal(journal, always)
	}
	return next
}

// forgotten says what is wrong with the ids that a set keeps: all that are known, once,
// and few others.
func (w *rememberTwin) forgotten(set *Set, now uint64) (err error) {
	kept := 0
	set.Each(func(_ int, c *Core, _ uint64) {
		if e := c.ids.verify(); e != nil {
			err = e
		}
		kept += c.ids.count()
	})
	for name, id := range w.ids {
		if id.deadline+2<<tickBits <= now {
			delete(w.ids, name)
		}
	}
	if err == nil && kept > len(w.ids) {
		err = fmt.Errorf("%d ids are kept, %d could be known", kept, len(w.ids))
	}
	return err
}

func TestAgainTwin(t *testing.T) {
	for round := range scaled(60) {
		r := newRand(t, 7000+uint64(round))
		w, clock, shards := newRememberTwin(r), newStanding(), 1+r.IntN(4)
		set := newTestSet(t, shards, 4, clock)
		journal, always := new(memory), r.IntN(2) == 0
		if r.IntN(3) > 0 {
			set.Journal(journal, always)
		} else {
			journal = nil
		}
		b := NewBatch(shards)
		for range 60 {
			clock.now.Add(r.Uint64N(second))
			if r.IntN(10) == 0 {
				set = restarted(t, set, shards, clock, journal, always)
			}
			b.Clear()
			var calls []oneCall
			var agains []*Again
			for range 1 + r.IntN(40) {
				c := w.call()
				calls, agains = append(calls, c), append(agains, c.add(w, b))
			}
			if r.IntN(8) == 0 { // as a transaction does
				set.Hold(w.Perm(shards), func(h *Held) { h.Do(b) })
			} else {
				set.Run(b)
			}
			rest := b.Ops
			for i := range calls {
				w.check(t, clock.now.Load(), &calls[i], agains[i], rest)
				rest = rest[len(calls[i].keys):]
			}
			for n := range shards {
				set.Hold([]int{n}, func(h *Held) { h.DueID(n) })
			}
			if err := w.forgotten(set, clock.now.Load()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// However many send the same calls at once, each id is charged once, and all of them are
// told the same.
func TestAgainOfManyAtOnce(t *testing.T) {
	const senders, ids, units = 4, 400, 3
	clock := newStanding()
	set := newTestSet(t, 3, 4, clock)
	limit := newLimit(algorithms.FixedWindow, 1_000_000, time.Hour)
	answers := make([][]string, senders)
	var all sync.WaitGroup
	for n := range answers {
		answers[n] = make([]string, ids)
		order := newRand(t, uint64(n)).Perm(ids)
		all.Go(func() {
			b, agains := NewBatch(3), make([]Again, 20)
			b.Answers = told{}
			for ; len(order) > 0; order = order[len(agains):] {
				for i, id := range order[:len(agains)] {
					key := fmt.Appendf(nil, "key%c", 'a'+id%7)
					op := b.Add(tagOf(key))
					op.Kind, op.Key, op.Call = Allow, key, algorithms.Call{Limit: limit, Cost: units}
					agains[i] = Again{Name: fmt.Appendf(nil, "id%d", id), Key: key, TTL: 3600 * second}
					b.Remember(1, &agains[i], tagOf(agains[i].Name))
				}
				set.Run(b)
				for i, id := range order[:len(agains)] {
					answers[n][id] = string(agains[i].Answer)
				}
				b.Clear()
				b.Answers = told{}
			}
		})
	}
	all.Wait()
	for n := range answers {
		for id, answer := range answers[n] {
			if answer == "" || answer != answers[0][id] {
				t.Fatalf("id %d: %q, and %q", id, answer, answers[0][id])
			}
		}
	}
	used := uint64(0)
	set.Each(func(_ int, c *Core, now uint64) {
		c.Scan(now, 0, 1000, func(_ []byte, v View) { used += v.Used })
	})
	if used != ids*units {
		t.Errorf("%d units are used, want %d", used, ids*units)
	}
}

// Whatever else the shards owe, and however much a batch comes to, each id lies in one
// submission with what it has charged, or with something later of the same key.
func TestAgainIsOnePiece(t *testing.T) {
	for _, always := range []bool{false, true} {
		set, journal := newTestSet(t, 2, 4, newStanding()), new(parted)
		set.Journal(journal, always)
		limit := newLimit(algorithms.FixedWindow, 1_000_000, time.Hour)
		b := NewBatch(2)
		calls := 0
		for _, names := range []int{10, 100, 1000} {
			for i := range 9000 { // more than goes into one frame
				op := b.Add(uint64(i) << 63)
				op.Kind, op.Key, op.Call = Allow, fmt.Appendf(nil, "%d others%030d", names, i), algorithms.Call{Limit: limit, Cost: 1}
			}
			set.Run(b)
			b.Clear()
			b.Answers = told{}
			for i := range names {
				calls++
				key := fmt.Appendf(nil, "key%0*d", 1+i%100, i)
				op := b.Add(uint64(i) << 63)
				op.Kind, op.Key, op.Call = Allow, key, algorithms.Call{Limit: limit, Cost: 1}
				b.Remember(1, &Again{Name: fmt.Appendf(nil, "id%d", calls), Key: key, TTL: 3600 * second}, uint64(i/2)<<63)
			}
			set.Run(b)
			b.Clear()
		}
		set.Flush()
		found := 0
		for _, part := range journal.parts {
			here := make(map[string]bool)
			for rest := part; len(rest) > 0; {
				var r persistence.Record
				if r, rest, _ = persistence.CutRecord(rest); r.Kind == RecordKey {
					here[string(r.Key)] = true
				}
			}
			for rest := part; len(rest) > 0; {
				var r persistence.Record
				if r, rest, _ = persistence.CutRecord(rest); r.Kind != RecordID {
					continue
				}
				if id, err := parseID(r.Key, r.Value); err != nil || !here[string(id.Key)] {
					t.Fatalf("always %v: %s is there without what it charged, %v", always, r.Key, err)
				}
				found++
			}
		}
		if found != calls {
			t.Errorf("always %v: %d ids, want %d", always, found, calls)
		}
	}
}

// Where what is answered must be durable, a grant of before that is told again must be too:
// who asks again while the first call waits for the disk waits as well, and is told when
// that fails.
func TestAgainWaitsForTheDisk(t *testing.T) {
	limit, permits := newLimit(algorithms.FixedWindow, 10, time.Hour), newLimit(algorithms.Concurrency, 3, time.Hour)
	for name, ask := range map[string]func(b *Batch, op *Op){
		"id": func(b *Batch, op *Op) {
			op.Kind, op.Call.Limit = Allow, limit
			b.Answers = told{}
			b.Remember(1, &Again{Name: []byte("id"), Key: []byte("k"), TTL: second}, 1<<63)
		},
		"permit": func(_ *Batch, op *Op) { op.Kind, op.Call.Limit, op.ID = Allow, permits, "job" },
		"report": func(_ *Batch, op *Op) {
			op.Kind = Report
			op.Leasing = &Leasing{Holder: []byte("gateway"), Seq: 7, Start: start / nanosPerMilli, Spent: algorithms.Amount{Whole: 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, journal := newTestSet(t, 2, 4, newStanding()), new(memory)
			set.Journal(journal, true)
			journal.hold = true
			// send asks, and returns when the answer waits for the disk or is there.
			send := func() (op *Op, done chan struct{}) {
				b := NewBatch(2)
				op, done = b.Add(0), make(chan struct{})
				op.Key, op.Call.Cost = []byte("k"), 1
				ask(b, op)
				go func() {
					set.Run(b)
					close(done)
				}()
				for n := 0; n < 1; yield() {
					journal.Lock()
					n = len(journal.waiting)
					journal.Unlock()
					select {
					case <-done:
						return op, done
					default:
					}
				}
				return op, done
			}
			first, done := send()
			journal.Lock()
			failed := journal.waiting
			journal.waiting = nil
			journal.Unlock()
			if len(failed) != 1 {
				t.Fatal("the first call was answered before it was durable")
			}
			again, doneAgain := send()
			select {
			case <-doneAgain:
				t.Error("what may not be durable was told again")
			default:
			}
			failed[0](nil)
			journal.end(persistence.ErrLost)
			<-done
			<-doneAgain
			if unsaved(first) || !unsaved(again) {
				t.Errorf("unsaved %v, and again %v", unsaved(first), unsaved(again))
			}
			if a := first.Again; a != nil && !bytes.Equal(a.Answer, again.Again.Answer) {
				t.Errorf("%q, and again %q", a.Answer, again.Again.Answer)
			}
		})
	}
}

func unsaved(op *Op) bool { return op.Unsaved || op.Again != nil && op.Again.Unsaved }

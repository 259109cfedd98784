package shard

// The goroutines around the cores: ownership, batches over several shards, the
// journal's turn, sweeping, the end.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/algorithms"
)

// standing is a clock that stands still. Who reads it lets others run now and
// then, in the middle of owning a shard.
type standing struct {
	now   atomic.Uint64
	reads atomic.Uint64
}

func newStanding() *standing {
	c := new(standing)
	c.now.Store(start)
	return c
}

func (c *standing) Now() uint64 {
	if c.reads.Add(1)%3 == 0 {
		runtime.Gosched()
	}
	return c.now.Load()
}

// newTestSet is a set whose inboxes hold only so many parts.
func newTestSet(t testing.TB, shards, inbox int, clock Clock) *Set {
	set := &Set{}
	for range shards {
		s := newShard(clock)
		s.inbox = make(chan job, inbox)
		set.shards = append(set.shards, s)
		set.group.Go(s.loop)
	}
	t.Cleanup(func() {
		set.Close()
		for n, s := range set.shards {
			if err := s.core.verify(); err != nil {
				t.Errorf("shard %d: %v", n, err)
			}
			if s.owner.Load() != free || len(s.inbox) != 0 || len(s.handover) != 0 {
				t.Errorf("shard %d ends in state %d, %d parts in its inbox, %d tokens", n, s.owner.Load(), len(s.inbox), len(s.handover))
			}
		}
	})
	return set
}

// sets are the shapes that every test of many goroutines runs over.
var sets = []struct{ shards, inbox int }{{1, 1}, {1, 1024}, {2, 1}, {3, 2}, {8, 1}}

func overSets(t *testing.T, f func(t *testing.T, set *Set)) {
	for _, shape := range sets {
		t.Run(fmt.Sprintf("shards=%d,inbox=%d", shape.shards, shape.inbox), func(t *testing.T) {
			f(t, newTestSet(t, shape.shards, shape.inbox, newStanding()))
		})
	}
}

// add puts one question into a batch.
func (b *Batch) add(kind Kind, key string, l *algorithms.Limit, cost uint64) *Op {
	op := b.Add(spread(key))
	op.Kind, op.Key = kind, []byte(key)
	op.Call = algorithms.Call{Limit: l, Cost: cost, KeyHash: keyHash(op.Key)}
	return op
}

// spread stands for the xxhash64 of a key's tag: FNV's high bits are poor.
func spread(key string) uint64 { return keyHash([]byte(key)) * 0x9e3779b97f4a7c15 }

// A hot key: 256 connections, a limit of 1000, and exactly 1000 pass.
func TestG22HotKey(t *testing.T) {
	const callers, limit = 256, 1000
	calls := scaled(1_000_000) / callers
	for _, shape := range []struct{ shards, inbox, batch int }{{1, 1024, 1}, {2, 1, 1}, {2, 1024, 16}} {
		t.Run(fmt.Sprintf("shards=%d,inbox=%d,batch=%d", shape.shards, shape.inbox, shape.batch), func(t *testing.T) {
			set := newTestSet(t, shape.shards, shape.inbox, newStanding())
			l := newLimit(algorithms.FixedWindow, limit, time.Hour)
			var passed, others atomic.Int64
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					b := NewBatch(shape.shards)
					mine := fmt.Sprint("own ", caller)
					for n := 0; n < calls; n += shape.batch {
						b.Clear()
						for range shape.batch {
							b.add(Allow, "hot", l, 1)
						}
						b.add(Allow, mine, l, 1)
						set.Run(b)
						for i := range b.Ops {
							switch {
							case !b.Ops[i].Decision.Allowed:
							case string(b.Ops[i].Key) == mine:
								others.Add(1)
							default:
								passed.Add(1)
							}
						}
					}
				})
			}
			group.Wait()
			each := (calls + shape.batch - 1) / shape.batch
			if passed.Load() != limit || others.Load() != int64(callers*min(limit, each)) {
				t.Errorf("%d of %d calls passed, want %d; %d on keys of their own, want %d", passed.Load(), callers*calls, limit, others.Load(), callers*min(limit, each))
			}
		})
	}
}

// A batch's operations on one key are done in one go: whoever resets it and spends
// sees only himself, though all use the same keys.
func TestBatchesDoNotInterleave(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		l := newLimit(algorithms.TokenBucket, 1000, time.Hour)
		keys := []string{"a", "b", "c", "d"}
		var group sync.WaitGroup
		for caller := range 16 {
			group.Go(func() {
				b := NewBatch(set.Len())
				for n := range scaled(400) {
					b.Clear()
					spends := 1 + (caller+n)%7
					for _, key := range keys {
						b.add(Reset, key, nil, 0)
					}
					for range spends {
						for _, key := range keys {
							b.add(Allow, key, l, 1)
						}
					}
					set.Run(b)
					for i := len(keys); i < len(b.Ops); i++ {
						want := uint64(1000 - i/len(keys))
						if d := &b.Ops[i].Decision; !d.Allowed || d.Remaining != want {
							t.Errorf("caller %d, round %d, operation %d: %+v, want %d to remain", caller, n, i, *d, want)
							return
						}
					}
				}
			})
		}
		group.Wait()
	})
}

// Every caller has keys of his own and a map that tells their answers; around him
// others do the same, and somebody looks at all of it all the time.
func TestSetTwin(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		var group, lookers sync.WaitGroup
		var stop atomic.Bool
		for looker := range 2 {
			lookers.Go(func() {
				for !stop.Load() {
					look(t, set)
					set.On(looker%set.Len(), func(c *Core, now uint64) { c.Settle(now) })
				}
			})
		}
		r := newRand(t, 7)
		for caller := range 12 {
			mine := rand.New(rand.NewPCG(r.Uint64(), 0))
			group.Go(func() {
				if err := runTwin(set, mine, fmt.Sprint(caller, " "), scaled(300)); err != nil {
					t.Errorf("caller %d: %v", caller, err)
				}
			})
		}
		group.Wait()
		stop.Store(true)
		lookers.Wait()
	})
}

// runTwin asks random questions under names that begin with prefix and compares.
func runTwin(set *Set, r *rand.Rand, prefix string, batches int) error {
	model := newTwin(r, 40) // of its core nothing is used
	model.now = start
	for i, name := range model.names {
		model.names[i] = append([]byte(prefix), name...)
	}
	b := NewBatch(set.Len())
	for n := range batches {
		b.Clear()
		for range 1 + r.IntN(50) {
			key := model.names[r.IntN(len(model.names))]
			l := model.limits[r.IntN(len(model.limits))]
			op := b.add(pick(r, Allow, Allow, Allow, Peek, Look, Reset), string(key), l, 1+r.Uint64N(3))
			if r.IntN(20) == 0 {
				b.Truncate(len(b.Ops) - 1)
			} else if op.Kind == Look {
				op.View = new(View)
			}
		}
		set.Run(b)
		for i := range b.Ops {
			if err := model.answer(&b.Ops[i]); err != nil {
				return fmt.Errorf("batch %d, operation %d: %w", n, i, err)
			}
		}
	}
	return nil
}

// look walks over all cores while others work.
func look(t *testing.T, set *Set) {
	met := 0
	for n := range set.Len() {
		for cursor, more := uint32(0), true; more; more = cursor != 0 {
			set.On(n, func(c *Core, now uint64) {
				cursor = c.Scan(now, cursor, 50, func(key []byte, v View) {
					met++
					if Route(spread(string(key)), set.Len()) != n {
						t.Errorf("%q lives on shard %d", key, n)
					}
				})
			})
		}
	}
	cores := 0
	set.Each(func(n int, c *Core, _ uint64) {
		if n != cores {
			t.Errorf("shard %d comes as number %d", n, cores)
		}
		cores++
	})
	if cores != set.Len() {
		t.Errorf("%d cores of %d", cores, set.Len())
	}
}

// Only one goroutine at a time has a core, whether it is lent, owned or handed
// over: what is counted without any care is counted right.
func TestOneOwnerAtATime(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		count := make([]int, set.Len()) // as unprotected as the cores are
		l := newLimit(algorithms.FixedWindow, 1<<40, time.Hour)
		var group sync.WaitGroup
		each := scaled(2000)
		for caller := range 8 {
			group.Go(func() {
				b := NewBatch(set.Len())
				for n := range each {
					if (n+caller)%2 == 0 {
						b.Clear()
						b.add(Allow, fmt.Sprint(n%50), l, 1)
						set.Run(b)
					}
					set.On((n+caller)%set.Len(), func(*Core, uint64) {
						before := count[(n+caller)%set.Len()]
						if n%16 == 0 {
							runtime.Gosched()
						}
						count[(n+caller)%set.Len()] = before + 1
					})
				}
			})
		}
		group.Wait()
		sum := 0
		set.Each(func(n int, _ *Core, _ uint64) { sum += count[n] })
		if sum != 8*each {
			t.Errorf("counted to %d, want %d", sum, 8*each)
		}
	})
}

// bubble is the clock of a synctest bubble.
type bubble struct{ reads atomic.Uint64 }

func (b *bubble) Now() uint64 {
	b.reads.Add(1)
	return uint64(time.Now().UnixNano())
}

// wait lets the bubble's time pass.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Nobody has to ask for a key to be freed: the shard's own goroutine does it, soon
// after the time has come and without looking all the time.
func TestSweepRunsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(bubble)
		set := NewSet(2, clock)
		defer set.Close()
		keys := func() (n int) {
			set.Each(func(_ int, c *Core, _ uint64) { n += c.Len() })
			return n
		}
		wait(time.Minute) // it is used to there being nothing to do
		b := NewBatch(2)
		for i := range 10_000 {
			b.add(Allow, fmt.Sprint("ten ", i), newLimit(algorithms.TokenBucket, 1, 10*time.Second), 1)
			b.add(Allow, fmt.Sprint("hour ", i), newLimit(algorithms.TokenBucket, 1, time.Hour), 1)
		}
		set.Run(b)
		wait(10 * time.Second)
		if n := keys(); n != 20_000 {
			t.Errorf("%d keys after ten seconds: those within their grace should still be there", n)
		}
		wait(SweepGraceNanos + sweepIntervalMax + 50*time.Millisecond)
		if n := keys(); n != 10_000 {
			t.Errorf("%d keys when those for ten seconds should be gone", n)
		}
		before := clock.reads.Load()
		wait(50 * time.Minute)
		// Two shards that look once a second, and their walk down the wheel's levels.
		if reads := clock.reads.Load() - before; reads > 2*50*60+1000 {
			t.Errorf("the clock was read %d times while nothing happened", reads)
		}
		if n := keys(); n != 10_000 {
			t.Errorf("%d keys before their hour is over", n)
		}
		wait(10 * time.Minute)
		if n := keys(); n != 0 {
			t.Errorf("%d keys after an hour and a bit", n)
		}
	})
}

// Batches free what is over while they are at it; without them the shard's own
// goroutine, which does not get to run here, would have to do it all.
func TestBatchesSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStanding()
		set := newTestSet(t, 1, 4, clock)
		b := NewBatch(1)
		for i := range 1000 {
			b.add(Allow, fmt.Sprint(i), newLimit(algorithms.TokenBucket, 1, 100*time.Millisecond), 1)
		}
		set.Run(b)
		clock.now.Add(second)
		for range 1000 / SweepEntriesMin {
			b.Clear()
			b.add(Look, "k", nil, 0)
			set.Run(b)
		}
		set.On(0, func(c *Core, _ uint64) {
			if c.Len() != 0 {
				t.Errorf("%d of 1000 keys are left after 1000/SweepEntriesMin looks", c.Len())
			}
		})
	})
}

// However much is due at once, nobody has the shard for longer than a bounded number of
// entries takes: a part frees so many and so many for each key that it makes, a turn of
// the shard's goroutine so many, and all is freed in the end.
func TestSweepIsBounded(t *testing.T) {
	const keys = 5000
	clock := newStanding()
	s := &Shard{core: NewCore(start), clock: clock, inbox: make(chan job)}
	freed := func(f func()) uint64 {
		before := s.core.Stats().Expired
		f()
		return s.core.Stats().Expired - before
	}
	l, b := newLimit(algorithms.TokenBucket, 1, 100*time.Millisecond), NewBatch(1)
	part := func(from, n int) func() {
		b.Clear()
		for i := range n {
			b.add(Allow, fmt.Sprint(from+i), l, 1)
		}
		return func() { s.step(b, 0) }
	}
	for i := 0; i < keys; i += 500 {
		part(i, 500)()
	}
	clock.now.Add(second)
	if n := freed(part(keys, 1)); n > SweepEntriesMin+SweepEntriesPerKey || n == 0 {
		t.Errorf("a call that makes a key frees %d", n)
	}
	if n := freed(part(keys, 1)); n > SweepEntriesMin || n == 0 {
		t.Errorf("a call that makes none frees %d", n)
	}
	if n := freed(part(keys+1, 500)); n > SweepEntriesMin+500*SweepEntriesPerKey || n < 500 {
		t.Errorf("calls that make 500 keys free %d", n)
	}
	turns := 0
	for more := true; more; turns++ {
		if n := freed(func() { more = s.sweep() == sweepPause }); n > SweepEntriesMax {
			t.Fatalf("a turn frees %d", n)
		}
	}
	if left := s.core.Len(); left != 501 || turns < (keys-2000)/SweepEntriesMax {
		t.Errorf("%d keys are left after %d turns", left, turns)
	}
	must(t, s.core)
}

// What changes is handed to the journal within FlushInterval, once.
func TestFlushRunsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, journal := newTestSet(t, 1, 4, new(bubble)), new(memory)
		set.Journal(journal, false)
		l := newLimit(algorithms.TokenBucket, 100_000, time.Hour)
		for round := range 4 {
			b := NewBatch(1)
			for range 100 {
				b.add(Allow, "k", l, 1)
				set.Run(b)
				b.Clear()
			}
			wait(FlushInterval)
			journal.Lock()
			if journal.submits != round+1 {
				t.Errorf("round %d: %d submits", round, journal.submits)
			}
			journal.Unlock()
		}
		wait(time.Minute)
		if journal.submits != 4 {
			t.Errorf("%d submits while nothing changed", journal.submits-4)
		}
	})
}

// Close ends all goroutines, also when a sweep is far behind. That none is left is
// checked for the whole package.
func TestClose(t *testing.T) {
	for range 50 {
		set := NewSet(4, newStanding())
		b := NewBatch(4)
		b.add(Allow, "k", newLimit(algorithms.GCRA, 1, time.Second), 1)
		set.Run(b)
		set.Close()
	}
}

// A panic while a shard is lent ends the process, even if somebody recovers: the
// core may be half changed, and nobody would ever give it back.
func TestPanicEndsTheProcess(t *testing.T) {
	const variable = "SLUICE_TEST_PANIC"
	how := map[string]func(set *Set){
		"on": func(set *Set) { set.On(0, func(*Core, uint64) { panic("a mistake") }) },
		"run": func(set *Set) {
			b := NewBatch(1)
			b.add(Allow, "k", nil, 1) // a limit is missing
			set.Run(b)
		},
	}
	if f := how[os.Getenv(variable)]; f != nil {
		set := NewSet(1, newStanding())
		func() {
			defer func() { _ = recover() }()
			f(set)
		}()
		fmt.Println("went on")
		os.Exit(0)
	}
	for name := range how {
		c := exec.Command(os.Args[0], "-test.run=^TestPanicEndsTheProcess$")
		c.Env = append(os.Environ(), variable+"="+name)
		out, err := c.CombinedOutput()
		if err == nil || strings.Contains(string(out), "went on") || !strings.Contains(string(out), "while a shard was lent") || !strings.Contains(string(out), "loop_test.go") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Who leaves his goroutine while a shard is lent to him, as t.Fatal does, gives it
// back.
func TestExitGivesBack(t *testing.T) {
	set := newTestSet(t, 1, 1, newStanding())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		set.On(0, func(*Core, uint64) { runtime.Goexit() })
	}()
	<-gone
	set.On(0, func(*Core, uint64) {})
}

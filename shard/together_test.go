package shard

// Groups of operations: the short way and the long one give the same answers and leave
// the same states, and bounds hold for a group as for single calls.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/algorithms"
)

// groupLimits are limits of all kinds, of which some are soon used up.
func groupLimits() (limits []*algorithms.Limit) {
	for _, id := range []algorithms.ID{algorithms.TokenBucket, algorithms.LeakyBucket, algorithms.FixedWindow, algorithms.SlidingCounter, algorithms.SlidingLog} {
		limits = append(limits, newLimit(id, 5, 10*time.Second), newLimit(id, 50, time.Minute))
	}
	return append(limits, newLimit(algorithms.Budget, 20, time.Minute), newLimit(algorithms.Concurrency, 3, 20*time.Second))
}

// randomGroup makes a group on different keys of a few.
func randomGroup(r *rand.Rand, limits []*algorithms.Limit, step int) (ops []Op, part []uint32) {
	names := r.Perm(20)[:1+r.IntN(10)]
	kind := pick(r, Allow, Allow, Allow, Allow, Peek, Try)
	for i, n := range names {
		op := Op{Kind: kind, Shadow: r.IntN(6) == 0, Free: kind == Allow && r.IntN(8) == 0}
		op.Call.Limit = limits[(n+r.IntN(12)/10)%len(limits)]
		op.Call.Cost = uint64(1 + r.IntN(3))
		if op.Call.Limit.Algorithm == algorithms.Concurrency {
			op.ID = fmt.Sprint("p", step-r.IntN(2))
		}
		op.Key = fmt.Appendf(nil, "key:%d", n)
		op.Call.KeyHash = keyHash(op.Key)
		ops, part = append(ops, op), append(part, uint32(i))
	}
	ops[0].Join = uint16(len(ops))
	return ops, part
}

func TestGroupsTheShortWay(t *testing.T) {
	limits := groupLimits()
	for seed := range uint64(20) {
		r := newRand(t, 900+seed)
		short, long := NewCore(start), NewCore(start)
		if seed%4 == 3 {
			bounds := Bounds{KeysMax: 8, EvictSoonest: seed%8 == 3}
			short.Bound(bounds)
			long.Bound(bounds)
		}
		now := start
		passed := 0
		for step := range scaled(3000) {
			now += r.Uint64N(2 * second)
			ops, part := randomGroup(r, limits, step)
			want := append([]Op(nil), ops...)
			short.Step(now, ops, part)
			for i := range want {
				long.prepare(&want[i])
			}
			together(now, want, func(*Op) *Core { return long })
			for i := range ops {
				got, w := &ops[i], &want[i]
				if got.Refused() != w.Refused() || got.Held != w.Held || got.Unsaved != w.Unsaved || !got.Refused() && got.Decision != w.Decision {
					t.Fatalf("step %d, operation %d of %d:\n got %+v\nwant %+v", step, i, len(ops), got, w)
				}
				if !got.Refused() && got.Kind == Allow && got.Decision.Allowed && !got.Shadow {
					passed++
				}
			}
			if short.stats.Allowed != long.stats.Allowed || short.stats.Denied != long.stats.Denied {
				t.Fatalf("step %d: counted %+v, want %+v", step, short.stats, long.stats)
			}
			if short.bounds.KeysMax > 0 && max(short.Len(), long.Len()) > short.bounds.KeysMax {
				t.Fatalf("step %d: %d keys of at most %d", step, short.Len(), short.bounds.KeysMax)
			}
			short.Tick(now, 100)
			long.Tick(now, 100)
		}
		must(t, short)
		if err := sameKeys(t, short, long, now, limits); err != nil {
			t.Fatal(err)
		}
		if passed == 0 || short.stats.Denied == 0 {
			t.Fatal("nothing was tried")
		}
	}
}

// What is free is judged and not charged, and a shadow that is alone denies nothing.
func TestFreeAndShadow(t *testing.T) {
	c := NewCore(start)
	l := newLimit(algorithms.FixedWindow, 1, time.Minute)
	ask := func(op Op) *Op {
		op.Key, op.Call.Limit, op.Call.Cost, op.Join = []byte("k"), l, 1, 1
		ops := []Op{op}
		c.Step(start, ops, first)
		return &ops[0]
	}
	if op := ask(Op{Free: true}); !op.Decision.Allowed || op.Decision.Remaining != 1 || c.Len() != 0 {
		t.Errorf("free: %+v, %d keys", op.Decision, c.Len())
	}
	if op := ask(Op{Shadow: true}); !op.Decision.Allowed || op.Decision.Remaining != 0 || c.Len() != 1 {
		t.Errorf("shadow: %+v, %d keys", op.Decision, c.Len())
	}
	if op := ask(Op{Shadow: true}); op.Decision.Allowed || c.stats.Denied != 0 {
		t.Errorf("shadow: %+v, %d denied", op.Decision, c.stats.Denied)
	}
	if op := ask(Op{Free: true}); op.Decision.Allowed || c.stats.Denied != 1 {
		t.Errorf("free, with nothing left: %+v", op.Decision)
	}
}

// Debits of a group are made all or none.
func TestDebitsTogether(t *testing.T) {
	c := NewCore(start)
	rate, money := newLimit(algorithms.FixedWindow, 1, time.Minute), newLimit(algorithms.Budget, 1, time.Minute)
	group := func(kind Kind, cost uint64) []Op {
		ops := []Op{{Kind: Peek, Key: []byte("look")}, {Kind: kind, Key: []byte("rate")}, {Kind: kind, Key: []byte("money")}}
		for i, l := range []*algorithms.Limit{rate, rate, money} {
			ops[i].Call.Limit, ops[i].Call.Cost = l, cost
		}
		ops[0].Join, ops[0].Call.Cost = 3, 0
		c.Step(start, ops, []uint32{0, 1, 2})
		return ops
	}
	if ops := group(Debit, 1<<62); ops[1].Refused() || ops[2].Refused() || c.Len() != 2 {
		t.Fatalf("%+v", ops)
	}
	(&asker{Core: c}).ask(start, Reset, []byte("rate"), nil, 0)
	if ops := group(Debit, 1<<62); !ops[2].TooDeep || ops[1].Refused() || c.Len() != 1 {
		t.Errorf("the second debt is too deep, and yet: %+v, %d keys", ops, c.Len())
	}
	(&asker{Core: c}).ask(start, Reset, []byte("money"), nil, 0)
	(&asker{Core: c}).allow(start, "rate", rate, 1)
	(&asker{Core: c}).allow(start, "money", rate, 1)
	if ops := group(Refund, 1); !ops[2].WrongType || (&asker{Core: c}).remaining(start, "rate", rate) != 0 {
		t.Errorf("the second key is of another kind, and yet: %+v", ops)
	}
	c = NewCore(start)
	c.Bound(Bounds{KeysMax: 1})
	if ops := group(Debit, 1); !ops[2].Full || c.Len() != 0 {
		t.Errorf("there is room for one key, and yet: %+v, %d keys", ops, c.Len())
	}
}

package algorithms

// The laws, one test each, for every algorithm in the registry: random histories
// (twin_test.go says how they are drawn) under -laws.calls calls an algorithm.
// Laws 1 and 6 ask the oracle. The others hold of the package's own answers,
// whatever those are, so that a mistake that the oracle shares is found as well.

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
)

// law runs f over random histories of every algorithm.
func law(t *testing.T, f func(h *history) error) {
	for i := range All() {
		a := &All()[i]
		t.Run(a.Name, func(t *testing.T) { histories(t, a, f) })
	}
}

// live makes the calls of a history. Before each of them it calls check with the
// key as it is, the step that comes, and what the key will answer.
func live(h *history, check func(k *key, s step, d Decision) error) error {
	k, d := newKey(), Decision{}
	for range h.calls {
		s := h.next(k, &d)
		before := k.clone()
		d = k.ask(s)
		if err := check(before, s, d); err != nil {
			return fmt.Errorf("%w\nat %v\non %v", err, s, before)
		}
	}
	return nil
}

// at is the same question at another instant, only to look.
func (s step) at(now uint64) step {
	s.call.Now, s.peek = now, true
	return s
}

// spend is the same question, to spend.
func (s step) spend() step {
	s.call.Cost, s.peek = max(s.call.Cost, 1), false
	return s
}

func TestLaw1Exact(t *testing.T) {
	law(t, func(h *history) error {
		w, d := newTwins(), Decision{}
		steps := make([]step, 0, h.calls)
		for range h.calls {
			s := h.next(w.key, &d)
			steps = append(steps, s)
			var err error
			if d, err = w.ask(s); err != nil {
				least := shrink(steps, disagree)
				return fmt.Errorf("%w\n%s", disagree(least), transcript(least))
			}
		}
		return w.oracle.falls(h)
	})
}

// A state matters up to FreshAt and not a nanosecond longer, and from then on
// whatever is asked is answered as if nothing were stored.
func TestLaw2Forgetting(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, _ Decision) error {
			if k.stored.Limit == nil {
				return nil
			}
			fresh := k.stored.FreshAt
			if Used(&k.stored, fresh) != 0 || Used(&k.stored, fresh-1) == 0 {
				return fmt.Errorf("not fresh at exactly %d", fresh)
			}
			full := step{Call{k.stored.Limit, k.stored.Limit.Burst, 0, h.hash}, true}
			if k.ask(full.at(fresh-1)).Allowed || !k.ask(full.at(fresh)).Allowed {
				return fmt.Errorf("the whole limit is not free at exactly %d", fresh)
			}
			s.call.Now = fresh + pick(h, 0, 0, 1, h.span(year))
			s, none := s.spend(), newKey()
			if err := equal("a look at what is forgotten", k.ask(s.at(s.call.Now)), none.ask(s.at(s.call.Now))); err != nil {
				return err
			}
			if err := equal("an answer from what is forgotten", k.ask(s), none.ask(s)); err != nil {
				return err
			}
			if none.stored.Limit == nil {
				return nil // denied: nothing is stored of the one, and nothing counts of the other
			}
			return k.differs("a charge to what is forgotten", none)
		})
	})
}

// Every state ends, and nobody is locked out for longer than the limits last that
// have passed: two windows, or the filling of a bucket.
func TestLaw2Finite(t *testing.T) {
	law(t, func(h *history) error {
		longest := uint64(0)
		for _, l := range h.limits {
			longest = max(longest, 2*l.Window, mul(l.Burst, l.Window).divUp(l.Units))
		}
		return live(h, func(k *key, s step, d Decision) error {
			switch {
			case k.stored.FreshAt > k.settled(0)+longest:
				return fmt.Errorf("fresh only after %d", k.stored.FreshAt)
			case d.ResetAfter < 0 || d.ResetAfter > Millis(longest):
				return fmt.Errorf("reset after %d", d.ResetAfter)
			case d.RetryAfter > d.ResetAfter:
				return fmt.Errorf("retry after %d, reset after %d", d.RetryAfter, d.ResetAfter)
			case d.Delay < 0 || d.Delay > 0 && s.call.Limit.Algorithm != LeakyBucket:
				return fmt.Errorf("delay %d", d.Delay)
			}
			return nil
		})
	})
}

// A denied call stores nothing, and a key that was denied answers for ever as one
// that was not asked.
func TestLaw3DenialIsFree(t *testing.T) {
	law(t, func(h *history) error {
		quiet := newKey()
		return live(h, func(k *key, s step, d Decision) error {
			if err := quiet.differs("the quiet key", k); err != nil {
				return err
			}
			if s.peek {
				return nil
			}
			after := k.clone()
			if after.ask(s); !d.Allowed {
				return after.differs("a denied key", k)
			}
			quiet.ask(s)
			return nil
		})
	})
}

// A look changes nothing and tells what the call would be told.
func TestLaw4LookingIsFree(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, _ Decision) error {
			before := k.clone()
			look, nothing := s.spend().at(s.call.Now), s.at(s.call.Now)
			nothing.call.Cost = 0
			peek, zero := k.ask(look), k.ask(nothing)
			if err := k.differs("a key that was looked at", before); err != nil {
				return err
			}
			if !zero.Allowed || zero.RetryAfter != 0 || zero.Remaining != peek.Remaining || zero.ResetAfter != peek.ResetAfter {
				return fmt.Errorf("looks differ: %+v and %+v", zero, peek)
			}
			allow := k.clone().ask(s.spend())
			if peek.Allowed {
				// What the call takes, and how long what is then used lasts under
				// the call's limit, is all that differs.
				peek.Remaining -= look.call.Cost
				peek.ResetAfter = allow.ResetAfter
				if zero.Delay != peek.Delay {
					return fmt.Errorf("a look delays %d, the call %d", zero.Delay, peek.Delay)
				}
			}
			return equal("the call and the look before it", allow, peek)
		})
	})
}

// After the wait that a denial told the call passes, a millisecond earlier not.
// Where the clock is behind the state, waits are told from the state's instant.
func TestLaw5TightRetry(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, d Decision) error {
			switch now := k.settled(s.call.Now); {
			case d.Allowed != (d.RetryAfter == 0):
				return fmt.Errorf("allowed %v, retry after %d", d.Allowed, d.RetryAfter)
			case d.Allowed:
				return nil
			case s.call.Cost > d.Limit:
				return equal("a call that can never pass", d.RetryAfter, int64(Never))
			case d.RetryAfter < 1:
				return fmt.Errorf("retry after %d", d.RetryAfter)
			case !k.ask(s.at(now + uint64(d.RetryAfter)*millisecond)).Allowed:
				return fmt.Errorf("denied after waiting %d ms", d.RetryAfter)
			case k.ask(s.at(now + uint64(d.RetryAfter-1)*millisecond)).Allowed:
				return errors.New("passes a millisecond early")
			}
			return nil
		})
	})
}

// An instant before the state's own is the state's own: nothing is earned, nobody
// waits longer, and what is charged is charged then.
func TestLaw6TimeNeverPaysBackwards(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, _ Decision) error {
			own := k.stored.State.At
			if k.stored.Limit == nil || own == 0 {
				return nil
			}
			then, back := k.clone(), k.clone()
			s.call.Now = own
			want := then.ask(s)
			s.call.Now = own - pick(h, own, 1, h.span(own))
			if err := equal("an answer in the past", back.ask(s), want); err != nil {
				return err
			}
			return back.differs("a charge in the past", then)
		})
	})
}

// Whatever the limits, what was used is used after a change, and a call that
// passes adds its cost to it. Remaining is the distance to the call's own limit.
func TestLaw7NothingForgiven(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, d Decision) error {
			used := Used(&k.stored, s.call.Now)
			left := uint64(0)
			if used < d.Limit {
				left = d.Limit - used
			}
			if d.Allowed != (s.call.Cost <= left) {
				return fmt.Errorf("allowed %v with %d used", d.Allowed, used)
			}
			if s.peek || !d.Allowed {
				return equal("remaining", d.Remaining, left)
			}
			after := k.clone()
			after.ask(s)
			if err := equal("used after a charge", Used(&after.stored, s.call.Now), used+s.call.Cost); err != nil {
				return err
			}
			return equal("remaining after a charge", d.Remaining, left-s.call.Cost)
		})
	})
}

// A raised limit adds exactly the difference at once, a lowered one takes exactly
// the difference at once, and a wait does not depend on the window that is asked
// for: what is used decays under what it was charged with.
func TestLaw7LimitsMove(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, _ Decision) error {
			s.peek = true
			low := *s.call.Limit
			high := low
			high.Units, high.Burst = h.raised(low.Units), h.raised(low.Burst)
			before := k.ask(s)
			s.call.Limit = &high
			after := k.ask(s)
			if used := Used(&k.stored, s.call.Now); used > low.Burst {
				used = min(used, high.Burst)
				if err := equal("freed of a debt", after.Remaining, high.Burst-used); err != nil {
					return err
				}
			} else if after.Remaining-before.Remaining != high.Burst-low.Burst {
				return fmt.Errorf("%d free at %d, %d at %d", before.Remaining, low.Burst, after.Remaining, high.Burst)
			}
			other := low
			other.Window, other.Units = h.window(), h.units()
			s.call.Limit = &other
			return equal("a wait", k.ask(s).RetryAfter, before.RetryAfter)
		})
	})
}

// raised is a random number from n to UnitsMax.
func (h *history) raised(n uint64) uint64 { return n + h.span(UnitsMax-n) }

// However the limits are flipped, no more passes than the largest of them holds
// and all of them together give back in the time.
func TestLaw7NothingMinted(t *testing.T) {
	law(t, func(h *history) error {
		var from uint64
		passed, d, k := new(big.Int), Decision{}, newKey()
		for range h.calls {
			s := h.next(k, &d)
			if h.IntN(4) != 0 { // greedily
				s.peek, s.call.Cost = true, 0
				s.call.Cost = k.ask(s).Remaining
			}
			s = s.spend()
			to := k.settled(s.call.Now)
			if d = k.ask(s); !d.Allowed {
				continue
			}
			if passed.Sign() == 0 {
				from = to
			}
			passed.Add(passed, whole(s.call.Cost))
			if most := most(h, from, to); passed.Cmp(most) > 0 {
				return fmt.Errorf("%d passed, %d are the most\nlast %v", passed, most, s)
			}
		}
		return nil
	})
}

// most is the largest number of units that the limits of a history may let pass
// from one instant to another, both included.
func most(h *history, from, to uint64) *big.Int {
	sum, holds := new(big.Rat), uint64(0)
	for _, l := range h.limits {
		holds = max(holds, l.Burst)
		sum.Add(sum, givesBack(l, from, to, h.hash))
	}
	whole := new(big.Int).Div(sum.Num(), sum.Denom())
	return whole.Add(whole, new(big.Int).SetUint64(holds))
}

// givesBack is how many units of one limit can stop counting in a time.
func givesBack(l *Limit, from, to, hash uint64) *big.Rat {
	if meters(l) {
		gain := new(big.Rat).SetFrac(whole(to-from), whole(l.Window))
		return gain.Mul(gain, ratio(l.Units))
	}
	windows := (to - from) / l.Window // a window begins with the first call
	if l.Algorithm == SlidingCounter || l.Algorithm == FixedWindow && l.Align != AlignFirst {
		edges := new(big.Int).Sub(windowEndOf(l, whole(to), hash), windowEndOf(l, whole(from), hash))
		windows = edges.Div(edges, whole(l.Window)).Uint64()
	}
	return new(big.Rat).Mul(ratio(windows), ratio(l.Units))
}

// No decision allocates, whatever it is and whatever limits meet.
func TestLaw8Bounded(t *testing.T) {
	for i := range Rates() {
		for j := range Rates() {
			from, to := &Rates()[i], &Rates()[j]
			t.Run(from.Name+" to "+to.Name, func(t *testing.T) {
				one, err := NewLimit(Spec{Algorithm: from.ID, Units: 100, Window: second}, LogLimitMaxDefault)
				two, err2 := NewLimit(Spec{Algorithm: to.ID, Units: 90, Window: 3 * second}, LogLimitMaxDefault)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				k, c, d := newKey(), &Call{Limit: &one, Now: startOfTests}, &Decision{}
				run := func() {
					for n := range uint64(1000) {
						c.Now += n % 13 * millisecond
						c.Cost = 1 + n%7
						if n%100 == 0 {
							c.Limit = &two
						} else if n%50 == 0 {
							c.Limit = &one
						}
						Peek(c, &k.stored, d)
						*d = k.ask(step{call: *c})
					}
				}
				run() // a log grows to its size
				if n := testing.AllocsPerRun(20, run); n != 0 {
					t.Errorf("%v allocations in 1000 calls", n)
				}
			})
		}
	}
}

package algorithms

// The oracle: every algorithm once more, in the most literal form that the
// contract allows and with fractions that are never rounded. It shares no
// arithmetic with the package: a meter is a fraction of units, a log is a list,
// windows are found by dividing, and a wait is found by asking again later.
//
// Where the contract leaves a choice, the oracle states it in one place:
//
//   - token_bucket, gcra and leaky_bucket are one model; changing among them
//     keeps the fraction of a unit. (meters)
//   - A meter holds whole 1/W of a unit. A change of window rounds the level up
//     to the next one. (charge)
//   - A window that began with its first call goes on when only the limit
//     changed. (charge)
//   - An instant before a state's own is that instant, and waits are told from
//     it. (settle)

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
)

// oracle is one key. The zero oracle is fresh.
type oracle struct {
	limit *Limit // what it was last charged under; nil: fresh
	at    uint64 // when

	level   *big.Rat      // meters: units used at the instant at
	end     *big.Int      // fixed_window: where its window ends
	count   *big.Int      // fixed_window: units charged in it
	entries []oracleEntry // sliding_log
	index   *big.Int      // sliding_counter: the number of the window of current
	current *big.Int      // units charged in window index
	before  *big.Int      // units charged in window index − 1
}

type oracleEntry struct{ units, end *big.Int }

func meters(l *Limit) bool {
	return l.Algorithm == TokenBucket || l.Algorithm == GCRA || l.Algorithm == LeakyBucket
}

// counts says whether a limit is of the model that counts what falls into a window.
func counts(l *Limit) bool { return l.Algorithm == FixedWindow || l.Algorithm == Budget }

// lists says whether a limit is of a model that lists what was charged, each with an
// end of its own. A permit that nobody releases is an entry like any other.
func lists(l *Limit) bool { return l.Algorithm == SlidingLog || l.Algorithm == Concurrency }

func capacityOf(l *Limit) uint64 {
	if meters(l) {
		return l.Burst
	}
	return l.Units
}

// used is how many units count at t, which is not before the state's instant.
func (o *oracle) used(t uint64) *big.Rat {
	if o.limit == nil {
		return new(big.Rat)
	}
	now, units, window := whole(t), whole(o.limit.Units), whole(o.limit.Window)
	sum := new(big.Int)
	switch {
	case meters(o.limit):
		// It earns limit/window a nanosecond until nothing is used.
		earned := new(big.Int).Mul(whole(t-o.at), units)
		left := new(big.Rat).Sub(o.level, new(big.Rat).SetFrac(earned, window))
		if left.Sign() < 0 {
			return new(big.Rat)
		}
		return left
	case counts(o.limit):
		if now.Cmp(o.end) < 0 {
			sum.Set(o.count)
		}
	case lists(o.limit):
		for _, e := range o.entries {
			if now.Cmp(e.end) < 0 {
				sum.Add(sum, e.units)
			}
		}
	default:
		// previous · (1 − elapsed/W) + current
		k, elapsed := new(big.Int).DivMod(now, window, new(big.Int))
		previous, current := new(big.Int), new(big.Int)
		switch k.Sub(k, o.index).Uint64() {
		case 0:
			previous, current = o.before, o.current
		case 1:
			previous = o.current
		}
		sum.Sub(window, elapsed)
		sum.Mul(sum, previous)
		sum.Add(sum, new(big.Int).Mul(current, window))
		return new(big.Rat).SetFrac(sum, window)
	}
	return new(big.Rat).SetInt(sum)
}

// settle is the instant at which a call at now is judged.
func (o *oracle) settle(now uint64) uint64 {
	if o.limit != nil && now < o.at {
		return o.at
	}
	return now
}

// decide answers a call as Allow (spend) or Peek would and, if it spends, charges
// it. The hint is an answer to try first: it saves searching for the waits and
// has no other say in what is found.
func (o *oracle) decide(c *Call, spend bool, hint *Decision) Decision {
	l, t := c.Limit, o.settle(c.Now)
	used := o.used(t)
	d := Decision{Limit: capacityOf(l)}
	left := new(big.Rat).Sub(ratio(d.Limit), used)
	d.Allowed = c.Cost == 0 || left.Cmp(ratio(c.Cost)) >= 0
	switch {
	case !d.Allowed && c.Cost > d.Limit:
		d.RetryAfter = Never
	case !d.Allowed:
		most := ratio(d.Limit - c.Cost)
		d.RetryAfter = int64(first(1, uint64(hint.RetryAfter), func(ms uint64) bool {
			return o.used(later(t, ms)).Cmp(most) <= 0
		}))
	case l.Algorithm == LeakyBucket:
		queued := used
		if o.limit != nil && !meters(o.limit) {
			queued = new(big.Rat).SetInt(roundUp(used))
		}
		perUnit := new(big.Rat).SetFrac(whole(l.Window), whole(l.Units))
		d.Delay = shown(roundUp(perUnit.Mul(perUnit, queued).Quo(perUnit, ratio(millisecond))))
	}
	if d.Allowed && spend {
		o.charge(c, t, used)
		left.Sub(ratio(d.Limit), o.used(o.at))
		t = o.at
	}
	if left.Sign() > 0 {
		d.Remaining = new(big.Int).Div(left.Num(), left.Denom()).Uint64()
	}
	d.ResetAfter = int64(first(0, uint64(hint.ResetAfter), func(ms uint64) bool {
		return o.used(later(t, ms)).Sign() == 0
	}))
	return d
}

// freshAt is the first instant at which nothing is used.
func (o *oracle) freshAt(hint uint64) uint64 {
	return o.at + first(0, hint-o.at, func(ns uint64) bool { return o.used(o.at+ns).Sign() == 0 })
}

// charge adds a call that passes at t, where used units count.
func (o *oracle) charge(c *Call, t uint64, used *big.Rat) {
	was := o.limit
	if used.Sign() == 0 {
		*o, was, t = oracle{}, nil, c.Now
	}
	l, now, cost, window := c.Limit, whole(t), whole(c.Cost), whole(c.Limit.Window)
	sum := roundUp(used)
	sum.Add(sum, cost)
	next := oracle{limit: l, at: t}
	switch {
	case meters(l):
		if was == nil || meters(was) {
			exact := new(big.Rat).Mul(used, new(big.Rat).SetInt(window))
			next.level = new(big.Rat).SetFrac(roundUp(exact), window)
		} else {
			next.level = new(big.Rat).SetInt(roundUp(used))
		}
		next.level.Add(next.level, ratio(c.Cost))
	case counts(l):
		next.count = sum
		switch {
		case l.Align != AlignFirst:
			next.end = windowEndOf(l, now, c.KeyHash)
		case was != nil && was.Algorithm == l.Algorithm && was.Align == AlignFirst && was.Window == l.Window:
			next.end = o.end
		default:
			next.end = new(big.Int).Add(now, window)
		}
	case lists(l):
		if was != nil && lists(was) {
			sum = cost
			next.entries = slices.DeleteFunc(o.entries, func(e oracleEntry) bool { return e.end.Cmp(now) <= 0 })
		}
		next.entries = append(next.entries, oracleEntry{sum, new(big.Int).Add(now, window)})
	default:
		next.index = new(big.Int).Div(now, window)
		next.before, next.current = new(big.Int), sum
		if was != nil && *was == *l {
			next.current = new(big.Int).Set(cost)
			switch new(big.Int).Sub(next.index, o.index).Uint64() {
			case 0:
				next.before = o.before
				next.current.Add(next.current, o.current)
			case 1:
				next.before = o.current
			}
		}
	}
	*o = next
}

// windowEndOf: window k covers [kW + o, (k+1)W + o).
func windowEndOf(l *Limit, now *big.Int, hash uint64) *big.Int {
	shift, window := new(big.Int), whole(l.Window)
	if l.Align == AlignJitter {
		ms := new(big.Int).Div(window, whole(millisecond))
		shift.Mod(whole(hash), ms)
		shift.Mul(shift, whole(millisecond))
	}
	k := new(big.Int).Sub(now, shift)
	k.Div(k, window) // rounds down, also below 0
	end := k.Add(k, big.NewInt(1))
	end.Mul(end, window)
	return end.Add(end, shift)
}

// first is the smallest n from least on for which ok holds, given that it holds
// from some n on for ever. A guess that is right saves the search.
func first(least, guess uint64, ok func(n uint64) bool) uint64 {
	if guess >= least && guess < 1<<63 && ok(guess) && (guess == least || !ok(guess-1)) {
		return guess
	}
	span := uint64(1)
	for !ok(least + span - 1) {
		span *= 2
	}
	return least + uint64(sort.Search(int(span-1), func(i int) bool { return ok(least + uint64(i)) }))
}

// falls is an error where more is used later although nobody has called. The
// search for waits stands on it.
func (o *oracle) falls(h *history) error {
	soon := o.settle(h.now) + h.span(2*h.call.Limit.Window)
	late := soon + 1 + h.span(h.call.Limit.Window)
	if o.used(late).Cmp(o.used(soon)) > 0 {
		return fmt.Errorf("the oracle uses more at %d than at %d", late, soon)
	}
	return nil
}

func whole(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func ratio(n uint64) *big.Rat { return new(big.Rat).SetInt(whole(n)) }

// roundUp is the smallest whole number that is not below r.
func roundUp(r *big.Rat) *big.Int {
	q, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// shown is a wait as it is shown: up to 2^53 − 1 ms.
func shown(ms *big.Int) int64 {
	if ms.BitLen() > 53 {
		return 1<<53 - 1
	}
	return ms.Int64()
}

// later is t and some milliseconds, or the end of time.
func later(t, ms uint64) uint64 {
	if ms > (math.MaxUint64-t)/millisecond {
		return math.MaxUint64
	}
	return t + ms*millisecond
}

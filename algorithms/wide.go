package algorithms

// Wide arithmetic: the products of units and nanoseconds that decisions compare.
// A limit has 53 bits and a window 62, so their product needs up to 115 bits
// and a debt of 2^63 units up to 125: 128 bits hold them all. Only quotients
// are narrowed, and a quotient that would not fit in 64 bits saturates, which
// every caller reads as "longer than any window".

import (
	"math"
	"math/bits"
)

// wide is an unsigned 128-bit integer.
type wide struct{ hi, lo uint64 }

// mul returns a · b.
func mul(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

// add returns a + b, or the largest wide where that overflows.
func (a wide) add(b wide) wide {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	hi, c := bits.Add64(a.hi, b.hi, c)
	if c != 0 {
		return wide{math.MaxUint64, math.MaxUint64}
	}
	return wide{hi, lo}
}

// sub returns a − b, or zero where b is larger.
func (a wide) sub(b wide) wide {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	hi, c := bits.Sub64(a.hi, b.hi, c)
	if c != 0 {
		return wide{}
	}
	return wide{hi, lo}
}

// div returns a / d rounded down, saturating. d must not be 0.
func (a wide) div(d uint64) uint64 {
	if a.hi == 0 {
		return a.lo / d
	}
	if a.hi >= d {
		return math.MaxUint64
	}
	q, _ := bits.Div64(a.hi, a.lo, d)
	return q
}

// divUp returns a / d rounded up, saturating. d must not be 0.
func (a wide) divUp(d uint64) uint64 {
	if a.hi >= d {
		return math.MaxUint64
	}
	var q, r uint64
	if a.hi == 0 {
		q, r = a.lo/d, a.lo%d
	} else {
		q, r = bits.Div64(a.hi, a.lo, d)
	}
	if r != 0 && q != math.MaxUint64 {
		q++
	}
	return q
}

// millisUp returns a / d nanoseconds in whole milliseconds, rounded up, up to
// WaitMaxMillis. Only the wait for a debt is longer than 64 bits of nanoseconds
// (584 years). d must not be 0.
func (a wide) millisUp(d uint64) int64 {
	if a.hi < d {
		return Millis(a.divUp(d))
	}
	lo, r := bits.Div64(a.hi%d, a.lo, d)
	q := wide{a.hi / d, lo}
	if r != 0 {
		q = q.add(wide{0, 1})
	}
	return int64(min(q.divUp(millisecond), WaitMaxMillis))
}

// scaleUp returns a · n / d rounded up, exact through 192 bits, saturating.
// d must not be 0.
func (a wide) scaleUp(n, d uint64) wide {
	low := mul(a.lo, n)
	high := mul(a.hi, n)
	mid, c := bits.Add64(low.hi, high.lo, 0)
	top := high.hi + c
	if top >= d {
		return wide{math.MaxUint64, math.MaxUint64}
	}
	hi, r := bits.Div64(top, mid, d)
	lo, r := bits.Div64(r, low.lo, d)
	q := wide{hi, lo}
	if r != 0 {
		q = q.add(wide{0, 1})
	}
	return q
}

// plus returns a + b for instants and durations, saturating.
func plus(a, b uint64) uint64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint64
}

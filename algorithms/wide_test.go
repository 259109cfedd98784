package algorithms

// Wide arithmetic against math/big, on corners and at random.

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var (
	words  = []uint64{0, 1, 2, 3, 999_999, 1_000_000, 1<<32 - 1, 1 << 32, UnitsMax, 1 << 53, WindowMaxNanos, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	top128 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	top64  = whole(math.MaxUint64)
)

func (a wide) big() *big.Int {
	n := whole(a.hi)
	return n.Lsh(n, 64).Add(n, whole(a.lo))
}

// capped is the smaller one of n and most.
func capped(n, most *big.Int) *big.Int {
	if n.Cmp(most) > 0 {
		return most
	}
	return n
}

// ceil is n / d, rounded up.
func ceil(n, d *big.Int) *big.Int { return roundUp(new(big.Rat).SetFrac(n, d)) }

func TestWide(t *testing.T) {
	for _, a := range words {
		for _, b := range words {
			for _, c := range words {
				for _, d := range words {
					wideRow(t, a, b, c, d)
				}
			}
		}
	}
	for d := range uint64(100) { // a quotient a hair below whole milliseconds
		x := mul(1<<45+d, millisecond).sub(wide{0, 1}).scaleUp(d, 1).add(wide{0, d / 2})
		wideRow(t, x.hi, x.lo, 0, d)
	}
	r := rand.New(rand.NewPCG(*lawSeed, 0))
	word := func() uint64 {
		if r.IntN(4) == 0 {
			return words[r.IntN(len(words))]
		}
		return r.Uint64() >> r.IntN(64)
	}
	for range 50_000 {
		wideRow(t, word(), word(), word(), word())
	}
}

// wideRow checks all functions on the wides a,b and c,d and on the words.
func wideRow(t *testing.T, a, b, c, d uint64) {
	x, y := wide{a, b}, wide{c, d}
	wideIs := func(what string, got wide, want *big.Int) {
		if got.big().Cmp(want) != 0 {
			t.Helper()
			t.Fatalf("%s of %d %d %d %d: got %d, want %d", what, a, b, c, d, got.big(), want)
		}
	}
	wordIs := func(what string, got uint64, want *big.Int) {
		if whole(got).Cmp(want) != 0 {
			t.Helper()
			t.Fatalf("%s of %d %d %d %d: got %d, want %d", what, a, b, c, d, got, want)
		}
	}
	wideIs("mul", mul(a, b), new(big.Int).Mul(whole(a), whole(b)))
	wideIs("add", x.add(y), capped(new(big.Int).Add(x.big(), y.big()), top128))
	difference := new(big.Int).Sub(x.big(), y.big())
	if difference.Sign() < 0 {
		difference.SetInt64(0)
	}
	wideIs("sub", x.sub(y), difference)
	wordIs("plus", plus(a, b), capped(new(big.Int).Add(whole(a), whole(b)), top64))
	if d == 0 {
		return
	}
	wordIs("div", x.div(d), capped(new(big.Int).Div(x.big(), whole(d)), top64))
	wordIs("divUp", x.divUp(d), capped(ceil(x.big(), whole(d)), top64))
	wideIs("scaleUp", x.scaleUp(c, d), capped(ceil(new(big.Int).Mul(x.big(), whole(c)), whole(d)), top128))
	ms := ceil(x.big(), new(big.Int).Mul(whole(d), whole(millisecond)))
	wordIs("millisUp", uint64(x.millisUp(d)), capped(ms, whole(UnitsMax)))
	wordIs("Millis", uint64(Millis(a)), capped(ceil(whole(a), whole(millisecond)), whole(UnitsMax)))
}

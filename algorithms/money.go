package algorithms

// Decimals of budgets: digits, optionally a point and one to six digits, counted
// in whole millionths. They are read and written here and are never floats.

import (
	"fmt"
	"strconv"
)

// Millionths are how many of the units that are counted make one whole.
const Millionths = 1_000_000

// ParseDecimal reads a decimal and returns millionths, from least to UnitsMax.
func ParseDecimal(name string, text []byte, least uint64) (uint64, error) {
	whole, fraction, ok := cutDecimal(text)
	n, valid := digits(whole)
	if !ok || !valid {
		return 0, fmt.Errorf("%s must be a decimal such as 25 or 0.0132 with at most six decimals, got '%s'", name, Show(text))
	}
	f, scale := uint64(0), uint64(Millionths)
	for _, c := range fraction {
		f, scale = f*10+uint64(c-'0'), scale/10
	}
	m := mul(n, Millionths).add(wide{0, f * scale})
	if m.hi != 0 || m.lo > UnitsMax || m.lo < least {
		return 0, fmt.Errorf("%s out of range: it must be a decimal from %s to %s, got '%s'", name, FormatDecimal(least), FormatDecimal(UnitsMax), Show(text))
	}
	return m.lo, nil
}

// cutDecimal divides a decimal at its point; ok is false if what follows the
// point is not one to six digits.
func cutDecimal(text []byte) (whole, fraction []byte, ok bool) {
	for i, c := range text {
		if c != '.' {
			continue
		}
		whole, fraction = text[:i], text[i+1:]
		if len(fraction) < 1 || len(fraction) > 6 {
			return nil, nil, false
		}
		for _, c := range fraction {
			if c < '0' || c > '9' {
				return nil, nil, false
			}
		}
		return whole, fraction, true
	}
	return text, nil, true
}

// AppendDecimal writes millionths as a decimal without trailing zeros.
func AppendDecimal(dst []byte, m uint64) []byte {
	dst = strconv.AppendUint(dst, m/Millionths, 10)
	f := m % Millionths
	if f == 0 {
		return dst
	}
	dst = append(dst, '.')
	for scale := uint64(Millionths / 10); f > 0; scale /= 10 {
		dst = append(dst, byte('0'+f/scale))
		f %= scale
	}
	return dst
}

// FormatDecimal is AppendDecimal as a string.
func FormatDecimal(m uint64) string { return string(AppendDecimal(nil, m)) }

// Amount is a number of units that was read before it is known what is counted:
// whole units, or millionths.
type Amount struct {
	Whole    uint64 // at most UnitsMax
	Fraction uint64 // millionths, below Millionths
	Decimal  bool   // it was written with a point
}

// ParseAmount reads digits, optionally a point and one to six digits.
func ParseAmount(name string, text []byte) (a Amount, err error) {
	whole, fraction, ok := cutDecimal(text)
	n, valid := digits(whole)
	if !ok || !valid {
		return a, fmt.Errorf("%s must be a whole number, or for a budget a decimal with at most six decimals, got '%s'", name, Show(text))
	}
	if n > UnitsMax {
		return a, fmt.Errorf("%s out of range: it must be at most %d, got '%s'", name, uint64(UnitsMax), Show(text))
	}
	a = Amount{Whole: n, Decimal: fraction != nil}
	scale := uint64(Millionths)
	for _, c := range fraction {
		a.Fraction, scale = a.Fraction*10+uint64(c-'0'), scale/10
	}
	a.Fraction *= scale
	return a, nil
}

// Of is the amount in the units of a kind: millionths of money, else whole ones. What
// cannot be counted so is not ok: a decimal of whole units, money over UnitsMax.
func (a Amount) Of(k Kind) (units uint64, ok bool) {
	if k != Money {
		return a.Whole, !a.Decimal
	}
	m := mul(a.Whole, Millionths).add(wide{0, a.Fraction})
	return m.lo, m.hi == 0 && m.lo <= UnitsMax
}

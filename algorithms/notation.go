package algorithms

// How numbers and durations are written. Callers of every kind (commands, plans,
// the control plane) read them here, so that one notation means one thing. The
// readers take the argument's name because their errors are for people.

import (
	"fmt"
	"math"
	"strconv"
)

// ParseWhole reads a whole number from least to most written in plain decimal
// digits; leading zeros are allowed, a sign, blank, exponent or prefix is not.
// most must be below 2^64 − 1, as which every larger number is read.
func ParseWhole(name string, text []byte, least, most uint64) (uint64, error) {
	n, ok := digits(text)
	if !ok {
		return 0, fmt.Errorf("%s must be a whole number from %d to %d, got '%s'", name, least, most, Show(text))
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%s out of range: it must be a whole number from %d to %d, got '%s'", name, least, most, Show(text))
	}
	return n, nil
}

// digits reads plain decimal digits; a number over 2^64 − 1 saturates.
func digits(text []byte) (n uint64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			n = math.MaxUint64
			continue
		}
		n = n*10 + d
	}
	return n, len(text) > 0
}

type unit struct {
	name  string
	nanos uint64
}

// units in falling order, as a duration is written.
var units = []unit{
	{"w", 7 * 24 * 3600 * second}, {"d", 24 * 3600 * second}, {"h", 3600 * second},
	{"m", 60 * second}, {"s", second}, {"ms", millisecond}, {"us", 1000}, {"ns", 1},
}

// wholeMillis is how many of units windows and times to live may use.
const wholeMillis = 6

// ParseDuration reads a window or a time to live: units w d h m s ms in falling
// order, each at most once, or a bare number of seconds with at most three
// decimals. The result is in nanoseconds, whole milliseconds from 1 ms to most.
func ParseDuration(name string, text []byte, most uint64) (uint64, error) {
	ns, ok := duration(text, units[:wholeMillis])
	if !ok {
		return 0, fmt.Errorf("%s must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), got '%s'", name, Show(text))
	}
	if ns < millisecond || ns > most {
		return 0, fmt.Errorf("%s out of range: it must be from 1ms to %ds, got '%s'", name, most/second, Show(text))
	}
	return ns, nil
}

// ParseFineDuration reads a duration that may also use us and ns, from 1 ns to
// WindowMaxNanos.
func ParseFineDuration(name string, text []byte) (uint64, error) {
	ns, ok := duration(text, units)
	if !ok {
		return 0, fmt.Errorf("%s must be a duration such as 1s, 250ms, 10us or 1ns, got '%s'", name, Show(text))
	}
	if ns == 0 || ns > WindowMaxNanos {
		return 0, fmt.Errorf("%s out of range: it must be from 1ns to %ds, got '%s'", name, WindowMaxNanos/second, Show(text))
	}
	return ns, nil
}

func duration(text []byte, units []unit) (total uint64, ok bool) {
	if ns, ok := bareSeconds(text); ok {
		return ns, true
	}
	if len(text) == 0 {
		return 0, false
	}
	for len(text) > 0 {
		i := 0
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		n, ok := digits(text[:i])
		if !ok {
			return 0, false
		}
		text = text[i:]
		for i = 0; i < len(text) && (text[i] < '0' || text[i] > '9'); i++ {
		}
		name := string(text[:i])
		text = text[i:]
		for len(units) > 0 && units[0].name != name {
			units = units[1:]
		}
		if len(units) == 0 {
			return 0, false
		}
		part := mul(n, units[0].nanos)
		if part.hi != 0 {
			part.lo = math.MaxUint64
		}
		total = plus(total, part.lo)
		units = units[1:]
	}
	return total, true
}

// bareSeconds reads a bare number of seconds, in whole milliseconds.
func bareSeconds(text []byte) (uint64, bool) {
	whole, fraction := text, []byte(nil)
	for i, c := range text {
		if c == '.' {
			whole, fraction = text[:i], text[i+1:]
			if len(fraction) == 0 {
				return 0, false
			}
			break
		}
	}
	sec, ok := digits(whole)
	if !ok {
		return 0, false
	}
	ms := uint64(0)
	for i, c := range fraction {
		if c < '0' || c > '9' || i >= 3 && c != '0' {
			return 0, false
		}
		if i < 3 {
			ms = ms*10 + uint64(c-'0')
		}
	}
	for i := len(fraction); i < 3; i++ {
		ms *= 10
	}
	ns := mul(sec, second)
	if ns.hi != 0 {
		return math.MaxUint64, true
	}
	return plus(ns.lo, ms*millisecond), true
}

// shownBytesMax is how much of a caller's text an error repeats.
const shownBytesMax = 64

// Show makes a caller's text fit to be repeated in an error or a log line: on one
// line, printable, bounded.
func Show(text []byte) string {
	more := ""
	if len(text) > shownBytesMax {
		text, more = text[:shownBytesMax], "..."
	}
	q := strconv.QuoteToASCII(string(text))
	return q[1:len(q)-1] + more
}

// Nearest returns the choice that is most likely meant by a misspelt word, or ""
// where none is near: at most a third of its letters may differ.
func Nearest(word string, choices []string) string {
	best, bestAt := "", 1+max(len(word), 3)/3
	for _, c := range choices {
		if d := distance(word, c, bestAt); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance of a and b, or any number of at least
// most where it is not below that.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package plans

// Plans and rules as JSON, in one canonical form: names in order, terms in a fixed
// order, what nobody would miss left out. What is read from it is equal to what
// was written, and equal things have equal forms, which versions rest on.

import (
	"fmt"
	"strconv"

	"sluice/algorithms"
)

// appendJSON writes the terms that were given, in the order of termNames, as a
// JSON object. What a term is when nobody gives it is left out, but for the burst.
func (t *terms) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	field := func(name string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, '"', ':')
	}
	word := func(name, value string) {
		field(name)
		dst = appendString(dst, value)
	}
	if t.has&hasAlgorithm != 0 {
		word("algorithm", t.algorithm.String())
	}
	if t.has&hasLimit != 0 {
		field("limit")
		dst = t.appendUnits(dst)
	}
	if t.has&hasWindow != 0 {
		field("window")
		dst = append(dst, '"')
		dst = appendWindow(dst, t.window, t.calendar)
		dst = append(dst, '"')
	}
	if t.has&hasBurst != 0 {
		field("burst")
		dst = strconv.AppendUint(dst, t.burst, 10)
	}
	if t.has&hasAlign != 0 {
		word("align", alignNames[t.align])
	}
	if t.has&hasZone != 0 {
		word("tz", t.zone.String())
	}
	if t.has&hasAnchor != 0 {
		field("anchor")
		dst = strconv.AppendUint(dst, uint64(t.anchor), 10)
	}
	if t.has&hasMode != 0 {
		word("mode", t.mode.String())
	}
	return append(dst, '}')
}

// appendUnits writes the limit: a number, or for money a string, since many
// readers of JSON would make a float of it.
func (t *terms) appendUnits(dst []byte) []byte {
	if algorithms.Of(t.algorithm).Kind != algorithms.Money {
		return strconv.AppendUint(dst, t.units, 10)
	}
	dst = append(dst, '"')
	dst = algorithms.AppendDecimal(dst, t.units)
	return append(dst, '"')
}

// AppendWindow writes a limit's window as plans do: 1m30s, or day.
func AppendWindow(dst []byte, l *algorithms.Limit) []byte {
	if l.Align.IsCalendar() {
		return appendWindow(dst, 0, l.Align)
	}
	return appendWindow(dst, l.Window, 0)
}

var calendarWords = []string{"day", "week", "month", "year"}

const millisecond = 1_000_000

var windowUnits = []struct {
	name   string
	millis uint64
}{{"w", 7 * 86_400_000}, {"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}}

func appendWindow(dst []byte, nanos uint64, calendar algorithms.Align) []byte {
	if nanos == 0 {
		return append(dst, calendarWords[calendar-algorithms.AlignDay]...)
	}
	millis := nanos / millisecond
	for _, u := range windowUnits {
		if n := millis / u.millis; n > 0 {
			dst = strconv.AppendUint(dst, n, 10)
			dst = append(dst, u.name...)
			millis %= u.millis
		}
	}
	return dst
}

// appendString writes a JSON string. Texts are UTF-8, so nothing is lost.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c < ' ' || c >= 0x7f && c < 0xa0 || c == '\ufeff' || c == '\u2028' || c == '\u2029':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, string(c)...)
		}
	}
	return append(dst, '"')
}

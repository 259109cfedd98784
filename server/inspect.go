package server

// RL.INSPECT: what is stored on a key, for people and for programs that explain a
// decision. Money is told in decimals, everything else in whole numbers.

import (
	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// field is one pair of the map.
type field struct {
	name  string
	write func(out []byte, proto int) []byte
}

// number is a field that holds a number.
func number(name string, n uint64) field {
	return field{name, func(out []byte, _ int) []byte { return redcon.AppendInt(out, int64(n)) }}
}

// text is a field that holds a text.
func text(name, value string) field {
	return field{name, func(out []byte, _ int) []byte { return redcon.AppendBulkString(out, value) }}
}

// textOrNil is a field that holds a text, or nil where there is none.
func textOrNil(name, value string, there bool) field {
	if there {
		return text(name, value)
	}
	return field{name, appendNil}
}

// units is a field that holds an amount as the algorithm counts it.
func units(name string, n uint64, kind algorithms.Kind) field {
	if kind == algorithms.Money {
		return text(name, algorithms.FormatDecimal(n))
	}
	return number(name, n)
}

// appendFields writes a map.
func appendFields(out []byte, proto int, fields []field) []byte {
	out = appendMap(out, proto, len(fields))
	for _, f := range fields {
		out = f.write(redcon.AppendBulkString(out, f.name), proto)
	}
	return out
}

// writeInspect is the reply of RL.INSPECT.
func writeInspect(s *session, out []byte, ops []shard.Op) []byte {
	if !ops[0].Found {
		return appendNil(out, s.proto)
	}
	v := ops[0].View
	l := &v.Limit
	kind := l.Kind()
	fields := []field{
		text("algorithm", l.Algorithm.String()),
		units("limit", l.Units, kind),
		units("burst", l.Burst, kind),
	}
	if l.Align.IsCalendar() {
		fields = append(fields, text("window", l.Align.String()), text("tz", l.Zone.String()))
		if l.Anchor > 0 {
			fields = append(fields, number("anchor", uint64(l.Anchor)))
		}
	} else {
		fields = append(fields, number("window_ms", l.Window/nanosPerMilli))
	}
	fields = append(fields,
		units("used", v.Used, kind),
		units("remaining", v.Remaining(), kind),
		number("reset_after_ms", uint64(v.ResetAfter)),
	)
	switch {
	case l.Algorithm == algorithms.FixedWindow && !l.Align.IsCalendar():
		fields = append(fields, text("align", l.Align.String()))
	case l.Algorithm == algorithms.SlidingLog:
		fields = append(fields, number("runs", uint64(v.Runs)))
	case kind == algorithms.Permits:
		fields = append(fields, number("permits", uint64(len(v.Permits))))
	}
	return appendFields(out, s.proto, fields)
}

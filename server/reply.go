package server

// Replies, in RESP2 and RESP3. What is the same in both is written with redcon's
// functions; here is what differs, and the reply that is written most.

import (
	"strconv"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	resp2 = 2
	resp3 = 3
)

// appendMap begins a map of n pairs: in RESP2 a flat array.
func appendMap(out []byte, proto, n int) []byte {
	if proto == resp3 {
		out = append(out, '%')
		out = strconv.AppendInt(out, int64(n), 10)
		return append(out, "\r\n"...)
	}
	return redcon.AppendArray(out, 2*n)
}

// appendSet begins a set of n members: in RESP2 an array.
func appendSet(out []byte, proto, n int) []byte {
	if proto == resp3 {
		out = append(out, '~')
		out = strconv.AppendInt(out, int64(n), 10)
		return append(out, "\r\n"...)
	}
	return redcon.AppendArray(out, n)
}

// appendNil writes nil: in RESP2 a null bulk string.
func appendNil(out []byte, proto int) []byte {
	if proto == resp3 {
		return append(out, "_\r\n"...)
	}
	return redcon.AppendNull(out)
}

// appendText writes text that people read: in RESP3 a verbatim string.
func appendText(out []byte, proto int, text string) []byte {
	if proto == resp3 {
		out = append(out, '=')
		out = strconv.AppendInt(out, int64(len(text)+4), 10)
		out = append(out, "\r\ntxt:"...)
		out = append(out, text...)
		return append(out, "\r\n"...)
	}
	return redcon.AppendBulkString(out, text)
}

// appendError writes an error, which is one line of ASCII whatever its text holds.
func appendError(out []byte, text string) []byte {
	out = append(out, '-')
	for _, r := range text {
		if r < ' ' || r > '~' {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return append(out, "\r\n"...)
}

// appendNilArray writes nil where an array is expected.
func appendNilArray(out []byte, proto int) []byte {
	if proto == resp3 {
		return append(out, "_\r\n"...)
	}
	return append(out, "*-1\r\n"...)
}

// appendStrings writes an array of bulk strings.
func appendStrings(out []byte, list []string) []byte {
	out = redcon.AppendArray(out, len(list))
	for _, text := range list {
		out = redcon.AppendBulkString(out, text)
	}
	return out
}

// appendField writes a field of a map whose value is text.
func appendField(out []byte, field, text string) []byte {
	return redcon.AppendBulkString(redcon.AppendBulkString(out, field), text)
}

// appendPair writes a field of a map whose value is a number.
func appendPair(out []byte, field string, n int64) []byte {
	return redcon.AppendInt(redcon.AppendBulkString(out, field), n)
}

// appendDecision writes a decision: an array of six integers.
func appendDecision(out []byte, d *algorithms.Decision) []byte {
	if d.Allowed {
		out = append(out, "*6\r\n:1\r\n:"...)
	} else {
		out = append(out, "*6\r\n:0\r\n:"...)
	}
	out = appendDigits(out, d.Limit)
	out = append(out, "\r\n:"...)
	out = appendDigits(out, d.Remaining)
	if d.Allowed {
		out = append(out, "\r\n:0\r\n:"...)
	} else {
		out = append(out, "\r\n:"...)
		out = strconv.AppendInt(out, d.RetryAfter, 10)
		out = append(out, "\r\n:"...)
	}
	out = appendDigits(out, uint64(d.ResetAfter))
	if d.Delay == 0 {
		return append(out, "\r\n:0\r\n"...)
	}
	out = append(out, "\r\n:"...)
	out = appendDigits(out, uint64(d.Delay))
	return append(out, "\r\n"...)
}

// appendDigits writes a number; most of them are small.
func appendDigits(out []byte, n uint64) []byte {
	switch {
	case n < 10:
		return append(out, byte('0'+n))
	case n < 100:
		return append(out, byte('0'+n/10), byte('0'+n%10))
	case n < 1000:
		return append(out, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	}
	return strconv.AppendUint(out, n, 10)
}

// errFull is what a call gets whose new key has no room.
const errFull = "OOM no room for a new key, and none may be thrown away; this call was not decided"

// refusal is why an operation has no decision, or none that may be told; "" if it has
// one.
func (s *Server) refusal(op *shard.Op) string {
	switch {
	case op.Full:
		return errFull
	case op.WrongType:
		return errWrongType
	case op.TooDeep:
		return errTooDeep
	case op.Unsaved:
		return s.unsaved()
	}
	return ""
}

// appendOutcome writes the decision of an operation, or why there is none.
func (s *session) appendOutcome(out []byte, op *shard.Op) []byte {
	if op.Refused() || op.Unsaved {
		return s.appendFailure(out, s.refusal(op))
	}
	return appendDecisionOf(out, op)
}

// refusal is the server's, with what held this session back when it read.
func (s *session) refusal(op *shard.Op) string {
	if op.Unsaved && !op.Refused() {
		return s.unsaved()
	}
	return s.server.refusal(op)
}

// appendDecisionOf writes the decision of an operation: where it is about money,
// with decimals for what is counted.
func appendDecisionOf(out []byte, op *shard.Op) []byte {
	d := &op.Decision
	if op.Call.Limit.Kind() != algorithms.Money {
		return appendDecision(out, d)
	}
	allowed := int64(0)
	if d.Allowed {
		allowed = 1
	}
	out = redcon.AppendInt(redcon.AppendArray(out, 6), allowed)
	out = redcon.AppendBulkString(out, algorithms.FormatDecimal(d.Limit))
	out = redcon.AppendBulkString(out, algorithms.FormatDecimal(d.Remaining))
	out = redcon.AppendInt(out, d.RetryAfter)
	out = redcon.AppendInt(out, d.ResetAfter)
	return redcon.AppendInt(out, 0)
}

const (
	errWrongType = "WRONGTYPE the key is charged under another kind of limit (rates, budget and concurrency are three kinds); RL.RESET makes it fresh"
	errTooDeep   = "ERR the debt would be over 9223372036854775807 units; nothing was charged"
)

// appendDouble writes a number with a fraction: in RESP2 a bulk string.
func appendDouble(out []byte, proto int, text string) []byte {
	if proto == resp3 {
		return append(append(append(out, ','), text...), "\r\n"...)
	}
	return redcon.AppendBulkString(out, text)
}

// appendBulks writes a set of bulk strings: in RESP2 an array.
func appendBulks(out []byte, proto int, list []string) []byte {
	out = appendSet(out, proto, len(list))
	for _, text := range list {
		out = redcon.AppendBulkString(out, text)
	}
	return out
}

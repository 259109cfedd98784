package server

// What is told of each command: INFO commandstats, errorstats and latencystats, and
// LATENCY HISTOGRAM, in Redis's shapes. The numbers are those of the metrics
// (measure.go), added up when somebody asks.

import (
	"fmt"
	"math"
	"slices"

	"github.com/tidwall/redcon"
)

// statLine is a line of a section that has one for each of something.
type statLine struct{ name, text string }

// commandTotals is what was measured of a command since the last reset.
type commandTotals struct {
	calls, failed, rejected, nanos uint64
	took                           totals
}

// measured adds up what was measured of a command.
func (s *Server) measured(c *Command) (t commandTotals) {
	for i := range s.blocks {
		m := &s.blocks[i].commands[c.number]
		t.calls += m.calls.Load()
		t.failed += m.failed.Load()
		t.rejected += m.rejected.Load()
		t.nanos += m.nanos.Load()
		t.took.add(m.took.Load())
	}
	return t
}

// errorsOf is how many errors began with a word of refusals.
func (s *Server) errorsOf(word int) (n uint64) {
	for i := range s.blocks {
		n += s.blocks[i].errors[word].Load()
	}
	return n
}

// Full is how many calls were refused because there was no room for what they need.
func (s *Server) Full() uint64 { return s.errorsOf(slices.Index(refusals[:], "OOM")) }

// decided adds up how long it took to decide: all commands that are operations of a batch.
func decided(m *measures, t *totals) {
	for number, c := range commandsByNumber {
		if c.parse != nil {
			t.add(m.commands[number].took.Load())
		}
	}
}

func commandLines(v *vitals) any {
	lines := []statLine{}
	for _, c := range commandsByNumber {
		t := v.server.measured(c)
		if t.calls+t.rejected == 0 {
			continue
		}
		usec := float64(t.nanos) / nanosPerMicro
		lines = append(lines, statLine{c.lower, fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			t.calls, usec, usec/float64(max(t.calls, 1)), t.rejected, t.failed)})
	}
	return lines
}

func errorLines(v *vitals) any {
	lines := []statLine{}
	for i, word := range refusals {
		if n := v.server.errorsOf(i); n > 0 {
			lines = append(lines, statLine{word, fmt.Sprintf("count=%d", n)})
		}
	}
	return lines
}

func latencyLines(v *vitals) any {
	lines := []statLine{}
	for _, c := range commandsByNumber {
		if t := v.server.measured(c).took; t.count > 0 {
			lines = append(lines, statLine{c.lower, fmt.Sprintf("p50=%.3f,p99=%.3f,p99.9=%.3f", t.within(500), t.within(990), t.within(999))})
		}
	}
	return lines
}

// within is a number of microseconds that so many of a thousand values do not exceed:
// the upper bound of a bucket.
func (t *totals) within(perMille uint64) float64 {
	wanted := (t.count*perMille + 999) / 1000
	i := 0
	for sum := t.buckets[0]; sum < wanted; sum += t.buckets[i] {
		i++
	}
	return math.Exp2(float64(inSeconds.first+i)/perDoubling) * 1e6
}

// runLatencyHistogram is LATENCY HISTOGRAM [command ...]: of each command that was
// timed, how many calls were done within each power of two of microseconds.
func runLatencyHistogram(s *session, out []byte, args [][]byte) ([]byte, error) {
	wanted := commandsByNumber
	if len(args) > 2 {
		wanted = nil
		for _, name := range args[2:] {
			if c := named(name); c != nil {
				wanted = append(append(wanted, c), c.Sub...)
			}
		}
	}
	var told []*Command
	var took []totals
	for _, c := range wanted {
		if t := s.server.measured(c).took; t.count > 0 {
			told, took = append(told, c), append(took, t)
		}
	}
	out = appendMap(out, s.proto, len(told))
	for i, c := range told {
		out = redcon.AppendBulkString(out, c.lower)
		out = appendPair(appendMap(out, s.proto, 2), "calls", int64(took[i].count))
		out = redcon.AppendBulkString(out, "histogram_usec")
		bounds := took[i].doublings()
		out = appendMap(out, s.proto, len(bounds))
		for _, b := range bounds {
			out = redcon.AppendInt(redcon.AppendInt(out, b.usec), int64(b.count))
		}
	}
	return out, nil
}

// doubling is how many values were at most some microseconds.
type doubling struct {
	usec  int64
	count uint64
}

// doublings are the counts at each doubling, from the first that has any to the first
// that has all. Bucket bounds are 2^-20 s and its doublings, which is a little less
// than the microseconds told.
func (t *totals) doublings() (list []doubling) {
	sum := uint64(0)
	for i, n := range t.buckets {
		sum += n
		if sum > 0 && (i%perDoubling == 0 || i == buckets-1) {
			list = append(list, doubling{1 << ((i + perDoubling - 1) / perDoubling), sum})
		}
		if sum == t.count && i%perDoubling == 0 {
			break
		}
	}
	return list
}

func runLatencyGraph(_ *session, out []byte, args [][]byte) ([]byte, error) {
	return out, fmt.Errorf("ERR No samples available for event '%s'", show(args[2]))
}

func runLatencyDoctor(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return appendText(out, s.proto, "Single events are not kept. LATENCY HISTOGRAM and INFO latencystats tell how long commands take, SLOWLOG GET which were slow.\n"), nil
}

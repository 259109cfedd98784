package server

// What sessions measure: which commands came, how many at once, how long they took.
//
// Every session writes to one of a few blocks, so that two of them seldom write to
// the same memory, and nobody locks. The clock is read three times for all that was
// read from the socket at once, however many commands that is: when it has arrived,
// when the shards have decided, when the replies are written.

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// MeasureBlocks is how many blocks there are.
const MeasureBlocks = 16

// measures is one block.
type measures struct {
	commands []commandMeasures // by the number of the row
	errors   [16]atomic.Uint64
	answered histogram // ns from arrival to the reply written, for each command
	batch    histogram // commands that were read at once
	_        [64]byte  // the next block begins on a line of its own
}

// commandMeasures are of one command. The commands that are decided at once share the
// time that it took, by how many operations each of them is.
type commandMeasures struct {
	calls    atomic.Uint64
	failed   atomic.Uint64             // of calls: those that were answered with an error
	rejected atomic.Uint64             // what was refused before it was a call
	nanos    atomic.Uint64             // the calls' shares of the time
	took     atomic.Pointer[histogram] // ns from arrival until it was done, for each call that is timed
}

// timed counts calls that were done some ns after they arrived, and their share of the
// time.
func (m *commandMeasures) timed(sinceArrival, share uint64, calls int) {
	h := m.took.Load()
	for h == nil {
		m.took.CompareAndSwap(nil, new(histogram))
		h = m.took.Load()
	}
	h.add(inSeconds, sinceArrival, calls)
	m.nanos.Add(share)
}

// totals are a histogram's counts, added up over blocks.
type totals struct {
	buckets    [buckets]uint64
	count, sum uint64
}

func (t *totals) add(h *histogram) {
	if h == nil {
		return
	}
	for i := range t.buckets {
		n := h.buckets[i].Load()
		t.buckets[i] += n
		t.count += n
	}
	t.sum += h.sum.Load()
}

// reset sets back to 0 what INFO tells.
func (m *measures) reset() {
	for i := range m.commands {
		c := &m.commands[i]
		c.calls.Store(0)
		c.failed.Store(0)
		c.rejected.Store(0)
		c.nanos.Store(0)
		c.took.Store(nil)
	}
	for i := range m.errors {
		m.errors[i].Store(0)
	}
}

func newMeasures() []measures {
	blocks := make([]measures, MeasureBlocks)
	for i := range blocks {
		blocks[i].commands = make([]commandMeasures, commandRows)
	}
	return blocks
}

const (
	// nativeSchema is the schema of a native histogram: eight buckets for each
	// doubling, so that what is read off one is right within 9 %.
	nativeSchema = 3
	perDoubling  = 1 << nativeSchema
	buckets      = 26 * perDoubling
)

// histogram counts values in exponential buckets. Every perDoubling-th bound is one
// of the classic histogram too.
type histogram struct {
	buckets [buckets]atomic.Uint64
	sum     atomic.Uint64
}

// scale is what the buckets of a histogram mean.
type scale struct {
	unit  float64 // of a counted value, in what the metric tells
	first int     // the number of bucket 0 as Prometheus counts: its upper bound is 2^(first/perDoubling)
	upper [buckets]uint64
	from  [65]int // by the length of a value in bits, where to begin to look
}

// newScale makes a scale whose first bucket reaches to 2^exponent; the last takes all
// that is more.
func newScale(unit float64, exponent int) *scale {
	s := &scale{unit: unit, first: exponent * perDoubling}
	for i := range s.upper {
		s.upper[i] = uint64(math.Exp2(float64(s.first+i)/perDoubling) / unit)
	}
	for length := range s.from {
		least := uint64(0)
		if length > 0 {
			least = 1 << (length - 1)
		}
		s.from[length], _ = slices.BinarySearch(s.upper[:], least)
	}
	return s
}

var (
	inSeconds  = newScale(1e-9, -20) // 1 µs … 32 s
	inCommands = newScale(1, 0)
)

// add counts a value n times.
func (h *histogram) add(s *scale, value uint64, n int) {
	i := s.from[bits.Len64(value)]
	for i < buckets-1 && s.upper[i] < value {
		i++
	}
	h.buckets[min(i, buckets-1)].Add(uint64(n))
	h.sum.Add(value * uint64(n))
}

// measuredAt is the instant, 0 in a server that measures nothing (measure_off.go). A clock
// that nobody sets costs half of what server time does.
func (s *Server) measuredAt() uint64 {
	switch {
	case !measuring:
		return 0
	case s.elapsed != nil:
		return uint64(s.elapsed())
	}
	return s.clock.Now()
}

// since is how long ago an instant of measuredAt was, 0 where a test clock was set back.
func (s *session) since(then uint64) uint64 {
	now := s.server.measuredAt()
	return now - min(now, then)
}

// refusals are the first words of errors, the closed set, and what is none of them.
var refusals = [16]string{"ERR", "WRONGTYPE", "NOPLAN", "NORULE", "NOAUTH", "WRONGPASS", "NOPERM", "NOPROTO",
	"LOADING", "READONLY", "MISCONF", "OOM", "BUSY", "EXECABORT", "NOSCRIPT", "other"}

// countError counts an error reply by its first word.
func (m *measures) countError(text string) {
	end := 0
	for end < len(text) && text[end] != ' ' {
		end++
	}
	i := slices.Index(refusals[:], text[:end])
	if i < 0 {
		i = len(refusals) - 1
	}
	m.errors[i].Add(1)
}

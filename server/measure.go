package server

// What sessions measure: which commands came, how many at once, how long they took.
//
// Every session writes to one of a few blocks, so that two of them seldom write to
// the same memory, and nobody locks. The clock is read three times for all that was
// read from the socket at once, however many commands that is: when it has arrived,
// when the shards have decided, when the replies are written.

import (
	"math"
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
	perUnit float64 // counted values in one of what the metric tells
	first   int     // the number of bucket 0 as Prometheus counts: its upper bound is 2^(first/perDoubling)
}

// The first bound of a scale is a power of two; the last bucket takes all that is more.
var (
	inSeconds  = &scale{perUnit: 1e9, first: -20 * perDoubling} // 1 µs … 32 s
	inCommands = &scale{perUnit: 1}
)

// mantissaBits is how many bits of a float64 tell where it is between two powers of two.
const mantissaBits = 52

// within are the bounds between 1 and 2, without the end, as mantissas. The numbers of a
// doubling stand in one line of memory: between two reads everything else has been put out
// of the caches.
var within = func() (bounds [perDoubling]uint64) {
	for i := range bounds {
		bounds[i] = math.Float64bits(math.Exp2(float64(i)/perDoubling)) & (1<<mantissaBits - 1)
	}
	return bounds
}()

// bucket is the number of the first bucket whose upper bound is not below the value.
// A quotient of two whole numbers that is a power of two is exact, so bounds are exact.
func (s *scale) bucket(value uint64) int {
	f := math.Float64bits(float64(value) / s.perUnit)
	i := (int(f>>mantissaBits)-1023)*perDoubling - s.first
	f &= 1<<mantissaBits - 1
	for n := 0; n < perDoubling && within[n] < f; n++ {
		i++
	}
	return min(max(i, 0), buckets-1)
}

// add counts a value n times.
func (h *histogram) add(s *scale, value uint64, n int) {
	h.buckets[s.bucket(value)].Add(uint64(n))
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

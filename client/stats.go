package client

// What the client tells about itself: counts that a metrics library can read whenever
// it likes. Decisions are counted under the lock that they take anyway.

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats is what a client has done since it was made.
type Stats struct {
	// Allowed and Denied are decisions by Source, each call of AllowAll and AllowMany one of
	// them. Peek and Explain decide nothing.
	Allowed, Denied [SourceDegraded + 1]uint64
	// Leased and Returned are units that the server granted, and that went back.
	Leased, Returned uint64
	// Keys is of how many keys something is known.
	Keys int
	// ReportsWaiting and ReportsLost are reports.
	ReportsWaiting int
	ReportsLost    uint64
	// Away says whether a node of the server counts as away.
	Away bool
	// Calls is the time that calls of the server took.
	Calls Latencies
}

// LatencyBuckets is how many buckets Latencies has.
const LatencyBuckets = 24

// Latencies is a histogram: Counts[i] calls took less than 2^i µs, and at least half of
// that; the last bucket has all that took longer.
type Latencies struct {
	Counts [LatencyBuckets]uint64
	Sum    time.Duration
}

// Quantile is the time that a share of the calls, from 0 to 1, took at most: the upper
// end of a bucket, so at most twice too long. 0 if there were no calls.
func (l Latencies) Quantile(share float64) time.Duration {
	all := uint64(0)
	for _, n := range l.Counts {
		all += n
	}
	seen := uint64(0)
	for i, n := range l.Counts {
		if seen += n; all > 0 && float64(seen) >= share*float64(all) {
			return time.Microsecond << i
		}
	}
	return 0
}

// histogram is Latencies that are being counted.
type histogram struct {
	counts [LatencyBuckets]atomic.Uint64
	sum    atomic.Int64
}

func (h *histogram) add(d time.Duration) {
	i := min(bits.Len64(uint64(max(0, d.Microseconds()))), LatencyBuckets-1)
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// counted counts decisions about a key that were made by the server.
func (c *Client) counted(key string, d Decision) {
	p, _ := c.table.part(key)
	p.mu.Lock()
	p.count(d)
	p.mu.Unlock()
}

// Stats returns what the client has done.
func (c *Client) Stats() Stats {
	s := Stats{Leased: c.leasedUnits.Load(), Returned: c.returnedUnits.Load(), Away: c.single.away.Load()}
	for i := range c.table.parts {
		p := &c.table.parts[i]
		p.mu.Lock()
		s.Keys += p.keys
		for source, n := range p.tally {
			s.Denied[source] += n[0]
			s.Allowed[source] += n[1]
		}
		p.mu.Unlock()
	}
	c.nodes.Range(func(_, n any) bool {
		s.Away = s.Away || n.(*node).away.Load()
		return true
	})
	s.ReportsWaiting, s.ReportsLost = c.outbox.len(), c.outbox.dropped()
	for i := range s.Calls.Counts {
		s.Calls.Counts[i] = c.calls.counts[i].Load()
	}
	s.Calls.Sum = time.Duration(c.calls.sum.Load())
	return s
}

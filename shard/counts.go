package shard

// What a core counts of its decisions, apart for each series. A series is what the
// caller wants to tell apart, by number: by itself an operation counts under its
// algorithm. Whoever owns the core counts, so there is neither lock nor atomic.

// SeriesMin is the first number that callers may give; those below are algorithms'.
const SeriesMin = 16

// Counts are the decisions of one series.
type Counts struct {
	Allowed  uint64 // passed and were charged
	Denied   uint64
	Shadowed uint64 // would have been denied, by a limit that does not deny
}

// Add adds others.
func (c *Counts) Add(o Counts) {
	c.Allowed += o.Allowed
	c.Denied += o.Denied
	c.Shadowed += o.Shadowed
}

// count is where an operation is counted. The pointer is good until the next call.
func (c *Core) count(op *Op) *Counts {
	n := seriesOf(op)
	if int(n) >= len(c.counts) {
		c.counts = append(c.counts, make([]Counts, int(n)+1-len(c.counts))...)
	}
	return &c.counts[n]
}

func seriesOf(op *Op) uint32 {
	if op.Series == 0 {
		return uint32(op.Call.Limit.Algorithm)
	}
	return op.Series
}

// allowed counts a charge.
func (c *Core) allowed(op *Op) {
	if counting {
		c.stats.Allowed++
		c.count(op).Allowed++
		c.watch.sawCharge(op.Call.Now, op)
	}
}

// denied counts a denial.
func (c *Core) denied(op *Op) {
	if counting {
		c.stats.Denied++
		c.count(op).Denied++
		c.watch.sawDenial(op.Call.Now, op)
	}
}

// Counts are the decisions so far, by series. They are the core's own.
func (c *Core) Counts() []Counts { return c.counts }

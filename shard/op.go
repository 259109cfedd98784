package shard

// An Op is one operation on one key, and its answer. Ops live in the array of a
// batch that is used again and again; deciding one allocates nothing.

import "sluice/algorithms"

// Kind says what an Op asks.
type Kind uint8

const (
	// Allow decides and spends: Call in, Decision out.
	Allow Kind = iota
	// Peek decides and spends nothing.
	Peek
	// Try is a Peek in the place of an Allow that may not spend now: a denial is
	// told as Allow tells it, and a call that would pass is Unsaved.
	Try
	// Reset makes the key fresh; Found says whether it was not.
	Reset
	// Look fills Found and, where Found, View.
	Look
)

// Op is an operation. The owner of the batch fills Kind, Key and, for Allow, Peek and
// Try, Call.Limit, Call.Cost and Call.KeyHash; the shard fills the rest. Key
// must not change until the batch is done.
type Op struct {
	Key      []byte
	Call     algorithms.Call
	Decision algorithms.Decision
	Kind     Kind
	Found    bool
	Unsaved  bool // done, but the journal could not make it durable; or a Try that would pass
	Full     bool // no room for a new key: nothing was decided
	hint     slot // where the key was a moment ago, or 0
	hash     uint64
	View     *View // Look writes here
}

// View is what is known about a key that is not fresh. Instants are nanoseconds
// since 1970.
type View struct {
	Limit   algorithms.Limit
	State   algorithms.State
	Used    uint64 // units, rounded up
	Now     uint64
	FreshAt uint64
	Runs    int // of a sliding log
}

// Remaining is how many units would still pass, under the stored limit.
func (v *View) Remaining() uint64 { return v.Limit.Burst - min(v.Used, v.Limit.Burst) }

// ResetAfter is the number of milliseconds, rounded up, until the key is fresh,
// as a decision tells it.
func (v *View) ResetAfter() int64 {
	return algorithms.Millis(v.FreshAt - max(v.Now, v.State.At))
}

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
	// Debit charges whatever the limit says; Decision is what a peek says then.
	Debit
	// Refund takes back the newest units; Decision is what a peek says then.
	Refund
	// Release ends the permit ID; Found says whether it was held.
	Release
	// Renew lets the permit ID end Call.Cost nanoseconds from now, or, where that is
	// 0, as long as it was granted for; Found says whether it was held.
	Renew
	// Lease takes what there is. Even one that stands alone is a group, see Join.
	Lease
	// Return gives back what a lease has not spent.
	Return
	// Report notes what a holder has spent; Found says whether it counts.
	Report
	// Tell lists what was used of a key.
	Tell
)

// Op is an operation. The owner of the batch fills Kind, Key and, where a limit
// takes part, Call.Limit, Call.Cost and Call.KeyHash, and for permits ID; the
// shard fills the rest. Key must not change until the batch is done.
//
// Operations that belong together follow one another in the batch: the first has
// their number in Join, the others have 0 there. They are decided all or nothing,
// also when their keys live on different shards; debits and refunds are done so. Group is the callers' own: it says
// which of their answers are told as one.
type Op struct {
	Key      []byte
	Call     algorithms.Call
	Decision algorithms.Decision
	ID       string   // of the permit, under a concurrency limit
	Mark     uint64   // what a charge went to, for giving back
	View     *View    // Look writes here
	Leasing  *Leasing // of Lease (the group's first), Return, Report and Tell
	Again    *Again   // of a call with an id, the group's first
	hash     uint64
	hint     slot   // where the key was a moment ago, or 0
	shard    uint16 // where it lives
	Join     uint16 // how many are decided together from here on; 0: alone, or joined with the one before
	Series   uint32 // what it is counted under; 0: its algorithm
	Client   uint32 // who asks, for the list of denials
	Kind     Kind
	Group    uint8 // how many operations from here on answer for one plan; 0: this one is no plan's, or not the first
	Shadow   bool  // decided beside the others: never denies them, charged only if it passes itself
	Free     bool  // of an Allow that is joined: decided for its cost, and charged nothing

	// Outcomes. With WrongType, Full or TooDeep nothing was decided.
	Found     bool
	Unsaved   bool // done, but the journal could not make it durable; or a Try that would pass
	Full      bool // no room for a new key
	WrongType bool // the key is of another kind than the limit
	TooDeep   bool // the debt would be over 2^63 − 1 units
	Held      bool // the permit of this ID is held already; nothing was charged
}

// Refused says that nothing was decided.
func (op *Op) Refused() bool { return op.Full || op.WrongType || op.TooDeep }

// Shard is the number of the shard that the key lives on.
func (op *Op) Shard() int { return int(op.shard) }

// passes says that the operation does not stand in the way of those that it is
// joined with.
func (op *Op) passes() bool { return op.Shadow || op.Decision.Allowed && !op.Refused() }

// View is what is known about a key that is not fresh. Instants are nanoseconds
// since 1970.
type View struct {
	Limit   algorithms.Limit
	State   algorithms.State
	Used    uint64 // units, rounded up
	Now     uint64
	FreshAt uint64
	// ResetAfter is the number of milliseconds, rounded up, until the key is fresh.
	ResetAfter int64
	Runs       int // of a sliding log
	Permits    []algorithms.Permit
}

// Remaining is how many units would still pass, under the stored limit.
func (v *View) Remaining() uint64 { return v.Limit.Burst - min(v.Used, v.Limit.Burst) }

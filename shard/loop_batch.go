package shard

// A Batch is what one connection asks at once. It goes to every shard that it
// touches as one part, whatever the number of operations, and whoever finishes
// the last part wakes the connection.

import "sync/atomic"

// BatchOpsMax is how many operations a batch should hold at most. It bounds how
// long a shard works for one connection and how much memory a batch keeps.
const BatchOpsMax = 1024

// answersBytesMax is how much memory for answers a batch keeps.
const answersBytesMax = 64 << 10

// Batch is a set of operations and where they go. It is used again and again by
// one goroutine at a time.
type Batch struct {
	Ops     []Op
	parts   [][]uint32 // for each shard, which of Ops are its own
	Client  uint32     // who asks, for the list of denials
	Answers Answerer   // of calls with ids
	answers []byte     // that ids remember
	homes   []bool     // the shards of ids
	joint   bool       // a group of operations, or a call and its id, may lie on several shards
	begin   uint32     // the shard that comes first, another for each run
	late    []bool     // shards that somebody else had
	pending atomic.Int32
	done    chan struct{}
	// committed is what the journal calls when a part's records are durable, one
	// function a shard, made once.
	committed []func(error)
}

// NewBatch returns an empty batch for a set of n shards.
func NewBatch(n int) *Batch {
	b := &Batch{parts: make([][]uint32, n), homes: make([]bool, n), late: make([]bool, n), done: make(chan struct{}, 1), committed: make([]func(error), n)}
	for part := range n {
		b.committed[part] = func(err error) { b.commit(part, err) }
	}
	return b
}

// commit ends a part whose records the journal has dealt with. After an error
// what the part changed is in memory and may not be on disk, so it is not
// acknowledged.
func (b *Batch) commit(part int, err error) {
	if err != nil {
		b.unsave(part)
	}
	b.finish()
}

// unsave marks what a part changed as not durable.
func (b *Batch) unsave(part int) {
	for _, i := range b.parts[part] {
		op := &b.Ops[i]
		if op.Again != nil {
			op.Again.Unsaved = true
		}
		switch op.Kind {
		case Allow, Lease:
			op.Unsaved = op.Decision.Allowed
		case Reset, Debit, Refund, Release, Renew, Return, Report:
			op.Unsaved = true
		}
	}
}

// Join makes the last n operations one group, decided all or nothing.
func (b *Batch) Join(n int) {
	group := b.Ops[len(b.Ops)-n:]
	for i := range group {
		group[i].Join = 0
		b.joint = b.joint || group[i].shard != group[0].shard
	}
	group[0].Join = uint16(n)
}

// finish counts one part as done; the last one wakes the connection.
func (b *Batch) finish() {
	if b.pending.Add(-1) == 0 {
		b.done <- struct{}{}
	}
}

// Add appends an operation for the shard that tagHash (the xxhash64 of the key's
// Tag) names, and returns it to be filled. The pointer is good until the next Add.
func (b *Batch) Add(tagHash uint64) *Op {
	i := len(b.Ops)
	if i < cap(b.Ops) {
		b.Ops = b.Ops[:i+1]
	} else {
		b.Ops = append(b.Ops, Op{})
	}
	n := Route(tagHash, len(b.parts))
	b.parts[n] = append(b.parts[n], uint32(i))
	op := &b.Ops[i]
	op.View, op.Leasing, op.Again, op.ID, op.Join, op.Group, op.shard, op.Series, op.Client = nil, nil, nil, "", 0, 0, uint16(n), 0, b.Client
	op.Shadow, op.Free, op.Unsaved, op.Full, op.WrongType, op.TooDeep, op.Held = false, false, false, false, false, false, false
	return op
}

// Truncate takes back all operations from the n-th on.
func (b *Batch) Truncate(n int) {
	b.Ops = b.Ops[:n]
	for s, part := range b.parts {
		for len(part) > 0 && int(part[len(part)-1]) >= n {
			part = part[:len(part)-1]
		}
		b.parts[s] = part
	}
}

// Clear empties the batch. Its memory stays, but for a batch that grew far
// beyond BatchOpsMax.
func (b *Batch) Clear() {
	if cap(b.Ops) > 2*BatchOpsMax {
		b.Ops = nil
	}
	b.Truncate(0)
	if b.joint {
		clear(b.homes)
		b.joint, b.Answers = false, nil
		if b.answers = b.answers[:0]; cap(b.answers) > answersBytesMax {
			b.answers = nil
		}
	}
}

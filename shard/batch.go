package shard

// A Batch is what one connection asks at once. It goes to every shard that it
// touches as one part, whatever the number of operations, and whoever finishes
// the last part wakes the connection.

import "sync/atomic"

// BatchOpsMax is how many operations a batch should hold at most. It bounds how
// long a shard works for one connection and how much memory a batch keeps.
const BatchOpsMax = 1024

// Batch is a set of operations and where they go. It is used again and again by
// one goroutine at a time.
type Batch struct {
	Ops     []Op
	parts   [][]uint32 // for each shard, which of Ops are its own
	pending atomic.Int32
	done    chan struct{}
}

// NewBatch returns an empty batch for a set of n shards.
func NewBatch(n int) *Batch {
	return &Batch{parts: make([][]uint32, n), done: make(chan struct{}, 1)}
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
	op.View = nil
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
}

package shard

// Rows are a table that grows by a chunk at a time. Growing copies no row, so it is
// a few microseconds of work at any size, and a row never moves.

import "unsafe"

const (
	rowBits   = 8
	chunkRows = 1 << rowBits
)

type rows[T any] struct {
	chunks []*[chunkRows]T
	len    uint32
}

func (t *rows[T]) at(i uint32) *T { return &t.chunks[i>>rowBits][i&(chunkRows-1)] }

// add appends a row of zeros and returns its number.
func (t *rows[T]) add() uint32 {
	i := t.len
	if int(i>>rowBits) == len(t.chunks) {
		t.chunks = append(t.chunks, new([chunkRows]T))
	}
	t.len++
	return i
}

// bytes is the memory of all chunks.
func (t *rows[T]) bytes() int {
	return len(t.chunks)*int(unsafe.Sizeof([chunkRows]T{})) + 8*cap(t.chunks)
}

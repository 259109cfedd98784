package shard

// An entry is what one key takes, 64 bytes: one line of cache, and nothing in
// it that the garbage collector would follow. Entries live in a slab of chunks
// that are never moved or given back one by one; a freed entry is the next one
// handed out.
//
//	0        32      40        48    52      56     60      64
//	┌────────┬───────┬─────────┬─────┬───────┬──────┬───────┐
//	│ state  │ hash  │ expiry  │ key │ limit │ next │ prev  │
//	└────────┴───────┴─────────┴─────┴───────┴──────┴───────┘

import (
	"unsafe"

	"sluice/algorithms"
)

type entry struct {
	state  algorithms.State
	hash   uint64   // of the key, under the table's seed
	expiry uint64   // the instant from which the key is fresh, nanoseconds
	key    keyRef   // its bytes
	limit  limitRef // the limit it was last charged under; 0: the entry is free
	next   slot     // in its slot of the wheel, or of the free list
	prev   slot     // the same; an inWheel mark where it is the first
}

// The size is a promise: this does not compile if it is broken.
var _ [64]byte = [unsafe.Sizeof(entry{})]byte{}

// slot is the number of an entry in the slab. 0 is no entry.
type slot uint32

const (
	slotBits = 26
	// KeysPerShardMax is how many keys one shard can hold.
	KeysPerShardMax = 1<<slotBits - 1

	chunkBits    = 12
	chunkEntries = 1 << chunkBits
)

type slab struct {
	chunks []*[chunkEntries]entry
	next   slot // the first number never handed out
	free   slot // head of the free list
}

// at returns the entry of a slot that has been handed out.
func (s *slab) at(i slot) *entry {
	return &s.chunks[i>>chunkBits][i&(chunkEntries-1)]
}

// take hands out an entry, or 0 when KeysPerShardMax are in use.
func (s *slab) take() slot {
	if i := s.free; i != 0 {
		s.free = s.at(i).next
		return i
	}
	if s.next == 0 {
		s.next = 1
	}
	if s.next > KeysPerShardMax {
		return 0
	}
	i := s.next
	if int(i>>chunkBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkEntries]entry))
	}
	s.next++
	return i
}

// give takes an entry back.
func (s *slab) give(i slot) {
	*s.at(i) = entry{next: s.free}
	s.free = i
}

// bytes is the memory of all chunks.
func (s *slab) bytes() int { return len(s.chunks) * chunkEntries * int(unsafe.Sizeof(entry{})) }

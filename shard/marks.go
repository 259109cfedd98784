package shard

// Marks are a set of slots that is gone through in their order. Entries and keys that
// were made one after the other lie beside each other, so going through what has changed
// in order waits far less for memory than in the order in which it has changed. A bit a
// slot, and above it a bit a word that is not zero: few marks among many slots are found
// quickly too.

import "math/bits"

type marks struct {
	words []uint64 // a bit a slot
	busy  []uint64 // a bit a word
	count int      // slots in the set
}

// add puts a slot in, once.
func (m *marks) add(i slot) {
	word, bit := int(i/64), uint64(1)<<(i%64)
	for word >= len(m.words) {
		m.words = append(m.words, 0)
	}
	for word/64 >= len(m.busy) {
		m.busy = append(m.busy, 0)
	}
	if m.words[word]&bit == 0 {
		m.words[word] |= bit
		m.busy[word/64] |= 1 << (word % 64)
		m.count++
	}
}

// remove takes a slot out that is in it.
func (m *marks) remove(i slot) {
	word := int(i / 64)
	m.words[word] &^= 1 << (i % 64)
	if m.words[word] == 0 {
		m.busy[word/64] &^= 1 << (word % 64)
	}
	m.count--
}

// word is the first word from n on that is not zero; there is none if it is len(words).
func (m *marks) word(n int) int {
	mask := ^uint64(0) << (n % 64)
	for at := n / 64; at < len(m.busy); at++ {
		if busy := m.busy[at] & mask; busy != 0 {
			return at*64 + bits.TrailingZeros64(busy)
		}
		mask = ^uint64(0)
	}
	return len(m.words)
}

func (m *marks) bytes() int { return 8 * (cap(m.words) + cap(m.busy)) }

package shard

// Key bytes live in pages of equal blocks, one set of pages for each size of
// block, with a free list through the blocks that are not in use. A block holds
// the length of the key and the key:
//
//	length < 255:   1 byte length │ key
//	otherwise:      0xFF │ 3 bytes length, little endian │ key
//
// Blocks grow in steps of 8 bytes to 64 and of a quarter from there, so at most
// a fifth of a long key's block is unused.

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// KeyBytesMax is the longest key.
const KeyBytesMax = 65536

// keyRef names a block: its class and its number in it. Block 0 of class 0 is
// a key as good as any; only entries say whether a keyRef is in use.
type keyRef uint32

const (
	keyIndexBits   = slotBits
	keyIndexMask   = 1<<keyIndexBits - 1
	keyPageBytes   = 64 << 10 // a page holds at least this and less than twice of it
	keyClasses     = 8 + 4*11 // 8 … 64 by 8, then four a doubling to 131072
	longKeyBytes   = 255
	longPrefixSize = 4
)

type keys struct {
	classes [keyClasses]keyClass
	total   int // bytes of all pages
}

type keyClass struct {
	pages [][]byte
	next  uint32 // the first block never handed out
	free  uint32 // 1 + head of the free list
}

// classOf is the smallest class whose blocks hold n bytes, n ≥ 1.
func classOf(n int) int {
	if n <= 64 {
		return (n + 7) / 8 // class 0 is not used
	}
	e := bits.Len(uint(n-1)) - 1 // 2^e < n ≤ 2^(e+1)
	quarter := (n - 1) >> (e - 2) & 3
	return 9 + (e-6)*4 + quarter
}

// blockClass is the class of the block for a key of n bytes.
func blockClass(n int) int {
	if n < longKeyBytes {
		return classOf(1 + n)
	}
	return classOf(longPrefixSize + n)
}

// classSize is the size of a class's blocks.
func classSize(class int) int {
	if class <= 8 {
		return 8 * class
	}
	e := 6 + (class-9)/4
	return (5 + (class-9)%4) << (e - 2)
}

// classShift: a page of a class holds 1 << classShift blocks.
func classShift(class int) int {
	return max(0, bits.Len(uint((keyPageBytes-1)/classSize(class))))
}

var classSizes, classShifts = func() (sizes, shifts [keyClasses]int) {
	for c := 1; c < keyClasses; c++ {
		sizes[c], shifts[c] = classSize(c), classShift(c)
	}
	return sizes, shifts
}()

func (k *keys) block(ref keyRef) []byte {
	class, i := ref>>keyIndexBits, int(ref&keyIndexMask)
	shift, size := classShifts[class], classSizes[class]
	page := k.classes[class].pages[i>>shift]
	at := (i & (1<<shift - 1)) * size
	return page[at : at+size]
}

// put stores a key. There is always room: a shard has as many block numbers as
// entries in every class.
func (k *keys) put(key []byte) keyRef {
	class := blockClass(len(key))
	c := &k.classes[class]
	var i uint32
	if c.free != 0 {
		i = c.free - 1
		c.free = binary.LittleEndian.Uint32(k.block(keyRef(uint32(class)<<keyIndexBits | i)))
	} else {
		i = c.next
		c.next++
		if int(i)>>classShifts[class] == len(c.pages) {
			size := classSizes[class] << classShifts[class]
			c.pages = append(c.pages, make([]byte, size))
			k.total += size
		}
	}
	ref := keyRef(uint32(class)<<keyIndexBits | i)
	b := k.block(ref)
	if len(key) < longKeyBytes {
		b[0] = byte(len(key))
		copy(b[1:], key)
	} else {
		binary.LittleEndian.PutUint32(b, uint32(len(key))<<8|longKeyBytes)
		copy(b[longPrefixSize:], key)
	}
	return ref
}

// get returns a key's bytes, which are the table's own.
func (k *keys) get(ref keyRef) []byte {
	b := k.block(ref)
	if n := int(b[0]); n < longKeyBytes {
		return b[1 : 1+n]
	}
	n := int(binary.LittleEndian.Uint32(b) >> 8)
	return b[longPrefixSize : longPrefixSize+n]
}

func (k *keys) same(ref keyRef, key []byte) bool { return bytes.Equal(k.get(ref), key) }

// drop frees a block.
func (k *keys) drop(ref keyRef) {
	c := &k.classes[ref>>keyIndexBits]
	binary.LittleEndian.PutUint32(k.block(ref), c.free)
	c.free = uint32(ref&keyIndexMask) + 1
}

// bytes is the memory of all pages.
func (k *keys) bytes() int { return k.total }

package shard

// Key bytes live in pages of equal blocks, one set of pages for each size of
// block. Each page has a free list through its blocks that are not in use, and a
// page without a key is given back, so what keys of one length took is there for
// keys of another. A block holds the length of the key and the key:
//
//	length < 255:   1 byte length │ key
//	otherwise:      0xFF │ 3 bytes length, little endian │ key
//
// Blocks grow in steps of 8 bytes to 64 and of a quarter from there, so at most
// a fifth of a long key's block is unused. Where memory is full a key may stand in a
// larger block: one that is free is better than none.

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// KeyBytesMax is the longest key: 65,536 bytes that a caller may choose, and what a
// plan adds to name the state of one of its limits.
const KeyBytesMax = 65_536 + 256

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
	pages []keyPage
	room  pageRef   // head of the list of pages with room
	spare []pageRef // pages that were given back
}

// pageRef is 1 + the number of a page in its class. 0 is none.
type pageRef uint32

type keyPage struct {
	bytes      []byte
	next, prev pageRef // in the list of pages with room
	used       uint32  // blocks in use
	unused     uint32  // the first block never handed out
	free       uint32  // 1 + head of the list of blocks that were freed
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
	page := k.classes[class].pages[i>>shift].bytes
	at := (i & (1<<shift - 1)) * size
	return page[at : at+size]
}

// put stores a key in a block of its size. There is always room: a shard has as many
// block numbers as entries in every class, and a page is added only when all others
// are full.
func (k *keys) put(key []byte) keyRef { return k.putIn(blockClass(len(key)), key) }

// larger is the class of the smallest blocks that are free and larger than those of a
// class, 0 if there are none.
func (k *keys) larger(class int) int {
	for class++; class < keyClasses; class++ {
		if k.classes[class].room != 0 {
			return class
		}
	}
	return 0
}

// putIn is put into a block of a class, which the key does not have to fill.
func (k *keys) putIn(class int, key []byte) keyRef {
	c, shift := &k.classes[class], classShifts[class]
	if c.room == 0 {
		k.grow(class)
	}
	n := c.room - 1
	p := &c.pages[n]
	ref := keyRef(uint32(class)<<keyIndexBits | uint32(n)<<shift)
	if p.free != 0 {
		ref |= keyRef(p.free - 1)
		p.free = binary.LittleEndian.Uint32(k.block(ref))
	} else {
		ref |= keyRef(p.unused)
		p.unused++
	}
	if p.used++; p.used == 1<<shift {
		c.unlink(n + 1)
	}
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

// drop frees a block, and its page if that was the last key on it and another page
// has room: the next key should not have to make one again.
func (k *keys) drop(ref keyRef) {
	class, i := ref>>keyIndexBits, uint32(ref&keyIndexMask)
	c, shift := &k.classes[class], classShifts[class]
	n := pageRef(i>>shift) + 1
	p := &c.pages[n-1]
	if p.used == 1<<shift {
		c.link(n)
	}
	binary.LittleEndian.PutUint32(k.block(ref), p.free)
	p.free = i&(1<<shift-1) + 1
	if p.used--; p.used == 0 && (p.next != 0 || p.prev != 0) {
		c.unlink(n)
		k.total -= len(p.bytes)
		*p = keyPage{}
		c.spare = append(c.spare, n)
	}
}

// grow adds a page to a class.
func (k *keys) grow(class int) {
	c := &k.classes[class]
	var n pageRef
	if last := len(c.spare) - 1; last >= 0 {
		n = c.spare[last]
		c.spare = c.spare[:last]
	} else {
		c.pages = append(c.pages, keyPage{})
		n = pageRef(len(c.pages))
	}
	size := classSizes[class] << classShifts[class]
	c.pages[n-1].bytes = make([]byte, size)
	k.total += size
	c.link(n)
}

// link puts a page in front of the list of pages with room.
func (c *keyClass) link(n pageRef) {
	p := &c.pages[n-1]
	if p.next = c.room; p.next != 0 {
		c.pages[p.next-1].prev = n
	}
	c.room = n
}

// unlink takes a page off that list.
func (c *keyClass) unlink(n pageRef) {
	p := &c.pages[n-1]
	if p.prev != 0 {
		c.pages[p.prev-1].next = p.next
	} else {
		c.room = p.next
	}
	if p.next != 0 {
		c.pages[p.next-1].prev = p.prev
	}
	p.next, p.prev = 0, 0
}

// bytes is the memory of all pages.
func (k *keys) bytes() int { return k.total }

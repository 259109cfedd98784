package shard

import (
	"bytes"
	"slices"
	"testing"
)

// edges are lengths of keys around which something changes: the size of the
// block, or how the length is written.
func edges() (lengths []int) {
	for _, prefix := range []int{1, longPrefixSize} {
		for class := 1; class < keyClasses; class++ {
			for d := -2; d <= 2; d++ {
				lengths = append(lengths, classSize(class)-prefix+d)
			}
		}
	}
	lengths = append(lengths, 0, 1, longKeyBytes-1, longKeyBytes, longKeyBytes+1, 1<<16-1, KeyBytesMax)
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	return slices.DeleteFunc(lengths, func(n int) bool { return n < 0 || n > KeyBytesMax })
}

// Every class holds what it says, and no smaller one would.
func TestKeyClasses(t *testing.T) {
	for n := 0; n <= KeyBytesMax; n++ {
		prefix := 1
		if n >= longKeyBytes {
			prefix = longPrefixSize
		}
		class := blockClass(n)
		if class < 1 || class >= keyClasses {
			t.Fatalf("a key of %d bytes is of class %d", n, class)
		}
		if size := classSize(class); size < n+prefix || class > 1 && classSize(class-1) >= n+prefix {
			t.Fatalf("a key of %d bytes goes into a block of %d", n, size)
		}
	}
	for class := 1; class < keyClasses; class++ {
		size, page := classSize(class), classSize(class)<<classShift(class)
		if size != classSizes[class] || classShift(class) != classShifts[class] {
			t.Errorf("class %d: the tables say otherwise", class)
		}
		if page < keyPageBytes || page >= 2*keyPageBytes && size <= keyPageBytes {
			t.Errorf("class %d: a page of %d bytes", class, page)
		}
		if class > 8 && 5*classSize(class-1) < 4*size {
			t.Errorf("class %d: from %d to %d is more than a quarter", class, classSize(class-1), size)
		}
	}
	if top := blockClass(KeyBytesMax); keyRef(top)<<keyIndexBits>>keyIndexBits != keyRef(top) {
		t.Errorf("class %d does not fit into a keyRef", top)
	}
}

func TestKeysTwin(t *testing.T) {
	r, k := newRand(t, 1), &keys{}
	want := make(map[keyRef][]byte)
	var order []keyRef
	lengths := edges()
	put := func(n int) {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		ref := k.put(key)
		if _, twice := want[ref]; twice {
			t.Fatalf("block %#x was handed out twice", ref)
		}
		want[ref] = key
		order = append(order, ref)
	}
	drop := func(n int) {
		ref := order[n]
		if got := k.get(ref); !bytes.Equal(got, want[ref]) {
			t.Fatalf("block %#x holds a key of %d bytes that is not the one of %d bytes put there", ref, len(got), len(want[ref]))
		}
		k.drop(ref)
		delete(want, ref)
		order[n] = order[len(order)-1]
		order = order[:len(order)-1]
	}
	for _, n := range lengths {
		put(n)
		put(n)
	}
	for range 20_000 {
		if len(order) == 0 || r.IntN(2) == 0 && len(order) < 3_000 {
			// Mostly short ones, all edges among them.
			put(min(lengths[r.IntN(len(lengths))], lengths[r.IntN(len(lengths))], lengths[r.IntN(len(lengths))]))
		} else {
			drop(r.IntN(len(order)))
		}
	}
	for ref, key := range want {
		if !k.same(ref, key) || k.same(ref, append(bytes.Clone(key), 0)) || len(key) > 0 && k.same(ref, key[1:]) {
			t.Fatalf("block %#x of %d bytes", ref, len(key))
		}
	}
	if err := k.verifyPages(blocksOf(k, want)); err != nil {
		t.Error(err)
	}
	for len(order) > 0 {
		drop(len(order) - 1)
	}
	if err := k.verifyPages(blocksOf(k, nil)); err != nil {
		t.Error(err)
	}
	for class := range k.classes {
		if c := &k.classes[class]; len(c.pages)-len(c.spare) > 1 {
			t.Errorf("class %d keeps %d of %d pages without a key", class, len(c.pages)-len(c.spare), len(c.pages))
		}
	}
}

// blocksOf is a list of all blocks, in which those of some keys are taken.
func blocksOf(k *keys, used map[keyRef][]byte) [][]bool {
	blocks := make([][]bool, keyClasses)
	for class := range blocks {
		blocks[class] = make([]bool, len(k.classes[class].pages)<<classShifts[class])
	}
	for ref := range used {
		blocks[ref>>keyIndexBits][ref&keyIndexMask] = true
	}
	return blocks
}

// Pages of one and two keys, so that they fill up and empty all the time.
func TestKeyPagesTwin(t *testing.T) {
	r, k := newRand(t, 2), &keys{}
	want := make(map[keyRef][]byte)
	var order []keyRef
	for step := range 3000 {
		if most := 5 + step/100; len(order) == 0 || len(order) < most && r.IntN(3) > 0 {
			key := bytes.Repeat([]byte{byte(step)}, pick(r, 30_000, 40_000, 60_000, KeyBytesMax))
			ref := k.put(key)
			want[ref] = key
			order = append(order, ref)
		} else {
			n := r.IntN(len(order))
			k.drop(order[n])
			delete(want, order[n])
			order[n] = order[len(order)-1]
			order = order[:len(order)-1]
		}
		if err := k.verifyPages(blocksOf(k, want)); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		for class := range k.classes {
			// What was given back is used again, so there are never more than lived at once.
			if pages := len(k.classes[class].pages); pages > 37 {
				t.Fatalf("step %d: class %d has %d pages for %d keys", step, class, pages, len(order))
			}
		}
	}
	for ref, key := range want {
		if !k.same(ref, key) {
			t.Fatalf("block %#x of %d bytes", ref, len(key))
		}
	}
}

// A block that was freed is used again, by a key of another length that fits too.
func TestKeysReuse(t *testing.T) {
	k := &keys{}
	for class := 1; class <= blockClass(KeyBytesMax); class++ {
		prefix := longPrefixSize
		if classSize(class) <= longKeyBytes {
			prefix = 1
		}
		long := make([]byte, min(classSize(class)-prefix, KeyBytesMax))
		short := bytes.Repeat([]byte{7}, len(long)-2)
		ref := k.put(long)
		before := k.bytes()
		k.drop(ref)
		if again := k.put(short); again != ref || !k.same(again, short) {
			t.Errorf("class %d: block %#x after %#x was freed", class, again, ref)
		}
		if k.bytes() != before {
			t.Errorf("class %d: %d bytes, %d before", class, k.bytes(), before)
		}
	}
}

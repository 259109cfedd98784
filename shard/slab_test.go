package shard

import (
	"testing"
	"unsafe"
)

func TestSlabTwin(t *testing.T) {
	r, s := newRand(t, 1), &slab{}
	live := make(map[slot]uint64) // slot → the hash that was put there
	var order []slot
	for step := range 60_000 {
		if grow := step/10_000%2 == 0; len(order) == 0 || grow == (r.IntN(4) > 0) {
			i := s.take()
			if _, twice := live[i]; i == 0 || twice {
				t.Fatalf("step %d: slot %d was handed out twice, or is none", step, i)
			}
			e := s.at(i)
			e.hash, e.limit = r.Uint64(), 1
			live[i] = e.hash
			order = append(order, i)
			continue
		}
		n := r.IntN(len(order))
		i := order[n]
		order[n] = order[len(order)-1]
		order = order[:len(order)-1]
		if e := s.at(i); e.hash != live[i] {
			t.Fatalf("step %d: slot %d holds another's hash", step, i)
		}
		s.give(i)
		if e := s.at(i); *e != (entry{next: e.next}) {
			t.Fatalf("step %d: something of an entry that was given back is left: %+v", step, *e)
		}
		delete(live, i)
	}
	if want := len(s.chunks) * chunkEntries * 64; s.bytes() != want || int(s.next) > len(s.chunks)*chunkEntries {
		t.Errorf("%d bytes in %d chunks for %d slots", s.bytes(), len(s.chunks), s.next)
	}
}

// A slot is used again before a new one is made.
func TestSlabReusesTheLatest(t *testing.T) {
	s := &slab{}
	for want := slot(1); want <= 3; want++ {
		if i := s.take(); i != want {
			t.Fatalf("took %d, want %d", i, want)
		}
	}
	s.give(1)
	s.give(3)
	for _, want := range []slot{3, 1, 4} {
		if i := s.take(); i != want {
			t.Fatalf("took %d, want %d", i, want)
		}
	}
}

func TestSlabLimit(t *testing.T) {
	s := &slab{next: KeysPerShardMax}
	s.chunks = aliased(KeysPerShardMax >> chunkBits)
	if i := s.take(); i != KeysPerShardMax {
		t.Fatalf("took %d, want the last, %d", i, KeysPerShardMax)
	}
	if i := s.take(); i != 0 {
		t.Fatalf("took %d after the last", i)
	}
	s.give(5)
	if i := s.take(); i != 5 {
		t.Fatalf("took %d, want the one given back", i)
	}
	if i := s.take(); i != 0 {
		t.Fatalf("took %d from a full slab", i)
	}
}

// An entry is one line of cache: a chunk begins on a line.
func TestEntriesAreAligned(t *testing.T) {
	s := &slab{}
	for range 3 * chunkEntries {
		if at := uintptr(unsafe.Pointer(s.at(s.take()))); at%64 != 0 {
			t.Fatalf("an entry begins at %#x", at)
		}
	}
}

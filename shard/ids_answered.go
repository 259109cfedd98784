package shard

// Ids that only remember an answer, which is most of them: hundreds of thousands a
// second where callers send one with every call. They are kept as keys are, without a
// pointer in them: an entry for each, found by an index, freed by a wheel, and its texts
// in a block of a page. An entry has the hash of the question where that of a key has a
// state, and in its block stand
//
//	┌────────────────┬──────┬────────────────┬─────┬────────┐
//	│ uvarint length │ name │ uvarint length │ key │ answer │
//	└────────────────┴──────┴────────────────┴─────┴────────┘

import (
	"encoding/binary"
	"hash/maphash"
	"unsafe"

	"sluice/algorithms"
)

// answeredBytesMax is how long the texts of an id may be together; one whose are longer
// is kept as reservations are.
const answeredBytesMax = 100_000

type answered struct {
	slab  slab
	index index
	texts keys
	wheel wheel
	seed  maphash.Seed

	text     []byte // scratch
	question [QuestionBytes]byte
	view     ID // what find returned last

	touched uint32 // keeps loads that are done for the caches' sake
}

func newAnswered(now uint64) *answered {
	t := &answered{seed: maphash.MakeSeed()}
	t.index = newIndex(&t.slab)
	t.wheel.entries, t.wheel.now = &t.slab, now>>tickBits
	return t
}

// answeredBytes is how long the block of an id is.
func answeredBytes(name, key, answer int) int {
	return 2*binary.MaxVarintLen32 + name + key + answer
}

func (t *answered) slot(name []byte) (hash uint64, i slot) {
	hash = maphash.Bytes(t.seed, name)
	return hash, t.index.find(hash, func(i slot) bool {
		e := t.slab.at(i)
		if e.hash != hash {
			return false
		}
		has, _ := cutText(t.texts.get(e.key))
		return string(has) == string(name)
	})
}

// cutText cuts a text off what begins with its length.
func cutText(b []byte) (text, rest []byte) {
	n, size := binary.Uvarint(b)
	b = b[size:]
	return b[:n:n], b[n:]
}

// at is what an entry stands for, until the next call. Its name is the first of what
// is returned.
func (t *answered) at(e *entry) (name []byte, id *ID) {
	q := t.question[:0]
	for _, part := range [...]uint64{e.state.At, e.state.A, e.state.B, e.state.C} {
		q = binary.LittleEndian.AppendUint64(q, part)
	}
	id = &t.view
	id.Question, id.Deadline = q, e.expiry
	name, rest := cutText(t.texts.get(e.key))
	id.Key, id.Answer = cutText(rest)
	return name, id
}

// find returns what a name stands for, nil if it is not known.
func (t *answered) find(now uint64, name []byte) *ID {
	if t == nil {
		return nil
	}
	_, i := t.slot(name)
	if i == 0 || t.slab.at(i).expiry <= now {
		return nil
	}
	_, id := t.at(t.slab.at(i))
	return id
}

// put stores an id, in the place of one of the same name.
func (t *answered) put(name, key, question, answer []byte, deadline uint64) {
	hash, i := t.slot(name)
	if i != 0 {
		t.remove(i, t.slab.at(i))
	}
	text := append(binary.AppendUvarint(t.text[:0], uint64(len(name))), name...)
	text = append(binary.AppendUvarint(text, uint64(len(key))), key...)
	t.text = append(text, answer...)
	part := func(n int) uint64 { return binary.LittleEndian.Uint64(question[8*n:]) }
	i = t.slab.take()
	e := t.slab.at(i)
	*e = entry{
		state: algorithms.State{At: part(0), A: part(1), B: part(2), C: part(3)}, hash: hash, expiry: deadline,
		key: t.texts.put(t.text), limit: 1,
	}
	t.index.insert(hash, i)
	t.wheel.link(i, e)
	if cap(t.text) > answersBytesMax {
		t.text = nil
	}
}

// drop forgets an id.
func (t *answered) drop(name []byte) {
	if t == nil {
		return
	}
	if _, i := t.slot(name); i != 0 {
		t.remove(i, t.slab.at(i))
	}
}

func (t *answered) remove(i slot, e *entry) {
	t.wheel.unlink(e)
	t.index.remove(e.hash, i)
	t.texts.drop(e.key)
	t.slab.give(i)
}

// sweep forgets ids whose time is over, looking at so many, and says whether there may
// be more.
func (t *answered) sweep(now uint64, budget int) (more bool) {
	return t != nil && t.wheel.advance(now, budget, t.ahead, t.remove)
}

// ahead touches what forgetting the next entries will need, so that cache misses overlap.
func (t *answered) ahead(now uint64, i slot, n int) {
	t.touched ^= touchDue(&t.slab, &t.index, &t.texts, now, i, n)
}

// full says that there may not be one id more.
func (t *answered) full() bool { return t != nil && t.index.count >= KeysPerShardMax }

// growth is how many bytes one id more adds, but for its texts: they are known when it
// has been decided, and add a page at most.
func (t *answered) growth() int {
	if t == nil {
		return chunkEntries * int(unsafe.Sizeof(entry{}))
	}
	return t.slab.growth()
}

func (t *answered) bytes() int {
	if t == nil {
		return 0
	}
	return t.slab.bytes() + t.index.bytes() + t.texts.bytes() + t.wheel.bytes()
}

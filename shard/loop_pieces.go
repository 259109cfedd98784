package shard

// Pieces: what calls with ids owe the journal, where nobody waits until it is durable. A
// crash must keep an id and what it has charged or neither, so both go into one piece,
// and they cannot wait in the ledgers of their shards, which are written one by one. They
// wait here, several pieces in one submission, which lies in one frame.
//
// Invariant: a state that waits here is older than what its shard owes, and whoever
// hands over what a shard owes, owning it, hands over the pieces before. So the journal
// has the states of a key in their order.

// pieceBytesMax is how many bytes wait at most before the next piece.
const pieceBytesMax = RecordsBytesMax / 2

// ownPieceBytesMax is about how much one batch owes before what it owes is made a piece
// and the next is begun, so that what comes together is not cut in two by its size.
const ownPieceBytesMax = pieceBytesMax / 4

// pieces are those of all shards. What waits is passed on from one to the next, who own
// different shards: a channel of one holds it while nobody does.
type pieces chan waiting

type waiting struct {
	records []byte // nil: none
	time    uint64
}

func newPieces() pieces {
	p := make(pieces, 1)
	p <- waiting{}
	return p
}

// add takes what some shards owe, which h owns.
func (p pieces) add(h *Held, order []int, journal Journal) {
	w := <-p
	if len(w.records) > pieceBytesMax {
		w = w.submit(journal)
	}
	if w.records == nil {
		w.records = journal.Buffer()
	}
	w.time = max(w.time, h.Now)
	w.records = h.take(order, w.records, journal)
	p <- w
}

// flush hands over what waits.
func (p pieces) flush(journal Journal) {
	w := <-p
	if len(w.records) > 0 {
		w = w.submit(journal)
	}
	p <- w
}

// empty says whether nothing waits.
func (p pieces) empty() bool {
	w := <-p
	p <- w
	return len(w.records) == 0
}

func (w waiting) submit(journal Journal) waiting {
	journal.Submit(w.time, w.records, nil)
	return waiting{}
}

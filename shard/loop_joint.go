package shard

// Work that touches several shards at one instant. Whoever does it owns all of
// them meanwhile, taken in the order of their numbers, so nobody can see or use a
// half-made decision, and two who want the same shards cannot wait for each other.
// A shard that is free is taken as it is lent for any part; one that is not hands
// itself over when its goroutine comes to the request in its inbox.

import "slices"

// loan is a request to own a shard for a while.
type loan struct {
	granted chan struct{}
	back    chan struct{}
}

// borrow takes a shard, waiting for it; the loan is nil if nobody had it.
func (s *Shard) borrow() *loan {
	for range lendTries {
		if s.lend() {
			return nil
		}
		yield()
	}
	l := &loan{granted: make(chan struct{}), back: make(chan struct{})}
	s.inbox <- job{loan: l}
	<-l.granted
	return l
}

// grant lets the borrower have the shard until it gives it back. The shard's
// goroutine owns it before and after.
func (l *loan) grant() {
	close(l.granted)
	<-l.back
}

// repay ends what borrow began.
func (s *Shard) repay(l *loan) {
	if l == nil {
		s.release()
		return
	}
	close(l.back)
}

// Held is what one may do while one owns shards: everything, at one instant.
type Held struct {
	Now   uint64
	set   *Set
	order []int // the shards, as they were named
	ids   bool  // an id was put, so what was done becomes one piece
	begun bool  // what was owed before is out of the way
	owing int   // about how many bytes calls with ids have come to owe since the last piece
}

// core is the core of a shard that is owned.
func (h *Held) core(n int) *Core { return h.set.shards[n].core }

// Do does all operations of a batch in order. Their shards must be owned.
func (h *Held) Do(b *Batch) {
	for n, part := range b.parts {
		if len(part) > 0 {
			h.core(n).ready(b.Ops, part)
		}
	}
	for i := 0; i < len(b.Ops); {
		ops := b.Ops[i : i+max(int(b.Ops[i].Join), 1)]
		if ops[0].Again != nil {
			h.again(b, ops)
		} else {
			h.doGroup(ops)
		}
		i += len(ops)
	}
	for n, part := range b.parts {
		if len(part) > 0 {
			h.core(n).Tick(h.Now, SweepEntriesMin+SweepEntriesPerKey*len(part))
		}
	}
}

// doGroup does operations that belong together, or one that stands alone.
func (h *Held) doGroup(ops []Op) {
	c := h.core(int(ops[0].shard))
	if ops[0].Join == 0 {
		c.do(h.Now, &ops[0])
		return
	}
	near := true
	for i := range ops {
		near = near && ops[i].shard == ops[0].shard
	}
	if !near || !c.atOnce(h.Now, ops) {
		together(h.Now, ops, func(op *Op) *Core { return h.core(int(op.shard)) })
	}
}

// heldTypical is how many shards there are room for without an allocation.
const heldTypical = 8

// Hold runs f while it owns the shards of the given numbers, at one reading of the
// clock, and returns when what it changed is as durable as the journal promises.
// The error is the journal's; f has run all the same.
//
// What f did is handed to the journal in one piece, unless it is larger than pieces
// are: so a crash keeps all of it or nothing, an id among it and what it has charged.
// Of several pieces those of the numbers that were given first are on disk no later.
func (set *Set) Hold(numbers []int, f func(h *Held)) error {
	order := append(make([]int, 0, heldTypical), numbers...)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	loans := make([]*loan, 0, heldTypical)
	for _, n := range numbers {
		loans = append(loans, set.shards[n].borrow())
	}
	h := &Held{Now: set.shards[numbers[0]].clock.Now(), set: set, order: order}
	f(h)
	done := h.handOver()
	for i, n := range numbers {
		set.shards[n].repay(loans[i])
	}
	if done != nil {
		return <-done
	}
	return nil
}

// handOver hands the journal what the shards of some numbers owe it, if it must be
// durable before anything is answered, and returns where it will be said that it is. What
// ids have changed becomes a piece in any case.
func (h *Held) handOver() (durable chan error) {
	s := h.set.shards[h.order[0]]
	if s.journal == nil || !s.everyPart {
		if h.ids {
			h.cut()
		}
		return nil
	}
	waits := false
	for _, n := range h.order {
		waits = h.core(n).mustWait() || waits
	}
	if !waits {
		return nil
	}
	durable = make(chan error, 1)
	s.journal.Submit(h.Now, h.take(h.order, s.journal.Buffer(), s.journal), func(err error) { durable <- err })
	return durable
}

// cut hands over what the shards owe as a piece of its own.
func (h *Held) cut() {
	h.owing = 0
	s := h.set.shards[h.order[0]]
	switch {
	case s.journal == nil || !slices.ContainsFunc(h.order, func(n int) bool { return h.core(n).Owes() }):
	case s.everyPart:
		h.Told(h.order[0])
		s.journal.Submit(h.Now, h.take(h.order, s.journal.Buffer(), s.journal), nil)
	default:
		h.set.pieces.add(h, h.order, s.journal)
	}
}

// begin says that something comes that must lie in one piece, of about so many bytes:
// so that it does, what is owed goes before it if that is much.
func (h *Held) begin(bytes int) {
	if !h.begun {
		for _, n := range h.order {
			h.owing += h.core(n).owedBytes()
		}
		h.begun = true
	}
	if h.owing > ownPieceBytesMax {
		h.cut()
	}
	h.owing += bytes
}

// take appends what some shards owe to records, submitting what is more than is taken
// at once.
func (h *Held) take(order []int, records []byte, journal Journal) []byte {
	for _, n := range order {
		for c := h.core(n); c.Owes(); {
			if len(records) >= RecordsBytesMax {
				journal.Submit(h.Now, records, nil)
				records = journal.Buffer()
			}
			records, _ = c.TakeRecords(h.Now, records, RecordsBytesMax)
		}
	}
	return records
}

// runJoint does all operations of a batch in order, at one instant, while it owns
// every shard that the batch touches.
func (set *Set) runJoint(b *Batch) {
	if err := set.Hold(b.Shards(make([]int, 0, heldTypical)), func(h *Held) { h.Do(b) }); err != nil {
		for part := range b.parts {
			b.unsave(part)
		}
	}
}

// Shards appends the numbers of the shards that the batch touches, those of ids last.
func (b *Batch) Shards(numbers []int) []int {
	for n, part := range b.parts {
		if len(part) > 0 {
			numbers = append(numbers, n)
		}
	}
	for n, home := range b.homes {
		if home && len(b.parts[n]) == 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

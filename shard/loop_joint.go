package shard

// Work that touches several shards at one instant. Whoever does it owns all of
// them meanwhile, taken in the order of their numbers, so nobody can see or use a
// half-made decision, and two who want the same shards cannot wait for each other.
// A shard that is free is taken as it is lent for any part; one that is not hands
// itself over when its goroutine comes to the request in its inbox.

import (
	"errors"
	"slices"
)

// loan is a request to own a shard for a while.
type loan struct {
	granted chan struct{}
	back    chan struct{}
}

// borrow takes a shard, waiting for it; the loan is nil if nobody had it.
func (s *Shard) borrow() *loan {
	if s.lend() {
		return nil
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
	Now uint64
	set *Set
	ids bool // an id was put, so the journal is told at once
}

// core is the core of a shard that is owned.
func (h *Held) core(n int) *Core { return h.set.shards[n].core }

// Do does all operations of a batch in order. Their shards must be owned.
func (h *Held) Do(b *Batch) {
	of := func(op *Op) *Core { return h.core(int(op.shard)) }
	for i := range b.Ops {
		of(&b.Ops[i]).prepare(&b.Ops[i])
	}
	for i := 0; i < len(b.Ops); {
		op := &b.Ops[i]
		if n := int(op.Join); n > 0 {
			together(h.Now, b.Ops[i:i+n], of)
			i += n
			continue
		}
		of(op).do(h.Now, op)
		i++
	}
	for n, part := range b.parts {
		if len(part) > 0 {
			h.core(n).Tick(h.Now, SweepEntriesMin+SweepEntriesPerOp*len(part))
		}
	}
}

// Hold runs f while it owns the shards of the given numbers, at one reading of the
// clock, and returns when what it changed is as durable as the journal promises.
// The error is the journal's; f has run all the same.
//
// What f did is handed to the journal in the order of the numbers, so an id that
// is to be on disk no sooner than what it charged is put on the last of them.
func (set *Set) Hold(numbers []int, f func(h *Held)) error {
	order := slices.Clone(numbers)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	loans := make([]*loan, len(numbers))
	for i, n := range numbers {
		loans[i] = set.shards[n].borrow()
	}
	h := &Held{Now: set.shards[numbers[0]].clock.Now(), set: set}
	f(h)
	done := make(chan error, len(order))
	waits := 0
	for _, n := range order {
		s := set.shards[n]
		if h.ids {
			s.handOver(h.Now)
		}
		if s.submit(h.Now, func(err error) { done <- err }) {
			waits++
		}
	}
	for i, n := range numbers {
		set.shards[n].repay(loans[i])
	}
	var err error
	for range waits {
		err = errors.Join(err, <-done)
	}
	return err
}

// handOver hands the journal what the shard owes it, where it does not do so for
// every part anyway. The caller owns the shard.
func (s *Shard) handOver(now uint64) {
	for more := s.journal != nil && !s.everyPart && s.core.Owes(); more; {
		var records []byte
		records, more = s.core.TakeRecords(now, s.journal.Buffer())
		s.journal.Submit(now, records, nil)
	}
}

// runJoint does all operations of a batch in order, at one instant, while it owns
// every shard that the batch touches.
func (set *Set) runJoint(b *Batch) {
	if err := set.Hold(b.Shards(nil), func(h *Held) { h.Do(b) }); err != nil {
		for part := range b.parts {
			b.unsave(part)
		}
	}
}

// Shards appends the numbers of the shards that the batch touches.
func (b *Batch) Shards(numbers []int) []int {
	for n, part := range b.parts {
		if len(part) > 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

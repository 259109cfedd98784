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

// giveBack ends what borrow began.
func (s *Shard) giveBack(l *loan) {
	if l == nil {
		s.release()
		return
	}
	close(l.back)
}

// Hold runs f while it owns the shards of the given numbers, at one reading of the
// clock, and returns when what it changed is as durable as the journal promises.
// The error is the journal's; f has run all the same.
func (set *Set) Hold(numbers []int, f func(now uint64, core func(n int) *Core)) error {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	loans := make([]*loan, len(numbers))
	for i, n := range numbers {
		loans[i] = set.shards[n].borrow()
	}
	now := set.shards[numbers[0]].clock.Now()
	f(now, func(n int) *Core { return set.shards[n].core })
	done := make(chan error, len(numbers))
	waits := 0
	for i, n := range numbers {
		s := set.shards[n]
		if s.submit(now, func(err error) { done <- err }) {
			waits++
		}
		s.giveBack(loans[i])
	}
	var err error
	for range waits {
		err = errors.Join(err, <-done)
	}
	return err
}

// runJoint does all operations of a batch in order, at one instant, while it owns
// every shard that the batch touches.
func (set *Set) runJoint(b *Batch) {
	var numbers []int
	for n, part := range b.parts {
		if len(part) > 0 {
			numbers = append(numbers, n)
		}
	}
	err := set.Hold(numbers, func(now uint64, core func(n int) *Core) {
		of := func(op *Op) *Core { return core(int(op.shard)) }
		for i := range b.Ops {
			of(&b.Ops[i]).prepare(&b.Ops[i])
		}
		for i := 0; i < len(b.Ops); {
			op := &b.Ops[i]
			n := max(int(op.Join), 1)
			if n > 1 {
				together(now, b.Ops[i:i+n], of)
			} else {
				of(op).do(now, op)
			}
			i += n
		}
		for n, part := range b.parts {
			if len(part) > 0 {
				core(n).Tick(now, SweepEntriesMin+SweepEntriesPerOp*len(part))
			}
		}
	})
	if err != nil {
		for part := range b.parts {
			b.unsave(part)
		}
	}
}

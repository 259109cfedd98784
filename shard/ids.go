package shard

// Ids: what a server-wide id stands for. An id remembers the question and the
// answer of the call that made it, so that the same call again is answered word
// for word and charges nothing. For a reservation it also holds what was charged
// and to what, until that is settled.
//
// An id lives on the shard that its own hash names, its keys where they live; both
// are owned while an id is used (Set.Hold). An id that the server makes is chosen
// to live where its key lives.
//
//	open ──(COMMIT, CANCEL, or its time comes)──▶ settled ──(60 s)──▶ forgotten
//	answered ──(its time to live)──▶ forgotten

import (
	"sluice/algorithms"
)

const (
	// IDBytesMax is the longest id.
	IDBytesMax = 256
	// SettledNanos is how long a settled id is remembered.
	SettledNanos = 60 * 1_000_000_000
)

// Outcome is what became of an id.
type Outcome uint8

const (
	// Answered: no reservation, only a remembered answer.
	Answered Outcome = iota
	// Open: reserved and not settled.
	Open
	// Committed and Cancelled: settled.
	Committed
	Cancelled
)

func (o Outcome) settled() bool { return o == Committed || o == Cancelled }

// Charged is one limit that a reservation has charged.
type Charged struct {
	Key    []byte // the name of the state
	Limit  algorithms.Limit
	Units  uint64
	Mark   uint64 // of the charge
	Life   uint64 // of the state, see reserved.go
	Plan   bool   // charged under a plan: what counts money is settled by SPEND
	Shadow bool   // charged beside the limits that are enforced
}

// ID is what an id stands for.
type ID struct {
	Name     string
	Key      []byte // the key that was asked about, for access rules
	Question []byte // what was asked; the same name for another question is an error
	Answer   []byte // the reply to that
	Settled  []byte // the reply to its settling
	Charged  []Charged
	Outcome  Outcome
	Cancel   bool   // what happens when its time comes: cancel, or commit as reserved
	Deadline uint64 // when that is, or when it is forgotten, nanoseconds

	at int // in the agenda
}

// ids are the ids of one core, with those whose time comes first in front.
type ids struct {
	answered *answered      // those that only remember an answer; nil: none yet
	byName   map[string]*ID // the others
	queue    agenda[*ID]
	bytes    int // of the others
}

func (id *ID) dueAt() uint64 { return id.Deadline }
func (id *ID) seat() *int    { return &id.at }

// About what an id takes beyond its texts, and a charge of it beyond its key.
const (
	idOverheadBytes = 256
	chargedBytes    = 80
)

func (id *ID) size() int {
	n := idOverheadBytes + len(id.Name) + len(id.Key) + len(id.Question) + len(id.Answer) + len(id.Settled)
	for i := range id.Charged {
		n += chargedBytes + len(id.Charged[i].Key)
	}
	return n
}

// put stores an id, in the place of one of the same name.
func (t *ids) put(now uint64, id *ID) {
	name := []byte(id.Name)
	if id.Outcome == Answered && len(id.Question) == QuestionBytes && t.remembers(len(name), len(id.Key), len(id.Answer)) {
		t.remember(now, name, id.Key, id.Question, id.Answer, id.Deadline)
		return
	}
	t.drop(name)
	if t.byName == nil {
		t.byName = make(map[string]*ID)
	}
	t.byName[id.Name] = id
	t.bytes += id.size()
	t.queue.enter(id)
}

// remembers says whether texts of such lengths are kept without pointers.
func (t *ids) remembers(name, key, answer int) bool {
	return answeredBytes(name, key, answer) <= answeredBytesMax && !t.answered.full()
}

// remember stores an answer; it replaces one under the same name.
func (t *ids) remember(now uint64, name, key, question, answer []byte, deadline uint64) {
	if t.answered == nil {
		t.answered = newAnswered(now)
	}
	if id := t.byName[string(name)]; id != nil {
		t.forget(id)
	}
	t.answered.put(name, key, question, answer, deadline)
}

// memory is how many bytes the ids take.
func (t *ids) memory() int { return t.bytes + t.answered.bytes() }

// drop forgets an id.
func (t *ids) drop(name []byte) {
	t.answered.drop(name)
	if id := t.byName[string(name)]; id != nil {
		t.forget(id)
	}
}

func (t *ids) forget(id *ID) {
	delete(t.byName, id.Name)
	t.bytes -= id.size()
	t.queue.leave(id)
}

// find returns what a name stands for at now, nil if it is not known. One that only
// remembers an answer is good until the next call, and without its name.
func (t *ids) find(now uint64, name []byte) *ID {
	if id := t.answered.find(now, name); id != nil {
		return id
	}
	id := t.byName[string(name)]
	if id == nil || id.Outcome != Open && id.Deadline <= now {
		return nil
	}
	return id
}

// due returns an open id whose time has come, nil if none was found. Ids that are only
// remembered are forgotten on the way, up to a bound; more says that it was reached.
func (t *ids) due(now uint64) (id *ID, more bool) {
	more = t.answered.sweep(now, SweepEntriesMax)
	for range SweepEntriesMax {
		if len(t.queue) == 0 || t.queue[0].due > now {
			return nil, more
		}
		if id := t.queue[0].one; id.Outcome == Open {
			return id, true
		}
		t.forget(t.queue[0].one)
	}
	return nil, true
}

// FindID returns what an id stands for, nil if it is not known. Shard n, where the
// id lives, must be owned.
func (h *Held) FindID(n int, name []byte) *ID { return h.core(n).ids.find(h.Now, name) }

// Told says that what an id of shard n remembers is told again: it must be on disk before.
func (h *Held) Told(n int) { h.core(n).toldAgain = true }

// DueID returns an open id of shard n whose time has come, nil if none was found; more
// says that it is worth to look again, after the shard has been let go for a moment.
func (h *Held) DueID(n int) (id *ID, more bool) { return h.core(n).ids.due(h.Now) }

// roomForID says whether there is memory for an id that is made by a call.
func (c *Core) roomForID(now uint64, a *Again, ops []Op) bool {
	fits := func() bool {
		if c.bounds.BytesMax == 0 {
			return true
		}
		growth := idOverheadBytes + len(a.Name) + len(a.Key) + QuestionBytes + answerBytesTypical
		if a.Reserve {
			for i := range ops {
				growth += chargedBytes + len(ops[i].Key)
			}
		} else {
			growth += c.ids.answered.growth()
		}
		return c.Bytes()+growth <= c.bounds.BytesMax
	}
	if !fits() {
		c.ids.answered.sweep(now, sweepForRoomEntriesMax)
		c.sweepUntil(now, fits)
	}
	return fits()
}

// PutID stores an id on shard n, and owes it to the journal. What a new reservation
// has charged is on shard key.
func (h *Held) PutID(n, key int, id *ID) {
	c := h.core(n)
	for i := range id.Charged {
		id.Charged[i].Life = h.core(key).reserve(id.Charged[i].Key)
	}
	c.ids.put(h.Now, id)
	if c.ledger.on {
		c.ledger.ids = append(c.ledger.ids, id)
	}
	h.ids = true
}

// SettleID ends a reservation: units says for each charge how many shall count in the
// end, and gives its key's xxhash64. key
// is the shard of its keys, which must be owned with its own. What is returned is
// remembered for SettledNanos once it has been given the reply and is put.
func (h *Held) SettleID(key int, id *ID, outcome Outcome, units func(i int) (n, keyHash uint64)) *ID {
	h.begin(id.size())
	for i := range id.Charged {
		n, keyHash := units(i)
		h.core(key).settle(h.Now, &id.Charged[i], n, keyHash, id.Name)
		h.core(key).unreserve(id.Charged[i].Key)
	}
	settled := *id
	settled.Outcome, settled.Deadline, settled.Charged = outcome, h.Now+SettledNanos, nil
	return &settled
}

// settle makes units of a charge count in the end. A permit ends.
func (c *Core) settle(now uint64, charged *Charged, units, keyHash uint64, permit string) {
	op := &Op{Key: charged.Key}
	op.Call.Limit, op.Call.KeyHash = &charged.Limit, keyHash
	c.prepare(op)
	i := c.find(op)
	if c.load(now, i, op) {
		return
	}
	switch {
	case charged.Limit.Algorithm == algorithms.Concurrency:
		c.release(now, i, permit)
	case units < charged.Units && c.stored.Limit != nil && c.lives(charged.Key, charged.Life):
		c.giveBack(now, i, charged.Mark, charged.Units-units)
	case units > charged.Units:
		op.Call.Cost = units - charged.Units
		logBytes := c.loadedBytes()
		if algorithms.Charge(&op.Call, &c.stored) {
			c.store(i, op, logBytes)
		}
	}
}

// release ends a permit of what has been loaded.
func (c *Core) release(now uint64, i slot, id string) bool {
	if c.stored.Limit == nil {
		return false
	}
	logBytes := c.loadedBytes()
	if !algorithms.Release(&c.stored, now, id) {
		return false
	}
	c.rewrite(i, c.stored.FreshAt <= max(now, c.stored.State.At), logBytes)
	return true
}

// takeIDs takes the records of the ids that have changed, behind those of what they
// have charged, as TakeRecords does. Answers are encoded when they are remembered, and
// taken all at once: not more of them wait than come with one batch.
func (c *Core) takeIDs(dst []byte, most int) (records []byte, more bool) {
	g := &c.ledger
	for len(g.ids) > 0 {
		if len(dst) >= most {
			return dst, true
		}
		dst = appendID(dst, g.ids[0], &g.value)
		g.ids = g.ids[1:]
	}
	g.ids = nil
	dst = append(dst, g.answers...)
	if g.answers = g.answers[:0]; cap(g.answers) > ledgerKeptBytesMax {
		g.answers = nil
	}
	return dst, false
}

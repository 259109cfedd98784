package shard

// Calls that may be sent again: those with an id, which their answer is remembered
// under. Such a call is a group of operations of a batch like any other, and says in
// its first what the id is and what was asked. When its turn comes the id is looked for:
// if it is known, its answer is told again; else the group is decided and, if it
// passes, the answer is made and remembered at once, so that the same call further on
// in the batch finds it.
//
// The id lives on a shard of its own, so a batch with such calls owns all shards that it
// touches, as one with groups over several shards does: once, however many calls there
// are.

import "bytes"

// QuestionBytes is how long it is what tells two questions apart.
const QuestionBytes = 32

// Again is what a call says of its id, and what became of it.
type Again struct {
	Name     []byte
	Key      []byte // that is asked about, for access rules
	Question [QuestionBytes]byte
	TTL      uint64 // how long it is remembered, or open, nanoseconds
	Reserve  bool   // it is settled later
	Cancel   bool   // when its time comes, cancel it instead of committing
	Manner   uint8  // the caller's own: how it is answered

	// Answer is what the id remembers. Where there is none and no Trouble, the call did
	// not pass, and what is to be told is what became of its operations.
	Answer  []byte
	Unsaved bool // the journal could not make it durable
	Trouble AgainTrouble

	home uint16 // the shard of the id
}

// AgainTrouble is why a call was not decided.
type AgainTrouble uint8

const (
	// OtherQuestion: the id was used for another call.
	OtherQuestion AgainTrouble = iota + 1
	// NoIDRoom: there is no room for one id more, which is not known to be needed
	// before the call is decided.
	NoIDRoom
)

// Answerer makes the answers that ids remember.
type Answerer interface {
	// AppendAnswer appends the answer of a group of operations that has passed.
	AppendAnswer(out []byte, ops []Op) []byte
}

// Remember makes the last n operations a call with an id; tagHash is the xxhash64 of the
// id's Tag. They must be all or nothing: one, or joined. Before the batch is done,
// Answers must be set.
func (b *Batch) Remember(n int, a *Again, tagHash uint64) {
	home := Route(tagHash, len(b.parts))
	a.home = uint16(home)
	b.Ops[len(b.Ops)-n].Again = a
	b.homes[home], b.joint = true, true
}

// answerBytesTypical is about as long as an answer that an id remembers.
const answerBytesTypical = 64

// again does a group of operations, unless its id is known.
func (h *Held) again(b *Batch, ops []Op) {
	a := ops[0].Again
	a.Answer, a.Unsaved, a.Trouble = nil, false, 0
	c := h.core(int(a.home))
	from := len(b.answers)
	if known := c.ids.find(h.Now, a.Name); known != nil {
		if !bytes.Equal(known.Key, a.Key) || !bytes.Equal(known.Question, a.Question[:]) {
			a.Trouble = OtherQuestion
			return
		}
		h.Told(int(a.home))
		b.answers = append(b.answers, known.Answer...)
		a.Answer = b.answers[from:]
		return
	}
	if !c.roomForID(h.Now, a, ops) {
		a.Trouble = NoIDRoom
		return
	}
	size := len(a.Name) + len(a.Key) + QuestionBytes + answerBytesTypical
	for i := range ops {
		size += len(ops[i].Key) + recordBytesTypical
	}
	h.begin(size)
	h.doGroup(ops)
	for i := range ops {
		if !ops[i].passes() {
			return
		}
	}
	b.answers = b.Answers.AppendAnswer(b.answers, ops)
	a.Answer = b.answers[from:]
	if a.Reserve || !c.ids.remembers(len(a.Name), len(a.Key), len(a.Answer)) {
		h.PutID(int(a.home), ops[0].Shard(), a.id(h.Now, ops))
		return
	}
	h.ids = true
	c.ids.remember(h.Now, a.Name, a.Key, a.Question[:], a.Answer, h.Now+a.TTL)
	if g := &c.ledger; g.on {
		g.answers = appendAnswered(g.answers, a.Name, h.Now+a.TTL, a.Key, a.Question[:], a.Answer, &g.value)
	}
}

// id is what the name of a call that has passed stands for.
func (a *Again) id(now uint64, ops []Op) *ID {
	// One piece of memory for its texts.
	kept := make([]byte, 0, len(a.Key)+QuestionBytes+len(a.Answer))
	kept = append(append(append(kept, a.Key...), a.Question[:]...), a.Answer...)
	key, rest := kept[:len(a.Key):len(a.Key)], kept[len(a.Key):]
	id := &ID{
		Name: string(a.Name), Key: key, Question: rest[:QuestionBytes:QuestionBytes], Answer: rest[QuestionBytes:],
		Cancel: a.Cancel, Deadline: now + a.TTL,
	}
	if !a.Reserve {
		return id
	}
	id.Outcome = Open
	for i := range ops {
		op := &ops[i]
		if !op.Decision.Allowed || op.Refused() || op.Held || op.Free && op.Call.Cost == 0 {
			continue
		}
		ch := Charged{
			Key: bytes.Clone(op.Key), Limit: *op.Call.Limit, Units: op.Call.Cost, Mark: op.Mark,
			Plan: ops[0].Group > 0, Shadow: op.Shadow,
		}
		if op.Free {
			ch.Units = 0
		}
		id.Charged = append(id.Charged, ch)
	}
	return id
}

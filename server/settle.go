package server

// Ids: calls that may be repeated, and reservations that are settled later. Both
// remember their question and their answer under a server-wide id; a reservation
// also remembers what it charged. Whoever uses an id owns its shard and its keys'
// shards meanwhile (shard.Hold), so these commands are done alone, after everything
// before them in the pipeline.

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"sluice/algorithms"
	"sluice/internal/access"
	"sluice/shard"
)

// idTTLDefault is how long an id is remembered, and a reservation open, unless said
// otherwise: 60 s.
const idTTLDefault = 60_000 * nanosPerMilli

// errAlone is what parse returns for a request that must be done alone, by the
// command's run.
var errAlone = errors.New("this request is done alone")

// remembering is what a request says about its id.
type remembering struct {
	name   string // "": the server makes one, or there is none
	ttl    uint64 // nanoseconds
	cancel bool   // when the time comes, cancel instead of commit
}

// parseID reads an id.
func parseID(text []byte) (string, error) {
	if len(text) == 0 || len(text) > shard.IDBytesMax || text[0] == '@' {
		return "", fmt.Errorf("ERR id must have 1 to %d bytes and not begin with '@', got '%s'", shard.IDBytesMax, show(text))
	}
	return string(text), nil
}

// idempotent are the options IDEMPOTENT id [TTL d].
func (r *remembering) idempotent() options {
	return options{words: []string{"IDEMPOTENT"}, parse: func(_ string, rest [][]byte) (took int, err error) {
		return r.parseIdempotent(rest)
	}}
}

// parseIdempotent reads IDEMPOTENT id [TTL d].
func (r *remembering) parseIdempotent(rest [][]byte) (took int, err error) {
	if r.name, err = parseID(rest[1]); err != nil {
		return 0, err
	}
	if len(rest) < 3 || !strings.EqualFold(string(rest[2]), "TTL") {
		return 2, nil
	}
	if len(rest) < 4 {
		return 0, errors.New("ERR TTL wants a value after it")
	}
	return 4, r.parseTTL(rest[3])
}

func (r *remembering) parseTTL(text []byte) (err error) {
	if r.ttl, err = algorithms.ParseDuration("TTL", text, algorithms.WindowMaxNanos); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	return nil
}

// reservation are the options TTL d, ID id and ONEXPIRE COMMIT|CANCEL.
func (r *remembering) reservation() options {
	return options{words: []string{"TTL", "ID", "ONEXPIRE"}, parse: func(word string, rest [][]byte) (took int, err error) {
		switch word {
		case "TTL":
			return 2, r.parseTTL(rest[1])
		case "ID":
			r.name, err = parseID(rest[1])
			return 2, err
		}
		return 2, r.parseOnExpire(rest[1])
	}}
}

// parseOnExpire reads the value of ONEXPIRE.
func (r *remembering) parseOnExpire(text []byte) error {
	switch strings.ToUpper(string(text)) {
	case "COMMIT":
		r.cancel = false
	case "CANCEL":
		r.cancel = true
	default:
		return fmt.Errorf("ERR ONEXPIRE must be COMMIT or CANCEL, got '%s'", show(text))
	}
	return nil
}

// questionBytesTypical is longer than most questions are.
const questionBytesTypical = 256

// questionOf is what an id was asked for: the command's words without its options
// about the id. Two questions are the same when their hashes are.
func questionOf(words ...[]byte) []byte {
	text := make([]byte, 0, questionBytesTypical)
	for _, w := range words {
		text = append(append(strconv.AppendInt(text, int64(len(w)), 10), ':'), w...)
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

// home is the shard that an id lives on.
func (s *Server) home(id string) int { return shard.Route(TagHash([]byte(id)), s.shards.Len()) }

// makeID makes an id that lives on the given shard, so that it costs no other.
func (s *Server) makeID(on int) string {
	for {
		if id := fmt.Sprintf("%016x", s.roll()); s.home(id) == on {
			return id
		}
	}
}

// remember does the operations of the session's batch, unless the id has been used:
// then the first answer is given again. write makes the answer out of the
// operations, which follow one another in the batch and are all or nothing.
func (s *session) remember(out []byte, r remembering, key, question []byte, reserve bool, write func(out []byte, id string) []byte) ([]byte, error) {
	ops := s.batch.Ops
	if r.ttl == 0 {
		r.ttl = idTTLDefault
	}
	if r.name == "" {
		r.name = s.server.makeID(ops[0].Shard())
	}
	home := s.server.home(r.name)
	var answer []byte
	var conflict error
	err := s.hold(append(s.batch.Shards(nil), home), func(h *shard.Held) {
		if known := h.FindID(home, r.name); known != nil {
			if !bytes.Equal(known.Key, key) || !bytes.Equal(known.Question, question) {
				conflict = fmt.Errorf("ERR id '%s' was used for another call", show([]byte(r.name)))
			}
			answer = known.Answer
			return
		}
		for i := range ops {
			if reserve && ops[i].Call.Limit.Algorithm == algorithms.Concurrency {
				ops[i].ID = r.name
			}
		}
		texts := len(r.name) + len(key) + len(question) + answerBytesTypical
		for i := range ops {
			texts += len(ops[i].Key)
		}
		if !h.RoomForID(home, texts, len(ops)) {
			conflict = errNoIDRoom
			return
		}
		h.Do(s.batch)
		// One piece of memory for all that an id remembers.
		kept := append(append(make([]byte, 0, len(key)+len(question)+answerBytesTypical), key...), question...)
		key, question = kept[:len(key):len(key)], kept[len(key):len(kept):len(kept)]
		answer = write(kept[len(kept):], r.name)
		if passed(ops) {
			h.PutID(home, ops[0].Shard(), newID(r, h.Now, key, question, answer, ops, reserve))
		}
	})
	s.batch.Clear()
	s.forget()
	if err != nil {
		return nil, errUnsaved(err)
	}
	if conflict != nil {
		return nil, conflict
	}
	return append(out, answer...), nil
}

// answerBytesTypical is about as long as an answer that an id remembers.
const answerBytesTypical = 64

// errNoIDRoom is the reply where an id could not be remembered, which is not known to
// be needed before the call was decided.
var errNoIDRoom = errors.New("OOM no room to remember one id more; this call was not decided")

// passed says whether operations that belong together were charged.
func passed(ops []shard.Op) bool {
	for i := range ops {
		if op := &ops[i]; !op.Shadow && (!op.Decision.Allowed || op.Refused()) {
			return false
		}
	}
	return true
}

func newID(r remembering, now uint64, key, question, answer []byte, ops []shard.Op, reserve bool) *shard.ID {
	id := &shard.ID{
		Name: r.name, Key: key, Question: question, Answer: answer,
		Cancel: r.cancel, Deadline: now + r.ttl,
	}
	if !reserve {
		return id
	}
	id.Outcome = shard.Open
	for i := range ops {
		op := &ops[i]
		if !op.Decision.Allowed || op.Refused() || op.Held || op.Call.Limit == &unlimited {
			continue
		}
		ch := shard.Charged{
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

// runReserve is RL.RESERVE.
func runReserve(s *session, out []byte, args [][]byte) ([]byte, error) {
	var r remembering
	question, err := s.parseReserve(args, &r)
	if err != nil {
		return nil, err
	}
	ops := s.batch.Ops
	return s.remember(out, r, args[1], question, true, func(out []byte, id string) []byte {
		return s.appendWithID(out, ops, id, true)
	})
}

// parseReserve adds what RL.RESERVE charges to the batch, and says what its id is
// asked for: the key and the amount.
func (s *session) parseReserve(args [][]byte, r *remembering) (question []byte, err error) {
	rest := args[2:]
	if err := checkKey(args[1]); err != nil {
		return nil, err
	}
	if isPlan(rest[0]) {
		return s.reservePlan(args, r)
	}
	if len(rest) < 4 {
		return nil, byCommand["RL.RESERVE"].arityError()
	}
	spec, err := parseSpec(rest)
	if err != nil {
		return nil, err
	}
	if err := notPermits(spec.Algorithm); err != nil {
		return nil, err
	}
	n, err := amount("amount", rest[3], spec.Algorithm, 1)
	if err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	if err := parseOptions(&spec, rest[4:], r.reservation()); err != nil {
		return nil, err
	}
	return questionOf(args[0], args[1], rest[3]), s.ask(shard.Allow, args[1], spec, n)
}

// settlement says how a reservation is settled.
type settlement struct {
	outcome shard.Outcome
	actual  []byte // of RL.COMMIT; nil: as reserved
	spend   []byte // of SPEND; nil: as reserved
}

// runCommit is RL.COMMIT id actual [SPEND d].
func runCommit(s *session, out []byte, args [][]byte) ([]byte, error) {
	how := settlement{outcome: shard.Committed, actual: args[2]}
	switch {
	case len(args) == 3:
	case !strings.EqualFold(string(args[3]), "SPEND"):
		return nil, unknownOptionOf(args[3], []string{"SPEND"}, "")
	case len(args) != 5:
		return nil, errors.New("ERR SPEND wants one value after it")
	default:
		how.spend = args[4]
	}
	return s.settle(out, string(args[1]), how)
}

// runCancel is RL.CANCEL id.
func runCancel(s *session, out []byte, args [][]byte) ([]byte, error) {
	return s.settle(out, string(args[1]), settlement{outcome: shard.Cancelled})
}

// settle ends a reservation. One that has been settled answers as it did then.
func (s *session) settle(out []byte, name string, how settlement) ([]byte, error) {
	home := s.server.home(name)
	at := -1
	var key []byte
	s.hold([]int{home}, func(h *shard.Held) {
		if id := h.FindID(home, name); id != nil {
			key, at = bytes.Clone(id.Key), s.server.homeOfKeys(id)
		}
	})
	unknown := fmt.Errorf("ERR no reservation '%s': it was never made, was denied, or was settled more than 60 s ago", show([]byte(name)))
	if at < 0 {
		return nil, unknown
	}
	if err := s.permitsKey(key, access.Read|access.Write); err != nil {
		return nil, err
	}
	var answer []byte
	var wrong error
	err := s.hold([]int{at, home}, func(h *shard.Held) {
		id := h.FindID(home, name)
		switch {
		case id == nil || id.Outcome == shard.Answered:
			wrong = unknown
		case id.Outcome != shard.Open:
			answer = id.Answer
		case id.Deadline <= h.Now:
			answer, wrong = s.settleNow(h, home, at, id, expiry(id))
		default:
			answer, wrong = s.settleNow(h, home, at, id, how)
		}
	})
	if err != nil {
		return nil, errUnsaved(err)
	}
	if wrong != nil {
		return nil, wrong
	}
	return append(out, answer...), nil
}

// homeOfKeys is the shard of what an id has charged. Under a plan all states live
// where the first does.
func (s *Server) homeOfKeys(id *shard.ID) int {
	key := id.Key
	if len(id.Charged) > 0 {
		key = id.Charged[0].Key
	}
	return shard.Route(TagHash(key), s.shards.Len())
}

// settleNow settles an open reservation, whose shards are owned, and returns the
// answer: what a peek with cost 0 says afterwards.
func (s *session) settleNow(h *shard.Held, home, at int, id *shard.ID, how settlement) ([]byte, error) {
	units, err := how.units(id.Charged)
	if err != nil {
		return nil, err
	}
	settled := h.SettleID(home, at, id, how.outcome, func(i int) (n, keyHash uint64) {
		return units[i], xxhash.Sum64(id.Charged[i].Key)
	})
	b := s.batch
	defer b.Clear()
	for i := range id.Charged {
		op := addTo(b, id.Charged[i].Key)
		op.Kind, op.Call.Limit, op.Call.Cost, op.Shadow = shard.Peek, &id.Charged[i].Limit, 0, id.Charged[i].Shadow
	}
	h.Do(b)
	if len(b.Ops) > 0 && !id.Charged[0].Plan {
		settled.Answer = appendDecisionOf(nil, &b.Ops[0])
	} else {
		settled.Answer = s.appendPlan(nil, b.Ops)
	}
	return settled.Answer, nil
}

// units says how much of each charge counts in the end.
func (how *settlement) units(charged []shard.Charged) (units []uint64, err error) {
	units = make([]uint64, len(charged))
	spend, plan := uint64(0), len(charged) == 0
	if how.spend != nil {
		if spend, err = parseSpend(how.spend); err != nil {
			return nil, err
		}
	}
	for i := range charged {
		ch := &charged[i]
		kind := ch.Limit.Kind()
		plan = plan || ch.Plan
		switch {
		case how.outcome == shard.Cancelled:
		case how.actual == nil, ch.Plan && kind == algorithms.Permits, ch.Plan && kind == algorithms.Money && how.spend == nil:
			units[i] = ch.Units
		case ch.Plan && kind == algorithms.Money:
			units[i] = spend
		default:
			if units[i], err = amount("actual", how.actual, ch.Limit.Algorithm, 0); err != nil {
				return nil, fmt.Errorf("ERR %w", err)
			}
		}
	}
	if how.spend != nil && !plan {
		return nil, errors.New("ERR SPEND goes with a reservation under a plan; here the actual amount settles all")
	}
	return units, nil
}

// SettleDue settles the reservations whose time has come, as each of them said.
func (s *Server) SettleDue() {
	nobody := &session{server: s, proto: resp2} // who asks later is answered in RESP2
	nobody.work = s.works.Get().(*work)
	defer nobody.release()
	for n := range s.shards.Len() {
		for more := true; more; {
			more = s.settleOneDue(nobody, n)
		}
	}
}

// settleOneDue settles one reservation of shard n whose time has come, if there is
// one, and says whether there may be more.
func (s *Server) settleOneDue(nobody *session, n int) (more bool) {
	var name string
	var at int
	s.shards.Hold([]int{n}, func(h *shard.Held) {
		var id *shard.ID
		if id, more = h.DueID(n); id != nil {
			name, at = id.Name, s.homeOfKeys(id)
		}
	})
	if name == "" {
		return more
	}
	s.shards.Hold([]int{at, n}, func(h *shard.Held) {
		if id, _ := h.DueID(n); id != nil && id.Name == name {
			nobody.settleNow(h, n, at, id, expiry(id))
		}
	})
	return true
}

// expiry is how a reservation is settled when its time comes.
func expiry(id *shard.ID) settlement {
	if id.Cancel {
		return settlement{outcome: shard.Cancelled}
	}
	return settlement{outcome: shard.Committed}
}

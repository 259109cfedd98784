package server

// Ids: calls that may be repeated, and reservations that are settled later. Both
// remember their question and their answer under a server-wide id; a reservation
// also remembers what it charged. Calls with ids go with all else that a pipeline asks
// (shard/again.go). Settling owns the shards of the id and of its keys meanwhile
// (shard.Hold), so it is done alone, after everything before it in the pipeline.

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

// idempotentWord is the option that brings an id.
const idempotentWord = "IDEMPOTENT"

// remembering is what a request says about its id.
type remembering struct {
	name   []byte // nil: the server makes one, or there is none
	ttl    uint64 // nanoseconds
	cancel bool   // when the time comes, cancel instead of commit
}

// checkID refuses what cannot be an id.
func checkID(text []byte) error {
	if len(text) == 0 || len(text) > shard.IDBytesMax || text[0] == '@' {
		return fmt.Errorf("ERR id must have 1 to %d bytes and not begin with '@', got '%s'", shard.IDBytesMax, show(text))
	}
	return nil
}

// parseID reads an id.
func parseID(text []byte) (string, error) {
	if err := checkID(text); err != nil {
		return "", err
	}
	return string(text), nil
}

// parseIdempotent reads IDEMPOTENT id [TTL d].
func (r *remembering) parseIdempotent(rest [][]byte) (took int, err error) {
	r.name = rest[1]
	if err := checkID(r.name); err != nil {
		return 0, err
	}
	if len(rest) < 3 || !is(rest[2], "TTL") {
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
			r.name = rest[1]
			return 2, checkID(r.name)
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

// questionOf is what an id was asked for: the command's words without its options
// about the id. Two questions are the same when their hashes are. The hash is made of
// work's scratch memory.
func (w *work) questionOf(words, more [][]byte) [shard.QuestionBytes]byte {
	text := w.text[:0]
	for _, some := range [...][][]byte{words, more} {
		for _, word := range some {
			text = append(append(strconv.AppendInt(text, int64(len(word)), 10), ':'), word...)
		}
	}
	if w.text = text; cap(text) > OutBytesMax {
		w.text = nil
	}
	return sha256.Sum256(text)
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

// The manners of answering a call with an id.
const (
	asCall        uint8 = iota // RL.ALLOW
	asTogether                 // RL.ALLOWALL
	asReservation              // RL.RESERVE
)

// remember gives the operations of the batch from the first on, which are all or
// nothing, an id: they are done unless the id is known.
func (s *session) remember(first int, r *remembering, key []byte, question [shard.QuestionBytes]byte, manner uint8) {
	ops := s.batch.Ops[first:]
	a := shard.Again{Name: r.name, Key: key, Question: question, TTL: r.ttl, Cancel: r.cancel, Manner: manner, Reserve: manner == asReservation}
	if a.TTL == 0 {
		a.TTL = idTTLDefault
	}
	if a.Name == nil {
		a.Name = []byte(s.server.makeID(ops[0].Shard()))
	}
	if a.Reserve {
		for i := range ops {
			if ops[i].Call.Limit.Algorithm == algorithms.Concurrency {
				ops[i].ID = string(a.Name)
			}
		}
	}
	s.agains = append(s.agains, a)
	s.batch.Answers = s
	s.batch.Remember(len(ops), &s.agains[len(s.agains)-1], TagHash(a.Name))
}

// AppendAnswer writes the answer of a call with an id that has passed. Ids keep answers
// in RESP2, for whoever asks again may speak another protocol than who asked first.
func (s *session) AppendAnswer(out []byte, ops []shard.Op) []byte {
	proto := s.proto
	s.proto = resp2
	switch a := ops[0].Again; a.Manner {
	case asTogether:
		out = s.appendTogether(out, ops)
	case asReservation:
		out = s.appendWithID(out, ops, string(a.Name), true)
	default:
		out = s.appendGroup(out, ops)
	}
	s.proto = proto
	return out
}

// appendKept writes an answer that an id has kept: arrays, integers and strings are the
// same in both protocols, nil is not.
func (s *session) appendKept(out, answer []byte) []byte {
	null := []byte("$-1\r\n")
	if s.proto == resp2 || !bytes.Contains(answer, null) {
		return append(out, answer...)
	}
	for len(answer) > 0 {
		line := answer[:bytes.IndexByte(answer, '\n')+1]
		if bytes.Equal(line, null) {
			out = appendNil(out, s.proto)
		} else {
			if n, err := strconv.Atoi(string(line[1 : len(line)-2])); err == nil && line[0] == '$' {
				line = answer[:len(line)+n+2]
			}
			out = append(out, line...)
		}
		answer = answer[len(line):]
	}
	return out
}

// appendAgain writes the answer of a call with an id, if it is not that of its
// operations.
func (s *session) appendAgain(out []byte, a *shard.Again) (_ []byte, done bool) {
	switch {
	case a.Unsaved:
		return s.appendFailure(out, s.unsaved()), true
	case a.Trouble == shard.OtherQuestion:
		return s.appendFailure(out, fmt.Sprintf("ERR id '%s' was used for another call", show(a.Name))), true
	case a.Trouble == shard.NoIDRoom:
		return s.appendFailure(out, errNoIDRoom), true
	case a.Answer != nil:
		return s.appendKept(out, a.Answer), true
	}
	return out, false
}

// errNoIDRoom is the reply where an id could not be remembered.
const errNoIDRoom = "OOM no room to remember one id more; this call was not decided"

// parseReserve parses RL.RESERVE. What its id is asked for are the key and the amount.
func parseReserve(s *session, args [][]byte) error {
	rest := args[2:]
	if err := checkKey(args[1]); err != nil {
		return err
	}
	first := len(s.batch.Ops)
	s.again = remembering{}
	if isPlan(rest[0]) {
		question, err := s.reservePlan(args, &s.again)
		if err == nil {
			s.remember(first, &s.again, args[1], question, asReservation)
		}
		return err
	}
	if len(rest) < 4 {
		return byCommand["RL.RESERVE"].arityError()
	}
	spec, err := parseSpec(rest)
	if err != nil {
		return err
	}
	if err := notPermits(spec.Algorithm); err != nil {
		return err
	}
	n, err := amount("amount", rest[3], spec.Algorithm, 1)
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if err := parseOptions(&spec, rest[4:], s.again.reservation()); err != nil {
		return err
	}
	if err := s.ask(shard.Allow, args[1], spec, n); err != nil {
		return err
	}
	s.remember(first, &s.again, args[1], s.questionOf(args[:2], rest[3:4]), asReservation)
	return nil
}

// writeReserve is the reply of RL.RESERVE: that of RL.ALLOW with the id behind it.
func writeReserve(s *session, out []byte, ops []shard.Op) []byte {
	if out, done := s.appendAgain(out, ops[0].Again); done {
		return out
	}
	return s.appendWithID(out, ops, "", true)
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
		if id := h.FindID(home, []byte(name)); id != nil {
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
		id := h.FindID(home, []byte(name))
		switch {
		case id == nil || id.Outcome == shard.Answered:
			wrong = unknown
		case id.Outcome != shard.Open:
			answer = id.Settled
			h.Told(home)
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
	return s.appendKept(out, answer), nil
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
	settled := h.SettleID(at, id, how.outcome, func(i int) (n, keyHash uint64) {
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
		settled.Settled = appendDecisionOf(nil, &b.Ops[0])
	} else {
		proto := s.proto
		s.proto = resp2
		settled.Settled = s.appendPlan(nil, b.Ops)
		s.proto = proto
	}
	h.PutID(home, at, settled)
	return settled.Settled, nil
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
	nobody := &session{server: s, proto: resp2}
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

package server

// Calls with a plan: key @plan [cost] [ENDPOINT name] [SPEND decimal] [ID id]. Each
// limit of the plan that is not off becomes an operation on a state of its own; all
// of them live on one shard and are decided together. What a call is told is the
// binding limit's decision.

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

// LimitsPerCallMax is how many limits of plans one command may come to.
const LimitsPerCallMax = 4096

// planCall is what a call with a plan asks.
type planCall struct {
	plan   *plans.Plan
	serial uint64 // of the book, or of one before, that the plan is of
	series uint32 // under which the plan's first limit is counted; 0: under its algorithm
	kind   shard.Kind
	cost   uint64
	spend  uint64 // millionths
	permit string // id of the permit; "": the server makes one where one is taken
}

// planOptions are options of a call with a plan, as a set of bits.
type planOptions uint8

const (
	optionEndpoint planOptions = 1 << iota
	optionSpend
	optionID
	optionIdempotent // with a TTL of its own
	optionTTL
	optionOnExpire
)

// planWords are the words of the options, in the order of the bits.
var planWords = []string{"ENDPOINT", "SPEND", "ID", "IDEMPOTENT", "TTL", "ONEXPIRE"}

const (
	optionsOfCall        = optionEndpoint | optionSpend
	optionsOfReservation = optionsOfCall | optionID | optionTTL | optionOnExpire
)

// words lists the words of the options.
func (o planOptions) words() (list []string) {
	for i, word := range planWords {
		if o&(1<<i) != 0 {
			list = append(list, word)
		}
	}
	return list
}

// option says which of the options a word in capitals is, 0 if it is none.
func (o planOptions) option(word []byte) planOptions {
	for i := range planWords {
		if string(word) == planWords[i] {
			return o & (1 << i)
		}
	}
	return 0
}

// parsePlan reads @plan [cost] [options]. What is about an id goes into r.
func (s *session) parsePlan(words [][]byte, q question, takes planOptions, r *remembering) (c planCall, err error) {
	c.kind, c.cost = q.kind, 1
	c.serial = s.server.bookSerial.Load()
	if c.plan, err = planOf(s.server.Book(), words[0]); err != nil {
		return c, err
	}
	c.series = s.server.series.of(nil, c.plan)
	rest, priced := words[1:], true
	if len(rest) > 0 && !isWord(rest[0]) {
		if c.cost, err = q.cost(rest[0], algorithms.TokenBucket); err != nil {
			return c, err
		}
		rest, priced = rest[1:], false
	}
	var seen planOptions
	var buf [commandNameBytesMax]byte
	for len(rest) > 0 {
		took := 2
		word := capitals(&buf, rest[0])
		this := takes.option(word)
		switch {
		case this == 0:
			return c, unknownPlanOption(rest[0], takes.words())
		case len(rest) < 2:
			return c, fmt.Errorf("ERR %s wants a value after it", string(word)) // a copy, so that buf need not be in the heap
		case seen&this != 0:
			return c, fmt.Errorf("ERR %s is given twice", string(word))
		}
		switch this {
		case optionEndpoint:
			if err = checkEndpoint(rest[1]); err == nil && priced {
				c.cost = c.plan.Cost(rest[1])
			}
		case optionSpend:
			c.spend, err = parseSpend(rest[1])
		case optionID:
			c.permit, err = parseID(rest[1])
		case optionIdempotent:
			took, err = r.parseIdempotent(rest)
		case optionTTL:
			err = r.parseTTL(rest[1])
		default:
			err = r.parseOnExpire(rest[1])
		}
		if err != nil {
			return c, err
		}
		seen |= this
		rest = rest[took:]
	}
	return c, nil
}

func unknownPlanOption(word []byte, names []string) error {
	if bytes.ContainsAny(word[:min(len(word), 1)], "0123456789+-") {
		return fmt.Errorf("ERR what follows the cost must be an option, got '%s'", show(word))
	}
	return unknownOptionOf(word, names, "plan")
}

func checkEndpoint(name []byte) error {
	if len(name) < 1 || len(name) > plans.EndpointBytesMax {
		return fmt.Errorf("ERR endpoint must have 1 to %d bytes, got %d", plans.EndpointBytesMax, len(name))
	}
	return nil
}

// parseSpend reads an amount of money, which may be 0.
func parseSpend(text []byte) (millionths uint64, err error) {
	if millionths, err = algorithms.ParseDecimal("SPEND", text, 0); err != nil {
		return 0, fmt.Errorf("ERR %w", err)
	}
	return millionths, nil
}

// unlimited stands in for the limits of a plan whose limits are all off, so that a
// call with a plan is never without an operation.
var unlimited = func() algorithms.Limit {
	l, err := algorithms.NewLimit(algorithms.Spec{Algorithm: algorithms.FixedWindow, Units: algorithms.UnitsMax, Window: nanosPerMilli}, 0)
	if err != nil {
		panic(err)
	}
	return l
}()

var unlimitedSuffix = []byte{'#'}

// addPlan adds the operations of a call with a plan to the batch, as one group, and
// returns them. Those that decide or charge are done together.
func (w *work) addPlan(key []byte, c *planCall) []shard.Op {
	first := len(w.batch.Ops)
	limits := c.plan.For(key)
	from := len(w.names)
	w.names = plans.AppendStateBase(w.names, key)
	base := w.names[from:]
	tagHash := xxhash.Sum64(shard.Tag(base))
	for i := range limits {
		l := &limits[i]
		if l.Mode == plans.Off && c.skipsOff() || !c.concerns(l.Kind()) {
			continue
		}
		op := w.addState(tagHash, base, l.Suffix)
		op.Call.Limit, op.Shadow = &l.Limit, l.Mode == plans.Shadow
		if c.series != 0 {
			op.Series = c.series + uint32(i)
		}
		c.fill(op, l.Kind())
	}
	ops := w.batch.Ops[first:]
	if len(ops) == 0 && c.skipsOff() {
		op := w.addState(tagHash, base, unlimitedSuffix)
		op.Call.Limit, op.Shadow, op.Free = &unlimited, true, true
		op.Kind, op.Call.Cost = c.kind, 0
		if c.kind == shard.Debit || c.kind == shard.Refund {
			op.Kind = shard.Peek
		}
		ops = w.batch.Ops[first:]
	}
	if len(ops) > 0 {
		if c.skipsOff() {
			w.batch.Join(len(ops))
		}
		ops[0].Group = uint8(len(ops))
	}
	return ops
}

// addState adds an operation on the state of a key's limit.
func (w *work) addState(tagHash uint64, base, suffix []byte) *shard.Op {
	op := w.batch.Add(tagHash)
	from := len(w.names)
	w.names = append(append(w.names, base...), suffix...)
	op.Key = w.names[from:len(w.names):len(w.names)]
	return op
}

// skipsOff says whether a limit that is off is left out. What ends a state reaches it
// all the same: it may have been on when the state was made.
func (c *planCall) skipsOff() bool {
	return c.kind != shard.Reset && c.kind != shard.Release && c.kind != shard.Renew
}

// concerns says whether the call is about limits of a kind.
func (c *planCall) concerns(kind algorithms.Kind) bool {
	return kind == algorithms.Permits || c.kind != shard.Release && c.kind != shard.Renew
}

// fill says in an operation what the call asks of a limit of a kind.
func (c *planCall) fill(op *shard.Op, kind algorithms.Kind) {
	op.Kind, op.Call.Cost = c.kind, c.cost
	if op.Call.Limit.Align == algorithms.AlignJitter {
		op.Call.KeyHash = xxhash.Sum64(op.Key)
	}
	charging := c.kind == shard.Debit || c.kind == shard.Refund
	switch {
	case c.kind == shard.Reset:
	case c.kind == shard.Release || c.kind == shard.Renew:
		op.ID = c.permit
	case kind == algorithms.Permits:
		op.Call.Cost, op.ID = min(c.cost, 1), c.permit
		if charging {
			op.Kind, op.Call.Cost = shard.Peek, 0
		}
	case kind == algorithms.Money:
		op.Call.Cost = c.spend
		switch {
		case c.spend > 0:
		case charging:
			op.Kind = shard.Peek
		case c.cost > 0: // passes while anything is left
			op.Call.Cost, op.Free = 1, true
		}
	}
}

// askPlan adds a call with a plan that asks a decision, and gives the permit that it
// may take an id.
func (s *session) askPlan(key []byte, c *planCall) (added int) {
	ops := s.addPlan(key, c)
	if c.kind == shard.Allow {
		s.server.namePermits(ops, c.permit)
	}
	return len(ops)
}

// onePlan parses key @plan … of RL.ALLOW and RL.PEEK.
func (q question) onePlan(s *session, args [][]byte) error {
	key, words := args[1], args[2:]
	takes := optionsOfCall | optionID
	if q.kind == shard.Allow {
		takes |= optionIdempotent
	}
	s.again = remembering{}
	c, err := s.parsePlan(words, q, takes, &s.again)
	if err != nil {
		return err
	}
	first := len(s.batch.Ops)
	s.askPlan(key, &c)
	if s.called = c; s.again.name != nil {
		s.rememberCall(first, args)
	}
	return nil
}

// errManyLimits is the error for a command whose plans have too many limits together.
func errManyLimits() error {
	return fmt.Errorf("ERR the plans of one command may have at most %d limits together", LimitsPerCallMax)
}

// groupOf is how many operations are told as one answer, from the first on.
func groupOf(ops []shard.Op) int { return max(int(ops[0].Group), 1) }

// binding is the operation whose decision is told for all of a plan: one that could
// not be decided; else the one that denied with the longest wait; else the one with
// the smallest part left; of equals the first, which is the first by name. nil: no
// limit is enforced.
func binding(ops []shard.Op) (most *shard.Op) {
	for i := range ops {
		if op := &ops[i]; !op.Shadow && (most == nil || binds(op, most)) {
			most = op
		}
	}
	return most
}

// binds says whether a limit binds more than another.
func binds(a, b *shard.Op) bool {
	if a.Refused() || b.Refused() {
		return !b.Refused()
	}
	d, e := &a.Decision, &b.Decision
	if !d.Allowed || !e.Allowed {
		return e.Allowed || !d.Allowed && uint64(d.RetryAfter) > uint64(e.RetryAfter) // Never is the longest
	}
	high, low := bits.Mul64(d.Remaining, e.Limit)
	otherHigh, otherLow := bits.Mul64(e.Remaining, d.Limit)
	return high < otherHigh || high == otherHigh && low < otherLow
}

// limitName is the name of the limit that a state's name ends with.
func limitName(state []byte) []byte { return state[bytes.LastIndexByte(state, '#')+1:] }

// permitOf is the id of the permit that operations took, if they asked for one; "" if
// it was not taken.
func permitOf(ops []shard.Op) (id string, asked bool) {
	for i := range ops {
		if op := &ops[i]; op.ID != "" && op.Kind != shard.Peek {
			asked = true
			if op.Decision.Allowed && !op.Refused() {
				id = op.ID
			}
		}
	}
	return id, asked
}

// free is the decision where no limit is enforced.
var free = algorithms.Decision{Allowed: true, Limit: algorithms.UnitsMax, Remaining: algorithms.UnitsMax}

// appendPlan writes the decision of a group: seven elements, the last the binding
// limit's name.
func (s *session) appendPlan(out []byte, ops []shard.Op) []byte {
	op := binding(ops)
	for i := range ops {
		if o := &ops[i]; o.Unsaved && (o.Kind == shard.Debit || o.Kind == shard.Refund) {
			op = o // whatever binds, this must be told
		}
	}
	if op == nil {
		out = append(out, "*7"...)
		return appendNil(append(out, appendDecision(nil, &free)[2:]...), s.proto)
	}
	if op.Refused() || op.Unsaved {
		return s.appendOutcome(out, op)
	}
	at := len(out)
	out = appendDecisionOf(out, op)
	out[at+1]++
	return appendBytes(out, limitName(op.Key))
}

// appendBytes writes a bulk string.
func appendBytes(out, text []byte) []byte { return redcon.AppendBulk(out, text) }

// appendGroup writes the answer of RL.ALLOW and its kin: a decision, with a plan the
// binding limit's name, and where a permit is asked for its id, nil on a denial.
func (s *session) appendGroup(out []byte, ops []shard.Op) []byte {
	if ops[0].Group == 0 {
		return s.appendOutcome(out, &ops[0])
	}
	id, asked := permitOf(ops)
	return s.appendWithID(out, ops, id, asked)
}

// appendWithID writes the answer of a group with an id as its last element, or nil in
// its place if the call was denied or there is none.
func (s *session) appendWithID(out []byte, ops []shard.Op, id string, withID bool) []byte {
	at := len(out)
	if ops[0].Group > 0 {
		out = s.appendPlan(out, ops)
	} else {
		out = s.appendOutcome(out, &ops[0])
	}
	if !withID || out[at] != '*' {
		return out
	}
	out[at+1]++
	if id == "" || !passed(ops) {
		return appendNil(out, s.proto)
	}
	return redcon.AppendBulkString(out, id)
}

// passed says whether operations that belong together were charged.
func passed(ops []shard.Op) bool {
	for i := range ops {
		if op := &ops[i]; !op.Shadow && (!op.Decision.Allowed || op.Refused()) {
			return false
		}
	}
	return true
}

// errNoPermits is the error for giving a permit back under a plan that has none.
func errNoPermits(name string) error {
	return fmt.Errorf("ERR plan '%s' has no concurrency limit, so no permit is held under it", name)
}

// parsePlanPermit parses key @plan id of RL.RELEASE and RL.RENEW.
func (s *session) parsePlanPermit(kind shard.Kind, args [][]byte) error {
	plan, err := planOf(s.server.Book(), args[2])
	if err != nil {
		return err
	}
	if len(args) < 4 {
		return errors.New("ERR the id of the permit is missing after the plan")
	}
	c := planCall{plan: plan, kind: kind}
	rest := args[4:]
	if c.permit, err = parseID(args[3]); err != nil {
		return err
	}
	if kind == shard.Renew && len(rest) > 0 {
		if c.cost, err = algorithms.ParseDuration("ttl", rest[0], algorithms.WindowMaxNanos); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("ERR nothing may follow, got '%s'", show(rest[0]))
	}
	if len(s.addPlan(args[1], &c)) == 0 {
		return errNoPermits(plan.Name)
	}
	return nil
}

// parsePlanCharge parses key @plan [amount] … of RL.DEBIT and RL.REFUND.
func (s *session) parsePlanCharge(kind shard.Kind, args [][]byte) error {
	c, err := s.parsePlan(args[2:], question{kind, 1}, optionsOfCall, nil)
	if err == nil {
		s.addPlan(args[1], &c)
	}
	return err
}

// reservePlan reads key @plan [amount] … of RL.RESERVE, and says what the id is asked
// for: the amounts, whatever the plan is called.
func (s *session) reservePlan(args [][]byte, r *remembering) (question [shard.QuestionBytes]byte, err error) {
	c, err := s.parsePlan(args[2:], askAllow, optionsOfReservation, r)
	if err != nil {
		return question, err
	}
	if c.permit != "" {
		r.name = []byte(c.permit)
	}
	s.addPlan(args[1], &c)
	return s.questionOf(args[:2], [][]byte{fmt.Appendf(nil, "%d %d", c.cost, c.spend)}), nil
}

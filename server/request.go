package server

// RL.REQUEST: a gateway's question. The rules that match the request say which plans
// apply and whom they count; all limits of all of them are decided together. What a
// request matched stays with the batch until its decisions are there.

import (
	"errors"
	"fmt"

	"sluice/algorithms"
	"sluice/internal/access"
	"sluice/plans"
	"sluice/shard"
)

const (
	// RulesPerRequestMax is how many rules may apply to one request.
	RulesPerRequestMax = 64
	// AttributesMax is how many attributes a request may bring.
	AttributesMax = 64
)

// Request is a gateway's question.
type Request struct {
	Method, Host, Path []byte // Host may be empty
	Identity           plans.Identity
	Cost               uint64 // units; 0: what the rule says
	Spend              uint64 // millionths
	Permit             string // id of the permit; "": one is made where one is taken
}

// Verdict is the answer to a Request.
type Verdict struct {
	Allowed bool
	// Of the rule whose limit binds, or that comes first where no limit is enforced;
	// nil and empty where no rule matches.
	Rule *plans.Rule
	Plan *plans.Plan
	Key  string
	// The binding limit and its decision. Limit is nil where none is enforced.
	LimitName string
	Limit     *algorithms.Limit
	Decision  algorithms.Decision
	// The permit that was taken, if any, and the names of the states it is held on.
	Permit  string
	Permits []string
}

// asked is what one request matched: a rule for each group of operations.
type asked struct{ rules []askedRule }

type askedRule struct {
	rule *plans.Rule
	plan *plans.Plan
	key  []byte
}

// addRequest adds the operations of a request to the batch. The error says what of
// the identity is missing; the caller takes back what was added.
func (s *Server) addRequest(w *work, q *Request) error {
	book := s.Book()
	w.path.Method, w.path.Host, w.path.Path = q.Method, q.Host, q.Path
	w.matched = book.Match(w.matched[:0], &w.path)
	if len(w.matched) > RulesPerRequestMax {
		return fmt.Errorf("ERR %d rules apply to the request, and at most %d may", len(w.matched), RulesPerRequestMax)
	}
	first := len(w.batch.Ops)
	a := asked{}
	for _, rule := range w.matched {
		from := len(w.names)
		names, anonymous, err := book.AppendKey(w.names, rule, &q.Identity)
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		w.names = names
		key := names[from:len(names):len(names)]
		if err := checkKey(key); err != nil {
			return err
		}
		c := planCall{plan: book.PlanOf(rule, anonymous), kind: shard.Allow, cost: q.Cost, spend: q.Spend, permit: q.Permit}
		c.series = s.series.of(rule, c.plan)
		if c.cost == 0 {
			c.cost = rule.Cost
		}
		w.addPlan(key, &c)
		a.rules = append(a.rules, askedRule{rule, c.plan, key})
	}
	ops := w.batch.Ops[first:]
	if len(ops) > 0 {
		w.batch.Join(len(ops))
	}
	s.namePermits(ops, q.Permit)
	w.asked = append(w.asked, a)
	return nil
}

// verdict makes the answer of the operations of one request. op is the one that could
// not be decided or made durable; then there is none.
func (a asked) verdict(ops []shard.Op) (v Verdict, op *shard.Op) {
	v.Allowed, v.Decision = true, free
	if len(ops) == 0 {
		return v, nil
	}
	of := a.rules[0]
	op = binding(ops)
	if op != nil {
		if op.Refused() || op.Unsaved {
			return v, op
		}
		v.Allowed, v.Decision, v.Limit, v.LimitName = op.Decision.Allowed, op.Decision, op.Call.Limit, string(limitName(op.Key))
		for i, rest := 0, ops; len(rest) > 0; i, rest = i+1, rest[groupOf(rest):] {
			if binding(rest[:groupOf(rest)]) == op {
				of = a.rules[i]
				break
			}
		}
	}
	v.Rule, v.Plan, v.Key = of.rule, of.plan, string(of.key)
	if id, _ := permitOf(ops); id != "" && v.Allowed {
		v.Permit = id
		for i := range ops {
			if op := &ops[i]; op.ID != "" && op.Decision.Allowed && !op.Refused() {
				v.Permits = append(v.Permits, string(op.Key))
			}
		}
	}
	return v, nil
}

// ErrUndecided is why a request has no verdict: the state of a key is of another kind
// than the limit, there is no room for a new one, or the journal cannot be written.
var ErrUndecided = errors.New("not decided")

// Decide answers a request as RL.REQUEST does. The error says what is wrong with the
// request or, as ErrUndecided, with the server.
func (s *Server) Decide(q *Request) (Verdict, error) {
	r, held := s.restrained()
	if r.loading != nil {
		return Verdict{}, fmt.Errorf("%w: data are being loaded", ErrUndecided)
	}
	w := s.works.Get().(*work)
	defer s.works.Put(w)
	defer w.empty()
	if err := s.addRequest(w, q); err != nil {
		return Verdict{}, err
	}
	if held {
		if err := r.tame(w.batch.Ops); err != nil {
			return Verdict{}, fmt.Errorf("%w: %w", ErrUndecided, err)
		}
	}
	s.shards.Run(w.batch)
	v, failed := w.asked[0].verdict(w.batch.Ops)
	if failed != nil {
		return Verdict{}, fmt.Errorf("%w: %s", ErrUndecided, s.refusal(failed))
	}
	return v, nil
}

// parseRequest parses RL.REQUEST.
func parseRequest(s *session, args [][]byte) error {
	var q Request
	var seen requestOptions
	for rest := args[1:]; len(rest) > 0; {
		option, err := requestOption(rest[0])
		if err != nil {
			return err
		}
		took := 2
		if option == optionAttr {
			took = 3
		} else if seen&option != 0 {
			return fmt.Errorf("ERR %s is given twice", option.word())
		}
		if len(rest) < took {
			return fmt.Errorf("ERR %s wants %s after it", option.word(), []string{"a value", "a name and a value"}[took-2])
		}
		if err := q.set(option, rest[1:took]); err != nil {
			return err
		}
		seen |= option
		rest = rest[took:]
	}
	if len(q.Method) == 0 || len(q.Path) == 0 {
		return errors.New("ERR METHOD and PATH must be given, as in RL.REQUEST METHOD GET PATH /api/orders USER 42")
	}
	if err := s.server.addRequest(s.work, &q); err != nil {
		return err
	}
	for _, of := range s.asked[len(s.asked)-1].rules {
		if err := s.permitsKey(of.key, access.Read|access.Write); err != nil {
			s.asked = s.asked[:len(s.asked)-1]
			return err
		}
	}
	return nil
}

// requestOptions are the options of RL.REQUEST, as a set of bits.
type requestOptions uint16

const (
	optionMethod requestOptions = 1 << iota
	optionHost
	optionPath
	optionUser
	optionAPIKey
	optionIP
	optionAttr
	optionCost
	optionRequestSpend
	optionRequestID
)

// requestWords are the words of the options, in the order of the bits.
var requestWords = []string{"METHOD", "HOST", "PATH", "USER", "APIKEY", "IP", "ATTR", "COST", "SPEND", "ID"}

// requestOption finds the option that a word means.
func requestOption(word []byte) (requestOptions, error) {
	var buf [commandNameBytesMax]byte
	capital := capitals(&buf, word)
	for i := range requestWords {
		if string(capital) == requestWords[i] {
			return 1 << i, nil
		}
	}
	return 0, unknownOptionOf(word, requestWords, "")
}

// word is the word of one option.
func (o requestOptions) word() string {
	for i, word := range requestWords {
		if o == 1<<i {
			return word
		}
	}
	return ""
}

// set takes the value of an option.
func (q *Request) set(option requestOptions, values [][]byte) (err error) {
	value := values[0]
	switch option {
	case optionMethod:
		q.Method = value
	case optionHost:
		q.Host = value
	case optionPath:
		q.Path = value
	case optionUser:
		q.Identity.User = value
	case optionAPIKey:
		q.Identity.APIKey = value
	case optionIP:
		q.Identity.IP = value
	case optionCost:
		if q.Cost, err = algorithms.ParseWhole("COST", value, 1, algorithms.UnitsMax); err != nil {
			err = fmt.Errorf("ERR %w", err)
		}
	case optionRequestSpend:
		q.Spend, err = parseSpend(value)
	case optionRequestID:
		q.Permit, err = parseID(value)
	default:
		return q.setAttribute(value, values[1])
	}
	return err
}

func (q *Request) setAttribute(name, value []byte) error {
	for i := range q.Identity.Attributes {
		if string(q.Identity.Attributes[i].Name) == string(name) {
			return fmt.Errorf("ERR attribute '%s' is given twice", show(name))
		}
	}
	if len(q.Identity.Attributes) == AttributesMax {
		return fmt.Errorf("ERR at most %d attributes in one RL.REQUEST", AttributesMax)
	}
	q.Identity.Attributes = append(q.Identity.Attributes, plans.Attribute{Name: name, Value: value})
	return nil
}

// writeRequest is the reply of RL.REQUEST.
func writeRequest(s *session, out []byte, ops []shard.Op) []byte {
	a := s.asked[s.told]
	s.told++
	v, failed := a.verdict(ops)
	if failed != nil {
		return s.appendOutcome(out, failed)
	}
	return appendFields(out, s.proto, v.fields())
}

func (v *Verdict) fields() []field {
	allowed := uint64(0)
	if v.Allowed {
		allowed = 1
	}
	d := &v.Decision
	kind := algorithms.Rate
	if v.Limit != nil {
		kind = v.Limit.Kind()
	}
	rule, plan := "", ""
	if v.Rule != nil {
		rule, plan = v.Rule.Name, v.Plan.Name
	}
	fields := []field{
		number("allowed", allowed),
		textOrNil("rule", rule, v.Rule != nil),
		textOrNil("key", v.Key, v.Rule != nil),
		textOrNil("plan", plan, v.Rule != nil),
		textOrNil("limit_name", v.LimitName, v.Limit != nil),
		units("limit", d.Limit, kind),
		units("remaining", d.Remaining, kind),
		number("retry_after_ms", uint64(d.RetryAfter)),
		number("reset_after_ms", uint64(d.ResetAfter)),
		number("delay_ms", uint64(d.Delay)),
		{"headers", func(out []byte, proto int) []byte {
			headers := v.Headers()
			out = appendMap(out, proto, len(headers))
			for _, h := range headers {
				out = appendField(out, h.Name, h.Value)
			}
			return out
		}},
	}
	if v.Permit != "" {
		fields = append(fields, text("id", v.Permit), field{"permits", func(out []byte, _ int) []byte { return appendStrings(out, v.Permits) }})
	}
	return fields
}

package server

// RL.EXPLAIN: how every limit of a plan stands for a key, whatever its mode. Each is
// looked at twice at one instant: for what is used, and for what the call would be
// told.

import (
	"fmt"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

// Explained is one limit of a plan, as it stands for one key.
type Explained struct {
	Limit    *plans.Limit
	State    string // the name of the key that the limit is charged under
	Used     uint64 // units, rounded up
	Decision algorithms.Decision
	// Undecided: the state is of another kind than the limit, so nothing can be
	// said about it.
	Undecided bool
}

// Explain looks at every limit of a plan for a key: a call with a cost, in units, and
// a spend, in millionths.
func (s *Server) Explain(plan *plans.Plan, key []byte, cost, spend uint64) []Explained {
	return s.explain(key, &planCall{plan: plan, kind: shard.Peek, cost: cost, spend: spend})
}

func (s *Server) explain(key []byte, c *planCall) []Explained {
	w := s.works.Get().(*work)
	defer s.works.Put(w)
	defer w.empty()
	limits := c.plan.For(key)
	from := len(w.names)
	w.names = plans.AppendStateBase(w.names, key)
	base := w.names[from:]
	tagHash := TagHash(base)
	views := make([]shard.View, len(limits))
	for i := range limits {
		look := w.addState(tagHash, base, limits[i].Suffix)
		look.Kind, look.View = shard.Look, &views[i]
		peek := w.addState(tagHash, base, limits[i].Suffix)
		peek.Call.Limit = &limits[i].Limit
		c.fill(peek, limits[i].Kind())
	}
	s.shards.Run(w.batch)
	list := make([]Explained, len(limits))
	for i := range list {
		look, peek := &w.batch.Ops[2*i], &w.batch.Ops[2*i+1]
		list[i] = Explained{Limit: &limits[i], State: string(peek.Key), Decision: peek.Decision, Undecided: peek.Refused()}
		if look.Found {
			list[i].Used = views[i].Used
		}
	}
	return list
}

// runExplain is RL.EXPLAIN key @plan [cost] [ENDPOINT name] [SPEND decimal] [ID id].
func runExplain(s *session, out []byte, args [][]byte) ([]byte, error) {
	if err := checkKey(args[1]); err != nil {
		return nil, err
	}
	if !isPlan(args[2]) {
		return nil, fmt.Errorf("ERR RL.EXPLAIN looks at a plan, such as @pro, got '%s'; RL.INSPECT shows a single key", show(args[2]))
	}
	c, err := s.parsePlan(args[2:], askPeek, optionsOfCall|optionID, nil)
	if err != nil {
		return nil, err
	}
	list := s.server.explain(args[1], &c)
	out = redcon.AppendArray(out, len(list))
	for i := range list {
		out = appendFields(out, s.proto, list[i].fields())
	}
	return out, nil
}

// Source says where a limit's terms are from: "plan", or "override" where the key has
// an exception.
func (e *Explained) Source() string {
	if e.Limit.Override != "" {
		return "override"
	}
	return "plan"
}

func (e *Explained) fields() []field {
	l, d := e.Limit, &e.Decision
	kind := l.Kind()
	fields := []field{
		text("name", l.Name),
		text("algorithm", l.Algorithm.String()),
		units("limit", l.Units, kind),
		text("window", string(plans.AppendWindow(nil, &l.Limit))),
	}
	if e.Undecided {
		fields = append(fields, text("error", errWrongType))
	} else {
		allowed := uint64(0)
		if d.Allowed {
			allowed = 1
		}
		fields = append(fields,
			units("used", e.Used, kind),
			units("remaining", d.Remaining, kind),
			number("allowed", allowed),
			number("retry_after_ms", uint64(d.RetryAfter)),
			number("reset_after_ms", uint64(d.ResetAfter)),
		)
	}
	fields = append(fields, text("mode", l.Mode.String()), text("source", e.Source()))
	if e.Limit.Override != "" {
		fields = append(fields, text("override", e.Limit.Override))
	}
	if l.Burst != l.Units {
		fields = append(fields, number("burst", l.Burst))
	}
	return append(fields, text("key", e.State))
}

package plans

// Reading plans, from a section of a file or from a text of their own. The fields
// of a limit are read next door, in terms_read.go.

import (
	"slices"
	"strings"

	"sluice/algorithms"
)

// Parser reads texts. Its zero value is ready to use.
type Parser struct {
	// LogLimitMax is the largest limit of a sliding_log; 0:
	// algorithms.LogLimitMaxDefault.
	LogLimitMax uint64

	visits int // how many fields a text may come to; 0: visitsMax
}

// reader starts a walk.
func (p Parser) reader(src *source) *reader {
	r := &reader{src: src, logLimitMax: p.LogLimitMax, visitsLeft: p.visits}
	if r.visitsLeft == 0 {
		r.visitsLeft = visitsMax
	}
	if r.logLimitMax == 0 {
		r.logLimitMax = algorithms.LogLimitMaxDefault
	}
	return r
}

// ParsePlan reads one plan, JSON or YAML, as a command or a request gives it. The
// error is an *Error.
func ParsePlan(name string, text []byte) (*Plan, error) { return Parser{}.ParsePlan(name, text) }

// ParsePlan reads one plan.
func (p Parser) ParsePlan(name string, text []byte) (*Plan, error) {
	n, src, err := parse("", text, TextBytesMax, cutLevels)
	if err != nil {
		return nil, err
	}
	r := p.reader(src)
	if r.name(place{}, "a plan's name", name); r.err != nil {
		return nil, r.err
	}
	plan := r.plan(n, name)
	if r.err != nil {
		return nil, r.err
	}
	return plan, nil
}

var planFields = []string{"limits", "costs", "overrides"}

// plan reads the plan that a mapping describes.
func (r *reader) plan(n *node, name string) *Plan {
	p := &Plan{Name: name, src: r.src}
	if n.shape == mapping && slices.ContainsFunc(n.pairs, func(p pair) bool { return p.name == "rate" || p.name == "capacity" }) {
		l := Limit{Name: "rate", Suffix: []byte("#rate"), at: n.at}
		l.terms, l.Limit = r.shorthand(n)
		p.Limits = []Limit{l}
	} else {
		r.planFields(n, p)
	}
	if r.err == nil {
		p.version = versionOf("plan", name, p.AppendJSON(nil))
	}
	return p
}

func (r *reader) planFields(n *node, p *Plan) {
	var limits, costs, exceptions *node
	r.fields(n, "a plan", planFields, func(f pair) {
		switch f.name {
		case "limits":
			limits = f.value
		case "costs":
			costs = f.value
		case "overrides":
			exceptions = f.value
		}
	})
	const none = "a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}}"
	if limits == nil {
		r.fail(n.at, none)
		return
	}
	r.in(step{name: "limits"}, func() {
		if limits.shape == empty || limits.shape == mapping && len(limits.pairs) == 0 {
			r.fail(limits.at, none)
		}
		if len(limits.pairs) > LimitsMax {
			r.fail(limits.at, "a plan may have at most %d limits, got %d", LimitsMax, len(limits.pairs))
		}
		r.fields(limits, "limits", nil, func(f pair) { p.Limits = append(p.Limits, r.limit(f)) })
	})
	slices.SortFunc(p.Limits, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
	if costs != nil && costs.shape != empty {
		r.in(step{name: "costs"}, func() { r.costs(costs, p) })
	}
	if exceptions != nil && exceptions.shape != empty {
		r.in(step{name: "overrides"}, func() { r.overrides(exceptions, p) })
	}
}

// limit reads a limit of a plan.
func (r *reader) limit(f pair) Limit {
	r.name(f.at, "a limit's name", f.name)
	l := Limit{Name: f.name, Suffix: []byte("#" + f.name), at: f.at}
	l.terms, l.Limit = r.terms(f.value, nil)
	l.Mode = l.terms.mode
	return l
}

// costs reads the prices of endpoints.
func (r *reader) costs(n *node, p *Plan) {
	if len(n.pairs) > CostsMax {
		r.fail(n.at, "a plan may price at most %d endpoints, got %d", CostsMax, len(n.pairs))
	}
	p.costs = make(map[string]uint64, len(n.pairs))
	r.fields(n, "costs", nil, func(f pair) {
		if len(f.name) == 0 || len(f.name) > EndpointBytesMax {
			r.fail(f.at, "an endpoint's name must have 1 to %d bytes, got %d", EndpointBytesMax, len(f.name))
		}
		p.costs[f.name] = r.whole(f.value, "cost", 1, algorithms.UnitsMax)
	})
}

// overrides reads the exceptions from a plan, whose limits are there.
func (r *reader) overrides(n *node, p *Plan) {
	if len(n.pairs) > OverridesMax {
		r.fail(n.at, "a plan may have at most %d overrides, got %d", OverridesMax, len(n.pairs))
	}
	if each := len(p.Limits); each*len(n.pairs) > overriddenMax {
		r.fail(n.at, "a plan of %d limits may have at most %d overrides, got %d", each, overriddenMax/each, len(n.pairs))
	}
	var all []*override
	r.fields(n, "overrides", nil, func(f pair) {
		if len(f.name) > KeyBytesMax {
			r.fail(f.at, "a key has at most %d bytes, got %d", KeyBytesMax, len(f.name))
		}
		all = append(all, r.override(f, p))
	})
	if r.err == nil {
		p.overrides = newOverrides(all)
	}
}

// override reads the exception for one key or pattern: other terms for limits of
// the plan. An exception without any is the plan itself, for a key that a pattern
// would catch.
func (r *reader) override(f pair, p *Plan) *override {
	o := &override{pattern: f.name, limits: p.Limits}
	if len(f.value.pairs) > 0 {
		o.limits = slices.Clone(p.Limits)
	}
	r.fields(f.value, "an override", nil, func(l pair) {
		i := slices.IndexFunc(o.limits, func(own Limit) bool { return own.Name == l.name })
		if i < 0 {
			names := make([]string, len(p.Limits))
			for i := range p.Limits {
				names[i] = p.Limits[i].Name
			}
			r.unknown(l.at, "limit", l.name, names)
			return
		}
		own := &o.limits[i]
		t, limit := r.terms(l.value, &own.terms)
		own.Limit, own.Mode, own.Override = limit, t.over(own.terms).mode, f.name
		o.given = append(o.given, given{name: l.name, terms: t})
	})
	slices.SortFunc(o.given, func(a, b given) int { return strings.Compare(a.name, b.name) })
	return o
}

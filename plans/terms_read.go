package plans

// Reading what a text says about one limit. Whatever is wrong is said about the
// field that is wrong, in the words of the text: what algorithms says about
// BURST in a command is said about burst here.

import (
	"fmt"
	"strings"

	"sluice/algorithms"
)

var missingTerms = []string{
	"algorithm is missing: it must be one of " + join(algorithms.Names(), "or"),
	"limit is missing: how many units may pass per window",
	"window is missing: a duration such as 1m or 7d, or day, week, month or year",
}

// terms reads what a mapping says about a limit and returns that and the limit that
// comes of it. plan are the terms that it is an exception to, nil for a plan's own.
// Every field is looked for before any is read: what a limit is, and what its
// window may be, depends on the algorithm.
func (r *reader) terms(n *node, plan *terms) (t terms, limit algorithms.Limit) {
	var at [8]*node // in the order of termNames
	r.fields(n, "a limit", termNames, func(p pair) {
		for which, name := range termNames {
			if name == p.name {
				at[which] = p.value
			}
		}
	})
	var base terms
	if plan != nil {
		base = *plan
		if len(n.pairs) == 0 {
			r.fail(n.at, "an override must change something: %s", join(termNames, "or"))
		}
	} else {
		for which, missing := range missingTerms {
			if at[which] == nil {
				r.fail(n.at, "%s", missing)
			}
		}
	}
	var all terms // what is given and what follows from the plan
	term := func(which int, read func(n *node)) {
		if v := at[which]; v != nil && r.err == nil {
			r.in(step{name: termNames[which]}, func() { read(v) })
			t.has |= 1 << which
			if r.err == nil {
				all = t.over(base)
			}
		}
	}
	all = base
	term(0, func(n *node) { t.algorithm = r.algorithm(n, plan) })
	term(1, func(n *node) { t.units = r.units(n, all.algorithm) })
	term(2, func(n *node) { t.window, t.calendar = r.window(n, all.algorithm) })
	term(3, func(n *node) { t.burst = r.burst(n, &all) })
	term(4, func(n *node) { t.align = r.align(n, &all) })
	term(5, func(n *node) { t.zone = r.zone(n, &all) })
	term(6, func(n *node) { t.anchor = r.anchor(n, &all) })
	term(7, func(n *node) { t.mode = Mode(r.word(n, "mode", modeNames)) })
	if r.err != nil {
		return t, limit
	}
	if plan == nil {
		t = t.plain()
	}
	all = t.over(base)
	t.algorithm = all.algorithm // says what the limit is written in
	limit, err := algorithms.NewLimit(all.spec(), r.logLimitMax)
	if err != nil {
		r.blame(err, n, at[:])
	}
	return t, limit
}

// blame gives what NewLimit says to the term that it is about, to the limit as a
// whole if that term was not given here.
func (r *reader) blame(err error, n *node, at []*node) {
	for which, name := range termNames {
		if at[which] != nil && strings.HasPrefix(err.Error(), name+" ") {
			r.in(step{name: name}, func() { r.fail(at[which].at, "%s", err) })
		}
	}
	r.fail(n.at, "%s", err)
}

// algorithm reads an algorithm's name. An override may not make another kind of
// limit out of its plan's.
func (r *reader) algorithm(n *node, plan *terms) algorithms.ID {
	text := r.text(n, "algorithm must be one of "+join(algorithms.Names(), "or"))
	id, ok := algorithms.Lookup([]byte(text))
	if !ok {
		r.unknown(n.at, "algorithm", strings.ReplaceAll(text, "-", "_"), algorithms.Names())
		return algorithms.TokenBucket
	}
	if plan != nil {
		is, was := algorithms.Of(id).Kind, algorithms.Of(plan.algorithm).Kind
		if is != was {
			r.fail(n.at, "an override cannot make a limit of another kind: %s counts %s, the plan's %s counts %s", id, kindName(is), plan.algorithm, kindName(was))
		}
	}
	return id
}

// units reads a limit: a whole number, or a decimal for money.
func (r *reader) units(n *node, id algorithms.ID) uint64 {
	if algorithms.Of(id).Kind != algorithms.Money {
		return r.whole(n, "limit", 1, algorithms.UnitsMax)
	}
	text := r.text(n, "limit must be a decimal such as 25 or 0.0132 with at most six decimals")
	units, err := algorithms.ParseDecimal("limit", []byte(text), 1)
	if err != nil {
		r.fail(n.at, "%s", err)
	}
	return units
}

// window reads a window: a duration, or a word of the calendar.
func (r *reader) window(n *node, id algorithms.ID) (nanos uint64, calendar algorithms.Align) {
	const legal = "window must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), or day, week, month or year"
	text := r.text(n, legal)
	a := algorithms.Of(id)
	if calendar, ok := algorithms.ParseCalendar([]byte(text)); ok {
		if a.Options&algorithms.OptionCalendar == 0 {
			r.fail(n.at, "window '%s' follows the calendar, which goes with %s; for %s give a duration such as 1d", show(text), owners(algorithms.OptionCalendar), a.Name)
		}
		return 0, calendar
	}
	nanos, err := algorithms.ParseDuration("window", []byte(text), algorithms.WindowMaxNanos)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "out of range"):
		r.fail(n.at, "%s", err)
	default:
		hint := ""
		if near := algorithms.Nearest(strings.ToLower(text), calendarWords); near != "" {
			hint = ", did you mean '" + near + "'?"
		}
		r.fail(n.at, "%s, got %s%s", legal, n.described(), hint)
	}
	return nanos, 0
}

// owners lists the algorithms that have an option.
func owners(option algorithms.Options) string {
	var names []string
	for _, a := range algorithms.All() {
		if a.Options&option != 0 {
			names = append(names, a.Name)
		}
	}
	return join(names, "and")
}

// belongs complains about a term that the algorithm does not have.
func (r *reader) belongs(n *node, what string, all *terms, option algorithms.Options) {
	if a := algorithms.Of(all.algorithm); a.Options&option == 0 {
		r.fail(n.at, "%s does not belong to %s: it goes with %s", what, a.Name, owners(option))
	}
}

func (r *reader) burst(n *node, all *terms) uint64 {
	r.belongs(n, "burst", all, algorithms.OptionBurst)
	return r.whole(n, "burst", 1, algorithms.UnitsMax)
}

func (r *reader) align(n *node, all *terms) algorithms.Align {
	r.belongs(n, "align", all, algorithms.OptionAlign)
	if all.window == 0 {
		r.fail(n.at, "align does not go with a calendar window, which begins where the calendar says")
	}
	return algorithms.Align(r.word(n, "align", alignNames))
}

func (r *reader) zone(n *node, all *terms) algorithms.Zone {
	if all.window != 0 {
		r.fail(n.at, "tz goes with a calendar window: day, week, month or year, of %s", owners(algorithms.OptionCalendar))
	}
	zone, err := algorithms.ParseZone(r.text(n, "tz must be an IANA name such as Europe/Paris"))
	if err != nil {
		r.fail(n.at, "%s", err)
	}
	return zone
}

func (r *reader) anchor(n *node, all *terms) uint8 {
	if all.calendar != algorithms.AlignMonth {
		r.fail(n.at, "anchor goes with the window month: it is the day on which months begin")
	}
	return uint8(r.whole(n, "anchor", 1, 31))
}

// plain leaves out what a plan's own limit would be without it.
func (t terms) plain() terms {
	if t.align == algorithms.AlignEpoch {
		t.has &^= hasAlign
	}
	if t.zone == 0 {
		t.has &^= hasZone
	}
	if t.anchor <= 1 {
		t.drop(hasAnchor)
	}
	if t.mode == Enforce {
		t.has &^= hasMode
	}
	return t
}

// shorthand reads {rate: per second, capacity: n}: one token bucket, in the terms
// of those who know no other. A rate of 0.5 is one unit in two seconds.
func (r *reader) shorthand(n *node) (t terms, limit algorithms.Limit) {
	var rate, capacity *node
	known := []string{"rate", "capacity"}
	r.fields(n, "a plan", known, func(p pair) {
		if p.name == "rate" {
			rate = p.value
		} else {
			capacity = p.value
		}
	})
	if rate == nil || capacity == nil {
		r.fail(n.at, "rate (units per second) and capacity (units) go together")
	}
	if r.err != nil {
		return t, limit
	}
	t = terms{has: hasAlgorithm | hasLimit | hasWindow | hasBurst, algorithm: algorithms.TokenBucket}
	r.in(step{name: "rate"}, func() {
		text := r.text(rate, "rate must be a decimal, units per second")
		perSecond, err := algorithms.ParseDecimal("rate", []byte(text), 1)
		if err != nil {
			r.fail(rate.at, "%s", err)
			return
		}
		shared := divisor(perSecond, algorithms.Millionths)
		t.units, t.window = perSecond/shared, algorithms.Millionths/shared*1000*millisecond
	})
	r.in(step{name: "capacity"}, func() { t.burst = r.whole(capacity, "capacity", 1, algorithms.UnitsMax) })
	if r.err != nil {
		return t, limit
	}
	limit, err := algorithms.NewLimit(t.spec(), r.logLimitMax)
	if err != nil {
		r.fail(n.at, "%s", fmt.Sprintf("capacity and rate: %s", err))
	}
	return t, limit
}

// divisor is the greatest common divisor of two numbers above 0.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

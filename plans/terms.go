package plans

// What a text says about one limit. Terms keep what was given apart from what
// follows from it, because an exception (an override) gives some terms and takes
// the rest from its plan: a plan's burst stays when the limit is raised, a burst
// that nobody gave goes with the limit.

import "sluice/algorithms"

// Mode says what a limit's verdict is for.
type Mode uint8

const (
	// Enforce: the limit must pass. What a limit does unless told otherwise.
	Enforce Mode = iota
	// Shadow: decided, counted and reported beside the enforced limits, charged
	// when they and it pass; it denies nothing.
	Shadow
	// Off: not looked at.
	Off
)

var modeNames = []string{"enforce", "shadow", "off"}

// String is the mode's name.
func (m Mode) String() string { return modeNames[m] }

var (
	alignNames = []string{"epoch", "first", "jitter"}
	termNames  = []string{"algorithm", "limit", "window", "burst", "align", "tz", "anchor", "mode"}
)

// terms of a limit; those that have has not were not given.
type terms struct {
	has       termSet
	algorithm algorithms.ID
	units     uint64           // limit, in millionths for a budget
	window    uint64           // nanoseconds; 0 for a calendar window
	calendar  algorithms.Align // of a calendar window
	burst     uint64
	align     algorithms.Align
	zone      algorithms.Zone
	anchor    uint8
	mode      Mode
}

type termSet uint8

const (
	hasAlgorithm termSet = 1 << iota
	hasLimit
	hasWindow
	hasBurst
	hasAlign
	hasZone
	hasAnchor
	hasMode
)

// over returns the terms t with the ones of the plan where t has none. What does
// not belong to the resulting algorithm and window is left behind, unless t itself
// gives it: who changes a window from day to 1h has no use for the time zone.
func (t terms) over(plan terms) terms {
	all := plan
	if t.has&hasAlgorithm != 0 {
		all.algorithm = t.algorithm
	}
	if t.has&hasLimit != 0 {
		all.units = t.units
	}
	if t.has&hasWindow != 0 {
		all.window, all.calendar = t.window, t.calendar
	}
	options := algorithms.Of(all.algorithm).Options
	if options&algorithms.OptionBurst == 0 {
		all.drop(hasBurst)
	}
	if options&algorithms.OptionAlign == 0 || all.window == 0 {
		all.drop(hasAlign)
	}
	if all.window != 0 {
		all.drop(hasZone | hasAnchor)
	}
	if all.calendar != algorithms.AlignMonth {
		all.drop(hasAnchor)
	}
	if t.has&hasBurst != 0 {
		all.burst = t.burst
	}
	if t.has&hasAlign != 0 {
		all.align = t.align
	}
	if t.has&hasZone != 0 {
		all.zone = t.zone
	}
	if t.has&hasAnchor != 0 {
		all.anchor = t.anchor
	}
	if t.has&hasMode != 0 {
		all.mode = t.mode
	}
	all.has |= t.has
	return all
}

// drop takes terms back to what they are when they are not given.
func (t *terms) drop(which termSet) {
	t.has &^= which
	if which&hasBurst != 0 {
		t.burst = 0
	}
	if which&hasAlign != 0 {
		t.align = algorithms.AlignEpoch
	}
	if which&hasZone != 0 {
		t.zone = 0
	}
	if which&hasAnchor != 0 {
		t.anchor = 0
	}
}

// spec is what algorithms.NewLimit wants to know.
func (t *terms) spec() algorithms.Spec {
	s := algorithms.Spec{Algorithm: t.algorithm, Units: t.units, Window: t.window, Burst: t.burst, Align: t.align, AlignSet: t.has&hasAlign != 0}
	if t.window == 0 {
		s.Align, s.Zone, s.ZoneSet, s.Anchor = t.calendar, t.zone, t.has&hasZone != 0, t.anchor
	}
	return s
}

// kindName is what a kind of limit counts, in a word.
func kindName(k algorithms.Kind) string {
	switch k {
	case algorithms.Money:
		return "money"
	case algorithms.Permits:
		return "permits"
	}
	return "units"
}

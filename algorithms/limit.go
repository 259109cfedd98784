package algorithms

// A Limit is what a call is measured against. It is a small comparable value
// without pointers, so keepers can intern it and tables can hold it without
// the garbage collector looking inside. NewLimit is the only door: a Limit
// that came through it needs no check anywhere else.

import (
	"errors"
	"fmt"
)

const (
	// UnitsMax is the largest limit, burst and cost: 2^53 − 1, the largest
	// whole number that every client language reads exactly.
	UnitsMax = 1<<53 - 1
	// WindowMaxNanos is the longest window: 100 years of 365.25 days.
	WindowMaxNanos = 3_155_760_000 * uint64(second)
	// LogLimitMaxDefault is the largest limit of a sliding log unless
	// configured otherwise, because a log can keep one run per unit.
	LogLimitMaxDefault = 100_000

	millisecond = 1_000_000
	second      = 1000 * millisecond
)

// Align says where the windows of a fixed window begin.
type Align uint8

const (
	// AlignEpoch: window k covers [kW, (k+1)W) since the Unix epoch.
	AlignEpoch Align = iota
	// AlignFirst: a window begins with the first call that spends.
	AlignFirst
	// AlignJitter: as AlignEpoch, shifted by xxhash64(key) mod W milliseconds.
	AlignJitter
)

// Limit is a legal limit of one algorithm. Units and Burst are whole units,
// Window is in nanoseconds and a whole number of milliseconds.
type Limit struct {
	Units     uint64 // how many units may pass per window, 1 … UnitsMax
	Window    uint64 // nanoseconds, 1 ms … WindowMaxNanos
	Burst     uint64 // capacity, what a cost is measured against; Units but for buckets
	Algorithm ID
	Align     Align
	Zone      Zone  // of a calendar window
	Anchor    uint8 // day on which the months of a calendar window begin, 1 … 31; 0: not a month
}

// Spec is what a caller asks for, before it has been checked.
type Spec struct {
	Algorithm ID
	Units     uint64 // limit
	Window    uint64 // nanoseconds
	Burst     uint64 // 0: not given
	Align     Align
	AlignSet  bool // ALIGN was given
	// Calendar windows: Window is 0 and Align says which.
	Zone    Zone
	ZoneSet bool  // TZ was given
	Anchor  uint8 // 0: not given
}

// NewLimit checks a spec and returns the limit it describes. logLimitMax is the
// largest limit that a sliding log may have. The error says which argument was
// wrong and what would be right; it has no error code in front.
func NewLimit(s Spec, logLimitMax uint64) (Limit, error) {
	a := Of(s.Algorithm)
	if s.Units < 1 || s.Units > UnitsMax {
		return Limit{}, fmt.Errorf("limit out of range: it must be a whole number from 1 to %d, got %d", uint64(UnitsMax), s.Units)
	}
	if s.Align.IsCalendar() {
		return newCalendarLimit(s, a)
	}
	if s.ZoneSet || s.Anchor != 0 {
		return Limit{}, errors.New("TZ and ANCHOR go with a calendar window: day, week, month or year")
	}
	if s.Window < millisecond || s.Window > WindowMaxNanos || s.Window%millisecond != 0 {
		return Limit{}, errors.New("window out of range: it must be whole milliseconds from 1ms to 3155760000s (100 years)")
	}
	if s.Burst != 0 && a.Options&OptionBurst == 0 {
		return Limit{}, optionError("BURST", a, OptionBurst)
	}
	if s.AlignSet && a.Options&OptionAlign == 0 {
		return Limit{}, optionError("ALIGN", a, OptionAlign)
	}
	if a.ID == SlidingLog && s.Units > logLimitMax {
		return Limit{}, fmt.Errorf("limit out of range: a sliding_log keeps at most %d units, got %d; use sliding_counter for larger limits", logLimitMax, s.Units)
	}
	if a.ID == Budget {
		s.Align = AlignFirst
	}
	burst := s.Burst
	if burst == 0 {
		burst = s.Units
	}
	if burst > UnitsMax {
		return Limit{}, fmt.Errorf("burst out of range: it must be a whole number from 1 to %d, got %d", uint64(UnitsMax), burst)
	}
	if mul(burst, s.Window).divUp(s.Units) > WindowMaxNanos {
		return Limit{}, errors.New("burst out of range: it would take over 100 years to fill at this limit and window")
	}
	return Limit{Units: s.Units, Window: s.Window, Burst: burst, Algorithm: s.Algorithm, Align: s.Align}, nil
}

// newCalendarLimit checks what is left to check of a limit per calendar window.
// Its Window bounds how long one can be.
func newCalendarLimit(s Spec, a *Algorithm) (Limit, error) {
	switch {
	case a.Options&OptionCalendar == 0:
		return Limit{}, optionError("a calendar window", a, OptionCalendar)
	case s.Burst != 0:
		return Limit{}, optionError("BURST", a, OptionBurst)
	case s.AlignSet:
		return Limit{}, errors.New("ALIGN does not go with a calendar window, which begins where the calendar says")
	case s.Anchor > 31:
		return Limit{}, fmt.Errorf("anchor must be a day of the month from 1 to 31, got %d", s.Anchor)
	case s.Anchor != 0 && s.Align != AlignMonth:
		return Limit{}, errors.New("ANCHOR goes with the window month only")
	case s.Align == AlignMonth && s.Anchor == 0:
		s.Anchor = 1
	}
	window := calendarWindows[s.Align-AlignDay]
	return Limit{Units: s.Units, Window: window, Burst: s.Units, Algorithm: s.Algorithm, Align: s.Align, Zone: s.Zone, Anchor: s.Anchor}, nil
}

// optionError says that an option does not belong to the algorithm, and to
// which it does.
func optionError(option string, a *Algorithm, o Options) error {
	var owners []string
	for i := range registry {
		if registry[i].Options&o != 0 {
			owners = append(owners, registry[i].Name)
		}
	}
	return fmt.Errorf("%s does not belong to %s, it is an option of %s", option, a.Name, join(owners))
}

// Logged says whether what is charged under the limit is kept in a Log.
func (l *Limit) Logged() bool { return l.Algorithm == SlidingLog || l.Algorithm == Concurrency }

// Kind is what the limit counts.
func (l *Limit) Kind() Kind { return byID[l.Algorithm].Kind }

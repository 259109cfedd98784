package client

// What calls are limited by. A Limit is a small value that can be compared, so
// that one written out in every call costs nothing and finds what is known of it.
// It is checked when it is made and carries what is wrong with it; every call
// says so before anything is sent.

import (
	"fmt"
	"strconv"
	"time"
)

// UnitsMax is the largest limit, burst and cost, in units: 2^53 − 1.
const UnitsMax = 1<<53 - 1

// Whole is one whole unit of a Budget, which counts in millionths: 25 dollars are
// 25*client.Whole, and 1.3 cents are 13_000.
const Whole = 1_000_000

// WindowMax is the longest window: 100 years.
const WindowMax = 3_155_760_000 * time.Second

// nameBytesMax bounds plan names and zones.
const nameBytesMax = 256

// algorithm is how a limit counts.
type algorithm uint8

const (
	unset algorithm = iota
	wrong           // text says why
	plan            // text is its name
	tokenBucket
	gcra
	leakyBucket
	fixedWindow
	slidingLog
	slidingCounter
	budget
)

var algorithmNames = [...]string{
	tokenBucket: "token_bucket", gcra: "gcra", leakyBucket: "leaky_bucket", fixedWindow: "fixed_window",
	slidingLog: "sliding_log", slidingCounter: "sliding_counter", budget: "budget",
}

// Period is a window that ends when the calendar says so.
type Period uint8

// The calendar's windows. A week begins on Monday.
const (
	Day Period = iota + 1
	Week
	Month
	Year
)

var periodNames = [...]string{Day: "day", Week: "week", Month: "month", Year: "year"}

func (p Period) String() string {
	if p < Day || p > Year {
		return "Period(" + strconv.Itoa(int(p)) + ")"
	}
	return periodNames[p]
}

// align is where the windows of a fixed window begin.
type align uint8

const (
	alignEpoch align = iota
	alignFirst
	alignJitter
)

// Limit says how many units may pass in which time, or names a plan of the server
// that does. Make one with TokenBucket, FixedWindow, Plan and so on; the zero Limit
// is none and is refused by every call.
type Limit struct {
	units, burst int64
	window       time.Duration
	text         string // the plan's name, the calendar's zone, or what is wrong
	algorithm    algorithm
	align        align
	period       Period
	anchor       uint8
}

// Plan is the plan of that name: limits that are kept by the server and change
// without a deploy.
func Plan(name string) Limit {
	if name == "" || len(name) > nameBytesMax {
		return bad("a plan's name must have 1 to %d bytes, got %q", nameBytesMax, name)
	}
	return Limit{algorithm: plan, text: name}
}

// TokenBucket lets limit units pass a window on average, and as many at once; see
// Burst.
func TokenBucket(limit int64, window time.Duration) Limit { return rate(tokenBucket, limit, window) }

// GCRA is TokenBucket by the name that those who come from redis-cell know.
func GCRA(limit int64, window time.Duration) Limit { return rate(gcra, limit, window) }

// LeakyBucket is a queue of limit units that drains at limit a window. Decisions
// carry the delay after which the work should begin; Wait waits for it.
func LeakyBucket(limit int64, window time.Duration) Limit { return rate(leakyBucket, limit, window) }

// FixedWindow counts the units of each window anew. Windows are aligned to 1970,
// unless FromFirst, Jittered or Calendar say otherwise.
func FixedWindow(limit int64, window time.Duration) Limit { return rate(fixedWindow, limit, window) }

// SlidingLog lets exactly limit units pass in any span as long as the window. The
// server remembers every call.
func SlidingLog(limit int64, window time.Duration) Limit { return rate(slidingLog, limit, window) }

// SlidingCounter estimates SlidingLog from two counts, for large limits.
func SlidingCounter(limit int64, window time.Duration) Limit {
	return rate(slidingCounter, limit, window)
}

// Budget counts money and other fractions, in millionths: Budget(25*Whole,
// 24*time.Hour). Its windows begin with the first charge, unless Calendar says
// otherwise. Costs and remaining are millionths too.
func Budget(millionths int64, window time.Duration) Limit { return rate(budget, millionths, window) }

func rate(a algorithm, units int64, window time.Duration) Limit {
	switch {
	case units < 1 || units > UnitsMax:
		return bad("limit must be from 1 to %d, got %d", int64(UnitsMax), units)
	case window < time.Millisecond || window > WindowMax || window%time.Millisecond != 0:
		return bad("window must be whole milliseconds, from 1ms to %s, got %s", WindowMax, window)
	}
	return Limit{algorithm: a, units: units, window: window}
}

func bad(format string, args ...any) Limit {
	return Limit{algorithm: wrong, text: fmt.Sprintf(format, args...)}
}

// Burst is the limit with another capacity: how many units may pass at once. It
// belongs to TokenBucket, GCRA and LeakyBucket.
func (l Limit) Burst(units int64) Limit {
	switch {
	case l.algorithm == wrong:
	case l.algorithm != tokenBucket && l.algorithm != gcra && l.algorithm != leakyBucket:
		return bad("Burst belongs to TokenBucket, GCRA and LeakyBucket")
	case units < 1 || units > UnitsMax:
		return bad("burst must be from 1 to %d, got %d", int64(UnitsMax), units)
	default:
		l.burst = units
	}
	return l
}

// FromFirst is a FixedWindow whose windows begin with the first call that spends.
func (l Limit) FromFirst() Limit { return l.aligned(alignFirst, "FromFirst") }

// Jittered is a FixedWindow whose windows are shifted by a hash of the key, so that
// many keys do not all begin anew in one instant.
func (l Limit) Jittered() Limit { return l.aligned(alignJitter, "Jittered") }

func (l Limit) aligned(to align, name string) Limit {
	switch {
	case l.algorithm == wrong:
	case l.algorithm != fixedWindow || l.period != 0:
		return bad("%s belongs to FixedWindow without a calendar", name)
	default:
		l.align = to
	}
	return l
}

// Calendar is a FixedWindow or a Budget whose windows are those of the calendar in
// an IANA zone ("" is UTC) instead of the one it was made with.
func (l Limit) Calendar(p Period, zone string) Limit {
	switch {
	case l.algorithm == wrong:
	case l.algorithm != fixedWindow && l.algorithm != budget || l.align != alignEpoch:
		return bad("Calendar belongs to FixedWindow and Budget")
	case p < Day || p > Year:
		return bad("period must be Day, Week, Month or Year, got %s", p)
	case len(zone) > nameBytesMax:
		return bad("zone must be an IANA time zone such as Europe/Paris, got %d bytes", len(zone))
	default:
		l.period, l.text, l.window = p, zone, 0
	}
	return l
}

// Anchor is a limit by Calendar(Month, …) whose windows begin on that day, 1 to 31;
// a shorter month uses its last day.
func (l Limit) Anchor(day int) Limit {
	switch {
	case l.algorithm == wrong:
	case l.period != Month:
		return bad("Anchor belongs to Calendar(Month, …)")
	case day < 1 || day > 31:
		return bad("anchor must be a day from 1 to 31, got %d", day)
	default:
		l.anchor = uint8(day)
	}
	return l
}

// String is the limit as the server's commands have it.
func (l Limit) String() string {
	switch l.algorithm {
	case unset:
		return "no limit"
	case wrong:
		return "wrong limit: " + l.text
	case plan:
		return "@" + l.text
	}
	text := ""
	for i, word := range l.words(nil, nil) {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprint(word)
	}
	return text
}

// err is what is wrong with the limit.
func (l Limit) err() error {
	switch l.algorithm {
	case unset:
		return fmt.Errorf("%w: the zero Limit; make one with TokenBucket, Plan and so on", ErrInvalid)
	case wrong:
		return fmt.Errorf("%w: %s", ErrInvalid, l.text)
	}
	return nil
}

// words appends the limit as arguments of a command, with the cost, where there is
// one, in the place that it has among them.
func (l Limit) words(args []any, cost any) []any {
	if l.algorithm == plan {
		args = append(args, "@"+l.text)
		if cost != nil {
			args = append(args, cost)
		}
		return args
	}
	args = append(args, algorithmNames[l.algorithm], l.amount(l.units))
	if l.period != 0 {
		args = append(args, periodNames[l.period])
	} else {
		args = append(args, millis(l.window))
	}
	if cost != nil {
		args = append(args, cost)
	}
	if l.burst != 0 {
		args = append(args, "BURST", l.burst)
	}
	switch l.align {
	case alignFirst:
		args = append(args, "ALIGN", "FIRST")
	case alignJitter:
		args = append(args, "ALIGN", "JITTER")
	}
	if l.period != 0 && l.text != "" {
		args = append(args, "TZ", l.text)
	}
	if l.anchor != 0 {
		args = append(args, "ANCHOR", int(l.anchor))
	}
	return args
}

// plain says whether the limit can be one of several in a command, where there is no
// room for options.
func (l Limit) plain() bool {
	return l.burst == 0 && l.align == alignEpoch && l.anchor == 0 && (l.period == 0 || l.text == "" || l.text == "UTC")
}

// amount is a number of units as this limit has it on the wire.
func (l Limit) amount(units int64) any {
	if l.algorithm == budget {
		return decimal(units)
	}
	return units
}

// millis is a duration in the unit in which windows and times to live are whole.
func millis(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

// Err is what is wrong with the limit; nil if nothing is. Every call says it too.
func (l Limit) Err() error { return l.err() }

// PlanName is the name of the plan; "" if the limit is none.
func (l Limit) PlanName() string {
	if l.algorithm == plan {
		return l.text
	}
	return ""
}

// Refill is how long it takes until all of the limit is to be had again: the window, or
// for a bucket with a Burst the time in which that is earned. 0 for plans and calendars.
func (l Limit) Refill() time.Duration {
	if l.burst == 0 || l.units == 0 {
		return l.window
	}
	return time.Duration(min(float64(l.window)/float64(l.units)*float64(l.burst), float64(WindowMax)))
}

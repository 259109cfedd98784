package algorithms

// Calendar windows: day, week, month and year of a time zone. A date begins once,
// at the first instant at which the zone's clocks show it or a later one, so a day
// lasts 23, 24 or 25 hours as the zone says, a date that the zone skips lasts no
// time, and an hour that is repeated across midnight belongs to the later date.

import (
	"strings"
	"time"
)

// Calendar windows continue the list of alignments: they say both how long a
// window is and where it begins.
const (
	AlignDay Align = iota + 8
	AlignWeek
	AlignMonth
	AlignYear
)

// IsCalendar says whether windows follow the calendar.
func (a Align) IsCalendar() bool { return a >= AlignDay && a <= AlignYear }

// String is the word for an alignment.
func (a Align) String() string {
	if a.IsCalendar() {
		return calendarNames[a-AlignDay]
	}
	return [...]string{AlignEpoch: "EPOCH", AlignFirst: "FIRST", AlignJitter: "JITTER"}[a]
}

// calendarNames are the words for calendar windows, in the order of the constants.
var calendarNames = []string{"day", "week", "month", "year"}

// calendarWindows bound how long the windows of a calendar alignment can be, in
// the same order. Zones that change their date line may lengthen a day by a day.
var calendarWindows = []uint64{2 * dayNanos, 8 * dayNanos, 32 * dayNanos, 367 * dayNanos}

const dayNanos = 24 * 3600 * second

// ParseCalendar reads the word for a calendar window, in any case.
func ParseCalendar(word []byte) (Align, bool) {
	for i, name := range calendarNames {
		if len(word) == len(name) && strings.EqualFold(string(word), name) {
			return AlignDay + Align(i), true
		}
	}
	return 0, false
}

// calendarWindow is the first date of the window of l that covers t, and the end of
// that window.
func calendarWindow(l *Limit, t uint64) (first date, end uint64) {
	now := time.Unix(int64(t/second), int64(t%second)).In(l.Zone.location())
	first = firstOf(l, now.Year(), now.Month(), now.Day())
	for {
		next := first.next(l)
		if end = begin(next, l.Zone.location()); end > t {
			return first, end
		}
		first = next
	}
}

// date is a day of the calendar.
type date struct {
	year  int
	month time.Month
	day   int
}

// firstOf is the first date of the window of l that a date lies in.
func firstOf(l *Limit, year int, month time.Month, dayOfMonth int) date {
	switch l.Align {
	case AlignWeek:
		weekday := time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Weekday()
		return date{year, month, dayOfMonth - (int(weekday)+6)%7}.normal()
	case AlignMonth:
		anchor := anchorOf(l, year, month)
		if dayOfMonth < anchor.day {
			month--
			anchor = anchorOf(l, year, month)
		}
		return anchor
	case AlignYear:
		return date{year, time.January, 1}
	default:
		return date{year, month, dayOfMonth}
	}
}

// next is the first date of the window after the one that d begins.
func (d date) next(l *Limit) date {
	switch l.Align {
	case AlignWeek:
		return date{d.year, d.month, d.day + 7}.normal()
	case AlignMonth:
		return anchorOf(l, d.year, d.month+1)
	case AlignYear:
		return date{d.year + 1, time.January, 1}
	default:
		return date{d.year, d.month, d.day + 1}.normal()
	}
}

// anchorOf is the day on which a month's window begins: the anchor day, or the
// last of a month that is too short for it.
func anchorOf(l *Limit, year int, month time.Month) date {
	last := date{year, month + 1, 0}.normal()
	return date{last.year, last.month, min(max(int(l.Anchor), 1), last.day)}
}

// normal brings a date whose day or month is out of range into the calendar.
func (d date) normal() date {
	y, m, n := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Date()
	return date{y, m, n}
}

// begin is the first instant at which clocks show the date or a later one, 0 for
// one before 1970. A zone's time is a row of periods of one offset; in each the
// date is reached where its own midnight falls, or at the start of the period if
// that is later.
func begin(d date, location *time.Location) uint64 {
	midnight := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC)
	period := midnight.Add(-26 * time.Hour).In(location)
	for {
		start, end := period.ZoneBounds()
		if !end.IsZero() && !end.After(period) {
			// In a leap year Go's rules end a day early, and that last day
			// before it begins: pass through it step by step.
			end = period.Add(time.Hour)
		}
		_, offset := period.Zone()
		at := midnight.Add(-time.Duration(offset) * time.Second)
		if !start.IsZero() && at.Before(start) {
			at = start
		}
		if end.IsZero() || at.Before(end) {
			if at.Unix() < 0 {
				return 0
			}
			return uint64(at.Unix()) * second
		}
		period = end
	}
}

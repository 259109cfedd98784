package algorithms

// Every zone of the database over the years 2024 to 2030: a day's window is reset
// exactly once a local day, at the first instant at which the zone's clocks show the
// date or a later one. The twin knows no rules of zones; it looks at the clock every
// quarter of an hour, and every minute where the date changes.

import (
	"testing"
	"time"
)

// resetYears are the years that are looked at.
var resetYears = [2]int{2024, 2030}

// firstShown is the first minute at which clocks show a date or a later one.
func firstShown(d date, where *time.Location) int64 {
	const quarter = 15 * 60
	shows := func(at int64) bool {
		y, m, n := time.Unix(at, 0).In(where).Date()
		return y > d.year || y == d.year && (m > d.month || m == d.month && n >= d.day)
	}
	at := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Unix() - 16*3600
	for !shows(at) {
		at += quarter
	}
	for least := at - quarter; at > least && shows(at-60); {
		at -= 60
	}
	return at
}

// Each reset is compared with the next date's beginning, which a date that the zone
// skips shares with the one after it. Without -laws.calls of a million, as `make laws`
// asks for, the twin looks at the days around changes of the clock and at the first of
// each month only; that each day is followed by the next is seen all the same.
func TestLawOneResetALocalDay(t *testing.T) {
	everyDay := *lawCalls >= 1_000_000
	for _, name := range ZoneNames() {
		l := calendarLimit(t, AlignDay, name, 0)
		where := l.Zone.location()
		d := date{resetYears[0], time.January, 1}
		at := uint64(firstShown(d, where)) * second
		resets := 0
		for offset, odd := 0, 0; d.year <= resetYears[1]; odd-- {
			next := d.next(l)
			reset := windowEnd(l, at, 0)
			if before := windowEnd(l, reset-1, 0); before != reset {
				t.Fatalf("%s: the window that ends at %d ends at %d too", name, reset, before)
			}
			local := time.Unix(int64(reset/second), 0).In(where)
			if y, m, n := local.Date(); (date{y, m, n}) != next {
				// Clocks that skip a date show the one after it at once.
				if skipped := firstShown(next.next(l), where); uint64(skipped)*second != reset {
					t.Fatalf("%s: %v is followed by a reset at %v", name, d, local)
				}
				next = next.next(l)
			}
			if _, now := local.Zone(); now != offset {
				offset, odd = now, 3
			}
			if everyDay || odd > 0 || next.day == 1 {
				if want := firstShown(next, where); uint64(want)*second != reset {
					t.Fatalf("%s: %v begins at %v, want %v", name, next, local, time.Unix(want, 0).In(where))
				}
			}
			d, at = next, reset
			resets++
		}
		if days := 7*365 + 2; resets < days-1 || resets > days {
			t.Errorf("%s: %d resets in %d days", name, resets, days)
		}
	}
}

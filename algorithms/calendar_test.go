package algorithms

// Calendar windows against a naive calendar that looks at the zone's clock minute
// by minute, and rows for what people found wrong with them elsewhere.

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// naiveBegin is the first instant at which clocks show a date or a later one.
func naiveBegin(d date, where *time.Location) int64 {
	shows := func(at int64) bool {
		y, m, n := time.Unix(at, 0).In(where).Date()
		return y > d.year || y == d.year && (m > d.month || m == d.month && n >= d.day)
	}
	at := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Unix() - 16*3600
	for !shows(at) {
		at += 60
	}
	for shows(at - 1) {
		at--
	}
	return at
}

// naiveEnd looks at one date after the other for the next one that begins a window.
func naiveEnd(l *Limit, t uint64) uint64 {
	where := l.Zone.location()
	day := time.Unix(int64(t/second), 0).In(where)
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, time.UTC)
	for {
		noon = noon.AddDate(0, 0, 1)
		tomorrow := noon.AddDate(0, 0, 1)
		begins := true
		switch anchor := int(l.Anchor); l.Align {
		case AlignWeek:
			begins = noon.Weekday() == time.Monday
		case AlignMonth:
			begins = noon.Day() == anchor || noon.Day() < anchor && tomorrow.Day() == 1
		case AlignYear:
			begins = noon.YearDay() == 1
		}
		d := date{noon.Year(), noon.Month(), noon.Day()}
		if begins && noon.Unix() > int64(t/second)-2*86400 {
			if at := naiveBegin(d, where); at > 0 && uint64(at)*second > t {
				return uint64(at) * second
			}
		}
	}
}

func calendarLimit(t *testing.T, align Align, zone string, anchor uint8) *Limit {
	t.Helper()
	z, err := ParseZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLimit(Spec{Algorithm: FixedWindow, Units: 10, Align: align, Zone: z, ZoneSet: true, Anchor: anchor}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

// instants at which some zone did something odd, and zones that do.
var (
	oddZones = []string{"UTC", "Europe/Paris", "America/New_York", "America/St_Johns", "America/Sao_Paulo", "America/Havana",
		"Asia/Shanghai", "Asia/Kathmandu", "Asia/Gaza", "Asia/Beirut", "Asia/Tehran", "Africa/Monrovia", "Africa/Cairo",
		"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati", "Pacific/Chatham", "America/Scoresbysund",
		"Antarctica/Troll", "Antarctica/Casey", "Africa/Casablanca", "America/Nuuk"}
	oddInstants = []string{"1970-01-01T00:00:00Z", "1972-01-07T00:44:30Z", "1987-10-25T02:31:00Z", "1993-08-20T12:00:00Z",
		"2006-10-29T02:31:00Z", "2011-12-30T10:00:00Z", "2018-11-04T03:00:00Z", "2027-03-28T01:00:00Z", "2027-10-31T01:00:00Z",
		"2028-02-29T00:00:00Z", "2028-12-30T00:00:00Z", "2100-03-01T00:00:00Z", "2196-12-29T12:00:00Z", "2199-12-31T23:59:59Z"}
)

func TestCalendarAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(*lawSeed, 0))
	row := func(zone string, at uint64) {
		align := AlignDay + Align(r.IntN(4))
		anchor := uint8(0)
		if align == AlignMonth {
			anchor = uint8(1 + r.IntN(31))
		}
		l := calendarLimit(t, align, zone, anchor)
		end, want := windowEnd(l, at, 0), naiveEnd(l, at)
		show := func(t uint64) string {
			return time.Unix(int64(t/second), int64(t%second)).In(l.Zone.location()).Format(time.RFC3339Nano)
		}
		if end != want {
			t.Errorf("%s %s anchor %d at %s ends %s, want %s", zone, calendarNames[align-AlignDay], anchor, show(at), show(end), show(want))
		} else if windowEnd(l, end-1, 0) != end || windowEnd(l, end, 0) <= end || end-at > l.Window {
			t.Errorf("%s %s anchor %d: windows do not tile at %s", zone, calendarNames[align-AlignDay], anchor, show(end))
		}
	}
	for _, zone := range oddZones {
		for _, text := range oddInstants {
			odd, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			at := uint64(odd.Unix()) * second
			for range 4 {
				row(zone, at+r.Uint64N(3*day))
			}
			row(zone, at)
			row(zone, max(at, 3*day)-r.Uint64N(3*day))
		}
	}
	for _, zone := range ZoneNames() {
		row(zone, r.Uint64N(endOfTime))
		// The end of a leap year, where Go's rules for the years to come are odd.
		leap := time.Date(2028+4*r.IntN(17), 12, 30, 0, 0, 0, 0, time.UTC)
		row(zone, uint64(leap.Unix())*second+r.Uint64N(3*day))
		z, err := ParseZone(zone)
		if err != nil || z.String() != zone {
			t.Fatalf("%s is %v, %v", zone, z, err)
		}
		_, offset := leap.In(z.location()).Zone()
		for hours := range 48 {
			if _, o := leap.Add(time.Duration(hours) * time.Hour).In(z.location()).Zone(); o != offset {
				t.Errorf("%s changes its clocks %d hours after %v", zone, hours, leap)
			}
		}
	}
}

func TestCalendarCases(t *testing.T) {
	playAll(t, []struct{ name, text string }{
		{"C46 every call after midnight resets the day", `
			@54000  fixed 10 day 5   A 5 reset 3600000        # 23:00
			@57900  fixed 10 day 6   A 4 reset 86100000       # 00:05
			@57960  fixed 10 day 5   D 4 86040000
			@143999 fixed 10 day 5   D 4 1000
			@144000 fixed 10 day 5   A 5
		`},
		{"C49 the day is UTC whatever the zone", `
			@28799 fixed 1 day 1 TZ Asia/Shanghai   A 0 reset 1000
			@28799 fixed 1 day 1 TZ Asia/Shanghai   D 0 1000
			@28800 fixed 1 day 1 TZ Asia/Shanghai   A 0 reset 86400000
		`},
		{"C50 one day of Los Angeles about midnight UTC", `
			@57599 fixed 5 day 5 TZ America/Los_Angeles   A 0 reset 28801000
			@57600 fixed 5 day 1 TZ America/Los_Angeles   D 0 28800000
		`},
		{"weeks begin on Monday, months on their anchor, years in January", `
			@0 fixed 5 week 1                         A 4 reset 230400000
			@0 fixed 5 month 1                        A 3 reset 1440000000
			@0 fixed 5 month 1 ANCHOR 15              A 2 reset 2649600000
			@0 fixed 5 month 1 ANCHOR 16              A 1 reset 57600000
			@0 fixed 5 year 1 TZ Asia/Tokyo           A 0 reset 30265200000
			@0 fixed 5 year 1                         D 0 30265200000
		`},
		{"a shorter month uses its last day", `
			@1440000 fixed 5 month 1 ANCHOR 31   A 4 reset 2332800000  # on 31 January 24:00, until 28 February
		`},
		{"what does not go with a calendar window", `
			@0 token 5 day 1                    ERR a calendar window does not belong to token_bucket
			@0 log 5 month 1                    ERR a calendar window does not belong to sliding_log
			@0 fixed 5 day 1 BURST 9            ERR BURST does not belong to fixed_window
			@0 fixed 5 day 1 ANCHOR 3           ERR ANCHOR goes with the window month only
			@0 fixed 5 month 1 ANCHOR 32        ERR anchor must be a day of the month from 1 to 31, got 32
			@0 fixed 5 1h 1 ANCHOR 3            ERR TZ and ANCHOR go with a calendar window
			@0 fixed 5 1h 1 TZ UTC              ERR TZ and ANCHOR go with a calendar window
			@0 fixed 5 day 1 TZ Europe/Pari     ERR unknown time zone 'Europe/Pari', did you mean 'Europe/Paris'?
			@0 fixed 5 day 1 TZ europe          ERR unknown time zone 'europe': it must be an IANA name
			@0 fixed 5 day 1 TZ Zulu/../UTC     ERR unknown time zone
			@0 fixed 5 Days 1                   ERR window must be a duration
			@0 fixed 0 day 1                    ERR limit out of range
		`},
	})
	if *calendarLimit(t, AlignMonth, "UTC", 0) != *calendarLimit(t, AlignMonth, "UTC", 1) {
		t.Error("a month without an anchor is another limit than one from its first day")
	}
	for _, word := range []string{"fortnight", "days", "da", ""} {
		if a, ok := ParseCalendar([]byte(word)); a != 0 || ok {
			t.Errorf("%q is a calendar window", word)
		}
	}
	for _, word := range []string{"month", "Month", "MONTH"} {
		if a, ok := ParseCalendar([]byte(word)); a != AlignMonth || !ok {
			t.Errorf("%q is %v", word, a)
		}
	}
	if _, err := NewLimit(Spec{Algorithm: FixedWindow, Units: 1, Align: AlignDay, AlignSet: true}, 0); err == nil ||
		!strings.Contains(err.Error(), "ALIGN does not go with a calendar window") {
		t.Errorf("ALIGN with a calendar window: %v", err)
	}
}

// Among calendar windows and all other limits the laws hold as they do without.
func TestCalendarLaws(t *testing.T) {
	limits := []*Limit{
		calendarLimit(t, AlignDay, "Europe/Paris", 0), calendarLimit(t, AlignWeek, "UTC", 0),
		calendarLimit(t, AlignMonth, "America/New_York", 31), calendarLimit(t, AlignYear, "Pacific/Apia", 0),
	}
	histories(t, Of(FixedWindow), func(h *history) error {
		h.limits = append(h.limits, limits...)
		h.call.Limit = limits[h.IntN(len(limits))]
		return live(h, func(k *key, s step, d Decision) error {
			if err := tight(k, s, d); err != nil {
				return err
			}
			if l := k.stored.Limit; l != nil && l.Align.IsCalendar() && !Legal(k.stored.State, l) {
				return errors.New("not legal")
			}
			if fresh := k.stored.FreshAt; k.stored.Limit != nil && (Used(&k.stored, fresh) != 0 || Used(&k.stored, fresh-1) == 0) {
				return errors.New("not fresh at its instant")
			}
			return nil
		})
	})
	k, c, d := newKey(), &Call{Cost: 1, Now: startOfTests}, &Decision{}
	if n := testing.AllocsPerRun(1000, func() {
		c.Now += day
		c.Limit = limits[c.Now/day%4]
		Allow(c, &k.stored, d)
	}); n != 0 {
		t.Errorf("%v allocations a decision", n)
	}
}

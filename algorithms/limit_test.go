package algorithms

// Rows for NewLimit and the registry: every error, and the edges of what is legal.

import (
	"reflect"
	"strings"
	"testing"
)

const century = uint64(WindowMaxNanos)

func TestNewLimit(t *testing.T) {
	rows := []struct {
		spec Spec
		want string // the burst it gets, or a part of the error
	}{
		{Spec{Algorithm: TokenBucket, Units: 10, Window: second}, "10"},
		{Spec{Algorithm: TokenBucket, Units: 10, Window: second, Burst: 1}, "1"},
		{Spec{Algorithm: GCRA, Units: 10, Window: second, Burst: 25}, "25"},
		{Spec{Algorithm: LeakyBucket, Units: 10, Window: second, Burst: 9}, "9"},
		{Spec{Algorithm: SlidingCounter, Units: UnitsMax, Window: century}, "9007199254740991"},
		{Spec{Algorithm: TokenBucket, Units: UnitsMax, Window: century}, "9007199254740991"},
		{Spec{Algorithm: FixedWindow, Units: 1, Window: millisecond}, "1"},
		{Spec{Algorithm: FixedWindow, Units: 7, Window: second, Align: AlignJitter, AlignSet: true}, "7"},
		{Spec{Algorithm: FixedWindow, Units: 7, Window: second, Align: AlignEpoch, AlignSet: true}, "7"},
		{Spec{Algorithm: SlidingLog, Units: 100_000, Window: second}, "100000"},

		{Spec{Algorithm: TokenBucket, Window: second},
			"limit out of range: it must be a whole number from 1 to 9007199254740991, got 0"},
		{Spec{Algorithm: TokenBucket, Units: UnitsMax + 1, Window: second},
			"limit out of range: it must be a whole number from 1 to 9007199254740991, got 9007199254740992"},
		{Spec{Algorithm: TokenBucket, Units: 1<<64 - 1, Window: second},
			"limit out of range: it must be a whole number from 1 to 9007199254740991, got 18446744073709551615"},

		{Spec{Algorithm: GCRA, Units: 1},
			"window out of range: it must be whole milliseconds from 1ms to 3155760000s (100 years)"},
		{Spec{Algorithm: GCRA, Units: 1, Window: millisecond - 1}, "window out of range"},
		{Spec{Algorithm: GCRA, Units: 1, Window: millisecond + 1}, "window out of range"},
		{Spec{Algorithm: GCRA, Units: 1, Window: century + millisecond}, "window out of range"},
		{Spec{Algorithm: GCRA, Units: 1, Window: 1<<64 - 1}, "window out of range"},

		{Spec{Algorithm: FixedWindow, Units: 1, Window: second, Burst: 1},
			"BURST does not belong to fixed_window, it is an option of token_bucket, gcra and leaky_bucket"},
		{Spec{Algorithm: SlidingLog, Units: 1, Window: second, Burst: 1}, "BURST does not belong to sliding_log"},
		{Spec{Algorithm: SlidingCounter, Units: 1, Window: second, Burst: 1}, "BURST does not belong to sliding_counter"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: second, AlignSet: true},
			"ALIGN does not belong to token_bucket, it is an option of fixed_window"},
		{Spec{Algorithm: GCRA, Units: 1, Window: second, AlignSet: true, Align: AlignFirst}, "ALIGN does not belong to gcra"},
		{Spec{Algorithm: LeakyBucket, Units: 1, Window: second, AlignSet: true}, "ALIGN does not belong to leaky_bucket"},
		{Spec{Algorithm: SlidingLog, Units: 1, Window: second, AlignSet: true}, "ALIGN does not belong to sliding_log"},
		{Spec{Algorithm: SlidingCounter, Units: 1, Window: second, AlignSet: true}, "ALIGN does not belong to sliding_counter"},

		{Spec{Algorithm: SlidingLog, Units: 100_001, Window: second},
			"limit out of range: a sliding_log keeps at most 100000 units, got 100001; use sliding_counter for larger limits"},

		{Spec{Algorithm: TokenBucket, Units: UnitsMax, Window: millisecond, Burst: UnitsMax + 1},
			"burst out of range: it must be a whole number from 1 to 9007199254740991, got 9007199254740992"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: 31_557_600 * second, Burst: 100}, "100"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: 31_557_600 * second, Burst: 101},
			"burst out of range: it would take over 100 years to fill at this limit and window"},
		{Spec{Algorithm: TokenBucket, Units: 3, Window: century, Burst: 3}, "3"},
		{Spec{Algorithm: TokenBucket, Units: 3, Window: century, Burst: 4}, "burst out of range"},
		{Spec{Algorithm: TokenBucket, Units: UnitsMax - 1, Window: century, Burst: UnitsMax}, "burst out of range"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: century, Burst: UnitsMax}, "burst out of range"},
		// Longer than 100 years by a part of a nanosecond.
		{Spec{Algorithm: TokenBucket, Units: 2854*3155759999999 - 1, Window: century - millisecond, Burst: 2854*3155760000000 - 1}, "burst out of range"},
		{Spec{Algorithm: TokenBucket, Units: 2854*3155759999999 - 1, Window: century - millisecond, Burst: 2854*3155760000000 - 2}, "9006539039999998"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: millisecond, Burst: century / millisecond}, "3155760000000"},
		{Spec{Algorithm: TokenBucket, Units: 1, Window: millisecond, Burst: century/millisecond + 1}, "burst out of range"},
	}
	for _, r := range rows {
		l, err := NewLimit(r.spec, LogLimitMaxDefault)
		switch {
		case err != nil:
			if l != (Limit{}) || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%+v: got %+v, %q, want %q", r.spec, l, err, r.want)
			}
		case r.want[0] > '9' || l.Burst != uint64(number(r.want)):
			t.Errorf("%+v: got %+v, want %q", r.spec, l, r.want)
		case l.Units != r.spec.Units || l.Window != r.spec.Window || l.Algorithm != r.spec.Algorithm || l.Align != r.spec.Align:
			t.Errorf("%+v: got %+v", r.spec, l)
		}
	}
	if _, err := NewLimit(Spec{Algorithm: SlidingLog, Units: 8, Window: second}, 7); err == nil {
		t.Error("a smaller maximum of sliding_log is not kept")
	}
	if _, err := NewLimit(Spec{Algorithm: SlidingLog, Units: 200_000, Window: second}, 200_000); err != nil {
		t.Errorf("a larger maximum of sliding_log: %v", err)
	}
}

// The numbers are on disk: they may never change.
func TestRegistry(t *testing.T) {
	want := map[ID]string{
		1: "token_bucket", 2: "gcra", 3: "leaky_bucket", 4: "fixed_window", 5: "sliding_log", 6: "sliding_counter",
		7: "budget", 8: "concurrency",
	}
	var names []string
	for i, a := range All() {
		if want[a.ID] != a.Name || a.ID.String() != a.Name || Of(a.ID) != &All()[i] {
			t.Errorf("row %d is %d %s", i, a.ID, a.Name)
		}
		if a.Summary == "" || a.When == "" {
			t.Errorf("%s says nothing about itself", a.Name)
		}
		names = append(names, a.Name)
	}
	if len(names) != len(want) || !reflect.DeepEqual(Names(), names) {
		t.Errorf("names %v", Names())
	}
	for _, id := range []ID{0, 9, 255} {
		if Of(id) != nil || id.String() != "unknown" {
			t.Errorf("there is an algorithm %d", id)
		}
	}
}

func TestLookup(t *testing.T) {
	rows := map[string]ID{
		"token_bucket": TokenBucket, "tb": TokenBucket, "TB": TokenBucket, "Token-Bucket": TokenBucket,
		"gcra": GCRA, "GCRA": GCRA, "leaky_bucket": LeakyBucket, "lb": LeakyBucket, "LEAKY-bucket": LeakyBucket,
		"fixed_window": FixedWindow, "fw": FixedWindow, "fixed-window": FixedWindow, "FIXED_WINDOW": FixedWindow,
		"sliding_log": SlidingLog, "sl": SlidingLog, "sliding-log": SlidingLog,
		"sliding_counter": SlidingCounter, "sc": SlidingCounter, "Sc": SlidingCounter, "SLIDING-COUNTER": SlidingCounter,

		"": 0, " ": 0, "tokenbucket": 0, "token bucket": 0, "tb ": 0, "token_bucket\x00": 0, "budget": Budget, "concurrency": Concurrency,
		"token__bucket": 0, "gcrа": 0, // the last letter is Cyrillic
		strings.Repeat("x", 24): 0, strings.Repeat("x", 25): 0, "token_bucket" + strings.Repeat("x", 70_000): 0,
		"[oken_bucket": 0, "@": 0, "\xff": 0,
	}
	for name, want := range rows {
		if id, ok := Lookup([]byte(name)); id != want || ok != (want != 0) {
			t.Errorf("%q is %v, %v", name, id, ok)
		}
	}
}

func TestJoin(t *testing.T) {
	for want, words := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
	} {
		if got := join(words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

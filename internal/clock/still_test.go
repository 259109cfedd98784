// The test clock: it moves when told, back too, and not past its range.

package clock

import (
	"math"
	"testing"
	"time"
)

func TestTestClock(t *testing.T) {
	c := NewTest()
	if got := time.Unix(0, int64(c.Now())).UTC().Format(time.RFC3339Nano); got != "2027-01-15T08:00:00Z" {
		t.Fatalf("starts at %s", got)
	}
	const ms = uint64(nsPerMs)
	last := InstantNsMax / ms
	rows := []struct {
		name string
		move func() error
		ok   bool
		want uint64
	}{
		{"advance", func() error { return c.Advance(1500 * time.Microsecond) }, true, T0Ns + 1_500_000},
		{"by nothing", func() error { return c.Advance(0) }, true, T0Ns + 1_500_000},
		{"backwards", func() error { return c.Advance(-1) }, false, T0Ns + 1_500_000},
		{"set back", func() error { return c.Set(5) }, true, 5 * ms},
		{"to the epoch", func() error { return c.Set(0) }, true, 0},
		{"far", func() error { return c.Advance(math.MaxInt64) }, false, 0},
		{"too far", func() error { return c.Set(last + 1) }, false, 0},
		{"farthest", func() error { return c.Set(math.MaxUint64) }, false, 0},
		{"to the end", func() error { return c.Set(last) }, true, InstantNsMax},
		{"past the end", func() error { return c.Advance(1) }, false, InstantNsMax},
	}
	for _, row := range rows {
		if err := row.move(); (err == nil) != row.ok {
			t.Errorf("%s: error %v", row.name, err)
		}
		if c.Now() != row.want {
			t.Errorf("%s: stands at %d, want %d", row.name, c.Now(), row.want)
		}
	}
	if c.Offset() != 0 {
		t.Errorf("offset %d", c.Offset())
	}
}

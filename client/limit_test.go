package client

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLimitWords(t *testing.T) {
	for _, row := range []struct {
		limit Limit
		want  string
	}{
		{TokenBucket(10, time.Second), "token_bucket 10 1000ms"},
		{TokenBucket(10, time.Second).Burst(40), "token_bucket 10 1000ms BURST 40"},
		{GCRA(UnitsMax, WindowMax), "gcra 9007199254740991 3155760000000ms"},
		{LeakyBucket(1, time.Millisecond), "leaky_bucket 1 1ms"},
		{FixedWindow(5, time.Hour).FromFirst(), "fixed_window 5 3600000ms ALIGN FIRST"},
		{FixedWindow(5, time.Hour).Jittered(), "fixed_window 5 3600000ms ALIGN JITTER"},
		{FixedWindow(5, time.Hour).Calendar(Month, "Europe/Paris").Anchor(31), "fixed_window 5 month TZ Europe/Paris ANCHOR 31"},
		{SlidingLog(3, time.Minute), "sliding_log 3 60000ms"},
		{SlidingCounter(3, time.Minute), "sliding_counter 3 60000ms"},
		{Budget(25*Whole+1_300, time.Hour).Calendar(Day, ""), "budget 25.0013 day"},
		{Plan("pro"), "@pro"},
	} {
		if err := row.limit.err(); err != nil {
			t.Errorf("%s: %v", row.want, err)
		}
		if got := row.limit.String(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

// A limit of 0 means neither "unlimited" nor "deny all" (C129), and every other wrong
// value says what would be right.
func TestLimitRefusals(t *testing.T) {
	for _, row := range []struct {
		limit Limit
		want  string
	}{
		{Limit{}, "the zero Limit"},
		{TokenBucket(0, time.Second), "limit must be from 1 to 9007199254740991, got 0"},
		{TokenBucket(-1, time.Second), "got -1"},
		{TokenBucket(UnitsMax+1, time.Second), "got 9007199254740992"},
		{TokenBucket(1, 0), "window must be whole milliseconds"},
		{TokenBucket(1, 1500*time.Microsecond), "got 1.5ms"},
		{TokenBucket(1, WindowMax+time.Millisecond), "window must be"},
		{TokenBucket(1, time.Second).Burst(0), "burst must be"},
		{SlidingLog(1, time.Second).Burst(2), "Burst belongs to"},
		{SlidingLog(1, time.Second).FromFirst(), "FromFirst belongs to FixedWindow"},
		{SlidingLog(1, time.Second).Calendar(Day, ""), "Calendar belongs to"},
		{FixedWindow(1, time.Second).Calendar(Period(9), ""), "got Period(9)"},
		{FixedWindow(1, time.Second).Anchor(1), "Anchor belongs to"},
		{FixedWindow(1, time.Second).Calendar(Month, "").Anchor(32), "got 32"},
		{TokenBucket(0, time.Second).Burst(5), "limit must be"},
		{Plan(""), "a plan's name"},
	} {
		if err := row.limit.err(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("says %v, want %q", err, row.want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for text, n := range map[string]int64{"0": 0, "25": 25_000_000, "0.0132": 13_200, "9007199254.740991": UnitsMax, "0.000001": 1} {
		if got := decimal(n); got != text {
			t.Errorf("decimal(%d) = %q, want %q", n, got, text)
		}
		if got, ok := parseDecimal(text); !ok || got != n {
			t.Errorf("parseDecimal(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", ".", ".5", "5.", "-1", "+1", "1e3", "0x1", "1.0000001", "1_0", " 1", "99999999999999"} {
		if got, ok := parseDecimal(text); ok {
			t.Errorf("parseDecimal(%q) = %d", text, got)
		}
	}
}

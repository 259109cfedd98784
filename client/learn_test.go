package client

import (
	"testing"
	"time"
)

func TestParseWindow(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1m": time.Minute, "15m": 15 * time.Minute, "250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute,
		"7d": 7 * 24 * time.Hour, "1w1d1ms": 8*24*time.Hour + time.Millisecond, "": 0, "day": 0, "1": 0, "m": 0, "5x": 0,
		"99999999999w": 0,
	} {
		if got := parseWindow(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestLesson(t *testing.T) {
	limits := lessonOf([]Explained{
		{Name: "rpm", Algorithm: "sliding_counter", Limit: 600, Window: "1m", Mode: "enforce"},
		{Name: "burst", Algorithm: "token_bucket", Limit: 20, Window: "1s", Burst: 40, Mode: "enforce"},
		{Name: "quota", Algorithm: "fixed_window", Limit: 1000, Window: "day", Mode: "enforce"},
		{Name: "tried", Algorithm: "gcra", Limit: 1, Window: "1s", Mode: "shadow"},
		{Name: "inflight", Algorithm: "concurrency", Limit: 8, Window: "30s", Mode: "enforce"},
		{Name: "spend", Algorithm: "budget", Limit: 8 * Whole, Money: true, Window: "day", Mode: "enforce"},
	})
	want := map[string]Limit{
		"rpm": SlidingCounter(600, time.Minute), "burst": TokenBucket(20, time.Second).Burst(40),
		"quota": FixedWindow(1000, time.Hour).Calendar(Day, ""),
	}
	if len(limits) != len(want) {
		t.Errorf("%v", limits)
	}
	for name, l := range want {
		if limits[name] != l {
			t.Errorf("%s: got %s, want %s", name, limits[name], l)
		}
	}
	c := newFake().client(t)
	defer c.Close()
	if got := c.standIn("pro", ""); got != c.planLimit {
		t.Errorf("unknown: %s", got)
	}
	c.lessons.Store("pro", &lesson{limits: limits})
	if got := c.standIn("pro", "burst"); got != want["burst"] {
		t.Errorf("the one that bound: %s", got)
	}
	if got := c.standIn("pro", "inflight"); got != want["quota"] {
		t.Errorf("the slowest: %s", got)
	}
}

package server

// Plans while many call at once: no two callers share what is left, and a plan that
// changes meanwhile never lets more pass than the larger of its limits.

import (
	"fmt"
	"strings"
	"testing"
)

// C123: first calls at once on a budget that is nearly empty.
func TestBudgetFromManyConnections(t *testing.T) {
	r := newRig(t, 4)
	w := r.dial()
	w.want(t, "RL.PLAN SET p '{limits: {usd: {algorithm: budget, limit: 100, window: day}, busy: {algorithm: concurrency, limit: 100, window: 1m}}}'", "+OK")
	for round := range 50 {
		for command, key := range map[string]string{"RL.ALLOW": "a", "RL.RESERVE": "r"} {
			line := fmt.Sprintf("%s %s%d @p 1 SPEND 30", command, key, round)
			if got := sum(r.passed(8, 1, same(line))); got != 3 {
				t.Fatalf("%s: %d of 8 pass, want 3", line, got)
			}
			if got := w.line(t, fmt.Sprintf("RL.PEEK %s%d @p 1", key, round)); got.list[2].text != "10" {
				t.Fatalf("%s: %s is left, want 10", line, got)
			}
		}
	}
}

func TestPlanChangesWhileManyCall(t *testing.T) {
	r := newRig(t, 4)
	text := "RL.PLAN SET p '{limits: {n: {algorithm: fixed_window, limit: %d, window: 1h}, m: {algorithm: token_bucket, limit: 100000, window: 1h}}}'"
	w := r.dial()
	w.want(t, fmt.Sprintf(text, 300), "+OK")
	counts := make([]int, 6)
	r.together(6, func(i int, w *wire) {
		for n := range 200 {
			if i == 0 {
				w.want(t, fmt.Sprintf(text, 100+200*(n%2)), "+OK")
				continue
			}
			if v := w.line(t, "RL.ALLOW k @p"); v.list[1].n != 100 && v.list[1].n != 300 && v.list[1].n != 100000 {
				t.Errorf("a limit that no plan has: %s", v)
			} else if v.allowed() {
				counts[i]++
			}
		}
	})
	if got := sum(counts); got < 100 || got > 300 {
		t.Errorf("%d calls pass under limits of 100 and 300", got)
	} else {
		w.want(t, fmt.Sprintf(text, 300), "+OK")
		if left := w.line(t, "RL.PEEK k @p 0"); left.list[2].n != int64(300-got) && left.list[6].text == "n" {
			t.Errorf("%d calls have passed: %s", got, left)
		}
	}
}

// One command may not come to more limits than its bound, which changes nothing.
func TestLimitsPerCall(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	var limits []string
	for i := range 64 {
		limits = append(limits, fmt.Sprintf("l%d: {algorithm: fixed_window, limit: 5, window: 1h}", i))
	}
	w.want(t, "RL.PLAN SET wide '{limits: {"+strings.Join(limits, ", ")+"}}'", "+OK")
	many := func(n int) string { return "RL.MALLOW" + strings.Repeat(" k @wide 1", n) }
	w.want(t, many(65), "-ERR the plans of one command may have at most 4096 limits together")
	w.want(t, "DBSIZE", "0")
	if v := w.line(t, many(64)); len(v.list) != 64 || !v.list[4].allowed() || v.list[5].allowed() {
		t.Errorf("64 calls with 64 limits: %.200s", v)
	}
	all := "RL.ALLOWALL"
	for i := range 64 {
		all += fmt.Sprintf(" key:%d @wide 1", i)
	}
	if v := w.line(t, all); len(v.list) != 66 || v.list[0].n != 1 {
		t.Errorf("64 keys with 64 limits: %.200s", v)
	}
	w.want(t, strings.Replace(all, "key:63 ", "key:7 ", 1), "-ERR groups 8 and 64 name the same key '{key:7}#l0'")
	w.want(t, "DBSIZE", fmt.Sprint(65*64))
}

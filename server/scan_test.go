package server

// Going over keys while they come and go, against a map; and patterns against
// a matcher that is plain and slow.

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scanAll iterates until the cursor is 0 again and counts how often each key is
// met. between runs between two calls.
func scanAll(t *testing.T, w *wire, options string, between func()) map[string]int {
	t.Helper()
	met := map[string]int{}
	for cursor, calls := "0", 0; ; calls++ {
		v := w.line(t, "SCAN "+cursor+" "+options)
		for _, key := range v.list[1].list {
			met[key.text]++
		}
		if cursor = v.list[0].text; cursor == "0" {
			return met
		}
		if calls > 1_000_000 {
			t.Fatal("a scan that does not end")
		}
		between()
	}
}

// TestScanMeetsEveryKeyOnce: keys that live throughout are met exactly once,
// whatever comes and goes meanwhile.
func TestScanMeetsEveryKeyOnce(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 10 {
		r := newRig(t, 1+round%4)
		w := r.dial()
		live := map[string]bool{} // false: comes and goes
		for i := range 300 {
			key := fmt.Sprintf("stays:%d", i)
			live[key] = true
			w.want(t, "RL.ALLOW "+key+" gcra 1 1h", "[1 1 0 0 3600000 0]")
			w.line(t, fmt.Sprintf("RL.ALLOW goes:%d gcra 1 1h", i))
		}
		met := scanAll(t, w, fmt.Sprint("COUNT ", 1+rng.IntN(40)), func() {
			for range 10 {
				key := fmt.Sprintf("goes:%d", rng.IntN(600))
				if rng.IntN(2) == 0 {
					w.line(t, "DEL "+key)
				} else {
					w.line(t, "RL.ALLOW "+key+" gcra 1 1h")
				}
			}
		})
		for key := range live {
			if met[key] != 1 {
				t.Fatalf("seed %d, round %d: %s was met %d times", seed, round, key, met[key])
			}
		}
		r.end()
	}
}

// TestScanKeysAndCountsAgree: SCAN, KEYS, DBSIZE and EXISTS say the same, also
// where most slots of the table are empty.
func TestScanKeysAndCountsAgree(t *testing.T) {
	r := newRig(t, 3)
	w := r.dial()
	for i := range 3000 {
		algorithm := []string{"tb", "fixed_window", "sl"}[i%3]
		w.line(t, fmt.Sprintf("RL.ALLOW key:%d %s 10 1h", i, algorithm))
	}
	for i := range 3000 {
		if i%100 != 0 {
			w.line(t, fmt.Sprintf("DEL key:%d", i))
		}
	}
	calls := 0
	met := scanAll(t, w, "", func() { calls++ })
	if len(met) != 30 || calls > 10 {
		t.Errorf("%d keys in %d calls", len(met), calls)
	}
	for key, n := range met {
		if n != 1 {
			t.Errorf("%s was met %d times", key, n)
		}
		w.want(t, "EXISTS "+key, "1")
	}
	if got := len(w.line(t, "KEYS *").list); got != 30 {
		t.Errorf("KEYS lists %d", got)
	}
	w.want(t, "DBSIZE", "30")
	if met := scanAll(t, w, "TYPE fixed_window COUNT 1", func() {}); len(met) != 10 {
		t.Errorf("%d fixed windows", len(met))
	}
	if met := scanAll(t, w, "MATCH key:2*00 COUNT 1", func() {}); len(met) != 11 {
		t.Errorf("%d keys match: %v", len(met), met)
	}
}

func TestRandomKey(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	w.want(t, "RANDOMKEY", "nil")
	const keys, rounds = 8, 4000
	for i := range keys {
		w.line(t, fmt.Sprintf("RL.ALLOW key:%d gcra 1 1h", i))
	}
	seen := map[string]int{}
	for range rounds {
		seen[w.line(t, "RANDOMKEY").text]++
	}
	for i := range keys {
		if n := seen[fmt.Sprintf("key:%d", i)]; n < rounds/keys*7/10 || n > rounds/keys*13/10 {
			t.Errorf("key:%d comes %d times of %d", i, n, rounds)
		}
	}
	// One key in a table that is all but empty.
	for i := range 20_000 {
		w.line(t, fmt.Sprintf("RL.ALLOW other:%d gcra 1 1s", i))
	}
	w.want(t, "RL.CLOCK ADVANCE 1s", "+OK")
	for i := range keys - 1 {
		w.want(t, fmt.Sprintf("DEL key:%d", i), "1")
	}
	for range 10 {
		w.want(t, "RANDOMKEY", `"key:7"`)
	}
	w.want(t, "DEL key:7", "1")
	w.want(t, "RANDOMKEY", "nil")
}

// TestCountingFreesInTurns: DBSIZE counts no key that is fresh, however many have
// come due, without RL.CLOCK's help.
func TestCountingFreesInTurns(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	n := fewer(100_000)
	w.many(t, n, true, func(i int) []byte { return request("RL.ALLOW", strconv.Itoa(i), "fw", "1", "1s") })
	w.want(t, "DBSIZE", strconv.Itoa(n))
	w.want(t, "RL.ALLOW k gcra 1 1h", "[1 1 0 0 3600000 0]")
	r.clock.Advance(time.Second + 2*time.Millisecond)
	w.want(t, "DBSIZE", "1")
	if got := r.look().shards.Expired; got != uint64(n) {
		t.Errorf("%d keys expired, want %d", got, n)
	}
}

// match is glob written as the rules are said, trying everything.
func match(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return match(pattern[1:], text) || text != "" && match(pattern, text[1:])
	}
	if text == "" {
		return false
	}
	n := 1
	fits := pattern[0] == text[0]
	switch {
	case pattern[0] == '?':
		fits = true
	case pattern[0] == '\\' && len(pattern) > 1:
		n, fits = 2, pattern[1] == text[0]
	case pattern[0] == '[':
		n, fits = class(pattern, text[0])
	}
	return fits && match(pattern[n:], text[1:])
}

// class reads [...] and says how long it is and whether a byte is in it.
func class(pattern string, c byte) (n int, in bool) {
	n = 1
	not := strings.HasPrefix(pattern[n:], "^")
	if not {
		n++
	}
	for n < len(pattern) && pattern[n] != ']' {
		switch rest := pattern[n:]; {
		case rest[0] == '\\' && len(rest) > 1:
			in = in || rest[1] == c
			n += 2
		case len(rest) > 2 && rest[1] == '-':
			in = in || rest[0] <= c && c <= rest[2] || rest[2] <= c && c <= rest[0]
			n += 3
		default:
			in = in || rest[0] == c
			n++
		}
	}
	return min(n+1, len(pattern)), in != not
}

func TestGlob(t *testing.T) {
	rows := []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "anything", true}, {"a*", "a", true}, {"*a", "ba", true}, {"*a", "ab", false},
		{"h?llo", "hello", true}, {"h?llo", "hllo", false}, {"h[ae]llo", "hallo", true}, {"h[ae]llo", "hillo", false},
		{"h[^e]llo", "hallo", true}, {"h[^e]llo", "hello", false}, {"h[a-b]llo", "hbllo", true}, {"h[b-a]llo", "hallo", true}, {"h[a-b]llo", "hcllo", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\`, `a\`, true}, {"[abc", "c", true}, {"[", "[", false}, {"[]", "", false}, {`[\]]`, "]", true},
		{"a*b*c", "a--b--c", true}, {"a*b*c", "a--c--b", false}, {"user:*:day", "user:1:2:day", true}, {"\x00*\xff", "\x00\x80\xff", true},
	}
	for _, row := range rows {
		if got := glob([]byte(row.pattern), []byte(row.text)); got != row.want {
			t.Errorf("%q on %q: %v", row.pattern, row.text, got)
		}
	}
	rng := rand.New(rand.NewPCG(9, 0))
	letters := func(from string, n int) string {
		b := make([]byte, rng.IntN(n))
		for i := range b {
			b[i] = from[rng.IntN(len(from))]
		}
		return string(b)
	}
	for range fewer(300_000) {
		pattern, text := letters(`ab*?[]^-\`, 9), letters(`ab-]\`, 7)
		if got := glob([]byte(pattern), []byte(text)); got != match(pattern, text) {
			t.Fatalf("%q on %q: %v", pattern, text, got)
		}
	}
}

// TestGlobIsNotSlow: a pattern that takes for ever where every * is tried again.
func TestGlobIsNotSlow(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 1000) + "b")
	if glob(pattern, []byte(strings.Repeat("a", 10_000))) {
		t.Error("it matches")
	}
}

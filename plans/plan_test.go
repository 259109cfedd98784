package plans

// Plans: what is read, what holds for a key, and the canonical form.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/algorithms"
)

func mustPlan(t testing.TB, name, text string) *Plan {
	t.Helper()
	p, err := ParsePlan(name, []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return p
}

// pro is the plan of the contract.
const pro = `
limits:
  rpm:    {algorithm: sliding_counter, limit: 600, window: 1m}
  burst:  {algorithm: token_bucket, limit: 20, window: 1s, burst: 40}
  spend:  {algorithm: budget, limit: 25.00, window: day, tz: Europe/Paris}
  inflight: {algorithm: concurrency, limit: 8, window: 30s}
costs: {search: 10, health: 1}
overrides: {"user:42": {rpm: {limit: 5000}}, "trial:*": {rpm: {limit: 60}}}    # exact beats the longest pattern
`

func describe(limits []Limit) string {
	var b strings.Builder
	for i := range limits {
		l := &limits[i]
		fmt.Fprintf(&b, "%s%s %s %d/%s", l.Name, l.Suffix, l.Algorithm, l.Units, AppendWindow(nil, &l.Limit))
		if l.Burst != l.Units {
			fmt.Fprintf(&b, " burst %d", l.Burst)
		}
		if l.Zone != 0 {
			fmt.Fprintf(&b, " %s", l.Zone)
		}
		if l.Mode != Enforce {
			fmt.Fprintf(&b, " %s", l.Mode)
		}
		if l.Override != "" {
			fmt.Fprintf(&b, " (%s)", l.Override)
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestContractPlan(t *testing.T) {
	p := mustPlan(t, "pro", pro)
	rest := "inflight#inflight concurrency 8/30s; "
	end := "spend#spend budget 25000000/day Europe/Paris; "
	burst := "burst#burst token_bucket 20/1s burst 40; "
	for _, r := range []struct{ key, want string }{
		{"user:41", burst + rest + "rpm#rpm sliding_counter 600/1m; " + end},
		{"user:42", burst + rest + "rpm#rpm sliding_counter 5000/1m (user:42); " + end},
		{"user:421", burst + rest + "rpm#rpm sliding_counter 600/1m; " + end},
		{"trial:", burst + rest + "rpm#rpm sliding_counter 60/1m (trial:*); " + end},
		{"trial:x", burst + rest + "rpm#rpm sliding_counter 60/1m (trial:*); " + end},
		{"trial", burst + rest + "rpm#rpm sliding_counter 600/1m; " + end},
		{"", burst + rest + "rpm#rpm sliding_counter 600/1m; " + end},
	} {
		if got := describe(p.For([]byte(r.key))); got != r.want {
			t.Errorf("%s:\n got %s\nwant %s", r.key, got, r.want)
		}
	}
	for endpoint, want := range map[string]uint64{"search": 10, "health": 1, "other": 1, "": 1, "Search": 1} {
		if got := p.Cost([]byte(endpoint)); got != want {
			t.Errorf("%q costs %d, want %d", endpoint, got, want)
		}
	}
	want := `{"limits":{"burst":{"algorithm":"token_bucket","limit":20,"window":"1s","burst":40},` +
		`"inflight":{"algorithm":"concurrency","limit":8,"window":"30s"},` +
		`"rpm":{"algorithm":"sliding_counter","limit":600,"window":"1m"},` +
		`"spend":{"algorithm":"budget","limit":"25","window":"day","tz":"Europe/Paris"}},` +
		`"costs":{"health":1,"search":10},` +
		`"overrides":{"trial:*":{"rpm":{"limit":60}},"user:42":{"rpm":{"limit":5000}}}}`
	if got := string(p.AppendJSON(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// One meaning, many spellings: they all come to the same canonical form.
func TestSpellings(t *testing.T) {
	for want, texts := range map[string][]string{
		`{"algorithm":"budget","limit":"25","window":"1m"}`: {
			"{algorithm: budget, limit: 25.00, window: 1m}", "{algorithm: budget, limit: '25', window: 60}", `{"algorithm": "budget", "limit": "25.000000", "window": "60s"}`,
			`{"window": 60, "limit": 25, "algorithm": "BUDGET"}`, "{algorithm: Budget, limit: 00025.0, window: 60.000}", "{algorithm: budget, limit: \"\\x325\", window: 0m60s, mode: enforce}",
			"\n    algorithm: budget\n    limit:\n      25\n    window: >-\n      1m\n", "{algorithm: budget, limit: 25, window: 60000ms,}",
		},
		`{"algorithm":"budget","limit":"9007199254.740991","window":"1ms"}`: {
			"{algorithm: budget, limit: 9007199254.740991, window: 1ms}", "{algorithm: budget, limit: '9007199254.740991', window: 0.001}",
		},
		`{"algorithm":"budget","limit":"0.000001","window":"week","tz":"Asia/Tokyo"}`: {
			"{algorithm: budget, limit: 0.000001, window: week, tz: Asia/Tokyo}", "{algorithm: budget, limit: 0.000001, window: WEEK, tz: Asia/Tokyo}",
		},
		`{"algorithm":"token_bucket","limit":9007199254740991,"window":"5217w6d"}`: {
			"{algorithm: tb, limit: 9007199254740991, window: 36525d}", "{algorithm: tb, limit: 9007199254740991, window: 3155760000}",
		},
		`{"algorithm":"token_bucket","limit":600,"window":"1h30m"}`: {
			"{algorithm: token_bucket, limit: 600, window: 1h30m}", "{algorithm: TB, limit: 0600, window: 90m}", "{algorithm: Token-Bucket, limit: '600', window: 5400}",
		},
		`{"algorithm":"fixed_window","limit":1,"window":"1w1d1h1m1s1ms"}`: {
			"{algorithm: fw, limit: 1, window: 8d1h1m1s1ms}", "{algorithm: fw, limit: 1, window: 694861.001, align: EPOCH}",
		},
		`{"algorithm":"fixed_window","limit":1,"window":"1s","align":"jitter"}`: {
			"{algorithm: fw, limit: 1, window: 1, align: Jitter}",
		},
		`{"algorithm":"fixed_window","limit":5,"window":"month"}`: {
			"{algorithm: fw, limit: 5, window: month, tz: UTC, anchor: 1}", "{algorithm: fw, limit: 5, window: month, mode: ENFORCE}",
		},
		`{"algorithm":"fixed_window","limit":5,"window":"month","tz":"Europe/Paris","anchor":31,"mode":"shadow"}`: {
			"{anchor: 31, tz: Europe/Paris, mode: shadow, window: month, limit: 5, algorithm: fw}",
		},
		`{"algorithm":"leaky_bucket","limit":5,"window":"1s","burst":5,"mode":"off"}`: {
			"{algorithm: lb, limit: 5, window: 1s, burst: 5, mode: off}", // a burst that is given stays given
		},
	} {
		for _, text := range texts {
			whole := "limits: {a: " + text + "}"
			if strings.HasPrefix(text, "\n") {
				whole = "limits:\n  a:" + text
			}
			p := mustPlan(t, "p", whole)
			if got := string(p.AppendJSON(nil)); got != `{"limits":{"a":`+want+`}}` {
				t.Errorf("%s:\n got %s\nwant %s", text, got, want)
			}
		}
	}
}

// What an override gives replaces the plan's; what does not go with it any more is
// left behind; what nobody gave follows.
func TestOverrideTerms(t *testing.T) {
	for _, r := range []struct{ plan, override, want string }{
		{"algorithm: tb, limit: 5, window: 1s", "limit: 7", "token_bucket 7/1s"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 9", "limit: 7", "token_bucket 7/1s burst 9"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 5", "limit: 7", "token_bucket 7/1s burst 5"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 9", "burst: 3", "token_bucket 5/1s burst 3"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 9", "algorithm: sc", "sliding_counter 5/1s"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 9", "algorithm: gcra, window: 2s", "gcra 5/2s burst 9"},
		{"algorithm: tb, limit: 5, window: 1s, burst: 9", "algorithm: fw, window: day", "fixed_window 5/day"},
		{"algorithm: fw, limit: 5, window: 1s, align: jitter", "window: day, tz: Asia/Tokyo", "fixed_window 5/day Asia/Tokyo"},
		{"algorithm: fw, limit: 5, window: month, tz: Asia/Tokyo, anchor: 3", "window: day", "fixed_window 5/day Asia/Tokyo"},
		{"algorithm: fw, limit: 5, window: month, tz: Asia/Tokyo, anchor: 3", "window: 1h", "fixed_window 5/1h"},
		{"algorithm: fw, limit: 5, window: month, tz: Asia/Tokyo, anchor: 3", "tz: UTC", "fixed_window 5/month"},
		{"algorithm: budget, limit: 5, window: day", "limit: 0.5", "budget 500000/day"},
		{"algorithm: concurrency, limit: 5, window: 10s", "limit: 6, window: 1m", "concurrency 6/1m"},
		{"algorithm: tb, limit: 5, window: 1s", "mode: shadow", "token_bucket 5/1s shadow"},
		{"algorithm: tb, limit: 5, window: 1s, mode: off", "mode: enforce", "token_bucket 5/1s"},
		{"algorithm: tb, limit: 5, window: 1s, mode: off", "limit: 6", "token_bucket 6/1s off"},
	} {
		p := mustPlan(t, "p", "limits: {a: {"+r.plan+"}}\noverrides: {k: {a: {"+r.override+"}}}")
		if got, want := describe(p.For([]byte("k"))), "a#a "+r.want+" (k); "; got != want {
			t.Errorf("%s, then %s:\n got %s\nwant %s", r.plan, r.override, got, want)
		}
		again := mustPlan(t, "p", string(p.AppendJSON(nil)))
		if got := describe(again.For([]byte("k"))); got != "a#a "+r.want+" (k); " || again.Version() != p.Version() {
			t.Errorf("%s, then %s: read again %s", r.plan, r.override, got)
		}
	}
}

// C129 and its like: nothing means unlimited but leaving the limit out.
func TestZeroIsAnError(t *testing.T) {
	for _, text := range []string{
		"limits: {a: {algorithm: tb, limit: 0, window: 1s}}", "limits: {a: {algorithm: tb, limit: '0', window: 1s}}", "limits: {a: {algorithm: tb, limit: 5, window: 0}}",
		"limits: {a: {algorithm: budget, limit: 0.000000, window: day}}", "limits: {a: {algorithm: concurrency, limit: 0, window: 1s}}", "limits: {a: {algorithm: tb, limit: 5, window: 1s, burst: 0}}",
		"limits: {a: {algorithm: tb, limit: 5, window: 1s}}\noverrides: {x: {a: {limit: 0}}}", "limits: {a: {algorithm: tb, limit: 5, window: 1s}}\ncosts: {x: 0}", "{rate: 0, capacity: 1}", "{rate: 1, capacity: 0}",
	} {
		if _, err := ParsePlan("p", []byte(text)); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestShorthand(t *testing.T) {
	for text, want := range map[string]string{
		"{rate: 100, capacity: 200}":              "rate#rate token_bucket 100/1s burst 200; ",
		`{"rate": 0.5, "capacity": 5}`:            "rate#rate token_bucket 1/2s burst 5; ",
		`{"capacity": "5", "rate": "0.3"}`:        "rate#rate token_bucket 3/10s burst 5; ",
		"{rate: 2.5, capacity: 5}":                "rate#rate token_bucket 5/2s; ",
		"{rate: 0.000001, capacity: 1}":           "rate#rate token_bucket 1/1w4d13h46m40s; ",
		"{rate: 9007199254.740991, capacity: 10}": "rate#rate token_bucket 9007199254740991/1w4d13h46m40s burst 10; ",
	} {
		if got := describe(mustPlan(t, "p", text).Limits); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestLogLimitMax(t *testing.T) {
	text := []byte("limits: {a: {algorithm: sliding_log, limit: 200000, window: 1s}}")
	if _, err := ParsePlan("p", text); err == nil {
		t.Error("200,000 passes")
	}
	if _, err := (Parser{LogLimitMax: 200_000}).ParsePlan("p", text); err != nil {
		t.Error(err)
	}
	if _, err := (Parser{LogLimitMax: 199_999}).ParseFile("f", []byte("plans: {p: {limits: {a: {algorithm: sliding_log, limit: 200000, window: 1s}}}}")); err == nil {
		t.Error("a file's 200,000 passes")
	}
}

// The exceptions against a walk over all of them.
func TestOverridesTwin(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	word := func() string {
		b := make([]byte, random.IntN(7))
		for i := range b {
			b[i] = "ab*:"[random.IntN(4)]
		}
		return string(b)
	}
	for range 300 {
		patterns := map[string]bool{}
		var all []*override
		for range random.IntN(40) {
			if w := word(); !patterns[w] {
				patterns[w] = true
				all = append(all, &override{pattern: w})
			}
		}
		o := newOverrides(all)
		for range 50 {
			key := word() + word()
			want, best := "", -1
			for w := range patterns {
				prefix, isPattern := strings.CutSuffix(w, "*")
				switch {
				case !isPattern && w == key:
					want, best = w, 1000
				case isPattern && strings.HasPrefix(key, prefix) && len(prefix) > best:
					want, best = w, len(prefix)
				}
			}
			got, found := "", o.find([]byte(key))
			if found != nil {
				got = found.pattern
			}
			if got != want || (found != nil) != (best >= 0) {
				t.Fatalf("seed %d: %q in %v: got %q, want %q", seed, key, patterns, got, want)
			}
		}
	}
}

// randomPlan writes a plan with anything that may be in one.
func randomPlan(random *rand.Rand) string {
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	number := func() string { return fmt.Sprint(1 + random.Uint64N(1<<(1+random.IntN(40)))) }
	window := func() string {
		return pick("1", "0.25", "60", "1m", "90s", "1h30m", "7d", "1ms", "1d1ms", fmt.Sprintf("%dms", 1+random.IntN(1<<30)))
	}
	quote := func(s string) string { return pick(s, `"`+s+`"`) }
	extra := func(text string) string {
		if random.IntN(2) == 0 {
			text += ", mode: " + pick(modeNames...)
		}
		return text
	}
	limit := func(name string) string {
		switch name[0] {
		case 'm':
			text := "algorithm: budget, limit: " + quote(number()[:1]+"."+pick("5", "000001", "25", "0"))
			return extra(text + ", window: " + pick("1d", "day", "week", "month, anchor: 31", "year, tz: Asia/Tokyo"))
		case 'p':
			return extra("algorithm: concurrency, limit: " + quote(number()) + ", window: " + quote(window()))
		}
		switch random.IntN(3) {
		case 0:
			return extra("algorithm: " + pick("tb", "gcra", "leaky_bucket") + ", limit: " + number() + pick("", ", burst: "+fmt.Sprint(1+random.IntN(50))) + ", window: " + quote(window()))
		case 1:
			return extra("algorithm: fw, limit: " + quote(number()) + ", window: " + pick("day, tz: Europe/Paris", "month, anchor: 1", quote(window())+", align: "+pick(alignNames...)))
		default:
			return extra("algorithm: sc, limit: " + number() + ", window: " + quote(window()))
		}
	}
	var b strings.Builder
	var names []string
	b.WriteString("limits:\n")
	for range 1 + random.IntN(4) {
		name := pick("r", "m", "p") + fmt.Sprint(len(names))
		names = append(names, name)
		fmt.Fprintf(&b, "  %s: {%s}\n", name, limit(name))
	}
	if random.IntN(2) == 0 {
		b.WriteString(`costs: {search: 10, "é\" \\\n\u2028": ` + number() + ", 'GET /a': 1}\n")
	}
	if random.IntN(2) == 0 {
		b.WriteString("overrides:\n")
		for i := range random.IntN(5) {
			fmt.Fprintf(&b, "  \"k%d%s\":", i, pick("", "*", ":é*"))
			if random.IntN(4) == 0 {
				b.WriteString(" {}\n")
				continue
			}
			name := names[random.IntN(len(names))]
			change := pick("limit: 7", "mode: "+pick(modeNames...), "window: 3s", "limit: 1, window: 5m, mode: shadow")
			fmt.Fprintf(&b, "\n    %s: {%s}\n", name, change)
		}
	}
	return b.String()
}

// What is written is read back as what was written, and writes the same again.
func TestPlanRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		text := randomPlan(random)
		p, err := ParsePlan("p", []byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "100 years") {
				continue // a burst too large for its rate
			}
			t.Fatalf("seed %d:\n%s\n%v", seed, text, err)
		}
		checkRoundTrip(t, p)
	}
}

// checkRoundTrip fails unless a plan survives its canonical form.
func checkRoundTrip(t *testing.T, p *Plan) {
	t.Helper()
	form := p.AppendJSON(nil)
	again, err := Parser{LogLimitMax: algorithms.UnitsMax}.ParsePlan(p.Name, form)
	if err != nil {
		t.Fatalf("%s\n%v", form, err)
	}
	if got := again.AppendJSON(nil); !bytes.Equal(got, form) {
		t.Fatalf("\n%s\nbecomes\n%s", form, got)
	}
	if again.Version() != p.Version() || describe(again.Limits) != describe(p.Limits) || len(again.costs) != len(p.costs) {
		t.Fatalf("\n%s\nbecomes another plan", form)
	}
	for endpoint, cost := range p.costs {
		if again.Cost([]byte(endpoint)) != cost {
			t.Fatalf("\n%s\n%q costs %d", form, endpoint, again.Cost([]byte(endpoint)))
		}
	}
	for i, o := range p.overrides.all {
		if got := again.overrides.all[i]; got.pattern != o.pattern || describe(got.limits) != describe(o.limits) {
			t.Fatalf("\n%s\n%q: %s becomes %s", form, o.pattern, describe(o.limits), describe(got.limits))
		}
	}
}

func TestPlanAllocations(t *testing.T) {
	p := manyOverrides(t, 1000)
	keys := [][]byte{[]byte("user:42"), []byte("user:43:x"), []byte("user:x"), []byte("tenant")}
	endpoint := []byte("search")
	if n := testing.AllocsPerRun(100, func() {
		for _, key := range keys {
			p.For(key)
		}
		p.Cost(endpoint)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

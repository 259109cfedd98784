package plans

// Books: who wins, what is refused, versions, changes.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const aFile = `
plans:
  free: {limits: {rpm: {algorithm: tb, limit: 5, window: 1m}}}
  pro: {limits: {rpm: {algorithm: sc, limit: 50, window: 1m}, spend: {algorithm: budget, limit: 25, window: day}}}
rules:
  - {name: orders-write, match: "POST /api/orders", per: user, plan: pro}
  - {name: api, match: "/api/", per: api_key, plan: pro, anonymous_plan: free}
  - {name: everybody, match: "/", per: ip, plan: free, cost: 2}
addresses:
  trusted_proxies: [10.0.0.0/8, "::ffff:192.0.2.0/120", 2001:db8::1]
  ipv6_prefix: 56
server:
  listen: 127.0.0.1:6380
  tls: {cert: a.pem, versions: ["1.2", 1.3]}
  quiet:
`

func mustFile(t testing.TB, text string) *File {
	t.Helper()
	f, err := ParseFile("sluice.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustBook(t testing.TB, f *File, set Set) *Book {
	t.Helper()
	b, err := NewBook(f, set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFile(t *testing.T) {
	f := mustFile(t, aFile)
	if got := fmt.Sprint(f.Addresses); got != "{[10.0.0.0/8 192.0.2.0/24 2001:db8::1/128] 56}" {
		t.Errorf("addresses: %s", got)
	}
	var got []string
	for _, s := range f.Server {
		got = append(got, fmt.Sprintf("%s=%q %v", s.Name, s.Values, s.List))
	}
	if want := `listen=["127.0.0.1:6380"] false; tls.cert=["a.pem"] false; tls.versions=["1.2" "1.3"] true; quiet=[] false`; strings.Join(got, "; ") != want {
		t.Errorf("server:\n got %s\nwant %s", strings.Join(got, "; "), want)
	}
	err := f.ErrorAt(f.Server[1], "there is no such file")
	if want := "sluice.yaml:14:9: server.tls.cert: there is no such file"; err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
	for _, text := range []string{"", "# nothing\n", "plans:\nrules:\naddresses:\nserver:\n", "{}", "plans: {}\nrules: []\n"} {
		if f := mustFile(t, text); len(f.Plans)+len(f.Rules)+len(f.Server) > 0 {
			t.Errorf("%q has something in it", text)
		}
	}
	only, err2 := ParseServer("f", []byte("plans: {p: {limits: 5}}\nserver: {a: b}\n"))
	if err2 != nil || len(only.Server) != 1 || len(only.Plans) != 0 {
		t.Errorf("server alone: %v, %v", only, err2)
	}
}

// The question of the gateway, from the path to the plan and the key.
func TestRequest(t *testing.T) {
	b := mustBook(t, mustFile(t, aFile), Set{})
	for _, r := range []struct {
		method, path string
		id           Identity
		want         string
	}{
		{"POST", "/api/orders", Identity{User: []byte("42"), APIKey: []byte("k")}, "pro orders-write|user:42 cost 1"},
		{"POST", "/api/orders", Identity{IP: []byte("198.51.100.1, 203.0.113.5, 192.0.2.9, 10.1.1.1")}, "pro orders-write|ip:203.0.113.5 cost 1"},
		{"GET", "/api/orders", Identity{User: []byte("42"), APIKey: []byte("k")}, "pro api|api_key:k cost 1"},
		{"GET", "/api/orders", Identity{User: []byte("42"), IP: []byte("2001:db8:1:2ff::1")}, "free api|ip:2001:db8:1:200::/56 cost 1"},
		{"GET", "/", Identity{User: []byte("42"), IP: []byte("203.0.113.5")}, "free everybody|ip:203.0.113.5 cost 2"},
	} {
		rules := b.Match(nil, &Request{Method: []byte(r.method), Path: []byte(r.path)})
		if len(rules) != 1 {
			t.Fatalf("%s %s: %d rules", r.method, r.path, len(rules))
		}
		key, anonymous, err := b.AppendKey(nil, rules[0], &r.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s cost %d", b.PlanOf(rules[0], anonymous).Name, key, rules[0].Cost); got != r.want {
			t.Errorf("%s %s: got %s, want %s", r.method, r.path, got, r.want)
		}
	}
}

func limitOf(b *Book, plan string) uint64 {
	if p := b.Plan([]byte(plan)); p != nil {
		return p.Limits[0].Units
	}
	return 0
}

// A command's plan stands in front of the file's until it is deleted.
func TestCommandsWin(t *testing.T) {
	b := mustBook(t, mustFile(t, aFile), Set{})
	step := func(next *Book, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		same := mustBook(t, next.File(), next.Set())
		if same.Version() != next.Version() || same.PlansVersion() != next.PlansVersion() || same.RulesVersion() != next.RulesVersion() {
			t.Fatal("a book that was changed differs from the same one made at once")
		}
		b = next
	}
	is := func(want string) {
		t.Helper()
		got := fmt.Sprint(limitOf(b, "free"), b.PlanSource([]byte("free")), limitOf(b, "new"), b.PlanSource([]byte("new")), b.RuleSource([]byte("api")), b.RuleSource([]byte("more")))
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	fails := func(next *Book, err error, want string) {
		t.Helper()
		if next != nil || err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	is("5 1 0 0 1 0")
	first := b
	step(b.WithPlan(mustPlan(t, "free", "limits: {rpm: {algorithm: tb, limit: 7, window: 1m}}")))
	is("7 2 0 0 1 0")
	step(b.WithPlan(mustPlan(t, "new", "limits: {rpm: {algorithm: tb, limit: 9, window: 1m}}")))
	is("7 2 9 2 1 0")
	step(b.WithFile(mustFile(t, strings.ReplaceAll(aFile, "limit: 5,", "limit: 6,"))))
	is("7 2 9 2 1 0")
	r, err := ParseRule("more", []byte("{match: /more, per: ip, plan: new}"))
	if err != nil {
		t.Fatal(err)
	}
	step(b.WithRule(r))
	is("7 2 9 2 1 2")
	next, err := b.WithoutPlan([]byte("new"))
	fails(next, err, "rule 'more' names plan 'new': take the rule back, or give it another plan, first")
	step(b.WithoutRule([]byte("more")))
	step(b.WithoutPlan([]byte("new")))
	step(b.WithoutPlan([]byte("free")))
	is("6 1 0 0 1 0")
	next, err = b.WithoutPlan([]byte("free"))
	fails(next, err, "plan 'free' is in the file sluice.yaml: take it out there")
	next, err = b.WithoutRule([]byte("nope"))
	fails(next, err, "no such rule 'nope'")
	next, err = b.WithPlan(mustPlan(t, "new", "limits: {spend: {algorithm: tb, limit: 9, window: 1m}}"))
	fails(next, err, "limits.spend: limit 'spend' counts units in plan 'new' and money in plan 'pro': a key keeps its state from plan to plan under the limit's name, so a name must mean one kind of limit (line 1, column 10)")
	step(b.WithFile(first.File()))
	if b.Version() != first.Version() || limitOf(first, "free") != 5 {
		t.Error("back at the beginning, but not the same; or the first book has changed")
	}
}

// What a command sets over the file's plan may lie behind it and be wrong later.
func TestHiddenPlan(t *testing.T) {
	f := mustFile(t, "plans: {p: {limits: {a: {algorithm: budget, limit: 1, window: day}}}}")
	b := mustBook(t, f, Set{Plans: map[string]*Plan{
		"p": mustPlan(t, "p", "limits: {a: {algorithm: tb, limit: 1, window: 1s}}"),
		"q": mustPlan(t, "q", "limits: {a: {algorithm: tb, limit: 1, window: 1s}}"),
	}})
	if _, err := b.WithoutPlan([]byte("p")); err == nil || !strings.Contains(err.Error(), "a name must mean one kind of limit") {
		t.Errorf("the file's plan comes back although it does not fit: %v", err)
	}
	if n := b.PlanNames(); !slices.Equal(n, []string{"p", "q"}) || len(b.RuleNames()) != 0 {
		t.Errorf("names %v", n)
	}
}

// Equal sets have equal versions, in whatever order and from wherever.
func TestVersions(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var plans, rules []string
	for i := range 20 {
		plans = append(plans, fmt.Sprintf("p%d: {limits: {a: {algorithm: tb, limit: %d, window: 1m}}, costs: {x: 1, y: 2}}", i, 1+i))
		rules = append(rules, fmt.Sprintf("{name: r%d, match: /r%d/, per: [user, model], plan: p%d}", i, i, i))
	}
	text := func() string {
		random.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		return "plans: {" + strings.Join(plans, ", ") + "}\nrules: [" + strings.Join(rules, ", ") + "]"
	}
	b := mustBook(t, mustFile(t, text()), Set{})
	if got := mustBook(t, mustFile(t, text()), Set{}); got.Version() != b.Version() || len(got.Changes(b)) != 0 {
		t.Fatalf("seed %d: another order, another version", seed)
	}
	set := Set{Plans: map[string]*Plan{}, Rules: map[string]*Rule{}}
	for _, name := range b.PlanNames() {
		set.Plans[name] = mustPlan(t, name, string(b.Plan([]byte(name)).AppendJSON(nil)))
	}
	for _, name := range b.RuleNames() {
		r, err := ParseRule(name, b.Rule([]byte(name)).AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		set.Rules[name] = r
	}
	if got := mustBook(t, nil, set); got.Version() != b.Version() {
		t.Error("by commands, another version")
	}
	// The same on every machine and in every release: change this only with the canonical form.
	if p := mustPlan(t, "pro", pro); p.Version() != 0xe9cecc76feb0f2de {
		t.Errorf("the version of the contract's plan is %#016x", p.Version())
	}
	seen := map[uint64]string{b.Version(): "all"}
	for name, addresses := range map[string]string{"default": "", "prefix": "addresses: {ipv6_prefix: 56}", "trusted": "addresses: {trusted_proxies: [10.0.0.0/8]}"} {
		v := mustBook(t, mustFile(t, text()+"\n"+addresses), Set{}).Version()
		if other, taken := seen[v]; taken != (name == "default") {
			t.Errorf("%s has the version of %s", name, other)
		}
		seen[v] = name
	}
	if mustBook(t, mustFile(t, text()+"\naddresses: {ipv6_prefix: 64}"), Set{}).Version() != b.Version() {
		t.Error("the default spelt out is another version")
	}
	if e := mustBook(t, nil, Set{}); e.PlansVersion() != 0 || e.RulesVersion() != 0 || e.Plan([]byte("p")) != nil || e.Rule([]byte("r")) != nil {
		t.Error("an empty book has something in it")
	}
}

func TestChanges(t *testing.T) {
	older := mustBook(t, mustFile(t, aFile), Set{})
	newer := mustBook(t, mustFile(t, `
plans:
  free: {limits: {rpm: {algorithm: token_bucket, limit: 5, window: 60}}}
  max: {limits: {rpm: {algorithm: sc, limit: 500, window: 1m}}}
rules:
  - {name: api, match: "/api/", per: api_key, plan: max, anonymous_plan: free}
  - {name: everybody, match: "/", per: ip, plan: free, cost: 2}
  - {name: next, match: "/next", per: ip, plan: free}
`), Set{})
	want := "[{false max added} {false pro removed} {true api changed} {true next added} {true orders-write removed}]"
	if got := fmt.Sprint(newer.Changes(older)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Many of each; how long ten thousand take, BenchmarkBook says.
func TestMany(t *testing.T) {
	const many = 1000
	b := manyBook(t, many)
	if len(b.PlanNames()) != many || len(b.RuleNames()) != many+1 {
		t.Fatalf("%d plans, %d rules", len(b.PlanNames()), len(b.RuleNames()))
	}
	for i := 0; i < many; i += 7 {
		name := fmt.Sprintf("r%d", i)
		r := b.Rule([]byte(name))
		method, path, _ := strings.Cut(r.Match, " ")
		if path == "" {
			method, path = "PUT", r.Match
		}
		at := strings.IndexByte(path, '/')
		q := &Request{Method: []byte(method), Host: []byte(path[:at]), Path: []byte(strings.NewReplacer("{id}", "7", "{$}", "").Replace(path[at:]))}
		if got := b.Match(nil, q); len(got) != 1 || got[0] != r {
			t.Fatalf("%s: got %v", r.Match, got)
		}
	}
}

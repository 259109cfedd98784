package plans

// Rules against Go's ServeMux, and the readings of a path.

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// ruleOf makes a rule of a pattern.
func ruleOf(t testing.TB, name, match string, all bool) *Rule {
	t.Helper()
	enforce := "first"
	if all {
		enforce = "all"
	}
	r, err := ParseRule(name, fmt.Appendf(nil, `{"match":%q,"per":"ip","plan":"p","enforce":%q}`, match, enforce))
	if err != nil {
		t.Fatalf("%s: %v", match, err)
	}
	return r
}

// treeOf makes a tree of patterns; rules are named by their index.
func treeOf(t testing.TB, all bool, patterns ...string) (*tree, *Error) {
	t.Helper()
	var rules []*Rule
	for i, p := range patterns {
		rules = append(rules, ruleOf(t, fmt.Sprintf("r%03d", i), p, all))
	}
	return newTree(rules)
}

func mustTree(t testing.TB, all bool, patterns ...string) *tree {
	t.Helper()
	tree, err := treeOf(t, all, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// matched lists the patterns that apply to a request.
func matched(tree *tree, method, host, path string) string {
	var found []string
	for _, r := range tree.match(nil, &Request{Method: []byte(method), Host: []byte(host), Path: []byte(path)}) {
		found = append(found, r.Match)
	}
	return strings.Join(found, ", ")
}

func TestMatch(t *testing.T) {
	tree := mustTree(t, false, "/", "/api/", "POST /api/orders", "GET /api/orders/{id}", "/api/orders/{id}/", "/files/{rest...}", "/exact/{$}", "/users/{id}", "/users/me",
		"HEAD /health", "GET /health", "api.example.com/", "POST api.example.com/v1/{x}/y", "/odd%20name", "/caf%C3%A9", "/%zz")
	for _, r := range []struct{ method, host, path, want string }{
		{"GET", "", "/", "/"}, {"GET", "", "", "/"}, {"GET", "", "/nothing/here", "/"}, {"GET", "", "nothing", "/"},
		{"POST", "", "/api/orders", "POST /api/orders"}, {"GET", "", "/api/orders", "/api/"},
		{"post", "", "/api/orders", "POST /api/orders"}, {"pOsT", "", "/api/orders?x=/../..", "POST /api/orders"}, {"POST", "", "/api/orders#/", "POST /api/orders"},
		{"POST", "", "//api///orders", "POST /api/orders"}, {"POST", "", "/x/../api/./orders", "POST /api/orders"}, {"POST", "", "/../../api/orders", "POST /api/orders"},
		{"POST", "", "/api/orders/", "/api/"},
		{"GET", "", "/api", "/api/"}, {"GET", "", "/api/", "/api/"}, {"GET", "", "/apix", "/"}, {"GET", "", "/API/", "/api/, /"}, {"POST", "", "/Api/Orders", "POST /api/orders, /"}, {"GET", "", "/users/ME", "/users/me, /users/{id}"}, {"GET", "", "/users/You", "/users/{id}"}, {"GET", "", "/x/Y", "/"},
		{"GET", "", "/api/orders/7", "GET /api/orders/{id}"}, {"HEAD", "", "/api/orders/7", "GET /api/orders/{id}"}, {"PUT", "", "/api/orders/7", "/api/orders/{id}/"},
		{"GET", "", "/api/orders/7/", "/api/orders/{id}/"}, {"GET", "", "/api/orders/7/x", "/api/orders/{id}/"},
		{"GET", "", "/files", "/files/{rest...}"}, {"GET", "", "/files/", "/files/{rest...}"}, {"GET", "", "/files/a/b/", "/files/{rest...}"},
		{"GET", "", "/exact", "/exact/{$}"}, {"GET", "", "/exact/", "/exact/{$}"}, {"GET", "", "/exact/x", "/"},
		{"GET", "", "/users/me", "/users/me"}, {"GET", "", "/users/you", "/users/{id}"}, {"GET", "", "/users/", "/"}, {"GET", "", "/users//me", "/users/me"},
		{"HEAD", "", "/health", "HEAD /health"}, {"GET", "", "/health", "GET /health"}, {"PUT", "", "/health", "/"},
		{"GET", "api.example.com", "/users/me", "api.example.com/"}, {"GET", "API.Example.com:8080", "/users/me", "api.example.com/"}, {"GET", "api.example.com.", "/x", "api.example.com/"},
		{"POST", "api.example.com", "/v1/a/y", "POST api.example.com/v1/{x}/y"}, {"GET", "other.example.com", "/users/me", "/users/me"}, {"GET", "[::1]:80", "/users/me", "/users/me"},
		{"GET", "", "/odd%20name", "/odd%20name"}, {"GET", "", "/odd name", "/odd%20name"}, {"GET", "", "/%6Fdd%20name", "/odd%20name"}, {"GET", "", "/odd+name", "/"},
		{"GET", "", "/café", "/caf%C3%A9"}, {"GET", "", "/caf%c3%a9", "/caf%C3%A9"}, {"GET", "", "/%", "/"}, {"GET", "", "/%zz", "/%zz"}, {"GET", "", "/users/%zz", "/users/{id}"}, {"GET", "", "/users/%2", "/users/{id}"},
	} {
		if got := matched(tree, r.method, r.host, r.path); got != r.want {
			t.Errorf("%s %s%s: got %q, want %q", r.method, r.host, r.path, got, r.want)
		}
	}
	if got := matched(mustTree(t, false), "GET", "", "/"); got != "" {
		t.Errorf("no rules, but %s applies", got)
	}
}

// Whichever way a server reads an odd spelling, the rule for what it then serves is
// among those that apply.
func TestNobodyDodges(t *testing.T) {
	tree := mustTree(t, false, "/", "POST /api/orders", "/files/{name}", "/admin/", "/c", "/Mixed/Case", "/v;1")
	for _, r := range []struct{ path, want string }{
		{"/api%2Forders", "POST /api/orders, /"}, {"/api%2forders", "POST /api/orders, /"}, {"%2Fapi%2Forders", "POST /api/orders, /"},
		{"/x%2F..%2Fapi/orders", "POST /api/orders, /"}, {"/x/%2e%2e/api/orders", "POST /api/orders, /"}, {"/x/%2E./api/orders", "POST /api/orders, /"},
		{"/api/%2e/orders", "POST /api/orders, /"}, {"/api/x/.%2e/orders", "POST /api/orders, /"}, {"/%61pi/orders", "POST /api/orders"},
		{"/files/a%2Fb", "/files/{name}, /"}, {"/files/a%2eb", "/files/{name}"}, {"/files/%2e%2e", "/files/{name}, /"},
		{"/admin%2fx", "/admin/, /"}, {"/files/..%2Fadmin", "/files/{name}, /admin/"},
		{"/a%2Fb/%2e%2e/c", "/c, /"}, // one server is at /a/c, another at /c, a third at an odd path
		{"/api%252Forders", "/"}, {`/api\orders`, "POST /api/orders, /"}, {`/api%5Corders`, "POST /api/orders, /"}, {`/x\..\api/orders`, "POST /api/orders, /"}, {`\api/orders`, "POST /api/orders, /"},
		{"/api;x=1/orders", "POST /api/orders, /"}, {"/x/..;/api/orders;y", "POST /api/orders, /"}, {"/x/%2e%2e;a/api/orders", "POST /api/orders, /"}, {"/v;1", "/v;1, /"}, {"/v%3b1", "/v;1"},
		{"/API/orders", "POST /api/orders, /"}, {"/%41pi/orders", "POST /api/orders, /"}, {"/API%2Forders", "POST /api/orders, /"}, {"/mixed/case", "/Mixed/Case, /"}, {"/MIXED/case", "/Mixed/Case, /"}, {"/Mixed/Case", "/Mixed/Case"},
	} {
		if got := matched(tree, "POST", "", r.path); got != r.want {
			t.Errorf("%s: got %q, want %q", r.path, got, r.want)
		}
	}
}

func TestEnforceAll(t *testing.T) {
	var rules []*Rule
	add := func(name, match string, all bool) { rules = append(rules, ruleOf(t, name, match, all)) }
	add("global", "/", true)
	add("tenant", "/", true)
	add("user", "/", true)
	add("orders", "POST /api/orders", true)
	add("api", "/api/", false)
	add("health", "/health", false)
	add("wild", "/{x}/{y}", true)
	add("host", "h.example.com/api/", true)
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	_, err := newTree(rules)
	if err == nil || !strings.Contains(err.Message, "rule 'wild' conflicts with rule 'api'") {
		t.Fatalf("first and all overlap: %v", err)
	}
	rules = slices.DeleteFunc(rules, func(r *Rule) bool { return r.Name == "wild" })
	tree, err := newTree(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ method, host, path, want string }{
		{"GET", "", "/", "global tenant user"},
		{"POST", "", "/api/orders", "orders api global tenant user"},
		{"GET", "", "/api/orders", "api"},
		{"GET", "", "/health", "health"},
		{"POST", "h.example.com", "/api/orders", "host orders api global tenant user"},
		{"POST", "", "/api%2forders", "orders api global tenant user"},
		{"POST", "", "/health%2f..%2fapi/orders", "orders api global tenant user"},
	} {
		var got []string
		for _, rule := range tree.match(nil, &Request{Method: []byte(r.method), Host: []byte(r.host), Path: []byte(r.path)}) {
			got = append(got, rule.Name)
		}
		if strings.Join(got, " ") != r.want {
			t.Errorf("%s %s%s: got %v, want %s", r.method, r.host, r.path, got, r.want)
		}
	}
}

// randomPattern makes a pattern that overlaps others often.
func randomPattern(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString([]string{"", "", "", "GET ", "POST ", "HEAD ", "PUT "}[random.IntN(7)])
	b.WriteString([]string{"", "", "", "", "a.com", "b.com"}[random.IntN(6)])
	n := random.IntN(4)
	for i := range n {
		b.WriteByte('/')
		switch random.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "{w%d}", i)
		default:
			b.WriteString([]string{"a", "b", "c", "%61", "d%2Fe", "f%20g"}[random.IntN(6)])
		}
	}
	switch random.IntN(5) {
	case 0:
		b.WriteString("/{$}")
	case 1:
		b.WriteString("/{rest...}")
	case 2:
		b.WriteString("/")
	default:
		if n == 0 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// register says whether ServeMux takes a pattern, and if not, why.
func register(mux *http.ServeMux, pattern string) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprint(r)
		}
	}()
	mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	return ""
}

// ServeMux refuses the same patterns and picks the same one, for paths that have
// one reading only.
func TestServeMuxTwin(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	matches, conflicts := 0, 0
	for range 400 {
		mux := http.NewServeMux()
		tree := &tree{any: &branch{}}
		for i := range 1 + random.IntN(14) {
			pattern := randomPattern(random)
			r := ruleOf(t, fmt.Sprintf("r%02d", i), pattern, false)
			root := tree.root(r)
			err, why := root.check(r), register(mux, pattern)
			if (err != nil) != (why != "") {
				t.Fatalf("seed %d: %s: we say %v, ServeMux says %q", seed, pattern, err, why)
			}
			if err != nil {
				conflicts++
				checkConflict(t, err, why)
				continue
			}
			root.add(r, false)
		}
		for range 30 {
			method := []string{"GET", "POST", "HEAD", "DELETE"}[random.IntN(4)]
			host := []string{"a.com", "b.com:8080", "c.com"}[random.IntN(3)]
			path := randomPath(random)
			u, err := url.ParseRequestURI(path)
			if err != nil {
				t.Fatal(err)
			}
			_, want := mux.Handler(&http.Request{Method: method, Host: host, URL: u})
			if got := first(tree, method, host, path); got != want {
				t.Fatalf("seed %d: %s %s%s: got %q, ServeMux says %q", seed, method, host, path, got, want)
			}
			if want != "" {
				matches++
			}
		}
	}
	t.Logf("seed %d: %d matches, %d conflicts", seed, matches, conflicts)
}

// first is the rule that applies to the path as ServeMux reads it.
func first(tree *tree, method, host, path string) string {
	q := &Request{Method: []byte(method), Host: []byte(host), Path: []byte(path)}
	q.begin()
	q.read(asSegments)
	if rules := tree.matchReading(nil, 0, q); len(rules) > 0 {
		return rules[0].Match
	}
	return ""
}

func randomPath(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(6) {
		b.WriteByte('/')
		b.WriteString([]string{"a", "b", "c", "x", "", ".", "..", "%61", "d%2Fe", "f%20g", "%2e%2e"}[random.IntN(11)])
	}
	if random.IntN(2) == 0 || b.Len() == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// checkConflict compares how a conflict is explained.
func checkConflict(t *testing.T, err *Error, why string) {
	t.Helper()
	_, ours, ok := strings.Cut(err.Message, "': ")
	if !ok {
		t.Fatalf("%q names no two rules", err.Message)
	}
	for _, phrase := range []string{"matches the same requests as", "more methods than", "fewer methods than", "both match some paths"} {
		// With several conflicts each may choose another one to tell of.
		if strings.Contains(ours, phrase) && strings.Contains(why, phrase) {
			return
		}
	}
	if !strings.Contains(ours, "match") {
		t.Errorf("%q, where ServeMux says %q", ours, why)
	}
}

// With enforce: all, what applies is every pattern that matches by itself, and no
// order of the two is wrong.
func TestMatchAllTwin(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var patterns []string
		for range 1 + random.IntN(10) {
			patterns = append(patterns, randomPattern(random))
		}
		tree := mustTree(t, true, patterns...)
		for range 20 {
			method, host, path := []string{"GET", "POST", "HEAD"}[random.IntN(3)], []string{"a.com", "c.com"}[random.IntN(2)], randomPath(random)
			found := tree.match(nil, &Request{Method: []byte(method), Host: []byte(host), Path: []byte(path)})
			for i, r := range found {
				for _, later := range found[i+1:] {
					if later == r {
						t.Fatalf("seed %d: %s is there twice", seed, r.Match)
					}
					rel := r.pattern.methods(&later.pattern).and(r.pattern.paths(&later.pattern))
					if rel == moreGeneral && (r.pattern.host == "") == (later.pattern.host == "") {
						t.Fatalf("seed %d: %s comes before %s", seed, r.Match, later.Match)
					}
				}
			}
			if strings.Contains(path, "%2") {
				continue
			}
			checkAll(t, patterns, found, method, host, path)
		}
	}
}

// checkAll compares what applies with every pattern asked by itself. A pattern that
// only matches with a slash added applies if the most specific one does as well.
func checkAll(t *testing.T, patterns []string, found []*Rule, method, host, path string) {
	t.Helper()
	set := map[string]bool{}
	for _, r := range found {
		set[r.Match] = true
	}
	for _, withSlash := range []string{path, strings.TrimSuffix(path, "/") + "/"} {
		want := map[string]bool{}
		for _, p := range patterns {
			mux := http.NewServeMux()
			register(mux, p)
			u, _ := url.ParseRequestURI(withSlash)
			if _, got := mux.Handler(&http.Request{Method: method, Host: host, URL: u}); got != "" && !redirects(mux, method, host, u) {
				want[p] = true
			}
		}
		if len(want) == len(set) && !slices.ContainsFunc(found, func(r *Rule) bool { return !want[r.Match] }) {
			return
		}
	}
	t.Fatalf("%s %s%s of %q: got %v", method, host, path, patterns, set)
}

// redirects says whether ServeMux finds the path only with a slash at its end.
func redirects(mux *http.ServeMux, method, host string, u *url.URL) bool {
	clean := cleaned("/" + strings.TrimPrefix(u.EscapedPath(), "/"))
	if strings.HasSuffix(clean, "/") {
		return false
	}
	slashed, err := url.ParseRequestURI(clean + "/")
	if err != nil {
		return false
	}
	_, with := mux.Handler(&http.Request{Method: method, Host: host, URL: slashed})
	p, err := parsePattern(with)
	if err != nil {
		return false
	}
	last := p.segments[len(p.segments)-1].role
	n := strings.Count(clean+"/", "/")
	return (last == slash || last == multi) && len(p.segments) == n
}

func TestRuleRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	for range 300 {
		text := fmt.Sprintf("{match: %q, plan: p.1, per: %s%s%s%s}", randomPattern(random),
			pick("user", "api_key", "[ip]", "global", "[user]", "[api_key, model]", "[tenant, ip, a.b-c]"),
			pick("", ", cost: 7", ", cost: '1'"), pick("", ", enforce: all", ", enforce: first"), pick("", ", name: r"))
		if strings.Contains(text, "user") && random.IntN(2) == 0 {
			text = strings.TrimSuffix(text, "}") + ", anonymous_plan: q}"
		}
		r, err := ParseRule("r", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		checkRuleRoundTrip(t, r)
	}
}

func checkRuleRoundTrip(t *testing.T, r *Rule) {
	t.Helper()
	form := r.AppendJSON(nil)
	again, err := ParseRule(r.Name, form)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	if string(again.AppendJSON(nil)) != string(form) || again.Version() != r.Version() || again.Match != r.Match || !slices.Equal(again.Per, r.Per) ||
		again.Plan != r.Plan || again.Anonymous != r.Anonymous || again.Cost != r.Cost || again.All != r.All {
		t.Fatalf("%s becomes %s", form, again.AppendJSON(nil))
	}
}

func TestMatchAllocations(t *testing.T) {
	tree := mustTree(t, true, "/", "/api/", "POST /api/orders", "a.com/{x}/y")
	q := &Request{Method: []byte("pOST"), Host: []byte("A.com:80")}
	dst := make([]*Rule, 0, 16)
	paths := [][]byte{[]byte("/api/orders"), []byte("//api/../api/orders"), []byte("/x%20y/%2e%2e/api%2forders")}
	if n := testing.AllocsPerRun(100, func() {
		for _, path := range paths {
			q.Path = path
			dst = tree.match(dst[:0], q)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package plans

// Fuzz targets of the readers: no text makes them fall over, every error is a good
// one, and what they take survives its canonical form.

import "testing"

func FuzzPlan(f *testing.F) {
	f.Add(pro)
	f.Add(`{"rate": 0.5, "capacity": 5}`)
	f.Add("limits: &a {x: {algorithm: fw, limit: 5, window: month, anchor: 31, tz: Asia/Tokyo}}\ncosts:\n  ? a\n  : 1\n")
	f.Add("{\n\t\"limits\": {\n\t\t\"rpm\": {\"algorithm\": \"tb\", \"limit\": \"\\u0035\", \"window\": 1}\n\t}\n}")
	f.Add("limits:\r\n- a: !!x |\r\n   5\n---\n...\n")
	for _, r := range planErrors {
		f.Add(r.text)
	}
	for _, r := range syntaxErrors {
		f.Add(r.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan("p", []byte(text))
		checkError(t, text, err)
		if err == nil {
			checkRoundTrip(t, p)
			p.For([]byte(text))
		}
		checkCut(t, text)
		_, err = ParseFile("f", []byte("plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\n"+text))
		checkError(t, "plans:\n"+text, err)
	})
}

func FuzzRule(f *testing.F) {
	for _, r := range ruleErrors {
		f.Add(r.text, "GET", "/a/%2e%2E/%2fb")
	}
	f.Add(`{"match":"POST a.com/api/{x}/{rest...}","per":["api_key","model"],"plan":"p","enforce":"all"}`, "POST", "/api/x/y/../z?q")
	f.Add("{match: '/%2A/{$}', per: user, plan: p, anonymous_plan: q, cost: 5}", "get", "//*/./")
	f.Fuzz(func(t *testing.T, text, method, path string) {
		r, err := ParseRule("r", []byte(text))
		checkError(t, text, err)
		if err != nil {
			return
		}
		checkRuleRoundTrip(t, r)
		tree := mustTree(t, false, "/", "/{a}/b")
		if tree.any.check(r) == nil && r.pattern.host == "" {
			tree.any.add(r, false)
		}
		q := &Request{Method: []byte(method), Path: []byte(path)}
		found := tree.match(nil, q)
		if len(found) == 0 || len(found) > 2*int(readings) {
			t.Fatalf("%s %s: %d rules apply", method, path, len(found))
		}
		if again := tree.match(nil, q); len(again) != len(found) || again[0] != found[0] {
			t.Fatalf("%s %s: asked twice, %v and %v", method, path, found, again)
		}
	})
}

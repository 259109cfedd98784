package plans

// What look-ups and building cost, with as many plans and rules as the largest
// installations are expected to have.

import (
	"fmt"
	"strings"
	"testing"
)

const many = 10_000

// manyPlans writes a file with n plans and n rules.
func manyPlans(n int) []byte {
	var b strings.Builder
	b.WriteString("plans:\n")
	for i := range n {
		fmt.Fprintf(&b, "  p%d:\n    limits:\n      rpm: {algorithm: sliding_counter, limit: %d, window: 1m}\n", i, 600+i)
		b.WriteString("      burst: {algorithm: token_bucket, limit: 20, window: 1s, burst: 40}\n")
		b.WriteString("    costs: {search: 10, health: 1}\n")
	}
	b.WriteString("rules:\n")
	for i := range n {
		match := fmt.Sprintf("POST /api/v%d/s%d/{id}", i%7, i)
		switch i % 4 {
		case 1:
			match = fmt.Sprintf("/t%d/", i)
		case 2:
			match = fmt.Sprintf("GET /api/v%d/s%d/items/{$}", i%7, i)
		case 3:
			match = fmt.Sprintf("h%d.example.com/", i)
		}
		fmt.Fprintf(&b, "  - {name: r%d, match: \"%s\", per: user, plan: p%d}\n", i, match, i)
	}
	b.WriteString("  - {name: all, match: /, per: ip, plan: p0}\n")
	return []byte(b.String())
}

func manyBook(tb testing.TB, n int) *Book {
	tb.Helper()
	file, err := ParseFile("many.yaml", manyPlans(n))
	if err != nil {
		tb.Fatal(err)
	}
	book, err := NewBook(file, Set{})
	if err != nil {
		tb.Fatal(err)
	}
	return book
}

// manyOverrides is a plan with n overrides, half of them patterns.
func manyOverrides(tb testing.TB, n int) *Plan {
	tb.Helper()
	var b strings.Builder
	b.WriteString(`{"limits":{"rpm":{"algorithm":"sliding_counter","limit":600,"window":"1m"}},"overrides":{"user:*":{}`)
	for i := range n {
		star := ""
		if i%2 == 1 {
			star = "*"
		}
		fmt.Fprintf(&b, `,"user:%d%s":{"rpm":{"limit":%d}}`, i, star, i+1)
	}
	b.WriteString("}}")
	p, err := ParsePlan("p", []byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func BenchmarkPlanFor(b *testing.B) {
	for _, r := range []struct {
		name      string
		overrides int
		key       string
	}{
		{"overrides=0", 0, "user:4242"},
		{"overrides=10000/exact", many, "user:4242"},
		{"overrides=10000/pattern", many, "user:4243:device:7"},
		{"overrides=10000/none", many, "tenant:4243"},
	} {
		b.Run(r.name, func(b *testing.B) {
			p := manyOverrides(b, r.overrides)
			key := []byte(r.key)
			b.ReportAllocs()
			for b.Loop() {
				p.For(key)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	book := manyBook(b, many)
	for _, r := range []struct{ name, method, host, path string }{
		{"literal", "GET", "", "/api/v3/s1242/items/"},
		{"wildcard", "POST", "", "/api/v3/s8424/12345"},
		{"below", "GET", "api.example.com", "/t4241/a/b/c/d"},
		{"host", "GET", "h4243.example.com", "/t4241/a/b/c/d"},
		{"unclean", "GET", "", "/api//v2/../v3/./s1242/items/"},
		{"encoded", "GET", "", "/api/v3/s1242/items%2f"},
	} {
		b.Run(fmt.Sprintf("rules=%d/%s", many, r.name), func(b *testing.B) {
			q := &Request{Method: []byte(r.method), Host: []byte(r.host), Path: []byte(r.path)}
			dst := book.Match(nil, q)
			b.ReportAllocs()
			for b.Loop() {
				dst = book.Match(dst[:0], q)
			}
			if len(dst) == 0 || dst[0].Name == "all" {
				b.Fatalf("found %v", dst)
			}
		})
	}
}

func BenchmarkKey(b *testing.B) {
	book := manyBook(b, many)
	r := book.Rule([]byte("r0"))
	for name, id := range map[string]Identity{"user": {User: []byte("4242")}, "ip": {IP: []byte("2001:db8::1, 192.0.2.1")}} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				dst, _, _ = book.AppendKey(dst[:0], r, &id)
			}
		})
	}
}

func BenchmarkBook(b *testing.B) {
	text := manyPlans(many)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseFile("many.yaml", text); err != nil {
				b.Fatal(err)
			}
		}
	})
	book := manyBook(b, many)
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := NewBook(book.file, Set{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	p, err := ParsePlan("p77", []byte(`{"limits":{"rpm":{"algorithm":"sc","limit":5,"window":"1s"}}}`))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := book.WithPlan(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

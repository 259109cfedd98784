package plans

// From text to tree: cutting by columns comes to the same as leaving all to the
// parser, and every way to write a thing comes to the same tree.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn writes a tree with everything in it but the places.
func drawn(n *node) string {
	var b strings.Builder
	var draw func(n *node)
	draw = func(n *node) {
		switch n.shape {
		case scalar:
			fmt.Fprintf(&b, "%q", n.text)
		case list:
			b.WriteByte('[')
			for _, item := range n.items {
				draw(item)
				b.WriteByte(' ')
			}
			b.WriteByte(']')
		case mapping:
			b.WriteByte('{')
			for _, p := range n.pairs {
				fmt.Fprintf(&b, "%q:", p.name)
				draw(p.value)
				b.WriteByte(' ')
			}
			b.WriteByte('}')
		default:
			b.WriteByte('-')
		}
	}
	draw(n)
	return b.String()
}

// checkCut fails unless a text comes to the same cut at every number of levels.
func checkCut(t *testing.T, text string) {
	t.Helper()
	whole, _, wholeErr := parse("", []byte(text), FileBytesMax, 0)
	for levels := 1; levels <= 4; levels++ {
		cut, _, err := parse("", []byte(text), FileBytesMax, levels)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("%q: cut at %d levels: %v, as a whole: %v", text, levels, err, wholeErr)
		}
		if err == nil && drawn(cut) != drawn(whole) {
			t.Fatalf("%q: cut at %d levels:\n%s\nas a whole:\n%s", text, levels, drawn(cut), drawn(whole))
		}
	}
}

func TestCut(t *testing.T) {
	for _, text := range []string{
		"", "#", "a", "a: 1", "a:\nb:\n", "a:\n  b: 1\n  c:\n    d: 2\ne: 3\n", "a:\n- 1\n- 2\nb: 1\n", "a:\n  - b: 1\n    c: 2\n  - d: 3\n", "- - 1\n  - 2\n- 3\n", "a: [1,\n 2]\nb: {c: 1,\n d: 2}\n",
		"a: |\n  x\n  y: 1\nb: >-\n  z\n", "a: 'x\n  y'\nb: \"c\n  d\"\n", "a: x\n  y\nb: 1\n", "a: # c\n  # d\n  b: 1 # e\n# f\nc: 2\n", "'a': 1\n\"b\": 2\n3: 4\ntrue: 5\nnull: 6\n",
		"a: &x\n  b: 1\nc: *x\n", "a: &x 1\nb: *x\n", "a:\n  &x b: 1\n", "a: &x {b: 1}\nc: *x\nd: &y\n  - e\nf: *y\n", "a: &x &y 1", "&x a: 1", "&x\na: 1", "a: &x\nb: 1", "a: &x b: 1", "- &x a: 1\n  b: 2\n- *x", "? a\n: 1\n", "{a: 1}\n", "[a, b]\n", "a: {b: [{c: 1}]}\n", "---\na: 1\n...\n", "a: 1\n\n\n\nb:\n\n  c: 2\n",
		"a:\r\n  b: 1\r\nc: 2\r\n", "é:\n  ü: ö\n", "a: !x 1", "a: b: c", "a: - b", "a:\n b: 1\n  c: 2", "a:\n  b: 1\n c: 2", "- a\nb: 1", "a: 1\n- b", "a: {\nb: 1\n}\n", "a: [\n]\nb: 1", "a: 1\n b: 2\n", "-\n-\n", "- \n  a: 1\n", "a:\n-\nb:", "a:\n  -\n  - 1\n", "- 1\n-", "-\n\n  a",
		"a: *x", "a: 1\na: 2\n", "a:\n  b: 1\n  b: 2\n", "<<: {a: 1}\n", "a:\n  <<: {b: 1}\n", "a: \"x\"y\n", "a: 'x' 'y'\n", "a: 1 2\n", "a:\n  - 1\n - 2\n", "a: @x", "a: %x", "a: `x`",
	} {
		checkCut(t, text)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"a", "b", ":", ": ", "\n", "\n", "\n  ", "\n  ", "\n    ", "- ", "-", "[", "]", "{", "}", ", ", "'", "\"", "# c", "|\n", "&x ", "*x", "1", " ", "!t ", "? ", "é", "<<"}
	for range 4000 {
		var b strings.Builder
		for range random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		checkCut(t, b.String())
	}
}

// Anchors and aliases are there for those who repeat themselves; an alias is what
// it stands for and nothing more.
func TestAliases(t *testing.T) {
	f, err := ParseFile("f", []byte(`
plans:
  free: &free
    limits: &limits
      rpm: &rpm {algorithm: tb, limit: 5, window: 1m}
  pro: {limits: {rpm: *rpm, rph: {algorithm: tb, limit: 50, window: 1h}}}
  test: *free
  other: {limits: *limits}
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Plans[0].Name != "free" || string(f.Plans[3].AppendJSON(nil)) != string(f.Plans[0].AppendJSON(nil)) || string(f.Plans[1].AppendJSON(nil)) != string(f.Plans[0].AppendJSON(nil)) {
		t.Error("aliases differ from what they stand for")
	}
	var many strings.Builder
	many.WriteString("plans:\n  p0: &p {limits: {a: {algorithm: tb, limit: 5, window: 1m}}}\n")
	for i := range 15_000 {
		fmt.Fprintf(&many, "  p%d: *p\n", i+1)
	}
	if f, err := ParseFile("f", []byte(many.String())); err != nil || len(f.Plans) != 15_001 {
		t.Errorf("many aliases: %v", err)
	}
	// Aliases of aliases do not come to more than the bound.
	var b strings.Builder
	b.WriteString("plans:\n  p: {limits: &l {")
	for i := range LimitsMax {
		fmt.Fprintf(&b, "l%d: {algorithm: tb, limit: 5, window: 1m}, ", i)
	}
	b.WriteString("}}\n")
	for i := range 100 {
		fmt.Fprintf(&b, "  p%d: {limits: *l}\n", i)
	}
	for visits, want := range map[int]string{25_000: "with its aliases it has too many fields", 0: "<nil>"} {
		if _, err := (Parser{visits: visits}).ParseFile("f", []byte(b.String())); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%d fields: got %v, want %s", visits, err, want)
		}
	}
}

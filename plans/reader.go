package plans

// Walking over a tree. The reader stops at the first thing that is wrong and
// keeps it; what it returns afterwards is not to be used. It knows the path to
// where it stands, so that an error can name the field.

import (
	"fmt"
	"strings"

	"sluice/algorithms"
)

const (
	// NameBytesMax is the longest name of a plan, limit, rule or attribute.
	NameBytesMax = 128
	// visitsMax bounds how many fields a text may come to, each alias counted
	// with all that it stands for.
	visitsMax = 8_000_000
)

// reader walks over one tree.
type reader struct {
	src         *source
	logLimitMax uint64
	path        []step
	visitsLeft  int
	err         *Error
}

// fail keeps the first error: at is its place, the path is where the reader stands.
func (r *reader) fail(at place, format string, args ...any) {
	if r.err == nil {
		r.err = r.src.errorAt(at, r.field(), fmt.Sprintf(format, args...))
	}
}

// step leads from a value to one inside it: by name, or by number.
type step struct {
	name string
	item int // from 1; 0: by name
}

// field is the path to where the reader stands: plans.pro.limits,
// plans["v1.2"].overrides["user:42"], rules[3].match.
func (r *reader) field() string { return fieldPath(r.path...) }

func fieldPath(path ...step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.item > 0:
			fmt.Fprintf(&b, "[%d]", s.item-1)
		case isName(s.name) && !strings.Contains(s.name, "."):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		default:
			b.WriteString(`["` + show(s.name) + `"]`)
		}
	}
	return b.String()
}

// in reads something one step further down.
func (r *reader) in(s step, read func()) {
	r.path = append(r.path, s)
	read()
	r.path = r.path[:len(r.path)-1]
}

// fields reads the fields of a mapping. What is called by none of the known names
// is an error; with known nil every name goes.
func (r *reader) fields(n *node, what string, known []string, read func(p pair)) {
	if r.err != nil {
		return
	}
	if n.shape != mapping {
		r.fail(n.at, "%s must be a mapping such as {%s: ...}, got %s", what, example(known), n.described())
		return
	}
	seen := make(map[string]place, len(n.pairs))
	for _, p := range n.pairs {
		if r.visitsLeft--; r.visitsLeft < 0 {
			r.fail(p.at, "the text is too long: with its aliases it has too many fields")
		}
		if known != nil && !contains(known, p.name) {
			r.unknown(p.at, "field", p.name, known)
		}
		if first, twice := seen[p.name]; twice {
			r.fail(p.at, "'%s' is given twice, first in line %d", show(p.name), first.line)
		}
		if r.err != nil {
			return
		}
		seen[p.name] = p.at
		r.in(step{name: p.name}, func() { read(p) })
	}
}

func example(known []string) string {
	if len(known) == 0 {
		return "name"
	}
	return known[0]
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// knownShownMax is how many legal words an error lists.
const knownShownMax = 12

// unknown says that a word is none of the known ones, and which could be meant.
func (r *reader) unknown(at place, what, word string, known []string) {
	if near := algorithms.Nearest(strings.ToLower(word), known); near != "" {
		r.fail(at, "unknown %s '%s', did you mean '%s'?", what, show(word), near)
		return
	}
	legal := "one of " + join(known, "or")
	switch {
	case len(known) == 1:
		legal = known[0]
	case len(known) > knownShownMax:
		legal = "one of " + strings.Join(known[:knownShownMax], ", ") + ", ..."
	}
	r.fail(at, "unknown %s '%s': it must be %s", what, show(word), legal)
}

// text reads a scalar.
func (r *reader) text(n *node, what string) string {
	if r.err == nil && n.shape != scalar {
		r.fail(n.at, "%s, got %s", what, n.described())
	}
	return n.text
}

// isName says whether a name may be that of a plan, limit, rule or attribute.
func isName(name string) bool {
	if len(name) == 0 || len(name) > NameBytesMax {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// name checks the name of something.
func (r *reader) name(at place, what, name string) {
	switch {
	case r.err != nil || isName(name):
	case len(name) > NameBytesMax:
		r.fail(at, "%s is too long: at most %d bytes, got %d", what, NameBytesMax, len(name))
	default:
		r.fail(at, "%s must be made of small letters, digits, '.', '_' and '-', got '%s'%s", what, show(name), nameHint(name))
	}
}

// nameHint is a name near to one that may not be used.
func nameHint(name string) string {
	better := strings.Map(func(c rune) rune {
		if c == ' ' || c == '/' || c == ':' {
			return '-'
		}
		return c
	}, strings.ToLower(name))
	if !isName(better) {
		return ""
	}
	return ", such as '" + better + "'"
}

// word reads one of a few words, in any case.
func (r *reader) word(n *node, what string, known []string) int {
	text := r.text(n, what+" must be one of "+join(known, "or"))
	for i, w := range known {
		if strings.EqualFold(text, w) {
			return i
		}
	}
	r.unknown(n.at, what, text, known)
	return 0
}

// whole reads a whole number.
func (r *reader) whole(n *node, what string, least, most uint64) uint64 {
	text := r.text(n, fmt.Sprintf("%s must be a whole number from %d to %d", what, least, most))
	v, err := algorithms.ParseWhole(what, []byte(text), least, most)
	if err != nil {
		r.fail(n.at, "%s", err)
	}
	return v
}

// join writes a list as people do: a, b or c.
func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

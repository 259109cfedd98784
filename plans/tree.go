package plans

// Finding the rules that match a request: a tree with a level for each segment of
// the path, one tree a host. A step tries the literal, then the wildcard, then what
// matches everything below; since patterns that cannot be put in order are refused,
// the first rule found so is the most specific one. (Of two patterns that match the
// same path, the one with the literal at the first place where they differ is not
// the more general one.)
//
// Every node is reached by one way only, so a look-up visits no node twice; with
// literals in maps their number does not matter.

import (
	"slices"
	"strings"
)

// tree holds the rules of one book.
type tree struct {
	hosts  map[string]*branch
	any    *branch // patterns without a host
	folded *tree   // the same with all literals in small letters; nil: they are
}

// branch is a place in a tree: what the segments so far lead to.
type branch struct {
	literals map[string]*branch
	wild     *branch
	end      []*Rule // patterns that end here, without a slash
	slash    []*Rule // that end with the slash after it: {$}
	multi    []*Rule // that match the slash and everything below
}

// newTree makes a tree of rules, which are sorted by name. The error names two that
// conflict.
func newTree(rules []*Rule) (*tree, *Error) {
	t := &tree{any: &branch{}}
	capitals := false
	for _, r := range rules {
		root := t.root(r)
		if err := root.check(r); err != nil {
			return nil, err
		}
		root.add(r, false)
		capitals = capitals || r.pattern.hasCapitals()
	}
	if capitals {
		t.folded = &tree{any: &branch{}}
		for _, r := range rules {
			t.folded.root(r).add(r, true)
		}
	}
	return t, nil
}

// root is where the patterns for a rule's host begin.
func (t *tree) root(r *Rule) *branch {
	host := r.pattern.host
	if host == "" {
		return t.any
	}
	if t.hosts == nil {
		t.hosts = map[string]*branch{}
	}
	if t.hosts[host] == nil {
		t.hosts[host] = &branch{}
	}
	return t.hosts[host]
}

// add puts a rule in its place.
func (b *branch) add(r *Rule, fold bool) {
	place := &b.end
	for _, s := range r.pattern.segments {
		switch s.role {
		case literal:
			if fold {
				s.text = small(s.text)
			}
			next := b.literals[s.text]
			if next == nil {
				if b.literals == nil {
					b.literals = map[string]*branch{}
				}
				next = &branch{}
				b.literals[s.text] = next
			}
			b, place = next, &next.end
		case wild:
			if b.wild == nil {
				b.wild = &branch{}
			}
			b, place = b.wild, &b.wild.end
		case slash:
			place = &b.slash
		case multi:
			place = &b.multi
		}
	}
	i, _ := slices.BinarySearchFunc(*place, r, compareRules)
	*place = slices.Insert(*place, i, r)
}

// compareRules puts the more specific of two rules first, and others by name.
func compareRules(a, b *Rule) int {
	if a.pattern.points != b.pattern.points {
		return b.pattern.points - a.pattern.points
	}
	return strings.Compare(a.Name, b.Name)
}

// check looks for a rule that cannot be put in order with r.
func (b *branch) check(r *Rule) *Error {
	var with *Rule
	b.overlapping(r.pattern.segments, func(rules []*Rule) {
		for _, other := range rules {
			if (with == nil || other.Name < with.Name) && !(r.All && other.All) && r.pattern.conflict(&other.pattern) != "" {
				with = other
			}
		}
	})
	if with == nil {
		return nil
	}
	return r.errorAt(r.at.match, "match", "rule '"+r.Name+"' conflicts with rule '"+with.Name+"': "+r.pattern.conflict(&with.pattern))
}

// overlapping visits all rules whose paths may have some in common with a pattern
// of which the given segments are left.
func (b *branch) overlapping(segments []segment, visit func([]*Rule)) {
	if b == nil {
		return
	}
	if len(segments) == 0 {
		visit(b.end)
		return
	}
	visit(b.multi)
	switch s := segments[0]; s.role {
	case literal:
		b.literals[s.text].overlapping(segments[1:], visit)
		b.wild.overlapping(segments[1:], visit)
	case wild:
		for _, next := range b.literals {
			next.overlapping(segments[1:], visit)
		}
		b.wild.overlapping(segments[1:], visit)
	case slash:
		visit(b.slash)
	case multi:
		visit(b.slash)
		for _, next := range b.literals {
			next.everything(visit)
		}
		b.wild.everything(visit)
	}
}

// everything visits all rules from here on.
func (b *branch) everything(visit func([]*Rule)) {
	if b == nil {
		return
	}
	visit(b.end)
	visit(b.slash)
	visit(b.multi)
	for _, next := range b.literals {
		next.everything(visit)
	}
	b.wild.everything(visit)
}

// match appends the rules that apply to a request, most specific first: the most
// specific rule that matches, or, if that says enforce: all, every rule that does.
// A path is read in every way that it has.
func (t *tree) match(dst []*Rule, q *Request) []*Rule {
	start := len(dst)
	ways := q.begin()
	folded := false
	for way := range ways {
		q.read(way)
		slash := q.slash
		dst = t.matchReading(dst, start, q)
		if q.slash = slash; q.fold() || t.folded != nil {
			folded = true
			dst = t.inSmall().matchReading(dst, start, q)
		}
	}
	if ways > 1 || folded {
		slices.SortFunc(dst[start:], compareRules)
	}
	return dst
}

// inSmall is the tree for paths in small letters.
func (t *tree) inSmall() *tree {
	if t.folded != nil {
		return t.folded
	}
	return t
}

// matchReading appends what applies to the path as it is read now and is not there
// yet. If nothing matches a path as it is, but something is made for the same path
// with a slash at its end, that applies: ServeMux would send the client there, and
// other servers take the two for one.
func (t *tree) matchReading(dst []*Rule, start int, q *Request) []*Rule {
	first, exact := t.find(q)
	if !exact && !q.slash {
		q.slash = true
		if better, exact := t.find(q); exact {
			first = better
		} else {
			q.slash = false
		}
	}
	switch {
	case first == nil:
		return dst
	case !first.All:
		if !slices.Contains(dst[start:], first) {
			dst = append(dst, first)
		}
		return dst
	}
	here := len(dst)
	if host := t.hosts[string(q.host)]; host != nil {
		dst = host.collect(dst, dst[start:here], q, q.segments)
	}
	dst = t.any.collect(dst, dst[start:here], q, q.segments)
	slices.SortFunc(dst[here:], compareRules)
	return dst
}

// find returns the most specific rule, and whether it is made for just this path:
// a rule for everything below is if there is nothing below.
func (t *tree) find(q *Request) (r *Rule, exact bool) {
	if host := t.hosts[string(q.host)]; host != nil {
		if r, exact = host.find(q, q.segments); r != nil {
			return r, exact
		}
	}
	return t.any.find(q, q.segments)
}

func (b *branch) find(q *Request, segments [][]byte) (r *Rule, exact bool) {
	if b == nil {
		return nil, false
	}
	if len(segments) == 0 {
		if !q.slash {
			r = choose(b.end, q.method)
			return r, r != nil
		}
		if r = choose(b.slash, q.method); r == nil {
			r = choose(b.multi, q.method)
		}
		return r, r != nil
	}
	if len(b.literals) > 0 {
		if next := b.literals[string(segments[0])]; next != nil {
			if r, exact = next.find(q, segments[1:]); r != nil {
				return r, exact
			}
		}
	}
	if r, exact = b.wild.find(q, segments[1:]); r != nil {
		return r, exact
	}
	return choose(b.multi, q.method), false
}

// choose returns the first of the rules with one path whose method matches.
func choose(rules []*Rule, method []byte) *Rule {
	for _, r := range rules {
		if r.pattern.takes(method) {
			return r
		}
	}
	return nil
}

// takes says whether a pattern matches a method.
func (p *pattern) takes(method []byte) bool {
	return p.method == "" || p.method == string(method) || p.method == "GET" && string(method) == "HEAD"
}

// collect appends all rules that match, but for the ones that are there.
func (b *branch) collect(dst, there []*Rule, q *Request, segments [][]byte) []*Rule {
	if b == nil {
		return dst
	}
	if len(segments) == 0 && !q.slash {
		return addMatching(dst, there, b.end, q.method)
	}
	dst = addMatching(dst, there, b.multi, q.method)
	if len(segments) == 0 {
		return addMatching(dst, there, b.slash, q.method)
	}
	if len(b.literals) > 0 {
		dst = b.literals[string(segments[0])].collect(dst, there, q, segments[1:])
	}
	return b.wild.collect(dst, there, q, segments[1:])
}

func addMatching(dst, there, rules []*Rule, method []byte) []*Rule {
	for _, r := range rules {
		if r.pattern.takes(method) && !slices.Contains(there, r) {
			dst = append(dst, r)
		}
	}
	return dst
}

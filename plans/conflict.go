package plans

// How two patterns relate: which one is more specific, or why none is.

import (
	"fmt"
	"strings"
)

// relation is how one pattern relates to another.
type relation uint8

const (
	equivalent   relation = iota // both match the same requests
	moreGeneral                  // the first matches all that the second does, and more
	moreSpecific                 // the other way round
	disjoint                     // no request matches both
	overlapping                  // some requests match both, others one of them
)

// and combines how two parts of patterns relate to how the whole does.
func (a relation) and(b relation) relation {
	switch {
	case a == disjoint || b == disjoint:
		return disjoint
	case a == equivalent:
		return b
	case b == equivalent || a == b:
		return a
	}
	return overlapping
}

// methods is how the methods of two patterns relate.
func (p *pattern) methods(q *pattern) relation {
	switch {
	case p.method == q.method:
		return equivalent
	case p.method == "" || p.method == "GET" && q.method == "HEAD":
		return moreGeneral
	case q.method == "" || q.method == "GET" && p.method == "HEAD":
		return moreSpecific
	}
	return disjoint
}

// paths is how the paths of two patterns relate.
func (p *pattern) paths(q *pattern) relation {
	rel := equivalent
	n := min(len(p.segments), len(q.segments))
	for i := range n {
		if rel = rel.and(p.segments[i].relate(q.segments[i])); rel == disjoint {
			return disjoint
		}
	}
	switch {
	case len(p.segments) == len(q.segments):
		return rel
	case len(p.segments) == n && p.segments[n-1].role == multi:
		return rel.and(moreGeneral)
	case len(q.segments) == n && q.segments[n-1].role == multi:
		return rel.and(moreSpecific)
	}
	return disjoint
}

// relate is how two segments in the same place relate.
func (s segment) relate(t segment) relation {
	switch {
	case s.role == t.role && (s.role != literal || s.text == t.text):
		return equivalent
	case s.role == multi:
		return moreGeneral
	case t.role == multi:
		return moreSpecific
	case s.role == wild && t.role == literal:
		return moreGeneral
	case s.role == literal && t.role == wild:
		return moreSpecific
	}
	return disjoint
}

// conflict is why two patterns cannot be put in order, "" if they can, or never
// match the same request.
func (p *pattern) conflict(q *pattern) string {
	if p.host != q.host {
		return ""
	}
	methods, paths := p.methods(q), p.paths(q)
	switch rel := methods.and(paths); {
	case rel == equivalent:
		return fmt.Sprintf("%s matches the same requests as %s", p.text, q.text)
	case rel != overlapping:
		return ""
	case paths == overlapping:
		return fmt.Sprintf("%[1]s and %[2]s both match some paths, like '%[3]s', but neither is more specific than the other: %[1]s matches '%[4]s', but %[2]s doesn't; %[2]s matches '%[5]s', but %[1]s doesn't",
			p.text, q.text, commonPath(p.segments, q.segments), onlyPath(p.segments, q.segments), onlyPath(q.segments, p.segments))
	case methods == moreGeneral:
		return fmt.Sprintf("%s matches more methods than %s, but has a more specific path pattern", p.text, q.text)
	default:
		return fmt.Sprintf("%s matches fewer methods than %s, but has a more general path pattern", p.text, q.text)
	}
}

// writeSegment writes a path segment that s matches.
func writeSegment(b *strings.Builder, s segment) {
	b.WriteByte('/')
	if s.role == literal || s.role == wild {
		b.WriteString(s.text)
	}
}

func writeSegments(b *strings.Builder, segments []segment) {
	for _, s := range segments {
		writeSegment(b, s)
	}
}

// commonPath is a path that both match.
func commonPath(p, q []segment) string {
	var b strings.Builder
	for len(p) > 0 && len(q) > 0 {
		if p[0].role == wild || p[0].role == multi {
			writeSegment(&b, q[0])
		} else {
			writeSegment(&b, p[0])
		}
		p, q = p[1:], q[1:]
	}
	writeSegments(&b, p)
	writeSegments(&b, q)
	return b.String()
}

// onlyPath is a path that p matches and q does not, where they overlap.
func onlyPath(p, q []segment) string {
	var b strings.Builder
	for len(p) > 0 && len(q) > 0 {
		s, t := p[0], q[0]
		switch {
		case s.role == multi && t.role == multi:
			b.WriteByte('/')
			return b.String()
		case s.role == multi:
			// A slash at the end tells them apart, or anything but it.
			b.WriteByte('/')
			if t.role == slash {
				b.WriteString("x")
			}
			return b.String()
		case s.role == wild && t.role == literal && s.text == t.text:
			b.WriteString("/" + t.text + "x")
		default:
			writeSegment(&b, s)
		}
		p, q = p[1:], q[1:]
	}
	writeSegments(&b, p)
	writeSegments(&b, q)
	return b.String()
}

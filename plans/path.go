package plans

// How a request's path is read. Rules stand in front of a server that we do not
// know, and servers disagree: is /api%2Forders the path /api/orders or one segment,
// is /x/%2e%2e/api the path /api, is /API the same as /api? Whoever may choose the
// path chooses the spelling that no rule matches but the server understands. So an
// odd path is read in each of the ways that servers are known to read it, and the
// rules of every reading apply. Nobody gains by an odd spelling, and ordinary paths
// have one reading. The price: where an encoded slash, say, is usual in names, the
// rule for the same path with a plain slash counts these requests as well.
//
// In every reading: what follows a '?' or a '#' is not part of the path; empty
// segments and '.' are left out, '..' takes the segment before it away; percent
// signs are decoded once, and a wrong one is an ordinary character. If there are
// capitals in what comes out, or in a rule's pattern, it is looked up in small
// letters too, as a server would that takes no notice of them.

import (
	"bytes"
	"strings"
)

// Request is what rules look at. The bytes stay the caller's. One Request may be
// used again and again: what it keeps inside saves allocations.
type Request struct {
	Method []byte // in any case
	Host   []byte // may be empty; a port and a '.' at the end are ignored
	Path   []byte // as the client sent it; a query is ignored

	method   []byte
	host     []byte
	segments [][]byte
	slash    bool // the path ends with a slash
	decoded  []byte
	lowered  []byte
}

// reading is one way to read a path.
type reading uint8

const (
	// asSegments: decoded after it is cut, so that an encoded slash is part of a
	// segment and an encoded dot an ordinary character: Go's ServeMux.
	asSegments reading = iota
	// asURL: the same, but %2e is a dot and '\' is a slash: URLs on the web, Node.
	asURL
	// asPath: decoded before it is cut: nginx, and servers that see only what it
	// decodes.
	asPath
	// asWindows: the same, and '\' is a slash: IIS.
	asWindows
	// withoutParameters: what follows a ';' in a segment is left out before it is
	// decoded: Tomcat, Spring.
	withoutParameters
	readings
)

// begin makes method and host ready, and says how many readings the path has.
func (q *Request) begin() (ways reading) {
	q.lowered = q.lowered[:0]
	q.method = q.upper(q.Method)
	q.host = q.lower(q.Host)
	if i := bytes.LastIndexByte(q.host, ':'); i >= 0 && !bytes.ContainsAny(q.host[i:], "]") {
		q.host = q.host[:i]
	}
	q.host = bytes.TrimSuffix(q.host, []byte{'.'})
	if isOdd(q.Path) {
		return readings
	}
	return asSegments + 1
}

// upper is text in capitals, itself if it is.
func (q *Request) upper(text []byte) []byte {
	return q.folded(text, 'a', 'z')
}

// lower is text in small letters, itself if it is.
func (q *Request) lower(text []byte) []byte {
	return q.folded(text, 'A', 'Z')
}

// folded changes the case of the letters from one to another, in a copy.
func (q *Request) folded(text []byte, from, to byte) []byte {
	for i, c := range text {
		if c < from || c > to {
			continue
		}
		start := len(q.lowered)
		q.lowered = append(q.lowered, text...)
		copied := q.lowered[start:]
		for j := i; j < len(copied); j++ {
			if c := copied[j]; c >= from && c <= to {
				copied[j] = c ^ 0x20
			}
		}
		return copied
	}
	return text
}

// isOdd says whether a path holds what servers disagree about: an encoded slash,
// backslash or dot, a backslash, a ';'.
func isOdd(path []byte) bool {
	if bytes.IndexByte(path, '\\') >= 0 || bytes.IndexByte(path, ';') >= 0 {
		return true
	}
	for {
		i := bytes.IndexByte(path, '%')
		if i < 0 || i+2 >= len(path) {
			return false
		}
		switch hexDigit(path[i+1])<<4 | hexDigit(path[i+2]) {
		case '/', '.', '\\', ';':
			return true
		}
		path = path[i+1:]
	}
}

// read cuts the path into segments.
func (q *Request) read(way reading) {
	path := q.Path
	if i := bytes.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if cap(q.decoded) < len(path) {
		q.decoded = make([]byte, 0, max(2*len(path), 256))
	}
	q.decoded = q.decoded[:0] // never grows below, so that segments stay where they are
	slashes := "/"
	switch way {
	case asPath:
		path = q.decode(path)
	case asWindows:
		path, slashes = q.decode(path), `/\`
	case asURL:
		slashes = `/\`
	}
	q.segments = q.segments[:0]
	q.slash = len(path) == 0 || strings.IndexByte(slashes, path[len(path)-1]) >= 0
	for len(path) > 0 {
		part := path
		if i := bytes.IndexAny(path, slashes); i >= 0 {
			part, path = path[:i], path[i+1:]
		} else {
			path = nil
		}
		if way == withoutParameters {
			part, _, _ = bytes.Cut(part, []byte{';'})
		}
		dots := part
		if way != asPath && way != asWindows && bytes.IndexByte(part, '%') >= 0 {
			part = q.decode(part)
			if way != asSegments {
				dots = part
			}
		}
		switch {
		case len(dots) == 0 || len(dots) == 1 && dots[0] == '.':
		case len(dots) == 2 && dots[0] == '.' && dots[1] == '.':
			q.segments = q.segments[:max(len(q.segments)-1, 0)]
		default:
			q.segments = append(q.segments, part)
		}
	}
	if len(q.segments) == 0 {
		q.slash = true
	}
}

// fold puts the segments in small letters and says whether that changed any.
func (q *Request) fold() (changed bool) {
	for i, s := range q.segments {
		small := q.lower(s)
		changed = changed || len(s) > 0 && &small[0] != &s[0]
		q.segments[i] = small
	}
	return changed
}

// decode decodes percent signs.
func (q *Request) decode(text []byte) []byte {
	start := len(q.decoded)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				i += 2
			}
		}
		q.decoded = append(q.decoded, c)
	}
	return q.decoded[start:]
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

package plans

// What a rule matches: [METHOD ][HOST]/PATH, as Go's ServeMux has it.
//
//	/api/orders          this path
//	/api/                this path and everything below
//	/api/{$}             this path with its slash, and nothing below
//	/users/{id}          any one segment in that place, but not an empty one
//	/files/{rest...}     everything below, as /files/
//	POST /api/orders     this method; GET stands for HEAD as well
//	api.example.com/v1/  this host; wins over every pattern without a host
//
// A pattern is more specific than another if the other matches all its methods and
// paths and more. Where two match some requests in common and neither is more
// specific, they conflict. All this is ServeMux's; what it lets pass although it
// can never match, or is likely to mean something else, is refused here.

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// pattern is a pattern that has been read.
type pattern struct {
	text     string // as written
	method   string // "": any
	host     string // in small letters; "": any
	segments []segment
	// points is higher for the more specific one of two patterns, and says
	// nothing about others.
	points int
}

// segment is a piece of a pattern's path.
type segment struct {
	role segmentRole
	text string // of a literal, decoded; of a wildcard its name
}

type segmentRole uint8

const (
	literal segmentRole = iota
	wild                // {name}: any one segment
	slash               // {$}: the path ends here, with a slash
	multi               // a slash at the end, or {name...}: whatever follows
)

// parsePattern reads a pattern; the error says what would be right.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	rest := text
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		p.method, rest = text[:i], strings.TrimLeft(text[i+1:], " \t")
		if err := checkMethod(p.method); err != nil {
			return p, err
		}
	}
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		return p, fmt.Errorf("a pattern must have a path, such as /api/ or POST /api/orders, got '%s'", show(text))
	}
	p.host = strings.ToLower(rest[:i])
	rest = rest[i:]
	if err := checkHost(p.host); err != nil {
		return p, err
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		return p, fmt.Errorf("a pattern is a path without query and fragment: leave '%s' out", show(rest[i:]))
	}
	if clean := cleaned(rest); clean != rest {
		return p, fmt.Errorf("pattern '%s' can never match, since paths are cleaned first: write '%s'", show(rest), show(clean))
	}
	names := map[string]bool{}
	for rest != "" {
		part, more, last := cutSegment(rest)
		rest = more
		s, err := parseSegment(part, last)
		if err != nil {
			return p, err
		}
		if s.text != "" && s.role != literal {
			if names[s.text] {
				return p, fmt.Errorf("wildcard {%s} is there twice", s.text)
			}
			names[s.text] = true
		}
		p.segments = append(p.segments, s)
	}
	p.points = p.count()
	return p, nil
}

// cutSegment cuts the first segment off a path that begins with a slash.
func cutSegment(rest string) (part, more string, last bool) {
	rest = rest[1:]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:], false
	}
	return rest, "", true
}

// cleaned is a path without what ServeMux cleans away.
func cleaned(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

func checkMethod(method string) error {
	for _, c := range method {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c)) {
			return fmt.Errorf("'%s' is not a method, such as GET or POST", show(method))
		}
	}
	if method == "" {
		return errors.New("a pattern begins with a method, a host or a '/', not with a blank")
	}
	if upper := strings.ToUpper(method); upper != method {
		return fmt.Errorf("a method is written in capitals: %s", show(upper))
	}
	return nil
}

func checkHost(host string) error {
	for _, c := range host {
		switch {
		case c == '{':
			return fmt.Errorf("a host cannot hold a wildcard; is a '/' missing before '%s'?", show(host))
		case c == ':':
			return fmt.Errorf("a host is given without its port, got '%s'", show(host))
		case !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'):
			return fmt.Errorf("'%s' is not a host, such as api.example.com", show(host))
		}
	}
	if strings.HasSuffix(host, ".") {
		return fmt.Errorf("a host is given without a '.' at its end, got '%s'", show(host))
	}
	return nil
}

// parseSegment reads one segment.
func parseSegment(part string, last bool) (segment, error) {
	if part == "" {
		return segment{role: multi}, nil // paths are clean, so this is the end
	}
	if !strings.ContainsAny(part, "{}") {
		if strings.Contains(part, "*") {
			return segment{}, fmt.Errorf("'*' is not a wildcard here: /api/ matches everything below, /api/{name} one segment; write %%2A for the character")
		}
		text := unescaped(part)
		if text == "." || text == ".." {
			return segment{}, fmt.Errorf("segment '%s' can never match, since paths are cleaned first", show(part))
		}
		return segment{role: literal, text: text}, nil
	}
	if part[0] != '{' || part[len(part)-1] != '}' || strings.ContainsAny(part[1:len(part)-1], "{}") {
		return segment{}, fmt.Errorf("a wildcard is a whole segment, such as {id}, got '%s'", show(part))
	}
	name := part[1 : len(part)-1]
	if name == "$" {
		if !last {
			return segment{}, fmt.Errorf("{$} stands at the end")
		}
		return segment{role: slash}, nil
	}
	role := wild
	if short, ok := strings.CutSuffix(name, "..."); ok {
		if !last {
			return segment{}, fmt.Errorf("{%s} matches everything that follows, so it stands at the end", show(name))
		}
		name, role = short, multi
	}
	for i, c := range name {
		if !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c)) {
			name = ""
			break
		}
	}
	if name == "" {
		return segment{}, fmt.Errorf("a wildcard's name is made of letters, digits and '_', such as {id}, got '%s'", show(part))
	}
	return segment{role: role, text: name}, nil
}

// unescaped is a segment with its percent signs decoded, as it is if they are
// wrong.
func unescaped(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}

// hasCapitals says whether there are capitals in the literals of a pattern.
func (p *pattern) hasCapitals() bool {
	for _, s := range p.segments {
		if s.role == literal && small(s.text) != s.text {
			return true
		}
	}
	return false
}

// small is a text with A to Z in small letters.
func small(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, text)
}

// count gives a pattern its points. Under a more general one that comes after it,
// no part of the sum is smaller and one at least is larger: literals, segments that
// must be there, no more than those, fewer methods; and a host goes before all.
func (p *pattern) count() int {
	points := 0
	for _, s := range p.segments {
		switch s.role {
		case literal, slash:
			points += 2
		case wild:
			points++
		}
	}
	if p.segments[len(p.segments)-1].role != multi {
		points++
	}
	switch p.method {
	case "":
	case "GET":
		points++
	default:
		points += 2
	}
	if p.host != "" {
		points += hostPoints
	}
	return points
}

// hostPoints are more than all else can come to: a path has fewer segments.
const hostPoints = 1 << 30

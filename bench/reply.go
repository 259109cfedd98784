package bench

// Replies are not made into values: their ends are found, and the integers that tell whether a call passed are added up.

import "fmt"

// replies counts the replies of many connections.
type replies struct {
	counts     Counting
	admitted   uint64
	errors     uint64
	firstError string
}

// errMalformed is a reply that is none.
type errMalformed struct{ line []byte }

func (e errMalformed) Error() string {
	return fmt.Sprintf("a reply begins with %q, which is not the Redis protocol", e.line[:min(len(e.line), 32)])
}

// next returns how long the first reply in b is, 0 if its end is not there yet.
func (r *replies) next(b []byte) (int, error) {
	var admitted uint64
	header := false // the element before was the head of an array
	i, token := 0, 0
	for open := 1; open > 0; token++ {
		start := i
		n, after, ok := readLine(b, i)
		if !ok {
			return 0, nil
		}
		i = after
		open--
		kind := b[start]
		switch kind {
		case ':':
			if n > 0 && header && (r.counts == CountEach || r.counts == CountFirst && token == 1) {
				admitted += uint64(n)
			}
		case '*', '~', '>':
			open += max(n, 0)
		case '%':
			open += 2 * max(n, 0)
		case '$', '=':
			if n >= 0 {
				i += n + 2
			}
		case '-':
			if token == 0 {
				r.errors++
				if r.firstError == "" {
					r.firstError = string(b[start+1 : after-2])
				}
			}
		case '+', '_', '#', ',', '(':
		default:
			return 0, errMalformed{b[start:]}
		}
		header = kind == '*'
	}
	if i > len(b) {
		return 0, nil
	}
	r.admitted += admitted
	return i, nil
}

// readLine reads the number in the line that begins at i, if it is one, and where the next line begins.
func readLine(b []byte, i int) (n, after int, ok bool) {
	negative := false
	for j := i + 1; j < len(b); j++ {
		switch c := b[j]; {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		case c == '-':
			negative = true
		case c == '\n':
			if negative {
				n = -n
			}
			return n, j + 1, true
		}
	}
	return 0, 0, false
}

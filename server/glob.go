package server

// Patterns as Redis has them: * any bytes, ? one byte, [abc] [a-c] [^abc] one of
// a class, \x the byte x itself. Only the last * is ever tried again, so the
// time is bounded by the product of the lengths, whatever the pattern.

// glob says whether a pattern matches the whole of a text.
func glob(pattern, text []byte) bool {
	p, t := 0, 0
	star, mark := -1, 0 // the last * and where the text after it begins
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, t
			p++
			continue
		}
		if n := globByte(pattern[p:], text[t]); n > 0 {
			p, t = p+n, t+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, t = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globByte returns how long the element at the start of a pattern is if it
// matches a byte, 0 if it does not.
func globByte(pattern []byte, c byte) int {
	switch {
	case len(pattern) == 0:
		return 0
	case pattern[0] == '?':
		return 1
	case pattern[0] == '[':
		return globClass(pattern, c)
	case pattern[0] == '\\' && len(pattern) > 1:
		if pattern[1] == c {
			return 2
		}
	case pattern[0] == c:
		return 1
	}
	return 0
}

// globClass is globByte for a class. One that is not closed ends with the pattern.
func globClass(pattern []byte, c byte) int {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	found := false
	for i < len(pattern) && pattern[i] != ']' {
		first, last := pattern[i], pattern[i]
		switch {
		case first == '\\' && i+1 < len(pattern):
			i++
			first, last = pattern[i], pattern[i]
		case i+2 < len(pattern) && pattern[i+1] == '-':
			last = pattern[i+2]
			i += 2
		}
		i++
		found = found || min(first, last) <= c && c <= max(first, last)
	}
	if found == not {
		return 0
	}
	return min(i+1, len(pattern))
}

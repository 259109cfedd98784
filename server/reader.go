package server

// The reader finds complete requests in what has arrived: arrays of bulk strings
// and, for people at a terminal, inline commands. It copies nothing: arguments
// are slices of the connection's buffer, good until that is read into again. A
// request that is not complete yet is taken up where it was left, so bytes that
// come one by one cost no more than bytes that come together.
//
// Nothing is allocated from a length that a peer announces, and every limit has
// a name. The texts of errors are Redis's, for clients that look at them.

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	// ArgsMax is how many arguments a request may have.
	ArgsMax = 1 << 16
	// RequestBytesMax is how long a request may be before it is complete.
	RequestBytesMax = 1 << 20
	// InlineBytesMax is how long an inline command may be.
	InlineBytesMax = 64 << 10
	// StrictArgsMax and StrictBulkBytesMax bound what a peer may send before it has
	// logged in: arguments of a request, and bytes of each and of an inline command.
	StrictArgsMax      = 10
	StrictBulkBytesMax = 16 << 10
	// headerBytesMax is how long a line with a length may be; 2^64 has 20 digits.
	headerBytesMax = 32
)

var (
	errMultibulk  = errors.New("Protocol error: invalid multibulk length")
	errBulk       = errors.New("Protocol error: invalid bulk length")
	errQuotes     = errors.New("Protocol error: unbalanced quotes in request")
	errInline     = errors.New("Protocol error: too big inline request")
	errStrict     = errors.New("Protocol error: unauthenticated multibulk length")
	errStrictBulk = errors.New("Protocol error: unauthenticated bulk length")
	errTLS        = errors.New("Protocol error: a TLS handshake, and no TLS is spoken here; see tls-listen")
	errRequest    = fmt.Errorf("Protocol error: too big request, at most %d bytes", RequestBytesMax)
)

// tlsHandshake is what TLS begins with. A handshake is half of it random, so it may have no
// line's end that would have it answered.
const tlsHandshake = 0x16

// span is where an argument is, counted from the start of its request.
type span struct{ from, to int }

// reader is the state of one request that has not been completed.
type reader struct {
	strict bool     // the peer has not logged in
	at     int      // bytes of the request that have been parsed
	left   int      // arguments still to come; 0: the first line has not been read
	spans  []span   // arguments found
	args   [][]byte // the same as slices, once complete
}

// argsKeptMax is how many arguments a reader keeps room for between requests.
const argsKeptMax = 1024

// forget gives back the room that a long request took. Its arguments must not be
// used any more.
func (r *reader) forget() {
	if r.at == 0 && cap(r.spans) > argsKeptMax {
		r.spans, r.args = nil, nil
	}
}

// next looks for a complete request at the start of buf. It returns the number
// of bytes that the request takes, 0 while it is not complete; args is empty for
// an empty request, which is to be ignored. After an error the connection cannot
// be understood any more.
func (r *reader) next(buf []byte) (n int, args [][]byte, err error) {
	if r.at == 0 {
		if len(buf) == 0 {
			return 0, nil, nil
		}
		if buf[0] != '*' {
			return r.inline(buf)
		}
		count, size, err := header(buf, errMultibulk)
		if size == 0 || err != nil {
			return 0, nil, err
		}
		if guarded && count > ArgsMax {
			return 0, nil, errMultibulk
		}
		if guarded && count > StrictArgsMax && r.strict {
			return 0, nil, errStrict
		}
		if count <= 0 {
			return size, nil, nil
		}
		r.at, r.left = size, count
		r.spans = r.spans[:0]
	}
	for r.left > 0 {
		if done, err := r.bulk(buf); !done || err != nil {
			return 0, nil, err
		}
	}
	n = r.at
	r.args = r.args[:0]
	for _, s := range r.spans {
		r.args = append(r.args, buf[s.from:s.to])
	}
	r.at = 0
	return n, r.args, nil
}

// bulk reads one bulk string; done is false while it is not complete.
func (r *reader) bulk(buf []byte) (done bool, err error) {
	rest := buf[r.at:]
	if len(rest) == 0 {
		return false, nil
	}
	if rest[0] != '$' {
		return false, fmt.Errorf("Protocol error: expected '$', got '%s'", printable(rest[0]))
	}
	length, size, err := header(rest, errBulk)
	if size == 0 || err != nil {
		return false, err
	}
	if length < 0 {
		return false, errBulk
	}
	if guarded && length > RequestBytesMax {
		return false, errBulk
	}
	if guarded && length > StrictBulkBytesMax && r.strict {
		return false, errStrictBulk
	}
	if guarded && r.at+size+length+2 > RequestBytesMax {
		return false, errRequest
	}
	if len(rest) < size+length+2 {
		return false, nil
	}
	if rest[size+length] != '\r' || rest[size+length+1] != '\n' {
		return false, errBulk
	}
	r.spans = append(r.spans, span{r.at + size, r.at + size + length})
	r.at += size + length + 2
	r.left--
	return true, nil
}

// header reads a line of a marker and a decimal number. size is its length with
// CRLF, 0 while it is not complete.
func header(buf []byte, bad error) (n, size int, err error) {
	i := 1
	negative := len(buf) > 1 && buf[1] == '-'
	if negative {
		i = 2
	}
	first := i
	for ; i < len(buf); i++ {
		c := buf[i]
		if c == '\r' && i > first {
			break
		}
		if c < '0' || c > '9' || i >= headerBytesMax {
			return 0, 0, bad
		}
		if n = n*10 + int(c-'0'); n > 1<<40 {
			return 0, 0, bad
		}
	}
	if i+1 >= len(buf) {
		return 0, 0, nil
	}
	if buf[i+1] != '\n' {
		return 0, 0, bad
	}
	if negative {
		n = -n
	}
	return n, i + 2, nil
}

// printable makes a byte fit for an error line.
func printable(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("\\x%02x", c)
	}
	return string(rune(c))
}

// inline reads a line of words, with quotes as redis-cli writes them.
func (r *reader) inline(buf []byte) (int, [][]byte, error) {
	if buf[0] == tlsHandshake {
		return 0, nil, errTLS
	}
	end, most := bytes.IndexByte(buf, '\n'), InlineBytesMax
	if r.strict {
		most = StrictBulkBytesMax
	}
	if guarded && (end < 0 && len(buf) > most || end > most) {
		return 0, nil, errInline
	}
	if end < 0 {
		return 0, nil, nil
	}
	line := bytes.TrimSuffix(buf[:end], []byte{'\r'})
	args, err := splitWords(line, r.args[:0])
	r.args = args
	return end + 1, args, err
}

// splitWords splits a line into words: "…" with backslash escapes and \xHH, '…'
// with \', anything else up to white space.
func splitWords(line []byte, words [][]byte) ([][]byte, error) {
	for {
		line = bytes.TrimLeft(line, " \t\r\v\f\x00")
		if len(line) == 0 {
			return words, nil
		}
		word, rest, err := word(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
}

func word(line []byte) (word, rest []byte, err error) {
	word = []byte{}
	for len(line) > 0 && !blank(line[0]) {
		quote := line[0]
		if quote != '"' && quote != '\'' {
			word, line = append(word, quote), line[1:]
			continue
		}
		line = line[1:]
		for len(line) > 0 && line[0] != quote {
			c, size := unescape(line, quote)
			word, line = append(word, c), line[size:]
		}
		if len(line) == 0 || len(line) > 1 && !blank(line[1]) {
			return nil, nil, errQuotes
		}
		line = line[1:]
	}
	return word, line, nil
}

func blank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f' || c == 0
}

// unescape reads one byte of a quoted word.
func unescape(s []byte, quote byte) (c byte, size int) {
	if s[0] != '\\' || len(s) < 2 {
		return s[0], 1
	}
	if quote == '\'' {
		if s[1] == '\'' {
			return '\'', 2
		}
		return s[0], 1
	}
	if s[1] == 'x' && len(s) >= 4 {
		if hi, lo := unhex(s[2]), unhex(s[3]); hi >= 0 && lo >= 0 {
			return byte(hi<<4 | lo), 4
		}
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'a':
		return '\a', 2
	}
	return s[1], 2
}

func unhex(c byte) int {
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

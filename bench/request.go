package bench

// A request is made once as bytes with gaps for the keys; the generator fills the gaps. {key} in a word stands for the next
// key, {same} for the key before it once more: RL.ALLOW {key} token_bucket 100 1s, RL.ALLOWALL {{key}}:minute … {{same}}:day ….

import (
	"bytes"
	"fmt"
	"strings"
)

// Counting says which integers of a reply tell that a call passed.
type Counting int

// The ways to count.
const (
	CountNothing Counting = iota
	CountFirst            // the reply's first element
	CountEach             // the first element of each array in it
)

// Request is a request with gaps for keys.
type Request struct {
	Words  []string
	Counts Counting
	Calls  int // decisions that one request asks for

	bytes []byte
	gaps  []gap
}

type gap struct {
	at   int
	same bool // the key of the gap before
}

// NewRequest returns the request of some words, which must not be empty.
func NewRequest(counts Counting, calls int, words ...string) *Request {
	r := &Request{Words: words, Counts: counts, Calls: calls}
	r.bytes = fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		filled := strings.NewReplacer("{key}", strings.Repeat("k", keyDigits), "{same}", strings.Repeat("s", keyDigits)).Replace(word)
		r.bytes = fmt.Appendf(r.bytes, "$%d\r\n", len(filled))
		start := len(r.bytes)
		r.bytes = append(r.bytes, filled+"\r\n"...)
		r.find(start, word)
	}
	return r
}

// requestOf returns the request of a line of words.
func requestOf(counts Counting, calls int, line string) *Request {
	return NewRequest(counts, calls, strings.Fields(line)...)
}

// find notes where the gaps of a word are.
func (r *Request) find(at int, word string) {
	for {
		key, same := strings.Index(word, "{key}"), strings.Index(word, "{same}")
		if key < 0 && same < 0 {
			return
		}
		g := gap{same: key < 0 || same >= 0 && same < key}
		skip, length := key, len("{key}")
		if g.same {
			skip, length = same, len("{same}")
		}
		at += skip
		g.at = at
		r.gaps = append(r.gaps, g)
		at += keyDigits
		word = word[skip+length:]
	}
}

// batch is a number of requests one behind the other, filled again and again.
type batch struct {
	request *Request
	bytes   []byte
}

func (r *Request) batch(n int) *batch { return &batch{r, bytes.Repeat(r.bytes, n)} }

// fill puts new keys into the first n requests and returns their bytes.
func (b *batch) fill(n int, next func() uint64) []byte {
	size := len(b.request.bytes)
	var key uint64
	for at := 0; at < n*size; at += size {
		for _, g := range b.request.gaps {
			if !g.same {
				key = next()
			}
			digits(b.bytes[at+g.at:at+g.at+keyDigits], key)
		}
	}
	return b.bytes[:n*size]
}

const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839" +
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879" +
	"8081828384858687888990919293949596979899"

// digits writes a number with leading zeros.
func digits(to []byte, n uint64) {
	i := len(to)
	for ; i > 1 && n > 0; i -= 2 {
		q := n / 100
		p := 2 * (n - 100*q)
		to[i-1], to[i-2] = pairs[p+1], pairs[p]
		n = q
	}
	for ; i > 0; i-- {
		to[i-1] = byte('0' + n%10)
		n /= 10
	}
}

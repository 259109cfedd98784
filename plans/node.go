package plans

// A text as a tree. It knows what was written, where, and whether it was quoted,
// and leaves to the reader what it means: YAML's own guesses (is 1_000 a number?
// is 25.00 a float?) never take part, every value is read from its characters.

import (
	"fmt"

	"sluice/algorithms"
)

// shape is what a node is.
type shape uint8

const (
	empty   shape = iota // null, ~ or nothing
	scalar               // a word, number or string
	list                 // [a, b]
	mapping              // {name: value}
)

// node is a value of a text.
type node struct {
	shape shape
	text  string // of a scalar, its quotes off
	at    place
	items []*node // of a list
	pairs []pair  // of a mapping, in the order of the text
}

// pair is a field of a mapping.
type pair struct {
	name  string
	at    place // of the name
	value *node
}

// described says what stands there, for an error.
func (n *node) described() string {
	switch n.shape {
	case empty:
		return "nothing"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	}
	return "'" + show(n.text) + "'"
}

// show makes a text fit for an error.
func show(text string) string { return algorithms.Show([]byte(text)) }

// syntaxError is an error of the text's form, without a field.
func (s *source) syntaxError(at place, format string, args ...any) *Error {
	return s.errorAt(at, "", fmt.Sprintf(format, args...))
}

package plans

// Errors of texts. Whoever wrote the text wants to see the place: the field's
// path, line and column, the line itself with a caret under it, and what would be
// right. Commands show one line, `sluice check` shows Detail, the control plane
// takes the parts.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error says what is wrong in a text and where.
type Error struct {
	File    string // the file's name; "" for the text of a command or a request
	Field   string // path of what is wrong, as plans.pro.limits.rpm.window; "" for the text as a whole
	Line    int    // from 1; 0 where there is no place
	Column  int    // in characters, from 1
	Message string // what is wrong and what would be right, on one line
	Snippet string // the line with a caret under the column, two lines; "" where there is no place
}

// Error is the error on one line.
func (e *Error) Error() string {
	text := e.Message
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	switch {
	case e.Line == 0 && e.File != "":
		return e.File + ": " + text
	case e.Line == 0:
		return text
	case e.File != "":
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, text)
	}
	return fmt.Sprintf("%s (line %d, column %d)", text, e.Line, e.Column)
}

// Detail is the error with the line that it is about.
func (e *Error) Detail() string {
	if e.Snippet == "" {
		return e.Error()
	}
	return e.Error() + "\n" + e.Snippet
}

// source is a text that was read and what errors call it. Plans and rules keep
// theirs, so that what shows only in the company of others can be shown in place.
type source struct {
	file string
	text string
}

// A place is a position in a source, as the scanner has it: line and column from 1,
// the latter in characters, and the number of the character in the text. Of the
// last two neither is always right: the column forgets a tab that begins a line, the
// number forgets comments. So the place says which character it means, and find
// takes the one of the two where that stands. The zero place is nowhere.
type place struct {
	line, column, offset int32
	first                byte // what stands there; 0: not known
}

// before says whether a place comes before another.
func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// errorAt makes the error for a place in the source; a nil source has no places.
func (s *source) errorAt(at place, field, message string) *Error {
	if s == nil {
		return &Error{Field: field, Message: message}
	}
	e := &Error{File: s.file, Field: field, Message: message}
	if at.line < 1 {
		return e
	}
	column, text := s.find(at)
	e.Line, e.Column = int(at.line), column
	e.Snippet = snippet(e.Line, column, text)
	return e
}

// find returns the column of a place and the line it is in.
func (s *source) find(at place) (column int, line string) {
	rest, before := s.text, 0 // characters before the line
	for n := int32(1); n < at.line; n++ {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		before += utf8.RuneCountInString(rest[:i+1])
		rest = rest[i+1:]
	}
	line, _, _ = strings.Cut(rest, "\n")
	characters := []rune(line)
	stands := func(column int) bool {
		return column >= 1 && column <= len(characters) && characters[column-1] == rune(at.first)
	}
	column = int(at.column)
	byOffset := int(at.offset) - before
	if at.first != 0 && stands(byOffset) && (!stands(column) || strings.Contains(line, "\t")) {
		column = byOffset
	}
	return column, string(characters)
}

// Long lines, such as JSON on a single one, are cut around the column.
const (
	snippetMax       = 110 // characters of a line that is shown whole
	snippetBeforeMax = 60  // of a longer one, before the column
	snippetAfterMax  = 40
)

func snippet(line, column int, text string) string {
	shown := make([]rune, 0, utf8.RuneCountInString(text))
	for _, c := range text {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		shown = append(shown, c)
	}
	at := min(max(column-1, 0), len(shown))
	before, after := shown[:at], shown[at:]
	long := len(shown) > snippetMax
	if long && len(before) > snippetBeforeMax {
		before = append([]rune("..."), before[len(before)-snippetBeforeMax:]...)
	}
	if long && len(after) > snippetAfterMax {
		after = append(append([]rune(nil), after[:snippetAfterMax]...), []rune("...")...)
	}
	margin := fmt.Sprintf("%5d | ", line)
	return margin + string(before) + string(after) + "\n" +
		strings.Repeat(" ", len(margin)-2) + "| " + strings.Repeat(" ", len(before)) + "^"
}

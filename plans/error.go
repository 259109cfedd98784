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

// A place is a position in a source: the number of a character, from 1 as the
// scanner counts them; 0 is nowhere.
type place int

// errorAt makes the error for a place in the source; a nil source has no places.
func (s *source) errorAt(at place, field, message string) *Error {
	if s == nil {
		return &Error{Field: field, Message: message}
	}
	e := &Error{File: s.file, Field: field, Message: message}
	if at < 1 {
		return e
	}
	line, column, text := s.find(at)
	e.Line, e.Column = line, column
	e.Snippet = snippet(line, column, text)
	return e
}

// find returns line and column of a place, and the line. A place behind the end
// is the end.
func (s *source) find(at place) (line, column int, text string) {
	line, column = 1, 1
	start, end := 0, len(s.text)
	n := place(1)
	for i, c := range s.text {
		if n >= at {
			break
		}
		n++
		column++
		if c == '\n' {
			line, column, start = line+1, 1, i+1
		}
	}
	if i := strings.IndexByte(s.text[start:], '\n'); i >= 0 {
		end = start + i
	}
	return line, column, strings.TrimSuffix(s.text[start:end], "\r")
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
	at := min(column-1, len(shown))
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

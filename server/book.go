package server

// The book of plans and rules that holds at this moment, and how it changes: by
// commands, whose plans and rules are kept as notes beside the keys, and by a
// configuration file. A change is checked whole, is durable before anything is
// decided by it, and takes effect whole, with the next decision: whoever decides
// loads one pointer.

import (
	"errors"
	"fmt"
	"strings"

	"sluice/algorithms"
	"sluice/plans"
)

// The names of the notes that hold what commands have set begin so.
const (
	notePlan = "plan/"
	noteRule = "rule/"
)

// Book is what plans and rules there are. It does not change: a later call may
// return another one.
func (s *Server) Book() *plans.Book { return s.book.Load() }

// swap makes a book the one that holds. The serial number changes after it, so who
// sees the old number may still use what is of the old book, and who has read the
// number first never takes what is of it for new.
func (s *Server) swap(b *plans.Book) {
	s.book.Store(b)
	s.series.forget()
	s.bookSerial.Add(1)
}

// newBook is an empty book.
func newBook() *plans.Book {
	b, err := plans.NewBook(nil, plans.Set{})
	if err != nil {
		panic(err)
	}
	return b
}

// Parser reads plans and rules as this server takes them.
func (s *Server) Parser() plans.Parser { return plans.Parser{LogLimitMax: s.logLimitMax} }

// SetFile puts a configuration file's plans, rules and addresses in the place of those
// of the file before, and says what that changed. What commands have set stays in
// front of them. After an error, a *plans.Error, nothing is changed.
func (s *Server) SetFile(f *plans.File) (changes []plans.Change, err error) {
	s.bookMu.Lock()
	defer s.bookMu.Unlock()
	older := s.Book()
	newer, err := older.WithFile(f)
	if err != nil {
		return nil, err
	}
	s.swap(newer)
	return newer.Changes(older), nil
}

// RestoreBook makes the plans and rules that commands have set out of the notes that
// were loaded. Limits that this server would not take any more are taken.
func (s *Server) RestoreBook() error {
	s.bookMu.Lock()
	defer s.bookMu.Unlock()
	parser := plans.Parser{LogLimitMax: algorithms.UnitsMax}
	set := plans.Set{Plans: make(map[string]*plans.Plan), Rules: make(map[string]*plans.Rule)}
	for note, text := range s.shards.Notes() {
		var err error
		if name, ok := strings.CutPrefix(note, notePlan); ok {
			set.Plans[name], err = parser.ParsePlan(name, text)
		} else if name, ok := strings.CutPrefix(note, noteRule); ok {
			set.Rules[name], err = parser.ParseRule(name, text)
		}
		if err != nil {
			return fmt.Errorf("what is on disk of %s: %w", note, err)
		}
	}
	book, err := plans.NewBook(s.Book().File(), set)
	if err != nil {
		return fmt.Errorf("the plans and rules on disk: %w", err)
	}
	s.swap(book)
	return nil
}

// NotKeptError says that a change could not be made durable, so it was not made.
type NotKeptError struct{ Cause error }

func (e *NotKeptError) Error() string { return e.Cause.Error() }

// Unwrap returns the journal's error.
func (e *NotKeptError) Unwrap() error { return e.Cause }

// SetPlan sets a plan, in JSON or YAML, as RL.PLAN SET does. The error is a
// *plans.Error or a *NotKeptError; then nothing is changed.
func (s *Server) SetPlan(name string, text []byte) error {
	p, err := s.Parser().ParsePlan(name, text)
	if err != nil {
		return err
	}
	return s.change(notePlan+name, p.AppendJSON(nil), func(b *plans.Book) (*plans.Book, error) { return b.WithPlan(p) })
}

// DeletePlan takes a plan back that a command has set. The error is a *plans.Error or
// a *NotKeptError; then nothing is changed.
func (s *Server) DeletePlan(name string) error {
	return s.change(notePlan+name, nil, func(b *plans.Book) (*plans.Book, error) { return b.WithoutPlan([]byte(name)) })
}

// SetRule and DeleteRule are SetPlan and DeletePlan for rules.
func (s *Server) SetRule(name string, text []byte) error {
	r, err := s.Parser().ParseRule(name, text)
	if err != nil {
		return err
	}
	return s.change(noteRule+name, r.AppendJSON(nil), func(b *plans.Book) (*plans.Book, error) { return b.WithRule(r) })
}

// DeleteRule takes a rule back that a command has set.
func (s *Server) DeleteRule(name string) error {
	return s.change(noteRule+name, nil, func(b *plans.Book) (*plans.Book, error) { return b.WithoutRule([]byte(name)) })
}

// change makes the next book, has the note of what differs made durable, and swaps.
func (s *Server) change(note string, form []byte, next func(*plans.Book) (*plans.Book, error)) error {
	if len(form) > plans.TextBytesMax {
		return &plans.Error{Message: fmt.Sprintf("written out it has %d bytes, and may have at most %d", len(form), plans.TextBytesMax)}
	}
	s.bookMu.Lock()
	defer s.bookMu.Unlock()
	book, err := next(s.Book())
	if err != nil {
		return err
	}
	if err := s.shards.Note(note, form); err != nil {
		return &NotKeptError{err}
	}
	s.swap(book)
	return nil
}

// errBook is the reply for a change that was not made.
func errBook(what string, name []byte, err error) error {
	var notKept *NotKeptError
	if errors.As(err, &notKept) {
		return errUnsaved(notKept.Cause)
	}
	var e *plans.Error
	if errors.As(err, &e) && e.Field == "" && e.Line == 0 {
		return fmt.Errorf("ERR %w", err)
	}
	return fmt.Errorf("ERR %s '%s': %w", what, show(name), err)
}

// planOf finds the plan that a word names.
func planOf(b *plans.Book, word []byte) (*plans.Plan, error) {
	if p := b.Plan(word[1:]); p != nil {
		return p, nil
	}
	return nil, noPlan(word[1:])
}

func noPlan(name []byte) error { return fmt.Errorf("NOPLAN no such plan '%s'", show(name)) }

func noRule(name []byte) error { return fmt.Errorf("NORULE no such rule '%s'", show(name)) }

package server

// CLIENT LIST, INFO and KILL: connections as others see them. What is told of another
// session is what that has published; nothing waits for it.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
)

// describe is a session on one line, as CLIENT LIST has it.
func (s *session) describe() string {
	about, w, now := s.about.Load(), &s.watched, s.server.seconds.Load()
	command := "NULL"
	if n := w.last.Load(); n > 0 {
		command = commandsByNumber[n-1].lower
	}
	waiting := int64(0)
	if w.writing.Load() > 0 {
		waiting = w.waiting.Load()
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 omem=%d cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s",
		s.id, s.peer(), addressText(s.conn.LocalAddr()), about.name, now-w.opened, now-w.heard.Load(), waiting, command, s.userName(), about.proto, about.lib, about.version)
}

// userName is the name of the user that the session is logged in as.
func (s *session) userName() string {
	if a := s.account.Load(); a != nil {
		if u := a.User(); u != nil {
			return u.Name
		}
	}
	return "(none)"
}

// all lists the sessions in the order of their numbers.
func (s *Server) all() []*session {
	s.mu.Lock()
	list := make([]*session, 0, len(s.sessions))
	for c := range s.sessions {
		list = append(list, c)
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return list
}

func runClientInfo(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.watched.last.Store(int32(s.last.number + 1))
	return appendText(out, s.proto, s.describe()+"\n"), nil
}

func runClientList(s *session, out []byte, args [][]byte) ([]byte, error) {
	wanted := func(*session) bool { return true }
	if len(args) > 2 {
		var err error
		if wanted, err = listed(args[2:]); err != nil {
			return out, err
		}
	}
	s.watched.last.Store(int32(s.last.number + 1))
	var b strings.Builder
	for _, c := range s.server.all() {
		if wanted(c) {
			b.WriteString(c.describe())
			b.WriteByte('\n')
		}
	}
	return appendText(out, s.proto, b.String()), nil
}

// listed reads TYPE t or ID id [id ...].
func listed(rest [][]byte) (func(*session) bool, error) {
	switch word := strings.ToUpper(string(rest[0])); {
	case word == "TYPE" && len(rest) == 2:
		normal, err := isNormal(rest[1])
		return func(*session) bool { return normal }, err
	case word == "ID" && len(rest) > 1:
		var ids []int64
		for _, text := range rest[1:] {
			id, err := algorithms.ParseWhole("id", text, 1, math.MaxInt64)
			if err != nil {
				return nil, errors.New("ERR Invalid client ID")
			}
			ids = append(ids, int64(id))
		}
		return func(c *session) bool { return slices.Contains(ids, c.id) }, nil
	}
	return nil, errors.New("ERR syntax error, it must be TYPE type or ID id [id ...]")
}

// isNormal reads a type of clients. There are only normal ones.
func isNormal(word []byte) (bool, error) {
	switch strings.ToLower(string(word)) {
	case "normal":
		return true, nil
	case "master", "replica", "slave", "pubsub":
		return false, nil
	}
	return false, fmt.Errorf("ERR Unknown client type '%s'", show(word))
}

func runClientKill(s *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) == 3 {
		if s.end(func(c *session) bool { return c.peer() == string(args[2]) }) == 0 {
			return out, errors.New("ERR No such client")
		}
		return redcon.AppendOK(out), nil
	}
	f := killFilter{sparesSelf: true}
	for rest := args[2:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) < 2 {
			return out, errors.New("ERR syntax error, a filter of CLIENT KILL wants a value after it")
		}
		if err := f.read(s, strings.ToUpper(string(rest[0])), rest[1]); err != nil {
			return out, err
		}
	}
	return redcon.AppendInt(out, int64(s.end(func(c *session) bool { return f.means(c, s) }))), nil
}

// end ends sessions and returns how many. Its own ends after the reply.
func (s *session) end(meant func(*session) bool) int {
	n := 0
	if meant(s) {
		s.closing = true
		n = 1
	}
	return n + s.server.kill(func(c *session) bool { return c != s && meant(c) })
}

// killFilter is what CLIENT KILL was told.
type killFilter struct {
	tests      []func(*session) bool
	sparesSelf bool
}

func (f *killFilter) means(c, self *session) bool {
	if c == self && f.sparesSelf {
		return false
	}
	for _, test := range f.tests {
		if !test(c) {
			return false
		}
	}
	return true
}

func (f *killFilter) read(s *session, word string, value []byte) error {
	text := string(value)
	test := func(*session) bool { return true }
	switch word {
	case "ID":
		id, err := algorithms.ParseWhole("client-id", value, 1, math.MaxInt64)
		if err != nil {
			return errors.New("ERR client-id should be greater than 0")
		}
		test = func(c *session) bool { return c.id == int64(id) }
	case "ADDR":
		test = func(c *session) bool { return c.peer() == text }
	case "LADDR":
		test = func(c *session) bool { return addressText(c.conn.LocalAddr()) == text }
	case "TYPE":
		normal, err := isNormal(value)
		if err != nil {
			return err
		}
		test = func(*session) bool { return normal }
	case "USER":
		if s.server.users.Account(text) == nil {
			return fmt.Errorf("ERR No such user '%s'", show(value))
		}
		test = func(c *session) bool { return c.userName() == text }
	case "MAXAGE":
		age, err := algorithms.ParseWhole("maxage", value, 1, math.MaxInt32)
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		test = func(c *session) bool { return c.server.seconds.Load()-c.watched.opened >= int64(age) }
	case "SKIPME":
		f.sparesSelf = strings.EqualFold(text, "yes")
		if !f.sparesSelf && !strings.EqualFold(text, "no") {
			return errors.New("ERR SKIPME must be yes or no")
		}
	default:
		return fmt.Errorf("ERR unknown filter '%s' of CLIENT KILL: it must be ID, ADDR, LADDR, TYPE, USER, MAXAGE or SKIPME", show([]byte(word)))
	}
	f.tests = append(f.tests, test)
	return nil
}

// runClientToggle is CLIENT NO-EVICT and NO-TOUCH, which change nothing here.
func runClientToggle(_ *session, out []byte, args [][]byte) ([]byte, error) {
	if word := strings.ToLower(string(args[2])); word != "on" && word != "off" {
		return out, fmt.Errorf("ERR it must be on or off, got '%s'", show(args[2]))
	}
	return redcon.AppendOK(out), nil
}

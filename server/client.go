package server

// CLIENT LIST, INFO and KILL: connections as others see them. What is told of another
// session is what that has published; nothing waits for it.

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
)

// memory is what a session holds, in bytes.
type memory struct {
	read, rest     int64 // the buffer that is read into, and what in it is not answered
	reply, replied int64 // the buffer of replies, and what is in it
}

// describe is a session on one line, as CLIENT LIST has it, by the session itself or by
// another, to which a buffer of replies is only known by what waits. Requests are
// not taken out of what was read, so argv-mem is 0, and replies are not a list, so oll is 0.
func (s *session) describe(byItself bool) string {
	about, w, now := s.about.Load(), &s.watched, s.server.seconds.Load()
	command := "NULL"
	if n := w.last.Load(); n > 0 {
		command = commandsByNumber[n-1].lower
	}
	waiting, events := int64(0), "r"
	if w.writing.Load() > 0 {
		waiting, events = w.waiting.Load(), "w" // nothing is read meanwhile
	}
	held, special := memory{read: w.held.Load(), rest: w.rest.Load()}, w.modes.Load()
	if byItself {
		if s.last != nil {
			command = s.last.lower
		}
		held = memory{int64(len(s.in)), int64(s.to - s.from), int64(cap(s.out)), int64(len(s.out))}
		special = s.modes.told()
	}
	if special == nil {
		special = (*modes)(nil).told()
	}
	total := sessionBytes + held.read + held.reply + int64(special.bytes) + waiting
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=0 psub=0 ssub=0 multi=%d"+
		" qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=%d rbp=%d obl=%d oll=0 omem=%d tot-mem=%d events=%s"+
		" cmd=%s user=%s redir=%d resp=%d lib-name=%s lib-ver=%s",
		s.id, s.peer(), addressText(s.conn.LocalAddr()), descriptorOf(s.conn), about.name, now-w.opened, now-w.heard.Load(), s.flagLetters(about, special), about.database, special.commands,
		held.rest, max(held.read-held.rest, 0), special.bytes, held.reply, held.replied, waiting, waiting, total, events,
		command, s.userName(), special.redirect, about.proto, about.lib, about.version)
}

// sessionBytes is what a session takes without its buffers and its goroutine's stack.
var sessionBytes = int64(reflect.TypeFor[session]().Size())

// flagLetters are Redis's letters for what is special about a connection, N for nothing.
func (s *session) flagLetters(about *client, special *toldModes) string {
	letters := special.letters
	if _, ok := s.conn.LocalAddr().(*net.UnixAddr); ok {
		letters += "U"
	}
	if about.noEvict {
		letters += "e"
	}
	if about.noTouch {
		letters += "T"
	}
	return cmp.Or(letters, "N")
}

// descriptorOf is the number of a connection's file descriptor, -1 where it has none.
func descriptorOf(conn net.Conn) int {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	number := -1
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { number = int(fd) })
		}
	}
	return number
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
	return appendText(out, s.proto, s.describe(true)+"\n"), nil
}

func runClientList(s *session, out []byte, args [][]byte) ([]byte, error) {
	wanted := func(*session) bool { return true }
	if len(args) > 2 {
		var err error
		if wanted, err = listed(args[2:]); err != nil {
			return out, err
		}
	}
	var b strings.Builder
	for _, c := range s.server.all() {
		if wanted(c) {
			b.WriteString(c.describe(c == s))
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

// runClientToggle is CLIENT NO-EVICT and NO-TOUCH, which change nothing here but the flags in CLIENT LIST.
func runClientToggle(s *session, out []byte, args [][]byte) ([]byte, error) {
	word := strings.ToLower(string(args[2]))
	if word != "on" && word != "off" {
		return out, fmt.Errorf("ERR it must be on or off, got '%s'", show(args[2]))
	}
	s.say(func(c *client) {
		if s.last.Name == "CLIENT NO-EVICT" {
			c.noEvict = word == "on"
		} else {
			c.noTouch = word == "on"
		}
	})
	return redcon.AppendOK(out), nil
}

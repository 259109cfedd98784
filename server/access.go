package server

// Who may do what: logging in, and the check of a command and its keys against the
// rules of the user. internal/access has the users; acl.go the commands about them.

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/internal/access"
	"sluice/internal/settings"
)

const (
	errWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
	errNoAuth     = "NOAUTH Authentication required."
	errHelloFirst = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
)

// commandsByNumber is every row, subcommands among them.
var commandsByNumber []*Command

// catalog is the command table as rules speak of it.
var catalog *access.Catalog

// newCatalog numbers all rows and makes the catalog of them.
func newCatalog() *access.Catalog {
	var commands []access.Command
	each(func(c *Command) {
		c.number = len(commands)
		commandsByNumber = append(commandsByNumber, c)
		categories := c.categories()
		for i, name := range categories {
			categories[i] = strings.TrimPrefix(name, "@")
		}
		commands = append(commands, access.Command{Name: c.lower, Categories: categories})
	})
	return access.NewCatalog(commands)
}

// NewUsers returns the users of a server at first: default, who may do everything
// without a password.
func NewUsers() *access.Users { return access.NewUsers(catalog) }

// watchPassword gives the default user the password that CONFIG SET or a reload says.
func (s *Server) watchPassword() {
	password := s.config().RequirePass
	s.settings.Watch(func(c *settings.Config) {
		if c.RequirePass == password {
			return
		}
		password = c.RequirePass
		if err := s.users.SetPassword(password); err != nil {
			s.log.Error("the password of the user default was not changed", "error", err)
		}
	})
}

// refusal is why a user may not have a command done.
type refusal struct {
	user, reason, object string // reason: command or key
}

func (r *refusal) Error() string {
	if r.reason == "key" {
		return fmt.Sprintf("User %s has no permissions to access the '%s' key", r.user, show([]byte(r.object)))
	}
	return fmt.Sprintf("User %s has no permissions to run the '%s' command", r.user, r.object)
}

// refused says why a user may not have a request done, nil if it may.
func refused(u *access.User, c *Command, args [][]byte) *refusal {
	if !u.Runs(c.number) {
		return &refusal{u.Name, "command", c.lower}
	}
	for _, key := range c.keysIn(args) {
		if !u.Touches(key, c.need(), glob) {
			return &refusal{u.Name, "key", string(key)}
		}
	}
	return nil
}

// need is what a command does with its keys.
func (c *Command) need() access.Need {
	if c.Flags&FlagWrite != 0 {
		return access.Read | access.Write
	}
	return access.Read
}

// permits returns the error that a request gets from a peer that may not have it done.
func (s *session) permits(c *Command, args [][]byte) error {
	if c.Flags&FlagNoAuth != 0 {
		return nil
	}
	if s.user == nil {
		return errors.New(errNoAuth)
	}
	if s.user.Free {
		return nil
	}
	if r := refused(s.user, c, args); r != nil {
		s.server.denials.add(r, s)
		return fmt.Errorf("NOPERM %w", r)
	}
	return nil
}

// permitsKey is permits for a key that stands in no argument, such as that of a
// reservation.
func (s *session) permitsKey(key []byte, need access.Need) error {
	if s.user == nil || s.user.Free || s.user.Touches(key, need, glob) {
		return nil
	}
	r := &refusal{s.user.Name, "key", string(key)}
	s.server.denials.add(r, s)
	return fmt.Errorf("NOPERM %w", r)
}

// login makes the session that of a user, if the password is right. If it is not, the
// answer waits.
func (s *session) login(name, password []byte) error {
	if a := s.server.users.Login(string(name), password); a != nil {
		s.account.Store(a)
		return nil
	}
	known := "unknown" // a name nobody has may be a password at the wrong place
	if s.server.users.Account(string(name)) != nil {
		known = string(name)
	}
	s.server.denials.add(&refusal{known, "auth", "AUTH"}, s)
	failures, delay := s.server.guesses.add(s.host(), s.server.clock.Now())
	if failures <= loggedGuessesMax || failures%loggedGuessesMax == 0 {
		s.server.log.Warn("a login failed", "peer", s.peer(), "user", known, "failures", failures, "delay", delay)
	}
	s.server.stats.loginsFailed.Add(1)
	s.server.wait(delay)
	return errors.New(errWrongPass)
}

// isHTTP says whether the first word of a request is what a browser sends, which
// somebody may have made do it.
func isHTTP(word []byte) bool {
	return strings.EqualFold(string(word), "POST") || strings.EqualFold(string(word), "Host:")
}

// refuseHTTP ends a connection that speaks HTTP, before anything in the rest of the
// request is taken for a command.
func (s *session) refuseHTTP() bool {
	s.server.log.Warn("a connection was closed that sent POST or Host:, as a web page might to have commands done in your name", slog.String("peer", s.peer()))
	s.fail("ERR this is not an HTTP server; the connection is closed")
	s.closing = true
	return true
}

// runWhoAmI is ACL WHOAMI.
func runWhoAmI(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendBulkString(out, s.user.Name), nil
}

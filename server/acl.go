package server

// The ACL commands: users, and the log of what was refused to them.

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/internal/access"
)

const (
	// DenialsMax is how many refusals ACL LOG remembers, the newest.
	DenialsMax = 128
	// PasswordBitsMax is how long a password ACL GENPASS makes at most.
	PasswordBitsMax     = 4096
	passwordBitsDefault = 256
	// denialTogetherNanos is how long like refusals count as one entry.
	denialTogetherNanos = 60 * nanosPerSecond
)

// errUsersFile is what ACL LOAD and ACL SAVE get where there is no file.
var errUsersFile = errors.New("ERR no file of users is configured; start the server with --acl-file PATH")

// denial is an entry of ACL LOG.
type denial struct {
	refusal
	id, count   uint64
	first, last uint64 // when, in ns since 1970
	description string // of the connection
}

// denials are the entries of ACL LOG, the newest first.
type denials struct {
	mu     sync.Mutex
	list   []*denial
	nextID uint64
}

// add notes a refusal. Like ones that follow soon are counted in one entry.
func (d *denials) add(r *refusal, s *session) {
	now := s.server.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.list, func(old *denial) bool {
		return old.refusal == *r && now < old.last+denialTogetherNanos
	})
	entry := &denial{refusal: *r, id: d.nextID, first: now}
	if i >= 0 {
		entry = d.list[i]
		d.list = slices.Delete(d.list, i, i+1)
	} else {
		d.nextID++
	}
	entry.count++
	entry.last, entry.description = now, s.describe(true)
	d.list = slices.Insert(d.list, 0, entry)
	d.list = d.list[:min(len(d.list), DenialsMax)]
}

func runACLLog(s *session, out []byte, args [][]byte) ([]byte, error) {
	d := &s.server.denials
	n := uint64(10)
	if len(args) > 2 {
		if strings.EqualFold(string(args[2]), "RESET") {
			d.mu.Lock()
			d.list = nil
			d.mu.Unlock()
			return redcon.AppendOK(out), nil
		}
		var err error
		if n, err = algorithms.ParseWhole("count", args[2], 0, DenialsMax); err != nil {
			return out, fmt.Errorf("ERR %w, or RESET", err)
		}
	}
	now := s.server.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list[:min(int(n), len(d.list))]
	out = redcon.AppendArray(out, len(list))
	for _, e := range list {
		out = appendMap(out, s.proto, 10)
		out = appendPair(out, "count", int64(e.count))
		out = appendField(out, "reason", e.reason)
		out = appendField(out, "context", "toplevel")
		out = appendField(out, "object", e.object)
		out = appendField(out, "username", e.user)
		age := (max(now, e.first) - e.first) / nanosPerMilli
		out = appendDouble(redcon.AppendBulkString(out, "age-seconds"), s.proto, fmt.Sprintf("%d.%03d", age/1000, age%1000))
		out = appendField(out, "client-info", e.description)
		out = appendPair(out, "entry-id", int64(e.id))
		out = appendPair(out, "timestamp-created", int64(e.first/nanosPerMilli))
		out = appendPair(out, "timestamp-last-updated", int64(e.last/nanosPerMilli))
	}
	return out, nil
}

// words turns arguments into strings.
func words(args [][]byte) []string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = string(a)
	}
	return list
}

func runACLSetUser(s *session, out []byte, args [][]byte) ([]byte, error) {
	if err := access.CheckName(args[2]); err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	if err := s.server.users.Set(string(args[2]), words(args[3:])); err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	return redcon.AppendOK(out), nil
}

func runACLDelUser(s *session, out []byte, args [][]byte) ([]byte, error) {
	n, err := s.server.users.Delete(words(args[2:]))
	if err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	s.endOrphans()
	return redcon.AppendInt(out, int64(n)), nil
}

// endOrphans ends the sessions whose users have been deleted; this one after its reply.
func (s *session) endOrphans() {
	orphan := func(c *session) bool {
		a := c.account.Load()
		return a != nil && a.User() == nil
	}
	s.closing = s.closing || orphan(s)
	s.server.kill(func(c *session) bool { return c != s && orphan(c) })
}

func runACLGetUser(s *session, out []byte, args [][]byte) ([]byte, error) {
	a := s.server.users.Account(string(args[2]))
	if a == nil {
		return appendNil(out, s.proto), nil
	}
	u := a.User()
	out = appendMap(out, s.proto, 6)
	out = appendBulks(redcon.AppendBulkString(out, "flags"), s.proto, u.Flags())
	out = appendStrings(redcon.AppendBulkString(out, "passwords"), u.Passwords())
	out = appendField(out, "commands", u.Commands())
	out = appendField(out, "keys", u.Keys())
	out = appendField(out, "channels", u.Channels())
	return redcon.AppendArray(redcon.AppendBulkString(out, "selectors"), 0), nil
}

func runACLList(s *session, out []byte, _ [][]byte) ([]byte, error) {
	var lines []string
	for _, u := range s.server.users.All() {
		lines = append(lines, u.String())
	}
	return appendStrings(out, lines), nil
}

func runACLUsers(s *session, out []byte, _ [][]byte) ([]byte, error) {
	var names []string
	for _, u := range s.server.users.All() {
		names = append(names, u.Name)
	}
	return appendStrings(out, names), nil
}

func runACLCat(s *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) == 2 {
		return appendStrings(out, catalog.Categories()), nil
	}
	names, ok := catalog.In(strings.ToLower(string(args[2])))
	if !ok {
		return out, fmt.Errorf("ERR Unknown category '%s'", show(args[2]))
	}
	return appendStrings(out, names), nil
}

func runACLDryRun(s *session, out []byte, args [][]byte) ([]byte, error) {
	a := s.server.users.Account(string(args[2]))
	if a == nil {
		return out, fmt.Errorf("ERR User '%s' not found", show(args[2]))
	}
	c, err := lookup(args[3:])
	if c == nil {
		return out, fmt.Errorf("ERR Command '%s' not found", show(args[3]))
	}
	if err != nil {
		return out, err
	}
	if c.Flags&FlagNoAuth == 0 {
		if r := refused(a.User(), c, args[3:]); r != nil {
			return redcon.AppendBulkString(out, r.Error()), nil
		}
	}
	return redcon.AppendOK(out), nil
}

func runACLGenPass(_ *session, out []byte, args [][]byte) ([]byte, error) {
	bits := uint64(passwordBitsDefault)
	if len(args) > 2 {
		var err error
		if bits, err = algorithms.ParseWhole("bits", args[2], 1, PasswordBitsMax); err != nil {
			return out, fmt.Errorf("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to %d", PasswordBitsMax)
		}
	}
	digits := (bits + 3) / 4
	random := make([]byte, (digits+1)/2)
	rand.Read(random) // it never fails
	return redcon.AppendBulkString(out, hex.EncodeToString(random)[:digits]), nil
}

func runACLLoad(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.server.config().ACLFile == "" {
		return out, errUsersFile
	}
	if err := s.server.users.Load(s.server.config().ACLFile); err != nil {
		return out, fmt.Errorf("ERR nothing was changed: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	s.endOrphans()
	return redcon.AppendOK(out), nil
}

func runACLSave(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.server.config().ACLFile == "" {
		return out, errUsersFile
	}
	if err := s.server.users.Save(s.server.config().ACLFile); err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	return redcon.AppendOK(out), nil
}

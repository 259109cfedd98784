package server

// Modes of a connection that few have: a transaction, replies that are not wanted,
// keys that are tracked, commands that are watched, a server that pauses. While there is
// one, commands go through inMode; all others never see any of it.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
)

// modes are what is special about a session.
type modes struct {
	transaction *transaction // between MULTI and EXEC
	watching    []watchedKey
	silent      bool // CLIENT REPLY OFF
	skip        bool // CLIENT REPLY SKIP: the next reply is not wanted
	tracking    bool // CLIENT TRACKING ON
	monitor     *monitor
}

// mode is the session's modes, to be changed.
func (s *session) mode() *modes {
	if s.modes == nil {
		s.modes = &modes{}
	}
	return s.modes
}

// idle says whether nothing is special any more.
func (m *modes) idle() bool {
	return m.transaction == nil && len(m.watching) == 0 && !m.silent && !m.skip && !m.tracking && m.monitor == nil
}

// toldModes is what others are told of a session's modes.
type toldModes struct {
	letters  string // as CLIENT LIST has them
	commands int    // of a transaction; -1: there is none
	bytes    int    // of them
	redirect int    // -1: keys are not tracked; 0: what changed is pushed on the connection itself
}

// told is what to tell of modes, which may be nil.
func (m *modes) told() *toldModes {
	t := &toldModes{commands: -1, redirect: -1}
	if m == nil {
		return t
	}
	if m.monitor != nil {
		t.letters += "O"
	}
	if m.transaction != nil {
		t.letters += "x"
		t.commands, t.bytes = len(m.transaction.commands), m.transaction.bytes
	}
	if m.tracking {
		t.letters += "t"
		t.redirect = 0
	}
	return t
}

// leaveModes ends all of them.
func (s *session) leaveModes() {
	if s.modes != nil && s.modes.monitor != nil {
		s.server.monitors.remove(s.modes.monitor)
	}
	s.modes = nil
}

// special says whether commands must go through inMode.
func (s *session) special() bool {
	return s.modes != nil || s.server.monitors.any.Load() || s.server.paused.Load() != nil
}

// inMode does one command of a session that is special. It returns false when the
// connection cannot be written to.
func (s *session) inMode(c *Command, args [][]byte) bool {
	s.memo.command = nil // it would not come by here
	m := s.modes
	if m == nil {
		m = &modes{}
	}
	if m.transaction != nil && c.Flags&FlagSession == 0 {
		return s.queue(c, args)
	}
	if !s.waitForPause(c) {
		return false
	}
	s.server.monitors.show(s, c, args)
	if m.monitor != nil && c.Flags&FlagSession == 0 {
		s.measures.commands[c.number].rejected.Add(1)
		s.fail("ERR this connection is in MONITOR; only RESET, QUIT and AUTH are taken")
		return true
	}
	switch {
	case m.skip || m.silent:
		return s.startSilently(c, args)
	case m.tracking:
		return s.startTracked(c, args)
	}
	return s.start(c, args, nil)
}

// refuseRequest answers a request that is not done: with its error, unless no reply is
// wanted. It breaks a transaction.
func (s *session) refuseRequest(err error) bool {
	if m := s.modes; m != nil {
		if m.transaction != nil {
			m.transaction.broken = true
		}
		if m.silent || m.skip {
			m.skip = false
			return true
		}
	}
	s.fail(err.Error())
	return true
}

// startSilently does a command whose reply is not sent.
func (s *session) startSilently(c *Command, args [][]byte) bool {
	if !s.flush() || !s.write() {
		return false
	}
	m, sink := s.modes, s.sink
	m.skip = false
	s.sink = io.Discard
	ok := s.start(c, args, nil) && s.flush()
	if wanted := s.modes != m || !m.silent && c.Name == "CLIENT REPLY"; wanted && !m.skip {
		s.sink = sink // CLIENT REPLY ON is answered
	}
	ok = ok && s.write()
	s.sink = sink
	return ok
}

// startTracked does a command and, where it told of keys, says at once that what was
// told holds no longer: answers about limits change by themselves, so nothing that a
// client would keep is true for long.
func (s *session) startTracked(c *Command, args [][]byte) bool {
	if !s.start(c, args, nil) {
		return false
	}
	if c.Flags&FlagReadonly == 0 {
		return true
	}
	keys := c.keysIn(args)
	return len(keys) == 0 || s.flush() && s.invalidate(keys)
}

// invalidate pushes that keys have changed.
func (s *session) invalidate(keys [][]byte) bool {
	if s.proto != resp3 {
		return true
	}
	s.out = append(s.out, ">2\r\n"...)
	s.out = redcon.AppendArray(redcon.AppendBulkString(s.out, "invalidate"), len(keys))
	for _, key := range keys {
		s.out = redcon.AppendBulk(s.out, key)
	}
	return true
}

// stop is a pause of the server.
type stop struct {
	writes bool // only commands that may change something wait
	over   chan struct{}
}

// waitForPause waits while the server pauses, if the command is one that does. It
// returns false when the connection is to end.
func (s *session) waitForPause(c *Command) bool {
	p := s.server.paused.Load()
	if p == nil || c.Group == "connection" || c.Flags&FlagAdmin != 0 || p.writes && c.Flags&FlagWrite == 0 {
		return true
	}
	if !s.flush() || !s.write() {
		return false
	}
	select {
	case <-p.over:
	case <-s.server.quit:
		return false
	}
	s.look()
	return true
}

// pauseMillisMax is how long CLIENT PAUSE takes effect at most: a day.
const pauseMillisMax = 24 * 3600 * 1000

func runClientPause(s *session, out []byte, args [][]byte) ([]byte, error) {
	ms, err := algorithms.ParseWhole("timeout", args[2], 0, pauseMillisMax)
	if err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	p := &stop{over: make(chan struct{})}
	if len(args) > 3 {
		switch strings.ToUpper(string(args[3])) {
		case "WRITE":
			p.writes = true
		case "ALL":
		default:
			return out, fmt.Errorf("ERR the mode of CLIENT PAUSE must be WRITE or ALL, got '%s'", show(args[3]))
		}
	}
	s.server.resume(s.server.paused.Swap(p))
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		if s.server.paused.CompareAndSwap(p, nil) {
			close(p.over)
		}
	})
	return redcon.AppendOK(out), nil
}

func runClientUnpause(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.server.resume(s.server.paused.Swap(nil))
	return redcon.AppendOK(out), nil
}

// resume ends a pause that has been taken away, if there was one.
func (s *Server) resume(p *stop) {
	if p != nil {
		close(p.over)
	}
}

func runClientReply(s *session, out []byte, args [][]byte) ([]byte, error) {
	m := s.mode()
	switch strings.ToUpper(string(args[2])) {
	case "ON":
		m.silent, m.skip = false, false
		return redcon.AppendOK(out), nil
	case "OFF":
		m.silent = true
		return out, nil
	case "SKIP":
		m.skip = !m.silent
		return out, nil
	}
	return out, fmt.Errorf("ERR CLIENT REPLY must be ON, OFF or SKIP, got '%s'", show(args[2]))
}

func runClientTracking(s *session, out []byte, args [][]byte) ([]byte, error) {
	on := strings.EqualFold(string(args[2]), "ON")
	if !on && !strings.EqualFold(string(args[2]), "OFF") {
		return out, fmt.Errorf("ERR CLIENT TRACKING must be ON or OFF, got '%s'", show(args[2]))
	}
	for rest := args[3:]; len(rest) > 0; rest = rest[1:] {
		switch word := strings.ToUpper(string(rest[0])); word {
		case "OPTIN", "OPTOUT", "NOLOOP", "BCAST":
		case "PREFIX":
			if len(rest) < 2 {
				return out, errors.New("ERR PREFIX wants a value after it")
			}
			rest = rest[1:]
		case "REDIRECT":
			return out, errors.New("ERR REDIRECT is not supported: use HELLO 3, and what changed is pushed on the connection itself")
		default:
			return out, fmt.Errorf("ERR unknown option '%s' of CLIENT TRACKING", show(rest[0]))
		}
	}
	if on && s.proto != resp3 {
		return out, errors.New("ERR CLIENT TRACKING needs RESP3, in which what changed can be pushed; say HELLO 3 first")
	}
	s.mode().tracking = on
	return redcon.AppendOK(out), nil
}

// runClientCaching is answered and changes nothing: whatever is read while tracking is
// told to have changed at once.
func runClientCaching(s *session, out []byte, args [][]byte) ([]byte, error) {
	if word := strings.ToUpper(string(args[2])); word != "YES" && word != "NO" {
		return out, fmt.Errorf("ERR CLIENT CACHING must be YES or NO, got '%s'", show(args[2]))
	}
	if s.modes == nil || !s.modes.tracking {
		return out, errors.New("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	}
	return redcon.AppendOK(out), nil
}

func runClientTrackingInfo(s *session, out []byte, _ [][]byte) ([]byte, error) {
	flag, redirect := "off", int64(-1)
	if s.modes != nil && s.modes.tracking {
		flag, redirect = "on", 0
	}
	out = appendMap(out, s.proto, 3)
	out = appendWords(redcon.AppendBulkString(out, "flags"), s.proto, []string{flag})
	out = appendPair(out, "redirect", redirect)
	return redcon.AppendArray(redcon.AppendBulkString(out, "prefixes"), 0), nil
}

func runClientGetRedir(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.modes != nil && s.modes.tracking {
		return redcon.AppendInt(out, 0), nil
	}
	return redcon.AppendInt(out, -1), nil
}

package server

// Commands about the connection itself. Where Redis has a text or a shape that
// clients look at, it is Redis's.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/internal/access"
)

// RedisVersion is the version of Redis whose protocol and replies clients may
// expect here. Many of them choose what to send by it.
const RedisVersion = "7.2.4"

const (
	// DatabasesMax is how many numbers SELECT takes, all of the same key space.
	DatabasesMax = 16
	// ClientTextBytesMax is how long the name, library or version that a client
	// gives itself may be.
	ClientTextBytesMax = 1024
)

func runPing(_ *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) == 2 {
		return redcon.AppendBulk(out, args[1]), nil
	}
	return redcon.AppendString(out, "PONG"), nil
}

func runEcho(_ *session, out []byte, args [][]byte) ([]byte, error) {
	return redcon.AppendBulk(out, args[1]), nil
}

func runQuit(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.closing = true
	return redcon.AppendOK(out), nil
}

func runReset(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.leaveModes()
	s.proto = resp2
	s.say(func(c *client) { c.name, c.proto, c.database, c.noEvict, c.noTouch = "", resp2, 0, false, false })
	s.account.Store(s.server.users.Initial())
	return redcon.AppendString(out, "RESET"), nil
}

func runSelect(s *session, out []byte, args [][]byte) ([]byte, error) {
	text, negative := strings.CutPrefix(string(args[1]), "-")
	n, err := algorithms.ParseWhole("index", []byte(text), 0, 1<<31)
	if err != nil {
		return out, errors.New("ERR value is not an integer or out of range")
	}
	if n >= DatabasesMax || negative && n > 0 {
		return out, errors.New("ERR DB index is out of range")
	}
	s.say(func(c *client) { c.database = int(n) })
	return redcon.AppendOK(out), nil
}

func runAuth(s *session, out []byte, args [][]byte) ([]byte, error) {
	name, password := []byte(access.Default), args[len(args)-1]
	if len(args) == 3 {
		name = args[1]
	} else if s.server.users.Initial() != nil {
		return out, errors.New(errNoPassword)
	}
	if err := s.login(name, password); err != nil {
		return out, err
	}
	return redcon.AppendOK(out), nil
}

// greeting is what HELLO asks for.
type greeting struct {
	proto          int
	name           string
	user, password []byte // user nil: no AUTH
}

// runHello changes nothing unless all of its options are right.
func runHello(s *session, out []byte, args [][]byte) ([]byte, error) {
	g := greeting{proto: s.proto, name: s.about.Load().name}
	if len(args) > 1 {
		n, err := algorithms.ParseWhole("protover", args[1], 0, 1<<31)
		if err != nil {
			return out, errors.New("ERR Protocol version is not an integer or out of range")
		}
		if n != resp2 && n != resp3 {
			return out, errors.New("NOPROTO unsupported protocol version")
		}
		g.proto = int(n)
		if err := g.options(args[2:]); err != nil {
			return out, err
		}
	}
	if g.user != nil {
		if err := s.login(g.user, g.password); err != nil {
			return out, err
		}
	} else if s.user == nil {
		return out, errors.New(errHelloFirst)
	}
	s.proto = g.proto
	s.say(func(c *client) { c.name, c.proto = g.name, g.proto })
	out = appendMap(out, s.proto, 7)
	out = appendField(out, "server", "redis")
	out = appendField(out, "version", RedisVersion)
	out = appendPair(out, "proto", int64(s.proto))
	out = appendPair(out, "id", s.id)
	out = appendField(out, "mode", "standalone")
	out = appendField(out, "role", "master")
	return redcon.AppendArray(redcon.AppendBulkString(out, "modules"), 0), nil
}

// options reads AUTH and SETNAME.
func (g *greeting) options(rest [][]byte) error {
	for len(rest) > 0 {
		switch word := strings.ToUpper(string(rest[0])); {
		case word == "AUTH" && len(rest) >= 3:
			g.user, g.password = rest[1], rest[2]
			rest = rest[3:]
		case word == "SETNAME" && len(rest) >= 2:
			if err := checkClientText("Client names", rest[1]); err != nil {
				return err
			}
			g.name, rest = string(rest[1]), rest[2:]
		default:
			return fmt.Errorf("ERR Syntax error in HELLO option '%s'", show(rest[0]))
		}
	}
	return nil
}

// checkClientText refuses what would break a line of text that it stands in.
func checkClientText(what string, text []byte) error {
	if len(text) > ClientTextBytesMax {
		return fmt.Errorf("ERR %s must be at most %d bytes, got %d", what, ClientTextBytesMax, len(text))
	}
	for _, c := range text {
		if c < '!' || c > '~' {
			return fmt.Errorf("ERR %s cannot contain spaces, newlines or special characters.", what)
		}
	}
	return nil
}

func runClientID(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendInt(out, s.id), nil
}

func runClientGetName(s *session, out []byte, _ [][]byte) ([]byte, error) {
	name := s.about.Load().name
	if name == "" {
		return appendNil(out, s.proto), nil
	}
	return redcon.AppendBulkString(out, name), nil
}

func runClientSetName(s *session, out []byte, args [][]byte) ([]byte, error) {
	if err := checkClientText("Client names", args[2]); err != nil {
		return out, err
	}
	s.say(func(c *client) { c.name = string(args[2]) })
	return redcon.AppendOK(out), nil
}

func runClientSetInfo(s *session, out []byte, args [][]byte) ([]byte, error) {
	next := *s.about.Load()
	field := map[string]*string{"LIB-NAME": &next.lib, "LIB-VER": &next.version}[strings.ToUpper(string(args[2]))]
	if field == nil {
		return out, fmt.Errorf("ERR Unrecognized option '%s', it must be LIB-NAME or LIB-VER", show(args[2]))
	}
	if err := checkClientText(strings.ToLower(string(args[2])), args[3]); err != nil {
		return out, err
	}
	*field = string(args[3])
	s.about.Store(&next)
	return redcon.AppendOK(out), nil
}

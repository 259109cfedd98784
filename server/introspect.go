package server

// COMMAND and its subcommands but DOCS: the table, as clients read it. Shapes
// are those of Redis 7, in RESP2 and RESP3.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/redcon"
)

// each calls f for the rows of the table and of their subcommands.
func each(f func(c *Command)) {
	for _, c := range table {
		f(c)
		for _, sub := range c.Sub {
			f(sub)
		}
	}
}

// categories are the ACL categories that follow from group and flags.
func (c *Command) categories() []string {
	list := []string{map[string]string{
		"ratelimit": "@ratelimit", "plans": "@plans", "generic": "@keyspace", "transactions": "@transaction", "connection": "@connection", "server": "@server",
	}[c.Group]}
	if c.Group == "plans" && c.Sub == nil && !strings.Contains(c.Name, " ") {
		list = append(list, "@ratelimit") // they ask for decisions
	}
	speed := "@slow"
	if c.Flags&FlagFast != 0 {
		speed = "@fast"
	}
	if c.Flags&FlagReadonly != 0 {
		list = append(list, "@read")
	}
	if c.Flags&FlagWrite != 0 {
		list = append(list, "@write")
	}
	if c.Flags&FlagAdmin != 0 {
		list = append(list, "@admin")
	}
	if c.Flags&(FlagAdmin|FlagDangerous) != 0 {
		list = append(list, "@dangerous")
	}
	return append(list, speed)
}

// flagWords are the flags as COMMAND tells them.
func (c *Command) flagWords() []string {
	words := c.Flags.names()
	if c.keysOf != nil {
		words = append(words, "movablekeys")
	}
	return words
}

// appendWords writes a set of simple strings.
func appendWords(out []byte, proto int, words []string) []byte {
	out = appendSet(out, proto, len(words))
	for _, w := range words {
		out = redcon.AppendString(out, w)
	}
	return out
}

// appendEntry is a command's entry in the reply of COMMAND.
func appendEntry(out []byte, proto int, c *Command) []byte {
	out = redcon.AppendArray(out, 10)
	out = redcon.AppendBulkString(out, c.lower)
	out = redcon.AppendInt(out, int64(c.Arity))
	out = appendWords(out, proto, c.flagWords())
	out = redcon.AppendInt(out, int64(c.Keys.First))
	out = redcon.AppendInt(out, int64(c.Keys.Last))
	out = redcon.AppendInt(out, int64(c.Keys.Step))
	out = appendWords(out, proto, c.categories())
	out = appendWords(out, proto, nil) // tips for proxies
	out = appendKeySpecs(out, proto, c)
	out = redcon.AppendArray(out, len(c.Sub))
	for _, sub := range c.Sub {
		out = appendEntry(out, proto, sub)
	}
	return out
}

// keyAccess is what is done with the keys: RW or RO.
func (c *Command) keyAccess() string {
	if c.Flags&FlagWrite != 0 {
		return "RW"
	}
	return "RO"
}

// appendKeySpecs tells where the keys are, in the words of Redis 7.
func appendKeySpecs(out []byte, proto int, c *Command) []byte {
	if c.Keys.First == 0 && c.keysOf == nil {
		return appendSet(out, proto, 0)
	}
	out = appendSet(out, proto, 1)
	out = appendMap(out, proto, 3)
	access := c.keyAccess()
	out = redcon.AppendBulkString(out, "flags")
	if c.Keys.First == 0 {
		out = appendWords(out, proto, []string{access, "incomplete"})
		for _, step := range []string{"begin_search", "find_keys"} {
			out = appendMap(redcon.AppendBulkString(out, step), proto, 2)
			out = appendField(out, "type", "unknown")
			out = appendMap(redcon.AppendBulkString(out, "spec"), proto, 0)
		}
		return out
	}
	out = appendWords(out, proto, []string{access})
	out = appendMap(redcon.AppendBulkString(out, "begin_search"), proto, 2)
	out = appendField(out, "type", "index")
	out = appendMap(redcon.AppendBulkString(out, "spec"), proto, 1)
	out = appendPair(out, "index", int64(c.Keys.First))
	out = appendMap(redcon.AppendBulkString(out, "find_keys"), proto, 2)
	out = appendField(out, "type", "range")
	out = appendMap(redcon.AppendBulkString(out, "spec"), proto, 3)
	last := c.Keys.Last
	if last > 0 {
		last -= c.Keys.First // counted from the first key
	}
	out = appendPair(out, "lastkey", int64(last))
	out = appendPair(out, "keystep", int64(c.Keys.Step))
	return appendPair(out, "limit", 0)
}

func runCommand(s *session, out []byte, _ [][]byte) ([]byte, error) {
	out = redcon.AppendArray(out, len(table))
	for _, c := range table {
		out = appendEntry(out, s.proto, c)
	}
	return out, nil
}

func runCommandCount(_ *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendInt(out, int64(len(table))), nil
}

func runCommandInfo(s *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) == 2 {
		return runCommand(s, out, args)
	}
	out = redcon.AppendArray(out, len(args)-2)
	for _, name := range args[2:] {
		if c := named(name); c != nil {
			out = appendEntry(out, s.proto, c)
		} else {
			out = appendNilArray(out, s.proto)
		}
	}
	return out, nil
}

func runCommandList(_ *session, out []byte, args [][]byte) ([]byte, error) {
	wanted := func(*Command) bool { return true }
	if len(args) > 2 {
		var err error
		if wanted, err = listFilter(args[2:]); err != nil {
			return out, err
		}
	}
	var names []string
	each(func(c *Command) {
		if wanted(c) {
			names = append(names, c.lower)
		}
	})
	return appendStrings(out, names), nil
}

// listFilter reads FILTERBY MODULE m, FILTERBY ACLCAT c or FILTERBY PATTERN p.
func listFilter(rest [][]byte) (func(c *Command) bool, error) {
	if len(rest) == 3 && strings.EqualFold(string(rest[0]), "FILTERBY") {
		value := strings.ToLower(string(rest[2]))
		switch strings.ToUpper(string(rest[1])) {
		case "MODULE":
			return func(*Command) bool { return false }, nil
		case "ACLCAT":
			return func(c *Command) bool { return slices.Contains(c.categories(), "@"+value) }, nil
		case "PATTERN":
			return func(c *Command) bool { return glob([]byte(value), []byte(c.lower)) }, nil
		}
	}
	return nil, errors.New("ERR syntax error, a filter is FILTERBY MODULE name, FILTERBY ACLCAT category or FILTERBY PATTERN pattern")
}

func runCommandGetKeys(_ *session, out []byte, args [][]byte) ([]byte, error) {
	_, keys, err := keysAsked(args[2:])
	if err != nil {
		return out, err
	}
	out = redcon.AppendArray(out, len(keys))
	for _, key := range keys {
		out = redcon.AppendBulk(out, key)
	}
	return out, nil
}

func runCommandGetKeysAndFlags(s *session, out []byte, args [][]byte) ([]byte, error) {
	c, keys, err := keysAsked(args[2:])
	if err != nil {
		return out, err
	}
	does := []string{c.keyAccess(), "access"}
	if c.Flags&FlagWrite != 0 {
		does = append(does, "update")
	}
	out = redcon.AppendArray(out, len(keys))
	for _, key := range keys {
		out = redcon.AppendBulk(redcon.AppendArray(out, 2), key)
		out = appendWords(out, s.proto, does)
	}
	return out, nil
}

// keysAsked finds the command of a request that is an argument, and its keys.
func keysAsked(args [][]byte) (*Command, [][]byte, error) {
	c, err := lookup(args)
	if c == nil {
		return nil, nil, fmt.Errorf("ERR Invalid command specified, %s", strings.TrimPrefix(err.Error(), "ERR "))
	}
	if c.Keys.First == 0 && c.keysOf == nil {
		return nil, nil, errors.New("ERR The command has no key arguments")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ERR Invalid number of arguments specified for command, usage: %s", c.Usage())
	}
	return c, c.keysIn(args), nil
}

// keysIn are the keys of a request for the command, whose arity is right.
func (c *Command) keysIn(args [][]byte) (keys [][]byte) {
	if c.keysOf != nil {
		return c.keysOf(args)
	}
	if c.Keys.First == 0 {
		return nil
	}
	last := c.Keys.Last
	if last < 0 {
		last += len(args)
	}
	for i := c.Keys.First; i <= last; i += c.Keys.Step {
		keys = append(keys, args[i])
	}
	return keys
}

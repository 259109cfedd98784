package server

// The command table: one row a command. Names, arity, flags, keys, arguments,
// the reference, COMMAND, COMMAND DOCS, RL.HELP and arity errors all come from
// the row; its examples run as tests.

import (
	"errors"
	"fmt"
	"strings"

	"sluice/shard"
)

// Flags say how a command is treated; one loop over them decides every policy.
type Flags uint16

const (
	// FlagWrite: may change state.
	FlagWrite Flags = 1 << iota
	// FlagReadonly: changes nothing.
	FlagReadonly
	// FlagDenyOOM: may need memory.
	FlagDenyOOM
	// FlagFast: takes constant or logarithmic time.
	FlagFast
	// FlagAdmin: for operators.
	FlagAdmin
	// FlagLoading: answered while data are loaded.
	FlagLoading
	// FlagStale: answered whatever state the data are in.
	FlagStale
	// FlagNoAuth: answered before authentication.
	FlagNoAuth
	// FlagDangerous: shows or undoes what belongs to others.
	FlagDangerous
	// FlagSession: may change how the connection's next commands are treated.
	FlagSession
	// FlagMulti: may be part of a transaction although it is done alone.
	FlagMulti
)

// flagNames are the names in COMMAND, in the order of the bits; it does not tell the others.
var flagNames = []string{"write", "readonly", "denyoom", "fast", "admin", "loading", "stale", "no_auth"}

// names lists the flags as COMMAND does.
func (f Flags) names() (list []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// Keys say which arguments are keys, as COMMAND tells it: the positions of the
// first and the last (negative: from the end) and the step. First 0: none.
type Keys struct{ First, Last, Step int }

// Arg describes an argument for the usage line, the reference and COMMAND DOCS.
type Arg struct {
	Name     string
	Type     string // key, string, integer, oneof, block, pure-token, pattern; "" is string
	Token    string // a word that stands before it
	Summary  string // what may stand here, where the name does not say it
	Optional bool
	Multiple bool
	Args     []Arg // of a block or oneof
}

// Example is a line that can be typed and what comes back, as redis-cli shows it.
// The examples of a command run in order on an empty server under the test clock.
type Example struct{ In, Out string }

// Refusal is a line that can be typed and the error that it gets. Refusals run
// as the examples do, and change nothing.
type Refusal struct{ In, Error string }

// Command is a row of the table.
type Command struct {
	Name       string // in capitals; a subcommand is "CONFIG GET"
	Group      string // of the reference and of HELP @group
	Summary    string
	Details    string // Markdown for the reference: what a line cannot say
	Since      string
	Complexity string
	Arity      int // arguments with the name; negative: at least
	Flags      Flags
	Keys       Keys
	Args       []Arg
	Reply      string
	Examples   []Example
	Refusals   []Refusal
	Sub        []*Command

	// keysOf finds the keys of a request where Keys cannot say where they are.
	keysOf func(args [][]byte) [][]byte

	// A pair or run is set, or neither in a row that only has Sub.
	//
	// parse adds operations to the session's batch; its error is the reply, and
	// nothing is done. write turns the answered operations into the reply.
	// run is for what is not about keys one by one: everything before it has
	// been answered when it is called.
	parse func(s *session, args [][]byte) error
	write func(s *session, out []byte, ops []shard.Op) []byte
	run   func(s *session, out []byte, args [][]byte) ([]byte, error)

	// rewrite makes another request of this one, which is done in its place.
	rewrite func(args [][]byte) ([][]byte, error)

	// repeats: parse makes exactly one operation of this kind, with the key as
	// first argument, so the memo may skip it.
	repeats bool
	kind    shard.Kind

	number   int    // of all rows, subcommands among them
	lower    string // the name in small letters, as errors and COMMAND say it
	arityMax int    // how many arguments there may be, with the name; 0: any number
}

// groups of the reference, in its order.
var groups = []struct{ Name, Title string }{
	{"ratelimit", "Rate limits"},
	{"plans", "Plans and rules"},
	{"generic", "Keys"},
	{"transactions", "Transactions"},
	{"connection", "Connection"},
	{"server", "Server"},
}

// table is every command, in the order of the reference. It is filled by init
// because rows such as COMMAND look at the table themselves.
var table []*Command

// commandNameBytesMax is longer than every name.
const commandNameBytesMax = 24

// byCommand finds a row by its name in capitals.
var byCommand map[string]*Command

func init() {
	for _, rows := range [][]*Command{limitCommands, settleCommands, leaseCommands, throttleCommands, planCommands, keyCommands, connectionCommands, serverCommands, keepCommands, watchCommands, accessCommands, transactionCommands, answerCommands} {
		table = append(table, rows...)
	}
	byCommand = make(map[string]*Command, len(table))
	for _, c := range table {
		c.complete()
		byCommand[c.Name] = c
	}
	catalog = newCatalog()
	each(func(*Command) { commandRows++ })
}

// commandRows is how many rows there are, subcommands and all.
var commandRows int

// complete fills in what follows from the rest of a row.
func (c *Command) complete() {
	c.lower = strings.ToLower(strings.ReplaceAll(c.Name, " ", "|"))
	c.arityMax = c.mostArguments()
	if c.Sub != nil {
		c.Sub = append(c.Sub, helpRow(c))
	}
	for _, sub := range c.Sub {
		sub.Group = c.Group
		sub.complete()
	}
}

// mostArguments is how many arguments a request may have where all of them have
// their places, and 0 where some have names or come again and again: then the
// command itself knows what is too much.
func (c *Command) mostArguments() int {
	if c.Arity > 0 {
		return c.Arity
	}
	if c.Sub != nil {
		return 0
	}
	for _, a := range c.Args {
		if a.Multiple || a.Token != "" || a.Args != nil {
			return 0
		}
	}
	return len(strings.Fields(c.Name)) + len(c.Args)
}

// capitals writes a name in capitals into buf and returns it; "" if it is too
// long to be a name.
func capitals(buf *[commandNameBytesMax]byte, name []byte) []byte {
	if len(name) > len(buf) {
		return nil
	}
	for i, c := range name {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(name)]
}

// lookup finds the row of a request: the subcommand's where there is one.
func lookup(args [][]byte) (*Command, error) {
	var buf [commandNameBytesMax]byte
	c := byCommand[string(capitals(&buf, args[0]))]
	if c == nil {
		return nil, unknownCommand(args)
	}
	if c.Sub == nil || len(args) == 1 && c.run != nil {
		return c, c.checkArity(args)
	}
	if len(args) == 1 {
		return nil, c.arityError()
	}
	if sub := c.sub(string(capitals(&buf, args[1]))); sub != nil {
		return sub, sub.checkArity(args)
	}
	return nil, fmt.Errorf("ERR unknown subcommand '%s'. Try %s HELP.", show(args[1]), c.Name)
}

// sub finds the row of a subcommand by its word in capitals.
func (c *Command) sub(word string) *Command {
	for _, sub := range c.Sub {
		if sub.Name[len(c.Name)+1:] == word {
			return sub
		}
	}
	return nil
}

// named finds a row by a name that is an argument: CONFIG, config or config|get.
func named(name []byte) *Command {
	var buf [commandNameBytesMax]byte
	word, rest, isSub := strings.Cut(string(capitals(&buf, name)), "|")
	c := byCommand[word]
	if c == nil || !isSub {
		return c
	}
	return c.sub(rest)
}

func (c *Command) checkArity(args [][]byte) error {
	if len(args) < max(c.Arity, -c.Arity) || c.arityMax > 0 && len(args) > c.arityMax {
		return c.arityError()
	}
	return nil
}

// arityError begins as Redis's does and goes on with what would be right.
func (c *Command) arityError() error {
	return fmt.Errorf("ERR wrong number of arguments for '%s' command, usage: %s", c.lower, c.Usage())
}

// unknownCommand is Redis's text, with a suggestion in it where one is near.
func unknownCommand(args [][]byte) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ERR unknown command '%s', ", show(args[0]))
	if near := nearestCommand(args[0]); near != "" {
		fmt.Fprintf(&b, "did you mean '%s'? It came ", near)
	}
	b.WriteString("with args beginning with: ")
	for _, a := range args[1:min(len(args), 4)] {
		fmt.Fprintf(&b, "'%s' ", show(a))
	}
	return errors.New(b.String())
}

// nearestCommand is the name that is most likely meant by a misspelt one, or "".
func nearestCommand(name []byte) string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return nearest(strings.ToUpper(string(name)), names)
}

// Usage is the command with its arguments, on one line.
func (c *Command) Usage() string {
	words := []string{c.Name}
	if c.Sub != nil {
		return c.Name + " " + c.subWords()
	}
	for _, a := range c.Args {
		words = append(words, a.usage())
	}
	return strings.Join(words, " ")
}

// subWords are the words of the subcommands, as a usage line has them.
func (c *Command) subWords() string {
	words := make([]string, len(c.Sub))
	for i, sub := range c.Sub {
		words[i] = sub.Name[len(c.Name)+1:]
	}
	text := strings.Join(words, "|")
	if c.run != nil {
		return "[" + text + "]"
	}
	return text
}

func (a Arg) usage() string {
	text := a.Name
	switch {
	case a.Type == "pure-token":
		text = a.Token
	case a.Type == "oneof", a.Type == "block":
		sep := " "
		if a.Type == "oneof" {
			sep = "|"
		}
		parts := make([]string, len(a.Args))
		for i, p := range a.Args {
			parts[i] = p.usage()
		}
		text = strings.Join(parts, sep)
	}
	if a.Token != "" && a.Type != "pure-token" {
		text = a.Token + " " + text
	}
	if a.Multiple {
		text += " [" + text + " ...]"
	}
	if a.Optional {
		text = "[" + text + "]"
	}
	return text
}

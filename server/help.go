package server

// Help for people at a terminal, as arrays of lines: RL.HELP over the whole table
// or one command, and the HELP that every command with subcommands has.

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"
)

const helpIndent = "    "

// appendLines writes lines as simple strings, which redis-cli shows without quotes.
func appendLines(out []byte, lines []string) []byte {
	out = redcon.AppendArray(out, len(lines))
	for _, line := range lines {
		out = redcon.AppendString(out, line)
	}
	return out
}

// helpRow makes the row of a command's HELP.
func helpRow(c *Command) *Command {
	return &Command{
		Name: c.Name + " HELP", Since: c.Since, Complexity: "O(1)", Arity: 2, Flags: always,
		Summary: "Lists the subcommands.", Reply: "Array of lines of text.",
		run: func(_ *session, out []byte, _ [][]byte) ([]byte, error) {
			return appendLines(out, c.subHelp()), nil
		},
	}
}

// subHelp lists the subcommands of a command.
func (c *Command) subHelp() []string {
	lines := []string{c.Name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	if c.run != nil {
		lines = append(lines, "(no subcommand)", helpIndent+c.Summary)
	}
	for _, sub := range c.Sub {
		lines = append(lines, strings.TrimPrefix(sub.Usage(), c.Name+" "), helpIndent+sub.Summary)
	}
	return lines
}

func runHelp(_ *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) == 1 {
		return appendLines(out, helpAll()), nil
	}
	c := named(bytes.Join(args[1:], []byte{'|'}))
	if c == nil {
		return out, noHelp(args[1:])
	}
	return appendLines(out, c.help()), nil
}

func noHelp(words [][]byte) error {
	name := show(bytes.Join(words, []byte{' '}))
	if c := named(words[0]); c != nil && c.Sub != nil {
		return fmt.Errorf("ERR no help for '%s', the subcommands of %s are %s", name, c.Name, strings.ReplaceAll(c.subWords(), "|", ", "))
	}
	if near := nearestCommand(words[0]); near != "" {
		return fmt.Errorf("ERR no help for '%s', did you mean '%s'?", name, near)
	}
	return fmt.Errorf("ERR no help for '%s', RL.HELP alone lists the commands", name)
}

// helpAll lists all commands by group.
func helpAll() (lines []string) {
	for _, g := range groups {
		lines = append(lines, "# "+g.Title)
		for _, c := range table {
			if c.Group == g.Name {
				lines = append(lines, c.Usage(), helpIndent+c.Summary)
			}
		}
	}
	return append(lines, "# RL.HELP command explains one of them.")
}

// help explains one command.
func (c *Command) help() []string {
	lines := []string{c.Usage(), helpIndent + c.Summary, helpIndent + "since " + c.Since + ", group " + c.Group + ", complexity " + c.Complexity}
	if len(c.Args) > 0 {
		lines = append(lines, "Arguments:")
		for _, a := range c.Args {
			lines = append(lines, a.help(helpIndent)...)
		}
	}
	if c.Reply != "" {
		lines = append(lines, "Reply:", helpIndent+c.Reply)
	}
	if len(c.Examples) > 0 {
		lines = append(lines, "Examples:")
	}
	for _, e := range c.Examples {
		lines = append(lines, helpIndent+"> "+e.In)
		for line := range strings.SplitSeq(e.Out, "\n") {
			lines = append(lines, helpIndent+line)
		}
	}
	for _, sub := range c.Sub {
		lines = append(lines, sub.Usage(), helpIndent+sub.Summary)
	}
	return lines
}

// help explains an argument, and those within it further to the right.
func (a Arg) help(indent string) []string {
	line := indent + a.Name
	if a.Token != "" {
		line = indent + a.Token
		if a.Type != "pure-token" {
			line += " " + a.Name
		}
	}
	if a.Type != "" && a.Type != "pure-token" {
		line += " (" + a.Type + ")"
	}
	if a.Optional {
		line += ", optional"
	}
	if a.Multiple {
		line += ", one or more"
	}
	if a.Summary != "" {
		line += ": " + a.Summary
	}
	lines := []string{line}
	for _, inner := range a.Args {
		lines = append(lines, inner.help(indent+helpIndent)...)
	}
	return lines
}

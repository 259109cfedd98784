package server

// The examples and refusals of the table, run. Each command's run in order on a
// fresh server under the test clock; what comes back must be what the row says,
// as redis-cli prints it.

import (
	"strings"
	"testing"
)

// rawCommands are those whose bulk strings redis-cli prints without quotes.
var rawCommands = []string{"INFO"}

// printed is a reply as redis-cli prints it.
func printed(line string, v value) string {
	for _, name := range rawCommands {
		if strings.HasPrefix(line, name) && v.kind == '$' {
			return strings.TrimSuffix(strings.ReplaceAll(v.text, "\r", ""), "\n")
		}
	}
	return v.cli()
}

// shows says whether a reply is what an example has, which may end in an
// ellipsis where the rest is left out.
func shows(example, reply string) bool {
	if head, elided := strings.CutSuffix(example, "\n..."); elided {
		return strings.HasPrefix(reply, head+"\n")
	}
	return example == reply
}

func TestExamples(t *testing.T) {
	each(func(c *Command) {
		t.Run(c.lower, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, 2).dial()
			for _, e := range c.Examples {
				if got := printed(e.In, w.line(t, e.In)); !shows(e.Out, got) {
					t.Errorf("> %s\ngot\n%s\nwant\n%s", e.In, got, e.Out)
				}
			}
		})
	})
}

// TestRefusals also sees to it that nothing is changed and that the connection
// stays open.
func TestRefusals(t *testing.T) {
	each(func(c *Command) {
		t.Run(c.lower, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			w := r.dial()
			w.want(t, "RL.ALLOW k gcra 10 10s 4", "[1 10 6 0 4000 0]")
			before := w.line(t, "RL.INSPECT k").String()
			for _, e := range c.Refusals {
				if got := w.line(t, e.In); got.kind != '-' || got.text != e.Error {
					t.Errorf("> %s\n got %s\nwant %s", e.In, got, e.Error)
				}
			}
			w.want(t, "RL.INSPECT k", before)
			w.want(t, "DBSIZE", "1")
		})
	})
}

// TestRowsAreWhole: what the reference, COMMAND and errors are made of is there.
func TestRowsAreWhole(t *testing.T) {
	titles := map[string]bool{}
	for _, g := range groups {
		titles[g.Name] = true
	}
	each(func(c *Command) {
		switch {
		case c.Name != strings.ToUpper(c.Name), !titles[c.Group], c.Since == "", c.Complexity == "",
			!strings.HasSuffix(c.Summary, "."), c.Sub == nil && c.Reply == "", c.Arity == 0:
			t.Errorf("%s: something is missing: %+v", c.Name, c)
		case c.Sub == nil && c.run == nil && c.parse == nil, (c.parse == nil) != (c.write == nil):
			t.Errorf("%s must have run, or parse and write", c.Name)
		case c.Flags&FlagWrite != 0 && c.Flags&FlagReadonly != 0, c.repeats && c.parse == nil:
			t.Errorf("%s cannot be both", c.Name)
		case plain(c.Usage()) != nil || plain(c.Summary) != nil:
			t.Errorf("%s: usage and summary are ASCII", c.Name)
		case len(strings.SplitN(c.Name, " ", 2)[0]) > commandNameBytesMax:
			t.Errorf("%s is too long a name", c.Name)
		}
		least := len(strings.Fields(c.Name))
		open := c.Sub != nil
		for _, a := range c.Args {
			if a.Optional {
				open = true
				continue
			}
			least += max(1, len(a.Args)*btoi(a.Type == "block"))
			if a.Type == "oneof" && a.Args[0].Token != "" && a.Args[0].Type != "pure-token" {
				least++
			}
			open = open || a.Multiple
		}
		if open {
			least = -least
		}
		if c.Sub != nil && c.run == nil {
			least = -2 // the subcommand
		}
		if exceptions := map[string]int{"RL.ALLOW": -3, "RL.PEEK": -3, "RL.MALLOW": -4, "RL.ALLOWALL": -4, "RL.REQUEST": -5, "QUIT": -1, "CLIENT KILL": -3}; c.Arity != least && c.Arity != exceptions[c.Name] {
			t.Errorf("%s has arity %d, its arguments say %d", c.Name, c.Arity, least)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

package server

// docs/commands.md is the command table as a page. TestDocs fails where the page
// is stale and, with -update, writes it (make docs).

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/algorithms"
)

const docsPath = "../docs/commands.md"

func TestDocs(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(docsPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/commands.md is not what the command table says; `make docs` writes it\n%s", difference(string(got), want))
	}
}

// page is Markdown in the making.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// row writes a row of a table; cells cannot hold a bar as it is.
func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

// head begins a table.
func (p *page) head(titles ...string) {
	p.line("")
	p.row(titles...)
	p.line("%s|", strings.Repeat("|---", len(titles)))
}

const introduction = `# Commands

<!-- Generated from the command table in server/: make docs writes it. -->

Every command of the server, with examples that run as tests. They begin on an empty server whose test clock stands at
2027-01-15T08:00:00Z (` + "`sluice serve --test-clock`" + `), and print what redis-cli prints. ` + "`RL.HELP`" + ` shows the same at a terminal, and redis-cli
shows the arguments of each command while it is typed.

A key that nobody has used, one whose window has ended and one whose bucket is full again are one and the same: fresh. A fresh key does
not exist. Every key becomes fresh some day by itself; there is no key without an expiry.

Numbers are plain decimal digits, leading zeros allowed: no sign, blank, exponent or ` + "`0x`" + `. Durations are written with the units w d h m s ms
in falling order, each at most once (` + "`250ms`, `1h30m`, `7d`" + `); a bare number is seconds. An error never changes anything. Its first
word is one of a closed set:
`

var errorWords = [][2]string{
	{"ERR", "the command is unknown or an argument is wrong; the text says which and what would be right"},
	{"NOPLAN", "there is no plan of that name"},
	{"NOPROTO", "HELLO asks for a protocol version other than 2 and 3"},
	{"WRONGPASS", "the user is unknown or the password wrong"},
	{"OOM", "there is no room for a new key, so the call was not decided"},
	{"LOADING", "the server is reading its data and cannot decide yet"},
	{"MISCONF", "the journal cannot be written, so nothing that spends is acknowledged"},
}

// reference is the whole page.
func reference() string {
	p := &page{}
	p.WriteString(introduction)
	p.head("word", "meaning")
	for _, e := range errorWords {
		p.row("`"+e[0]+"`", e[1])
	}
	p.algorithms()
	p.line("\n## Overview")
	for _, g := range groups {
		p.head(g.Title, "")
		for _, c := range table {
			if c.Group == g.Name {
				p.row(fmt.Sprintf("[%s](#%s)", c.Name, anchor(c.Name)), c.Summary)
			}
		}
	}
	for _, g := range groups {
		p.line("\n## %s", g.Title)
		for _, c := range table {
			if c.Group == g.Name {
				p.command(c, "###")
			}
		}
	}
	return p.String()
}

// anchor is the link that a heading gets.
func anchor(title string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(title), ".", ""), " ", "-")
}

func (p *page) algorithms() {
	p.line("\n## Algorithms")
	p.head("name", "short", "options", "what it does", "when to use it")
	for _, a := range algorithms.Rates() {
		var options []string
		if a.Options&algorithms.OptionBurst != 0 {
			options = append(options, "BURST")
		}
		if a.Options&algorithms.OptionAlign != 0 {
			options = append(options, "ALIGN")
		}
		p.row("`"+a.Name+"`", strings.Join(a.Short, ", "), strings.Join(options, ", "), a.Summary, a.When)
	}
}

// command is the entry of a command, and those of its subcommands below it.
func (p *page) command(c *Command, heading string) {
	p.line("\n%s %s\n", heading, c.Name)
	p.line("    %s\n", c.Usage())
	p.line("%s", c.Summary)
	if c.Details != "" {
		p.line("\n%s", c.Details)
	}
	p.arguments(c.Args)
	if c.Reply != "" {
		p.line("\n**Reply:** %s\n", c.Reply)
	} else {
		p.line("")
	}
	facts := "**Complexity:** " + strings.TrimSuffix(c.Complexity, ".") + ". **Since:** " + c.Since + "."
	if words := c.flagWords(); len(words) > 0 {
		facts += " **Flags:** " + strings.Join(words, ", ") + "."
	}
	p.line("%s", facts)
	p.tables(c)
	if len(c.Examples) > 0 {
		p.line("\n```")
		for _, e := range c.Examples {
			p.line("> %s\n%s", e.In, e.Out)
		}
		p.line("```")
	}
	if len(c.Refusals) > 0 {
		p.head("what is refused", "error")
		for _, r := range c.Refusals {
			p.row("`"+r.In+"`", r.Error)
		}
	}
	for _, sub := range c.Sub {
		if sub.Name != c.Name+" HELP" {
			p.command(sub, heading+"#")
		}
	}
}

// arguments explains those arguments of which the usage line does not say all.
func (p *page) arguments(args []Arg) {
	explained := false
	for _, a := range args {
		explained = explained || a.Summary != ""
	}
	if !explained {
		return
	}
	p.head("argument", "meaning")
	for _, a := range args {
		text := a.Summary
		for _, inner := range a.Args {
			if inner.Summary != "" {
				text += fmt.Sprintf("; `%s` %s", inner.Token, inner.Summary)
			}
		}
		p.row("`"+a.usage()+"`", text)
	}
}

// tables adds what other tables say to the commands that print them.
func (p *page) tables(c *Command) {
	switch c.Name {
	case "INFO":
		p.head("section", "field", "meaning")
		for _, s := range statistics {
			p.row(s.section, "`"+s.name+"`", s.summary)
		}
	case "CONFIG GET":
		p.head("setting", "meaning")
		for _, s := range settingRows {
			p.row("`"+s.name+"`", s.summary)
		}
	}
}

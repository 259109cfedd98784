package server

// The session that the README shows, run: what a newcomer reads first must be what
// comes back.

import (
	"os"
	"strings"
	"testing"
)

func TestReadmeSession(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(text), "<!-- session:begin")
	_, session, _ = strings.Cut(session, "```\n")
	session, _, ok := strings.Cut(session, "\n```")
	if !ok {
		t.Fatal("the README has no session between its marks")
	}
	const prompt = "127.0.0.1:6380> "
	w := newRig(t, 2).dial()
	commands := strings.Split(session, prompt)[1:]
	if len(commands) < 5 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, c := range commands {
		line, want, _ := strings.Cut(c, "\n")
		if got := printed(line, w.line(t, line)); got != strings.TrimSuffix(want, "\n") {
			t.Errorf("> %s\ngot\n%s\nwant\n%s", line, got, want)
		}
	}
}

package server

// What people read first, run: every session in the README, docs/guides and
// docs/operations is typed into a server under the test clock, in order, and must answer as it is shown. A
// block of YAML is the configuration file from there on. With -update what comes back
// is written into the pages.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const guidePrompt = "127.0.0.1:6380> "

func TestDocsSessions(t *testing.T) {
	files, err := filepath.Glob("../docs/guides/*.md")
	if err != nil || len(files) < 6 {
		t.Fatal("guides are missing", err)
	}
	operations, err := filepath.Glob("../docs/operations/*.md")
	if err != nil || len(operations) < 6 {
		t.Fatal("pages are missing", err)
	}
	files = append(append(files, operations...), "../README.md")
	var total atomic.Int64
	t.Cleanup(func() {
		if n := total.Load(); n < 80 {
			t.Errorf("only %d commands in all", n)
		}
	})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, commands := playGuide(t, string(text))
			if want := strings.Count(string(text), "\n"+guidePrompt); commands != want {
				t.Errorf("%d commands of %d were run", commands, want)
			}
			total.Add(int64(commands))
			switch {
			case bytes.Equal(text, []byte(got)):
			case *update:
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s\n%s\n(`make docs` writes what comes back)", file, difference(string(text), got))
			}
		})
	}
}

// playGuide returns a guide with the replies that came, and how many commands it has.
func playGuide(t *testing.T, text string) (played string, commands int) {
	r := newRig(t, 2)
	w := r.dial()
	var b strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i > 0 {
			b.WriteString("```")
		}
		kind, body, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 1 && kind == "yaml":
			r.setFile(body)
			b.WriteString(part)
		case i%2 == 1 && strings.HasPrefix(body, guidePrompt):
			b.WriteString("\n")
			for _, c := range strings.Split(body, guidePrompt)[1:] {
				line, _, _ := strings.Cut(c, "\n")
				b.WriteString(guidePrompt + line + "\n" + printed(line, w.line(t, line)) + "\n")
				commands++
			}
		default:
			b.WriteString(part)
		}
	}
	return b.String(), commands
}

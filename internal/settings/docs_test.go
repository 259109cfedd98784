package settings

// docs/settings.md is the table as a page. TestDocs fails where the page is stale
// and, with -update, writes it (make docs).

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/settings.md")

const docsPath = "../../docs/settings.md"

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
		t.Error("docs/settings.md is not what the table of settings says; `make docs` writes it")
	}
}

const introduction = `# Settings

<!-- Generated from the table of settings in internal/settings: make docs writes it. -->

Every setting has one name. ` + "`max-memory`" + ` is the flag ` + "`--max-memory`" + ` of ` + "`sluice serve`" + `, the variable ` + "`SLUICE_MAX_MEMORY`" + `, the field
` + "`max_memory`" + ` in the section ` + "`server`" + ` of the file that ` + "`--config`" + ` names, and what ` + "`CONFIG GET max-memory`" + ` tells. A flag beats the
environment, which beats the file, which beats the default. Every value is checked where it comes from, also one that is beaten, before
anything starts; what is wrong is told with its origin and what would be right. Exit status 2 is a wrong flag, 3 a wrong file or
variable.

    sluice config show --origin      # every value, and where it comes from
    sluice config show --default     # a file with everything in it, explained
    sluice check sluice.yaml         # what is wrong with a file, with line and column

Settings marked live can be changed while the server runs, by ` + "`CONFIG SET`" + ` (which holds until the server ends) or by changing the file and
` + "`sluice reload`" + ` or SIGHUP. A reload is all or nothing: if anything in the file is wrong, nothing changes, and the log says why. The others
are read at start; a reload that finds them changed says so.

A secret has no flag, which every user of the machine could read, and is never shown.
`

// reference is the whole page.
func reference() string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, group := range Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| setting | default | live | what it is |\n|---|---|---|---|\n", group)
		for i := range Rows {
			r := &Rows[i]
			if r.Group != group {
				continue
			}
			standard := "`" + r.Default + "`"
			switch {
			case r.Said != "":
				standard = r.Said
			case r.Default == "":
				standard = "empty"
			}
			live, summary := "", strings.ToUpper(r.Summary[:1])+r.Summary[1:]
			if r.Live {
				live = "live"
			}
			if r.Outside {
				summary += ". Not in the file."
			}
			if r.Secret {
				summary += ". Secret."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, standard, live, summary)
		}
	}
	return b.String()
}

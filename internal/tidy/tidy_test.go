package tidy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// root is the module's directory, seen from this package.
const root = "../.."

// TestTidy holds every file of the module against every rule.
func TestTidy(t *testing.T) {
	sources, err := load(mustAbs(t, root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, s := range sources {
				for _, complaint := range rule.check(s) {
					t.Error(complaint)
				}
			}
		})
	}
}

// TestNothingIsOverlooked holds the reader to account: it must have seen every Go file there is, this one among them.
func TestNothingIsOverlooked(t *testing.T) {
	sources, err := load(mustAbs(t, root))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range sources {
		seen[s.path] = true
	}
	names, err := walk(mustAbs(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names, "internal/tidy/tidy_test.go") {
		t.Errorf("the walk over %d files did not meet this one", len(names))
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("%s: no rule has read it; go list does not know it", name)
		}
	}
}

// TestExceptionsAreNeeded complains about exceptions that nothing needs any more.
func TestExceptionsAreNeeded(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, clockFile))
	if err != nil {
		t.Fatal(err)
	}
	// The clock's own file under another name breaks the rule; otherwise the rule would be blind.
	s, err := parse("internal/clock/elsewhere.go", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(oneClock(s)) == 0 {
		t.Errorf("%s reads no clock: name the file that does in clockFile", clockFile)
	}
	for dir, reason := range clockExceptions {
		if reason == "" {
			t.Errorf("the exception for %s has no reason", dir)
		}
	}
}

// TestDecisions holds docs/decisions against its table of contents.
func TestDecisions(t *testing.T) {
	dir := filepath.Join(root, "docs", "decisions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	contents, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range decisions(names, string(contents)) {
		t.Error(complaint)
	}
}

func mustAbs(t *testing.T, name string) string {
	t.Helper()
	full, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// What the tests of the rules need: a parsed snippet, a rule by its name, files on disk.

package tidy

import (
	"os"
	"path/filepath"
	"testing"
)

func parsed(t *testing.T, name, text string) *source {
	t.Helper()
	s, err := parse(name, []byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return s
}

func checkOf(t *testing.T, name string) func(*source) []string {
	t.Helper()
	for _, rule := range rules {
		if rule.name == name {
			return rule.check
		}
	}
	t.Fatalf("no rule %q", name)
	return nil
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every chart of a report becomes a file with its title, its axes and its lines; a broken report becomes none.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	write := func(text string) {
		if err := os.WriteFile(report, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"charts": [
		{"file": "a.svg", "title": "By depth", "x": "depth", "y": "rate", "log_x": true, "log_y": true,
			"lines": [{"name": "one", "x": [1, 100], "y": [20000, 3000000]}, {"name": "none", "x": [], "y": []}]},
		{"file": "../b.svg", "title": "By keys", "x": "keys", "y": "rate", "lines": [{"name": "two", "x": [1, 2], "y": [3, 4]}]}]}`)
	images := filepath.Join(dir, "images")
	if err := run([]string{report, images}); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string][]string{"a.svg": {"By depth", "depth", "rate", "one", "1,000,000"}, "b.svg": {"By keys", "two"}} {
		text, err := os.ReadFile(filepath.Join(images, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s does not show %q", file, w)
			}
		}
	}
	write("{")
	if err := run([]string{report, images}); err == nil {
		t.Error("a broken report is drawn")
	}
	if err := run(nil); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("without arguments: %v", err)
	}
}

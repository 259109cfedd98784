package bench

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/operations/sizing.md")

// TestDocsSizing fails where the page on sizing does not say what docs/performance.json does and, with -update, writes it
// (make docs).
func TestDocsSizing(t *testing.T) {
	if *update {
		if err := writeSizing("../docs"); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, path, err := sizingPage("../docs")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what docs/performance.json says (%v); `make docs` writes it", path, err)
	}
}

func TestSizing(t *testing.T) {
	r := &Report{Machine: "a machine", Date: "today", Values: map[string]spread{"memory/sluice": {98.6}, "recovery/seconds": {0.72}}, Samples: map[string]samples{
		"p1/sluice": {{CPUMicros: 8}}, "p16/sluice": {{CPUMicros: 1}, {CPUMicros: 3}}, "p100/sluice": {{CPUMicros: 0.5}},
	}}
	for _, want := range []string{"a machine, today", "| 99 bytes |", "| 8.00 µs | 125,000 a second and core |", "| 2.00 µs | 500,000 a", "| 0.50 µs | 2,000,000 a", "| 0.7 s |"} {
		if got := r.sizing(); !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if _, err := putBetween("a page", "page.md", sizingBegin, sizingEnd, "text"); err == nil || !strings.HasPrefix(err.Error(), "page.md has no place for figures") {
		t.Error(err)
	}
}

package main

// What the page on durability says the program says, it does say.

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	digits = regexp.MustCompile(`[0-9][0-9hms:TZ-]*`)
	spaces = regexp.MustCompile(`\s+`)
)

// alike makes texts comparable that differ in numbers, times and where lines break.
func alike(text string) string {
	return spaces.ReplaceAllString(digits.ReplaceAllString(text, "N"), " ")
}

// documented fails the test if a message does not stand in docs/operations/durability.md.
// What stands there may end with … where the message goes on.
func documented(t testing.TB, dir, message string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	message = strings.TrimSpace(strings.TrimPrefix(strings.ReplaceAll(message, dir, "./sluice-data"), "sluice: "))
	want := alike(message)
	for _, said := range regexp.MustCompile("`[^`]+`|(?s:```text\n.*?```)").FindAllString(string(page), -1) {
		for line := range strings.Lines(strings.TrimPrefix(strings.Trim(said, "`"), "text\n")) {
			begin, _, _ := strings.Cut(alike(line), "…")
			if begin = strings.TrimSpace(begin); len(begin) > 20 && strings.HasPrefix(want, begin) {
				return
			}
		}
		if alike(strings.Trim(said, "`")) == want {
			return
		}
	}
	t.Errorf("docs/operations/durability.md does not tell of\n%s", message)
}

package bench

// What the page on sizing quotes of a run: bytes a key, CPU a decision. It is made from docs/performance.json alone, so that
// it can be written anew, and held to it, without a run.

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

const (
	sizingBegin = "<!-- sizing:begin -->\n"
	sizingEnd   = "<!-- sizing:end -->"
)

// sizing is the table of that page.
func (r *Report) sizing() string {
	figure := func(format string, of float64) string {
		if math.IsNaN(of) || math.IsInf(of, 0) {
			return unknown
		}
		return fmt.Sprintf(format, of)
	}
	rows := [][]string{{"memory of a key, a token bucket with a name of 20 bytes", figure("%.0f bytes", r.Values["memory/sluice"].median()), ""}}
	for _, way := range []struct{ race, name string }{
		{"p1", "one call at a time on each of 50 connections"}, {"p16", "in pipelines of 16"}, {"p100", "in pipelines of 100"},
	} {
		micros := r.Samples[way.race+"/sluice"].of(cpu).median()
		many := unknown
		if micros > 0 {
			many = Whole(1e6/micros) + " a second and core"
		}
		rows = append(rows, []string{"CPU a decision, " + way.name, figure("%.2f µs", micros), many})
	}
	rows = append(rows, []string{"loading a million keys from a snapshot", figure("%.1f s", r.Values["recovery/seconds"].median()), ""})
	return fmt.Sprintf("Measured on %s, %s, with the kernel's share of the CPU:\n\n", r.Machine, r.Date) + table([]string{"what", "takes", "that is"}, rows)
}

// writeSizing puts the table of docs/performance.json below a directory into its page on sizing.
func writeSizing(docs string) error {
	want, path, err := sizingPage(docs)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(want), 0o644)
}

// sizingPage is what the page should be, and its path.
func sizingPage(docs string) (text, path string, err error) {
	samples, err := os.ReadFile(filepath.Join(docs, "performance.json"))
	if err != nil {
		return "", "", err
	}
	r := &Report{}
	if err := json.Unmarshal(samples, r); err != nil {
		return "", "", err
	}
	path = filepath.Join(docs, "operations", "sizing.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	text, err = putBetween(string(page), path, sizingBegin, sizingEnd, r.sizing())
	return text, path, err
}

// putBetween puts something between two marks of a page.
func putBetween(page, path, begin, end, what string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("%s has no place for figures, between %s and %s", path, strings.TrimSpace(begin), end)
	}
	return before + begin + what + end + after, nil
}

package bench

// The report as text: a page in Markdown, the figures of the README, and tables for a terminal.

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

//go:embed performance.head.md
var head string

// JSON writes everything, every sample of every round.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Text writes tables for a terminal.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.where() + "\n")
	for _, s := range r.sections {
		fmt.Fprintf(&b, "\n%s\n%s\n\n", s.Title, s.Text)
		columns(&b, s.columns, s.rows)
	}
	b.WriteString("\nTargets\n\n")
	columns(&b, verdictColumns, r.verdictRows())
	for _, l := range r.Lacking {
		b.WriteString("\nnot measured: " + l)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n")+"\n")
	return err
}

// where says on what was measured.
func (r *Report) where() string {
	return fmt.Sprintf("%s; %s; %s, %s.", strings.Join(r.Versions, ", "), r.Machine, r.Date, r.How)
}

// columns writes a table with its columns under each other.
func columns(b *strings.Builder, names []string, rows [][]string) {
	rows = append([][]string{names}, rows...)
	widths := make([]int, len(names))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		text := ""
		for i, cell := range row {
			text += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

// table writes a table in Markdown.
func table(names []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

var verdictColumns = []string{"what", "measured (lowest … highest)", "asked", "reached"}

func (r *Report) verdictRows() [][]string {
	var rows [][]string
	for _, v := range r.Verdicts {
		reached := "no"
		switch {
		case !v.Measured:
			reached = "not measured"
		case v.Reached:
			reached = "yes"
		}
		rows = append(rows, []string{v.What, v.found(), v.asked(), reached})
	}
	return rows
}

// Markdown is the page. Pictures are looked for in images/.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "\nMeasured on: %s\n\n## What is to be reached\n\nEach row is judged on the median of its rounds. "+
		"What a constant reply of a server in Go has of the first of them [stands below](#by-depth-of-the-pipeline).\n\n%s", r.where(), table(verdictColumns, r.verdictRows()))
	if worse := r.worse(); len(worse) > 0 {
		b.WriteString("\n## Where somebody else is better\n\nSluice's figure by the other's, where the other's is better:\n\n" +
			table([]string{"race", "other", "requests a second", "server CPU a request", "p99"}, worse))
	}
	for _, s := range r.sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.Title, s.Text)
		for _, c := range r.Charts {
			if c.section == s.id {
				fmt.Fprintf(&b, "![%s](images/%s)\n\n", c.Title, c.File)
			}
		}
		b.WriteString(table(s.columns, s.rows))
	}
	if lines := benchLines(r.GoBench); lines != "" {
		fmt.Fprintf(&b, "\n## Without a server\n\nGo benchmarks of the parts; `make bench-parts` runs all of them.\n\n```\n%s```\n", lines)
	}
	if len(r.Lacking) > 0 {
		b.WriteString("\n## Not measured in this run\n\n")
		for _, l := range r.Lacking {
			b.WriteString("- " + l + "\n")
		}
	}
	return b.String()
}

// worse lists the races that Sluice lost to Redis: with pipelines, and at fixed rates, where the rate is the same for all.
func (r *Report) worse() (rows [][]string) {
	list := func(name, race string, closed bool) {
		for _, other := range []struct{ id, name string }{{"lua", "a token bucket in Lua"}, {"incr", "INCR"}, {"ping", "PING"}} {
			against := func(value func(sample) float64) spread { return ratio(race, "sluice", other.id, value)(r) }
			row := []string{name, other.name, "", "", ""}
			if s := against(rate); closed && s.median() < 1 {
				row[2] = times(s)
			}
			if s := against(cpu); s.median() > 1 {
				row[3] = times(s)
			}
			if s := against(p99); s.median() > 1 {
				row[4] = times(s)
			}
			if strings.Join(row[2:], "") != "" {
				rows = append(rows, row)
			}
		}
	}
	for _, depth := range depths {
		list(fmt.Sprintf("pipelines of %d", depth), fmt.Sprintf("p%d", depth), true)
	}
	for _, perSecond := range openRates {
		list(Whole(perSecond)+" requests a second", openRace(perSecond), false)
	}
	return rows
}

// benchLines are the lines of results in the output of go test -bench.
func benchLines(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "Benchmark") {
			b.WriteString(l)
		}
	}
	return b.String()
}

const (
	figuresBegin = "<!-- figures:begin -->\n"
	figuresEnd   = "<!-- figures:end -->"
)

// figures is what the README shows: the table by pipeline for one call, sixteen and a hundred.
func (r *Report) figures() (string, error) {
	for _, s := range r.sections {
		if s.id != "pipelines" {
			continue
		}
		var rows [][]string
		for _, row := range s.rows {
			if row[0] == "1" || row[0] == "16" || row[0] == "100" {
				rows = append(rows, row)
			}
		}
		return r.where() + "\n\n" + table(s.columns, rows), nil
	}
	return "", errors.New("the figures of the README need the stage pipelines")
}

// Docs writes the page and the samples into docs/ below a directory, and the figures into its README.md and the page on sizing. The pictures are
// drawn from the samples by bench/draw.
func (r *Report) Docs(dir string) error {
	figures, err := r.figures()
	if err != nil {
		return err
	}
	readme := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	page, err := putBetween(string(text), readme, figuresBegin, figuresEnd, figures)
	if err != nil {
		return err
	}
	var samples strings.Builder
	if err := r.JSON(&samples); err != nil {
		return err
	}
	docs := filepath.Join(dir, "docs")
	return errors.Join(
		os.WriteFile(filepath.Join(docs, "performance.json"), []byte(samples.String()), 0o644),
		os.WriteFile(filepath.Join(docs, "performance.md"), []byte(r.Markdown()), 0o644),
		os.WriteFile(readme, []byte(page), 0o644),
		writeSizing(docs))
}

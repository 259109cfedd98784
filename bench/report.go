package bench

// What a run leaves: sections with tables and charts for people, all samples for programs, and the verdict on the targets.

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Report is everything that a run found. As JSON it holds every sample of every round.
type Report struct {
	Date     string             `json:"date"`
	Machine  string             `json:"machine"`
	Versions []string           `json:"versions"`
	How      string             `json:"how"`
	Verdicts []Verdict          `json:"verdicts"`
	Samples  map[string]samples `json:"samples"` // by race and contender
	Values   map[string]spread  `json:"values"`  // single figures, such as bytes a key
	Lacking  []string           `json:"lacking"` // what was not measured, and why
	Charts   []Chart            `json:"charts"`
	GoBench  string             `json:"go_bench,omitempty"`

	sections []*section
}

// section is a table with a title.
type section struct {
	id, Title, Text string
	columns         []string
	rows            [][]string
}

func (s *section) row(cells ...string) { s.rows = append(s.rows, cells) }

// Chart is a picture to be drawn; bench/draw does.
type Chart struct {
	File  string `json:"file"` // its name, below docs/images
	Title string `json:"title"`
	X     string `json:"x"` // what the axes are
	Y     string `json:"y"`
	LogX  bool   `json:"log_x"`
	LogY  bool   `json:"log_y"`
	Lines []Line `json:"lines"`

	section string
}

// Line is one line of a chart.
type Line struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

// add adds a point, unless it is not known.
func (l *Line) add(x, y float64) {
	if !math.IsNaN(y) && y > 0 {
		l.X, l.Y = append(l.X, x), append(l.Y, y)
	}
}

func (r *runner) newReport() (*Report, error) {
	report := &Report{
		Date:    time.Now().UTC().Format(time.DateOnly),
		Machine: fmt.Sprintf("%d cores (%s), %s", runtime.NumCPU(), processor(), kernel()),
		How:     fmt.Sprintf("%d rounds, turns of %v", r.Rounds, r.Turn),
		Samples: map[string]samples{},
		Values:  map[string]spread{},
	}
	report.Versions = append(report.Versions, r.Version)
	if r.Redis == "" {
		r.report = report
		r.lack("everything about Redis: %v", errNoRedis)
		return report, nil
	}
	said, err := exec.CommandContext(r.ctx, r.Redis, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", r.Redis, err)
	}
	if words := strings.Fields(string(said)); len(words) > 2 {
		report.Versions = append(report.Versions, strings.Join(words[:3], " "))
	}
	return report, nil
}

func (r *runner) section(id, title, text string, columns ...string) *section {
	s := &section{id: id, Title: title, Text: text, columns: columns}
	r.report.sections = append(r.report.sections, s)
	return s
}

// chart adds a chart to the section that was begun last.
func (r *runner) chart(c Chart) {
	c.section = r.report.sections[len(r.report.sections)-1].id
	r.report.Charts = append(r.report.Charts, c)
}

// lack notes what was not measured.
func (r *runner) lack(format string, args ...any) {
	r.report.Lacking = append(r.report.Lacking, fmt.Sprintf(format, args...))
}

// Whole writes a number without fraction, thousands apart.
func Whole(f float64) string {
	digits := strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

const unknown = "—"

// format writes median, lowest and highest.
func (s spread) format(write func(float64) string) string {
	switch m := s.median(); {
	case math.IsNaN(m) || math.IsInf(m, 0):
		return unknown
	case len(s) == 1:
		return write(m)
	default:
		return fmt.Sprintf("%s (%s … %s)", write(m), write(s.min()), write(s.max()))
	}
}

func (s spread) whole() string { return s.format(Whole) }

func (s spread) wholeMedian() string { return spread{s.median()}.format(Whole) }

// micros writes CPU times; where no process is known they are 0.
func (s spread) micros() string {
	if s.max() == 0 {
		return unknown
	}
	return s.format(func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) })
}

// times writes a ratio.
func times(s spread) string {
	return s.format(func(f float64) string {
		if f >= 9.95 {
			return fmt.Sprintf("%.1f", f)
		}
		return fmt.Sprintf("%.2f", f)
	})
}

// part writes a ratio below one as a part.
func part(s spread) string {
	m := s.median()
	if math.IsNaN(m) || m <= 0 || math.IsInf(m, 0) {
		return unknown
	}
	return fmt.Sprintf("1/%.1f", 1/m)
}

// VersionOf asks a sluice binary what it is.
func VersionOf(ctx context.Context, binary string) (string, error) {
	text, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", binary, err)
	}
	return strings.TrimSpace(string(text)), nil
}

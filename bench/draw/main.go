// Command draw makes the pictures of a report: sluice bench --json writes it, draw reads it. It is a program of its own, so
// that the server does not carry fonts and a plotting library, nine megabytes of them.
//
//	go run ./bench/draw docs/performance.json docs/images
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"sluice/bench"
)

const (
	chartWidth  = 7 * vg.Inch
	chartHeight = 4 * vg.Inch
	// legendPart is how much is added to the height of the lines for the legend.
	legendPart = 0.4
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "draw: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: draw REPORT.json DIRECTORY")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var report bench.Report
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil {
		return err
	}
	for _, c := range report.Charts {
		if err := draw(c, filepath.Join(args[1], filepath.Base(c.File))); err != nil {
			return err
		}
	}
	return nil
}

// draw draws a chart into a file. Each line has a colour and a shape of its own, so that they are told apart without colours
// too.
func draw(c bench.Chart, file string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.BackgroundColor = color.White
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{plot.DefaultTicks{}}, ticks{plot.DefaultTicks{}}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks{plot.LogTicks{Prec: -1}}
	}
	p.Add(plotter.NewGrid())
	for i, l := range c.Lines {
		points := make(plotter.XYs, len(l.X))
		for j := range l.X {
			points[j] = plotter.XY{X: l.X[j], Y: l.Y[j]}
		}
		if len(points) == 0 {
			continue
		}
		drawn, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("chart %s, %s: %w", c.File, l.Name, err)
		}
		drawn.Color, marks.Color, marks.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		drawn.Dashes = plotutil.Dashes(i)
		p.Add(drawn, marks)
		p.Legend.Add(l.Name, drawn, marks)
	}
	// The legend stands above the lines.
	p.Legend.Top, p.Legend.Left = true, true
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticks{plot.LogTicks{Prec: -1}}
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, legendPart)
	} else {
		p.Y.Min = 0
		p.Y.Max *= 1 + legendPart
	}
	if err := p.Save(chartWidth, chartHeight, file); err != nil {
		return fmt.Errorf("chart %s: %w", file, err)
	}
	return nil
}

// ticks writes the numbers of an axis with their thousands apart.
type ticks struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(least, most float64) []plot.Tick {
	all := t.Ticker.Ticks(least, most)
	for i := range all {
		if all[i].Label != "" && all[i].Value >= 1 {
			all[i].Label = bench.Whole(all[i].Value)
		}
	}
	return all
}

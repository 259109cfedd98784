package sluicetest

// What goes wrong while twenty gateways work: the server is killed, hangs, is cut off, is
// slow, loses replies; gateways die. Calls wait no longer than Timeout, what is admitted
// stays below 1.1 times the limit, in all and in every window, and a second after it is over the server decides again.
// With -plots the curves of these runs are written down, to be drawn.

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"sluice/client"
)

var plotsFlag = flag.String("plots", "", "`file` for the curves of the failures, as bench/draw reads them")

const (
	failLimit  = 5_000 // in failWindow
	failWindow = 10 * time.Second
	failPace   = 750 // calls a second of all gateways

	// Seconds: before the trouble, in it, and of the curves before and after it began.
	failBefore, failDuring, failAfter, curveBefore, curveAfter = 25, 15, 20, 10, 30
)

// failure is something that goes wrong.
type failure struct {
	name, title string
	bar         string // what the curves say of the time of the trouble
	rates       []float64
	idle, on    time.Duration // of bursts
	begin, end  func(w *world)
}

func kill(w *world)  { w.server.Close() }
func start(w *world) { w.start() }

func healed(w *world) {
	w.net.set(func() { w.net.trouble, w.net.delay = fine, 200*time.Microsecond })
}

func troubled(what trouble) func(w *world) {
	return func(w *world) { w.net.set(func() { w.net.trouble = what }) }
}

// failures are all of them. Everybody's traffic keeps its share.
func failures() []failure {
	skewed := make([]float64, gateways)
	skewed[2], skewed[7], skewed[11] = failPace/2, failPace*3/10, failPace/5
	all := even(failPace)
	return []failure{
		{name: "killed", title: "The server is killed, and started again", bar: "no server", rates: all, begin: kill, end: start},
		{name: "hung", title: "The server hangs: it takes requests and answers none", bar: "no answers", rates: all, begin: troubled(hung), end: healed},
		{name: "black", title: "Packets vanish on the way", bar: "no packets arrive", rates: all, begin: troubled(black), end: healed},
		{name: "slow", title: "Replies take 100 ms", bar: "slow", rates: all, begin: func(w *world) {
			w.net.set(func() { w.net.delay = 50 * time.Millisecond })
		}, end: healed},
		{name: "lossy", title: "One reply in twenty is lost with its connection", bar: "replies are lost", rates: all, begin: troubled(lossy), end: healed},
		{name: "skewed", title: "The server is killed; the customer calls on 3 of 20 gateways", bar: "no server", rates: skewed, begin: kill, end: start},
		{name: "bursty", title: "The server is killed; calls come in bursts, one second in five", bar: "no server", rates: all,
			idle: 4 * time.Second, on: time.Second, begin: kill, end: start},
		{name: "crash", title: "Five of twenty gateways die with what they hold, twice", bar: "gateways die", rates: all, begin: func(w *world) {
			w.crashes(5)
		}, end: func(w *world) { w.crashes(5) }},
	}
}

// crashes has the first gateways die. Others start in their places.
func (w *world) crashes(n int) {
	for i := range n {
		w.crash(i)
	}
}

// fail runs a failure: calm, trouble, calm.
func (w *world) fail(f failure, l client.Limit) {
	traffic := func(d time.Duration) { w.bursts("k", l, f.rates, d, f.idle, f.on) }
	traffic(failBefore * time.Second)
	f.begin(w)
	w.mu.Lock()
	w.waits = nil
	w.mu.Unlock()
	traffic(failDuring * time.Second)
	if p99 := w.p99(); p99 > client.TimeoutDefault {
		w.t.Errorf("p99 %s", p99)
	}
	f.end(w)
	traffic(time.Second)
	before := w.degraded
	traffic((failAfter-1)*time.Second - time.Millisecond)
	if w.degraded != before {
		w.t.Errorf("%d calls were decided without the server that was there", w.degraded-before)
	}
}

func TestFailures(t *testing.T) {
	var charts []chart
	for _, f := range failures() {
		chart := newChart(f)
		for kind, l := range map[string]client.Limit{
			"fixed window": client.FixedWindow(failLimit, failWindow), "token bucket": client.TokenBucket(failLimit, failWindow),
		} {
			t.Run(f.name+" "+kind, func(t *testing.T) {
				simulate(t, failWindow, func(w *world) {
					w.toWindow()
					most := (failBefore + failDuring + failAfter) * failLimit / int(failWindow/time.Second)
					if kind == "token bucket" {
						if _, err := w.clients[0].Debit(context.Background(), "k", l, failLimit); err != nil {
							t.Fatal(err) // from here on there is what is earned
						}
					}
					w.fail(f, l)
					t.Logf("admitted %d of at most %d, %d decided without the server; by window %v", w.total, most, w.degraded, w.admitted)
					if float64(w.total) > 1.1*float64(most) {
						t.Errorf("admitted %d of at most %d", w.total, most)
					}
					for n, admitted := range w.admitted {
						if float64(admitted) > 1.1*failLimit {
							t.Errorf("admitted %d in window %d", admitted, n)
						}
					}
					chart.add(kind, w)
				})
			})
		}
		charts = append(charts, chart.done())
	}
	if *plotsFlag == "" || t.Failed() {
		return
	}
	text, err := json.Marshal(map[string]any{"charts": charts})
	if err == nil {
		err = os.WriteFile(*plotsFlag, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// chart and line are what bench/draw draws.
type chart struct {
	File  string `json:"file"`
	Title string `json:"title"`
	X     string `json:"x"`
	Y     string `json:"y"`
	Lines []line `json:"lines"`
	bar   string
}

type line struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

func newChart(f failure) *chart {
	return &chart{
		File: "failure-" + f.name + ".svg", Title: f.title, X: "seconds since it began", Y: "units in the last 10 s", bar: f.bar,
	}
}

// add adds the curve of a run: what was admitted in the last window, second by second.
func (c *chart) add(kind string, w *world) {
	calls, admitted := line{Name: "called"}, line{Name: kind + ", admitted"}
	for at := -curveBefore; at <= curveAfter; at++ {
		var sum second
		for n := range int(failWindow / time.Second) {
			s := w.second(failBefore + at - 1 - n)
			sum.asked += s.asked
			sum.admitted += s.admitted
		}
		calls.X, calls.Y = append(calls.X, float64(at)), append(calls.Y, float64(sum.asked))
		admitted.X, admitted.Y = append(admitted.X, float64(at)), append(admitted.Y, float64(sum.admitted))
	}
	if kind == "fixed window" {
		c.Lines = append([]line{calls, admitted}, c.Lines...)
	} else {
		c.Lines = append(c.Lines, admitted)
	}
}

// done adds what the curves are held against.
func (c *chart) done() chart {
	flat := func(name string, y float64, from, to int) line {
		return line{name, []float64{float64(from), float64(to)}, []float64{y, y}}
	}
	c.Lines = append(c.Lines, flat("the limit", failLimit, -curveBefore, curveAfter),
		flat("1.1 times the limit", 1.1*failLimit, -curveBefore, curveAfter), flat(c.bar, failLimit/50, 0, failDuring))
	return *c
}

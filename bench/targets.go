package bench

// What Sluice is to reach, as ratios within one run on one machine, and where a bound is meant for callers, as times. A row
// here is measured by a stage and judged on the median of its rounds.

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// SmokeMargin is by how much a target may be missed before a smoke run fails: machines that do other work measure badly.
const SmokeMargin = 0.15

// target is something to reach.
type target struct {
	what  string
	least float64 // 0: none
	most  float64 // 0: none
	unit  string
	value func(r *Report) spread
}

// Verdict is a target with what was measured.
type Verdict struct {
	What     string  `json:"what"`
	Median   float64 `json:"median"`
	Lowest   float64 `json:"lowest"`
	Highest  float64 `json:"highest"`
	Least    float64 `json:"least,omitempty"`
	Most     float64 `json:"most,omitempty"`
	Unit     string  `json:"unit,omitempty"`
	Reached  bool    `json:"reached"`
	Measured bool    `json:"measured"`
}

// ratio compares one figure of two contenders of a race.
func ratio(race, one, other string, value func(sample) float64) func(*Report) spread {
	return between(race+"/"+one, race+"/"+other, value)
}

// between compares one figure of two races.
func between(one, other string, value func(sample) float64) func(*Report) spread {
	return func(r *Report) spread { return r.Samples[one].of(value).over(r.Samples[other].of(value)) }
}

// millis is a wait in milliseconds.
func millis(race string, value func(sample) float64) func(*Report) spread {
	return func(r *Report) spread {
		return r.Samples[race].of(func(s sample) float64 { return value(s) / 1000 })
	}
}

// goBench is the time of a Go benchmark in nanoseconds, the slowest of those whose names match.
func goBench(pattern string) func(*Report) spread {
	of := regexp.MustCompile(`(?m)^` + pattern + `\S*\s+\d+\s+([0-9.]+) ns/op`)
	return func(r *Report) spread {
		slowest := math.NaN()
		for _, match := range of.FindAllStringSubmatch(r.GoBench, -1) {
			if ns, err := strconv.ParseFloat(match[1], 64); err == nil && !(ns < slowest) {
				slowest = ns
			}
		}
		if math.IsNaN(slowest) {
			return nil
		}
		return spread{slowest}
	}
}

// goBenchRatio is how many times the second of two Go benchmarks is faster than the first.
func goBenchRatio(one, other string) func(*Report) spread {
	return func(r *Report) spread { return goBench(one)(r).over(goBench(other)(r)) }
}

func memoryRatio(r *Report) spread { return r.Values["memory/sluice"].over(r.Values["memory/lua"]) }

// valuesOf is what a stage has measured under a name.
func valuesOf(name string) func(*Report) spread {
	return func(r *Report) spread { return r.Values[name] }
}

// loadedPerSecond is a million keys over the time that a start on them took.
func loadedPerSecond(r *Report) spread {
	return spread{memoryKeys / 1e6}.over(r.Values["recovery/seconds"])
}

var targets = []target{
	{"requests a second, pipelines of 100, against Lua", 30, 0, "×", ratio("p100", "sluice", "lua", rate)},
	{"requests a second, pipelines of 16, against Lua", 12, 0, "×", ratio("p16", "sluice", "lua", rate)},
	{"requests a second, one call at a time, against Lua", 2.2, 0, "×", ratio("p1", "sluice", "lua", rate)},
	{"requests a second, one call at a time, against INCR", 0.95, 0, "×", ratio("p1", "sluice", "incr", rate)},
	{"server CPU a decision, pipelines of 100, against Lua", 0, 0.04, "×", ratio("p100", "sluice", "lua", cpu)},
	{"server CPU a decision, pipelines of 100, against INCR", 0, 0.5, "×", ratio("p100", "sluice", "incr", cpu)},
	{"server CPU a decision, pipelines of 100, against a constant reply", 0, 1.5, "×", ratio("p100", "sluice", "constant", cpu)},
	{"memory a key against Lua", 0, 0.65, "×", memoryRatio},
	{"requests a second with 10,000,000 keys against 100,000", 0.75, 0, "×", between("keys10000000/sluice", "keys100000/sluice", rate)},
	{"p99 at half the peak rate, a million keys, snapshots running, against INCR", 0, 1, "×", ratio("snapshot", "sluice", "incr", p99)},
	{"p99.9 at half the peak rate, a million keys, snapshots running, against INCR", 0, 1, "×", ratio("snapshot", "sluice", "incr", p999)},
	{"p99 at half the peak rate while a snapshot of a million keys is written", 0, 2, "ms", millis("snapshot/sluice", p99)},
	{"p99 at half the peak rate around the instant at which millions of keys expire", 0, 5, "ms", millis("expiry/sluice", p99)},
	{"--journal everysec against off, pipelines of 100, 100,000 keys", 0.9, 0, "×", between("journal/everysec/p100/100000", "journal/off/p100/100000", rate)},
	{"--journal everysec against off, pipelines of 100, 1,000,000 keys", 0.7, 0, "×", between("journal/everysec/p100/1000000", "journal/off/p100/1000000", rate)},
	{"--journal everysec against off, one call at a time", 0.95, 0, "×", between("journal/everysec/p1/100000", "journal/off/p1/100000", rate)},
	{"--journal always, pipelines of 16, against INCR with appendfsync always", 1.1, 0, "×", between("journal/always", "journal/redis", rate)},
	{"millions of keys a second from a snapshot", 1.5, 0, "", loadedPerSecond},
	{"cores for 50,000 calls a second of twenty gateways, users who call 1.5 times a minute", 0, 0.5, "", valuesOf("gateways/rare")},
	{"cores for 50,000 calls a second of twenty gateways, leases that serve 20 calls or more", 0, 0.1, "", valuesOf("gateways/hot")},
	{"two shards against one without a network, batches of 100", 1.6, 0, "×", goBenchRatio("BenchmarkSetRun/shards=1/batch=100", "BenchmarkSetRun/shards=2/batch=100")},
	{"leased decisions of two cores on keys of their own against one", 1.7, 0, "×", goBenchRatio("BenchmarkLeasedAllowCores/cores=1", "BenchmarkLeasedAllowCores/cores=2")},
	{"one decision in algorithms, the slowest of the rate algorithms", 0, 50, "ns", goBench("BenchmarkDecide/")},
	{"one leased decision in client", 0, 100, "ns", goBench(`BenchmarkLeasedAllow(?:-|\s)`)},
}

// judge fills in the verdicts.
func (r *Report) judge() {
	for _, t := range targets {
		s := t.value(r)
		v := Verdict{What: t.what, Least: t.least, Most: t.most, Unit: t.unit, Measured: len(s) > 0}
		if v.Measured {
			v.Median, v.Lowest, v.Highest = s.median(), s.min(), s.max()
			v.Reached = v.holds(0)
		}
		r.Verdicts = append(r.Verdicts, v)
	}
}

// holds says whether the target is reached, or missed by no more than the margin.
func (v *Verdict) holds(margin float64) bool {
	return (v.Least == 0 || v.Median >= v.Least*(1-margin)) && (v.Most == 0 || v.Median <= v.Most*(1+margin))
}

// Missed returns the measured targets that are missed by more than the margin.
func (r *Report) Missed(margin float64) []Verdict {
	var missed []Verdict
	for _, v := range r.Verdicts {
		if v.Measured && !v.holds(margin) {
			missed = append(missed, v)
		}
	}
	return missed
}

// asked is the bound in words.
func (v *Verdict) asked() string {
	if v.Least > 0 {
		return "≥ " + bound(v.Least) + " " + v.Unit
	}
	return "≤ " + bound(v.Most) + " " + v.Unit
}

func bound(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// found is what was measured.
func (v *Verdict) found() string {
	if !v.Measured {
		return unknown
	}
	text := fmt.Sprintf("%.3g %s", v.Median, v.Unit)
	if v.Lowest != v.Highest {
		text += fmt.Sprintf(" (%.3g … %.3g)", v.Lowest, v.Highest)
	}
	return text
}

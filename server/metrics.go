package server

// The metrics, which /metrics shows to Prometheus. metrics_table.go has the rows.
// What a row tells is taken from one look at the server, the same that INFO prints.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

// Metric is a row: a family of series of one name.
type Metric struct {
	Name   string
	Type   string // counter, gauge or histogram
	Labels []string
	Help   string
	// Panel is where the dashboard shows it, Expr how: in PromQL, $ being the name.
	Panel, Expr string

	from    string // the statistic whose value and help it has
	unit    float64
	collect func(v *vitals, emit emit)
	shape   func(m *measures, t *totals) // of a histogram: adds it up
	scale   *scale
}

// emit takes one value of a family.
type emit func(value float64, labels ...string)

// byShard makes a row's values of one number a shard.
func byShard(value func(s *shardVitals) float64) func(*vitals, emit) {
	return func(v *vitals, emit emit) {
		for n := range v.perShard {
			emit(value(&v.perShard[n]), strconv.Itoa(n))
		}
	}
}

// alone makes a row's value of one number.
func alone(value func(v *vitals) float64) func(*vitals, emit) {
	return func(v *vitals, emit emit) { emit(value(v)) }
}

// complete takes over what another table says.
func (m *Metric) complete() {
	if m.from == "" {
		return
	}
	row := statisticNamed(m.from)
	if row == nil {
		panic("metric " + m.Name + " is of no statistic")
	}
	m.Help = row.summary
	unit := m.unit
	if unit == 0 {
		unit = 1
	}
	m.collect = func(v *vitals, emit emit) {
		if value, ok := asNumber(row.value(v)); ok {
			emit(value * unit)
		}
	}
}

func statisticNamed(name string) *statistic {
	for i := range statistics {
		if statistics[i].name == name {
			return &statistics[i]
		}
	}
	return nil
}

// asNumber reads a statistic's value as a number, if it is one.
func asNumber(value any) (float64, bool) {
	if value == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	return n, err == nil
}

// decisions tells the counts of every series.
func decisions(v *vitals, emit emit) {
	var total []shard.Counts
	for i := range v.perShard {
		for n, c := range v.perShard[i].counts {
			if n >= len(total) {
				total = append(total, make([]shard.Counts, n+1-len(total))...)
			}
			total[n].Add(c)
		}
	}
	tell := func(n int, l seriesLabels) {
		if n >= len(total) {
			return
		}
		reason := reasonOf(algorithms.Of(l.algorithm).Kind)
		for _, outcome := range []struct {
			name  string
			count uint64
		}{{"allowed", total[n].Allowed}, {"denied", total[n].Denied}, {"shadow_denied", total[n].Shadowed}} {
			if outcome.name != "shadow_denied" || outcome.count > 0 {
				emit(float64(outcome.count), l.algorithm.String(), l.plan, l.limit, l.rule, outcome.name, reason)
			}
		}
	}
	for _, a := range algorithms.All() {
		tell(int(a.ID), seriesLabels{algorithm: a.ID})
	}
	// The same limit of a plan has several numbers after others have come or gone.
	labels := v.server.series.all()
	first := make(map[seriesLabels]int, len(labels))
	for i, l := range labels {
		n := shard.SeriesMin + i
		if n >= len(total) {
			break
		}
		if at, known := first[l]; known {
			total[at].Add(total[n])
		} else {
			first[l] = n
		}
	}
	for l, n := range first {
		tell(n, l)
	}
}

// limitsOf tells a number of each limit of each plan, of as many as are counted apart.
func limitsOf(value func(l *plans.Limit) float64) func(*vitals, emit) {
	return func(v *vitals, emit emit) {
		told := 0
		for _, name := range v.book.PlanNames() {
			p := v.book.Plan([]byte(name))
			if told += len(p.Limits); told > SeriesMax {
				return
			}
			for i := range p.Limits {
				emit(value(&p.Limits[i]), p.Name, p.Limits[i].Name, p.Limits[i].Mode.String())
			}
		}
	}
}

// reasonOf is what a limit counts.
func reasonOf(k algorithms.Kind) string {
	switch k {
	case algorithms.Money:
		return "budget"
	case algorithms.Permits:
		return "concurrency"
	}
	return "rate"
}

// commandCounts tells how often each command came.
func commandCounts(v *vitals, emit emit) {
	var tell func(rows []*Command)
	tell = func(rows []*Command) {
		for _, c := range rows {
			if n := v.server.measured(c).calls; n > 0 {
				emit(float64(n), c.lower)
			}
			tell(c.Sub)
		}
	}
	tell(table)
}

// evictions tells what was thrown away, and for what.
func evictions(v *vitals, emit emit) {
	for n := range v.perShard {
		s := &v.perShard[n].stats
		emit(float64(s.Crowded), strconv.Itoa(n), "keys")
		emit(float64(s.Evicted-s.Crowded), strconv.Itoa(n), "memory")
	}
}

// knownLibraries are those that connections are counted by. What a client says it is may be
// anything, so it is never a label itself.
var knownLibraries = []string{"go-redis", "hiredis", "ioredis", "jedis", "lettuce", "node-redis", "nredisstack", "phpredis", "predis", "redis-client",
	"redis-py", "redis-rb", "redis-rs", "redisson", "rueidis", "se.redis", "valkey-go"}

// libraryOf is the label for what a client has told by CLIENT SETINFO LIB-NAME, such as
// go-redis(,go1.26).
func libraryOf(told string) string {
	if told == "" {
		return "none"
	}
	end := strings.IndexAny(told, "(;,_")
	if end < 0 {
		end = len(told)
	}
	if name := strings.ToLower(told[:end]); slices.Contains(knownLibraries, name) {
		return name
	}
	return "other"
}

// libraries counts connections by what their clients say that they are.
func libraries(v *vitals, emit emit) {
	count := map[string]int{"none": 0, "other": 0}
	for _, s := range v.server.all() {
		count[libraryOf(s.about.Load().lib)]++
	}
	for name, n := range count {
		emit(float64(n), name)
	}
}

// errorCounts tells how many errors began with each word.
func errorCounts(v *vitals, emit emit) {
	for w, word := range refusals {
		emit(float64(v.server.errorsOf(w)), word)
	}
}

// gatherer is the collector of all rows.
type gatherer struct {
	server *Server
	rows   []Metric
	descs  []*prometheus.Desc
}

func newGatherer(s *Server) *gatherer {
	g := &gatherer{server: s, rows: Metrics()}
	for i := range g.rows {
		g.descs = append(g.descs, prometheus.NewDesc(g.rows[i].Name, g.rows[i].Help, g.rows[i].Labels, nil))
	}
	return g
}

// NewRegistry makes a registry of the server's metrics, and of those of its process.
func (s *Server) NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newGatherer(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Describe is of prometheus.Collector.
func (g *gatherer) Describe(to chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (g *gatherer) Collect(to chan<- prometheus.Metric) {
	v := g.server.look()
	for i := range g.rows {
		row, desc := &g.rows[i], g.descs[i]
		if row.shape != nil {
			to <- g.histogram(row, desc)
			continue
		}
		kind := prometheus.GaugeValue
		if row.Type == "counter" {
			kind = prometheus.CounterValue
		}
		row.collect(v, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		})
	}
}

// summed is a histogram of all blocks, as Prometheus wants it.
type summed struct {
	desc *prometheus.Desc
	dto.Histogram
}

func (s *summed) Desc() *prometheus.Desc { return s.desc }

func (s *summed) Write(m *dto.Metric) error {
	m.Histogram = &s.Histogram
	return nil
}

func (g *gatherer) histogram(row *Metric, desc *prometheus.Desc) prometheus.Metric {
	h := &summed{desc: desc}
	var sums totals
	for i := range g.server.blocks {
		row.shape(&g.server.blocks[i], &sums)
	}
	total := uint64(0)
	before := int64(0)
	next := 0 // the bucket that a span without a gap would go on with
	for n, c := range sums.buckets {
		total += c
		if n%perDoubling == 0 {
			h.Bucket = append(h.Bucket, &dto.Bucket{
				CumulativeCount: new(total), UpperBound: new(math.Exp2(float64(row.scale.first+n) / perDoubling)),
			})
		}
		if c == 0 {
			continue
		}
		if n == next && len(h.PositiveSpan) > 0 {
			h.PositiveSpan[len(h.PositiveSpan)-1].Length = new(h.PositiveSpan[len(h.PositiveSpan)-1].GetLength() + 1)
		} else {
			offset := n - next
			if len(h.PositiveSpan) == 0 {
				offset = row.scale.first + n
			}
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: new(int32(offset)), Length: new(uint32(1))})
		}
		h.PositiveDelta = append(h.PositiveDelta, int64(c)-before)
		before, next = int64(c), n+1
	}
	h.SampleCount, h.SampleSum = new(total), new(float64(sums.sum)/row.scale.perUnit)
	h.Schema, h.ZeroThreshold, h.ZeroCount = new(int32(nativeSchema)), new(float64(0)), new(uint64(0))
	if len(h.PositiveSpan) == 0 {
		// What has no span would not be known for a native histogram.
		h.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	return h
}

// Package metrics shows what a client does to Prometheus:
//
//	prometheus.MustRegister(metrics.NewCollector(c))
//
// There is no label for keys: there are as many as there are users. The client counts
// whether or not anybody collects, so a collection costs a few microseconds and decisions
// nothing.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/client"
)

// The metrics, each with what a person reads about it.
var (
	decisions = prometheus.NewDesc("sluice_client_decisions_total",
		"Decisions, by who made them (server, lease, degraded) and whether they allowed.", []string{"source", "outcome"}, nil)
	calls = prometheus.NewDesc("sluice_client_server_call_duration_seconds",
		"How long calls of the server took that somebody waited for, or would have.", nil, nil)
	leased = prometheus.NewDesc("sluice_client_leased_units_total",
		"Units that the server leased to this process.", nil, nil)
	returned = prometheus.NewDesc("sluice_client_returned_units_total",
		"Leased units that were given back.", nil, nil)
	away = prometheus.NewDesc("sluice_client_server_away",
		"1 while a node of the server counts as away and is not asked.", nil, nil)
	keys = prometheus.NewDesc("sluice_client_keys",
		"Keys that something is known of.", nil, nil)
	waiting = prometheus.NewDesc("sluice_client_reports_waiting",
		"Reports that wait to be sent.", nil, nil)
	lost = prometheus.NewDesc("sluice_client_reports_lost_total",
		"Reports that were refused or found no room.", nil, nil)
)

// Collector is a prometheus.Collector of one client.
type Collector struct{ client *client.Client }

// NewCollector returns the collector of a client. Two clients of one process need
// registries, or prometheus.WrapRegistererWith, of their own.
func NewCollector(c *client.Client) *Collector { return &Collector{c} }

// Describe is for prometheus.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{decisions, calls, leased, returned, away, keys, waiting, lost} {
		to <- d
	}
}

// Collect is for prometheus.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s := c.client.Stats()
	for source := client.SourceServer; source <= client.SourceDegraded; source++ {
		to <- count(decisions, s.Allowed[source], source.String(), "allowed")
		to <- count(decisions, s.Denied[source], source.String(), "denied")
	}
	to <- latencies(s.Calls)
	to <- count(leased, s.Leased)
	to <- count(returned, s.Returned)
	isAway := 0.0
	if s.Away {
		isAway = 1
	}
	to <- prometheus.MustNewConstMetric(away, prometheus.GaugeValue, isAway)
	to <- prometheus.MustNewConstMetric(keys, prometheus.GaugeValue, float64(s.Keys))
	to <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(s.ReportsWaiting))
	to <- count(lost, s.ReportsLost)
}

func count(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

// latencies is the histogram of calls, with bounds in seconds.
func latencies(l client.Latencies) prometheus.Metric {
	buckets := make(map[float64]uint64, len(l.Counts))
	sum := uint64(0)
	for i, n := range l.Counts {
		sum += n
		if i < len(l.Counts)-1 { // the last one has no bound
			buckets[(time.Microsecond << i).Seconds()] = sum
		}
	}
	return prometheus.MustNewConstHistogram(calls, sum, l.Sum.Seconds(), buckets)
}

package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"sluice/client"
	"sluice/client/metrics"
	"sluice/client/sluicetest"
)

// gathered is the value of every series, by name and labels.
func gathered(t *testing.T, c *client.Client) (map[string]float64, []*dto.MetricFamily) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(c))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values, families
}

func TestCollector(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	allow := func(key string, l client.Limit) {
		if _, err := c.Allow(t.Context(), key, l, 1); err != nil {
			t.Error(err)
		}
	}
	small, large := client.FixedWindow(1, time.Minute), client.FixedWindow(1_000_000, time.Minute)
	allow("a", small)
	allow("a", small)
	allow("a", small)
	for range 10 {
		allow("b", large)
	}
	srv.Down()
	for range 3 {
		allow("c", large)
	}
	got, families := gathered(t, c)
	for name, want := range map[string]float64{
		"sluice_client_decisions_total allowed server": 2, "sluice_client_decisions_total denied server": 1,
		"sluice_client_decisions_total denied lease": 1, "sluice_client_decisions_total allowed lease": 9,
		"sluice_client_decisions_total allowed degraded": 3, "sluice_client_server_away": 1, "sluice_client_keys": 3,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["sluice_client_leased_units_total"] < 9 || got["sluice_client_server_call_duration_seconds"] < 5 {
		t.Error(got)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

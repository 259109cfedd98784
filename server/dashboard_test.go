package server

// What operators are given is made from the table of metrics, or held to it: the
// Grafana dashboard is written from it (make docs), and the alerts may name no metric
// that there is not.

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dashboardPath = "../deploy/grafana/sluice.json"

// dashboard is the Grafana dashboard: a panel for each name in the table, in its order.
// Which of Grafana's data sources it asks can be chosen, and is the first one otherwise.
func dashboard() []byte {
	type target struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		RefID        string `json:"refId"`
	}
	type panel struct {
		ID         int            `json:"id"`
		Title      string         `json:"title"`
		Type       string         `json:"type"`
		Datasource map[string]any `json:"datasource"`
		GridPos    map[string]int `json:"gridPos"`
		Options    map[string]any `json:"options"`
		Field      map[string]any `json:"fieldConfig"`
		Targets    []target       `json:"targets"`
		About      string         `json:"description"`
	}
	var panels []*panel
	for _, m := range Metrics() {
		i := slices.IndexFunc(panels, func(p *panel) bool { return p.Title == m.Panel })
		if i < 0 {
			i = len(panels)
			panels = append(panels, &panel{
				ID: i + 1, Title: m.Panel, Type: "timeseries", Datasource: map[string]any{"type": "prometheus", "uid": "${prometheus}"},
				GridPos: map[string]int{"h": 8, "w": 8, "x": i % 3 * 8, "y": i / 3 * 8},
				Options: map[string]any{"legend": map[string]any{"showLegend": true}, "tooltip": map[string]any{"mode": "multi"}},
				Field:   map[string]any{"defaults": map[string]any{"unit": panelUnit(m.Name), "min": 0}, "overrides": []any{}},
			})
		}
		p := panels[i]
		legend := strings.TrimPrefix(m.Name, "sluice_")
		for _, label := range []string{"outcome", "command", "error", "result", "version", "plan", "limit", "reason", "library"} {
			if strings.Contains(m.Expr, "by (") && strings.Contains(m.Expr, label) {
				legend += " {{" + label + "}}"
			}
		}
		p.Targets = append(p.Targets, target{strings.ReplaceAll(m.Expr, "$", m.Name), legend, string(rune('A' + len(p.Targets)))})
		p.About = strings.TrimSpace(p.About + "\n" + m.Name + ": " + m.Help)
	}
	text, err := json.MarshalIndent(map[string]any{
		"title": "Sluice", "uid": "sluice", "schemaVersion": 39, "refresh": "5s", "editable": true, "tags": []string{"sluice"},
		"time": map[string]string{"from": "now-15m", "to": "now"}, "panels": panels,
		"templating": map[string]any{"list": []any{map[string]any{"name": "prometheus", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}},
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// panelUnit is Grafana's unit for a metric.
func panelUnit(name string) string {
	switch {
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	}
	return "short"
}

// TestDocsDashboard is TestDocs for the dashboard.
func TestDocsDashboard(t *testing.T) {
	want := dashboard()
	if *update {
		if err := os.WriteFile(dashboardPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(dashboardPath); err != nil || string(got) != string(want) {
		t.Errorf("deploy/grafana/sluice.json is not what the table of metrics says (%v); `make docs` writes it", err)
	}
}

// The alerts and their page name metrics that there are, and each other.
func TestAlertsNameMetrics(t *testing.T) {
	known := make(map[string]bool)
	for _, m := range Metrics() {
		known[m.Name] = true
		if m.Type == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_sum"], known[m.Name+"_count"] = true, true, true
		}
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../docs/operations/alerts.md")
	alerts := read("../deploy/prometheus/alerts.yml")
	for _, text := range []string{alerts, read("../deploy/prometheus/alerts_test.yml"), page} {
		for _, name := range regexp.MustCompile(`\bsluice_[a-z_]+`).FindAllString(text, -1) {
			if !known[name] {
				t.Errorf("there is no metric %s", name)
			}
		}
	}
	for _, alert := range regexp.MustCompile(`alert: (\S+)`).FindAllStringSubmatch(alerts, -1) {
		if !strings.Contains(page, "\n## "+alert[1]+"\n") {
			t.Errorf("docs/operations/alerts.md says nothing of %s", alert[1])
		}
		if !strings.Contains(alerts, "runbook: docs/operations/alerts.md#"+strings.ToLower(alert[1])+"\n") {
			t.Errorf("%s does not link to what to do", alert[1])
		}
	}
}

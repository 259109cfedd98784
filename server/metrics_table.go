package server

// The rows of the metrics. Those that a statistic stands behind have its value and
// its words; the others are what a line of INFO cannot tell: they have labels, or are
// histograms. No label ever holds a key: there may be millions. RL.TOP and RL.DENIALS
// say who is denied.
//
// The dashboard is made from these rows too: Panel is where a row is drawn, Expr how.

import (
	"fmt"
	"runtime"

	"sluice/algorithms"
	"sluice/plans"
)

// metricRows is the table.
var metricRows = []Metric{
	{Name: "sluice_decisions_total", Type: "counter", Labels: []string{"algorithm", "plan", "limit", "rule", "outcome", "reason"},
		Help:  "Decisions, by what they were made under and what came of them.",
		Panel: "Decisions", Expr: "sum by (outcome) (rate($[1m]))", collect: decisions},
	{Name: "sluice_decision_duration_seconds", Type: "histogram", Help: "From the arrival of a request at the server to its decision.",
		Panel: "Latency", Expr: "histogram_quantile(0.99, sum by (le) (rate($_bucket[1m])))", shape: decided, scale: inSeconds},
	{Name: "sluice_command_duration_seconds", Type: "histogram", Help: "From the arrival of a request at the server to its reply, written.",
		Panel: "Latency", Expr: "histogram_quantile(0.99, sum by (le) (rate($_bucket[1m])))", shape: func(m *measures, t *totals) { t.add(&m.answered) }, scale: inSeconds},
	{Name: "sluice_batch_commands", Type: "histogram", Help: "How many commands arrived at once on a connection.",
		Panel: "Pipelining", Expr: "histogram_quantile(0.5, sum by (le) (rate($_bucket[1m])))", shape: func(m *measures, t *totals) { t.add(&m.batch) }, scale: inCommands},
	{Name: "sluice_commands_total", Type: "counter", Labels: []string{"command"}, Help: "Commands, by name.",
		Panel: "Commands", Expr: "topk(10, sum by (command) (rate($[1m])))", collect: commandCounts},
	{Name: "sluice_errors_total", Type: "counter", Labels: []string{"error"}, Help: "Error replies, by their first word.",
		Panel: "Errors", Expr: "sum by (error) (rate($[1m]))", collect: errorCounts},

	{Name: "sluice_limiting_works", Type: "gauge", Help: "1 while the canary is denied what it must be denied, and granted what it must be granted.",
		Panel: "Limiting works", Expr: "min($)", collect: func(v *vitals, emit emit) { emit(float64(bit(v.server.canary.works()))) }},
	{Name: "sluice_canary_checks_total", Type: "counter", Labels: []string{"result"}, Help: "Checks of the canary, by what came of them.",
		Panel: "Limiting works", Expr: "sum by (result) (rate($[1m]))", collect: func(v *vitals, emit emit) {
			emit(float64(v.server.canary.right.Load()), "right")
			emit(float64(v.server.canary.wrong.Load()), "wrong")
		}},

	{Name: "sluice_keys", Type: "gauge", Labels: []string{"shard"}, Help: "Keys that are not fresh, by shard.",
		Panel: "Keys", Expr: "sum($)", collect: byShard(func(s *shardVitals) float64 { return float64(s.keys) })},
	{Name: "sluice_table_bytes", Type: "gauge", Labels: []string{"shard"}, Help: "Memory of the tables of keys, by shard.",
		Panel: "Memory", Expr: "sum($)", collect: byShard(func(s *shardVitals) float64 { return float64(s.tableBytes) })},
	{Name: "sluice_keys_expired_total", Type: "counter", Labels: []string{"shard"}, Help: "Keys that were freed because they had become fresh, by shard.",
		Panel: "Keys that go", Expr: "sum(rate($[1m]))", collect: byShard(func(s *shardVitals) float64 { return float64(s.stats.Expired) })},
	{Name: "sluice_keys_evicted_total", Type: "counter", Labels: []string{"shard", "reason"},
		Help:  "Keys that were thrown away for others before they were fresh, by shard, and by what there was too much of: keys or memory.",
		Panel: "Keys that go", Expr: "sum by (reason) (rate($[1m]))", collect: evictions},
	{Name: "sluice_shard_inbox_parts", Type: "gauge", Labels: []string{"shard"}, Help: "Parts of batches that wait for a shard.",
		Panel: "Waiting for shards", Expr: "max($)", collect: byShard(func(s *shardVitals) float64 { return float64(s.waiting) })},

	{Name: "sluice_plan_limit", Type: "gauge", Labels: []string{"plan", "limit", "mode"}, Help: "The limits of the plans: units, or money, that may pass in a window.",
		Panel: "Limits", Expr: "max by (plan, limit, mode) ($)", collect: limitsOf(func(l *plans.Limit) float64 {
			if l.Kind() == algorithms.Money {
				return float64(l.Units) / 1e6
			}
			return float64(l.Units)
		})},
	{Name: "sluice_plan_window_seconds", Type: "gauge", Labels: []string{"plan", "limit", "mode"}, Help: "The windows of the limits of the plans; 0 for those of a calendar.",
		Panel: "Limits", Expr: "max by (plan, limit, mode) ($)", collect: limitsOf(func(l *plans.Limit) float64 { return float64(l.Window) / 1e9 })},
	{Name: "sluice_leases_out", Type: "gauge", from: "leases_out", Panel: "Leases", Expr: "sum($)"},
	{Name: "sluice_plans", Type: "gauge", from: "plans", Panel: "Plans and rules", Expr: "max($)"},
	{Name: "sluice_rules", Type: "gauge", from: "rules", Panel: "Plans and rules", Expr: "max($)"},
	{Name: "sluice_book_info", Type: "gauge", Labels: []string{"version"}, Help: "Always 1: the version of plans and rules, the same on every server that has the same ones.",
		Panel: "Plans and rules", Expr: "count by (version) ($)",
		collect: func(v *vitals, emit emit) { emit(1, fmt.Sprintf("%016x", v.book.Version())) }},

	{Name: "sluice_uptime_seconds", Type: "gauge", from: "uptime_in_seconds", Panel: "Uptime", Expr: "min($)"},
	{Name: "sluice_clock_offset_seconds", Type: "gauge", from: "clock_offset_ms", unit: 1e-3, Panel: "Clock", Expr: "$"},
	{Name: "sluice_connected_clients", Type: "gauge", from: "connected_clients", Panel: "Connections", Expr: "sum($)"},
	{Name: "sluice_clients", Type: "gauge", Labels: []string{"library"}, Help: "Open connections, by the library that the client says it is: one that is known, other, or none.",
		Panel: "Libraries", Expr: "sum by (library) ($)", collect: libraries},
	{Name: "sluice_connections_total", Type: "counter", from: "total_connections_received", Panel: "Connections", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_clients_max", Type: "gauge", from: "maxclients", Panel: "Connections", Expr: "sum($)"},
	{Name: "sluice_connections_cut_off_total", Type: "counter", from: "client_output_buffer_limit_disconnections", Panel: "Connections", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_tls_handshakes_failed_total", Type: "counter", from: "tls_handshakes_failed", Panel: "Errors", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_connections_rejected_total", Type: "counter", from: "rejected_connections", Panel: "Connections", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_logins_refused_total", Type: "counter", from: "acl_access_denied_auth", Panel: "Errors", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_protocol_errors_total", Type: "counter", from: "protocol_errors", Panel: "Errors", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_memory_heap_bytes", Type: "gauge", from: "used_memory", Panel: "Memory", Expr: "sum($)"},
	{Name: "sluice_memory_resident_bytes", Type: "gauge", from: "used_memory_rss", Panel: "Memory", Expr: "sum($)"},
	{Name: "sluice_memory_limit_bytes", Type: "gauge", from: "maxmemory", Panel: "Memory", Expr: "sum($)"},

	{Name: "sluice_loading", Type: "gauge", from: "loading", Panel: "Ready", Expr: "max($)"},
	{Name: "sluice_journal_size_bytes", Type: "gauge", from: "journal_bytes", Panel: "Disk", Expr: "sum($)"},
	{Name: "sluice_journal_held_bytes", Type: "gauge", from: "journal_held_bytes", Panel: "Disk", Expr: "sum($)"},
	{Name: "sluice_journal_lag_seconds", Type: "gauge", from: "journal_lag_ms", unit: 1e-3, Panel: "Journal lag", Expr: "max($)"},
	{Name: "sluice_journal_syncs_total", Type: "counter", from: "journal_syncs", Panel: "Journal", Expr: "sum(rate($[1m]))"},
	{Name: "sluice_journal_faults_total", Type: "counter", from: "journal_faults", Panel: "Journal", Expr: "sum(increase($[10m]))"},
	{Name: "sluice_journal_lost_batches_total", Type: "counter", from: "journal_lost_batches", Panel: "Journal", Expr: "sum(increase($[10m]))"},
	{Name: "sluice_journal_works", Type: "gauge", Help: "1 while the journal keeps its promise.", Panel: "Journal", Expr: "min($)",
		collect: func(v *vitals, emit emit) {
			if v.kept != nil {
				emit(float64(bit(v.kept.Fault == "")))
			}
		}},
	{Name: "sluice_snapshot_time_seconds", Type: "gauge", from: "rdb_last_save_time", Panel: "Snapshot age", Expr: "time() - ($ > 0)"},
	{Name: "sluice_snapshot_duration_seconds", Type: "gauge", from: "snapshot_last_ms", unit: 1e-3, Panel: "Snapshots", Expr: "max($)"},
	{Name: "sluice_snapshot_size_bytes", Type: "gauge", from: "snapshot_bytes", Panel: "Disk", Expr: "sum($)"},
	{Name: "sluice_snapshots_total", Type: "counter", from: "rdb_saves", Panel: "Snapshots", Expr: "sum(increase($[1h]))"},
	{Name: "sluice_snapshot_works", Type: "gauge", Help: "1 where the last snapshot that was tried was written, or none was tried.", Panel: "Snapshots", Expr: "min($)",
		collect: func(v *vitals, emit emit) {
			if v.kept != nil {
				emit(float64(bit(v.kept.LastSaveError == "")))
			}
		}},

	{Name: "sluice_config_reload_works", Type: "gauge", Help: "1 where the configuration was read the last time it was tried, or it was read at start only.", Panel: "Configuration", Expr: "min($)",
		collect: alone(func(v *vitals) float64 { return float64(bit(v.server.settings.Reloads().Error == nil)) })},
	{Name: "sluice_config_reloads_total", Type: "counter", Labels: []string{"result"}, Help: "How often the configuration was read again.", Panel: "Configuration", Expr: "sum by (result) (increase($[1h]))",
		collect: func(v *vitals, emit emit) {
			r := v.server.settings.Reloads()
			emit(float64(r.Right), "right")
			emit(float64(r.Wrong), "wrong")
		}},
	{Name: "sluice_build_info", Type: "gauge", Labels: []string{"version", "go_version"}, Help: "Always 1: the version of the server, and of Go.", Panel: "Versions", Expr: "count by (version) ($)",
		collect: func(v *vitals, emit emit) { emit(1, v.server.version, runtime.Version()) }},
}

// Metrics is the table, complete.
func Metrics() []Metric {
	rows := make([]Metric, len(metricRows))
	copy(rows, metricRows)
	for i := range rows {
		rows[i].complete()
	}
	return rows
}

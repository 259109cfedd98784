package server

// The rows of INFO persistence. The first names are those that exporters and client
// libraries read of Redis (rdb_ is the snapshot, aof_ the journal); the journal's and
// the snapshot's own follow. While data are loaded, and where nothing is kept, only
// what can be told is.

import (
	"strings"
	"time"
)

// told makes a row's value from the keeper's status; without a keeper, and while it
// loads, the row is left out or, where none is not nil, none stands in its place.
func told(none any, value func(v *vitals) any) func(*vitals) any {
	return func(v *vitals) any {
		if v.kept == nil {
			return none
		}
		return value(v)
	}
}

// whileLoading makes a row's value while data are loaded.
func whileLoading(value func(l *Loading) any) func(*vitals) any {
	return func(v *vitals) any {
		if v.loading == nil {
			return nil
		}
		return value(v.loading)
	}
}

var keepStatistics = []statistic{
	{"persistence", "loading", "1 while data are read at the start", func(v *vitals) any { return bit(v.loading != nil) }},
	{"persistence", "async_loading", "always 0", func(*vitals) any { return 0 }},
	{"persistence", "loading_start_time", "while loading: when it began, seconds since 1970", whileLoading(func(l *Loading) any { return l.Since / nanosPerSecond })},
	{"persistence", "loading_total_bytes", "while loading: bytes there are", whileLoading(func(l *Loading) any { return l.Total })},
	{"persistence", "loading_loaded_bytes", "while loading: bytes that have been read", whileLoading(func(l *Loading) any { return l.Done })},
	{"persistence", "loading_loaded_perc", "while loading: the same as a share", whileLoading(func(l *Loading) any { return l.Done * 100 / max(l.Total, 1) })},

	{"persistence", "rdb_changes_since_last_save", "batches of changes since the last snapshot", told(0, func(v *vitals) any { return v.kept.ChangedSince })},
	{"persistence", "rdb_bgsave_in_progress", "1 while a snapshot is written in the background", told(0, func(v *vitals) any { return bit(v.kept.Saving) })},
	{"persistence", "rdb_last_save_time", "when the last snapshot that worked was begun, seconds since 1970; 0: never", told(0, func(v *vitals) any { return v.kept.LastSave / nanosPerSecond })},
	{"persistence", "rdb_last_bgsave_status", "ok, or err where the last snapshot failed", told("ok", func(v *vitals) any { return health(v.kept.LastSaveError) })},
	{"persistence", "rdb_last_bgsave_time_sec", "how long the last took; -1: none since the start", told(-1, func(v *vitals) any {
		if v.kept.LastSaveTook == 0 {
			return -1
		}
		return int64(v.kept.LastSaveTook / time.Second)
	})},
	{"persistence", "rdb_current_bgsave_time_sec", "how long the one under way has taken; -1: there is none", told(-1, func(v *vitals) any {
		if !v.kept.Saving {
			return -1
		}
		return int64(v.kept.SavingFor / time.Second)
	})},
	{"persistence", "rdb_saves", "snapshots since the start", told(0, func(v *vitals) any { return v.kept.Saves })},
	{"persistence", "rdb_last_load_keys_loaded", "records that were read at the start", told(0, func(v *vitals) any { return v.kept.LoadedRecords })},

	{"persistence", "aof_enabled", "1 where changes are journaled", told(0, func(v *vitals) any { return bit(v.kept.Mode != "off") })},
	{"persistence", "aof_rewrite_in_progress", "as rdb_bgsave_in_progress: a snapshot is what shortens the journal", told(0, func(v *vitals) any { return bit(v.kept.Saving) })},
	{"persistence", "aof_rewrite_scheduled", "always 0", func(*vitals) any { return 0 }},
	{"persistence", "aof_last_bgrewrite_status", "as rdb_last_bgsave_status", told("ok", func(v *vitals) any { return health(v.kept.LastSaveError) })},
	{"persistence", "aof_last_write_status", "ok, or err while the journal does not keep its promise", told("ok", func(v *vitals) any { return health(v.kept.Fault) })},
	{"persistence", "aof_current_size", "bytes of the journal", told(nil, func(v *vitals) any { return v.kept.JournalBytes })},
	{"persistence", "aof_base_size", "bytes of the last snapshot", told(nil, func(v *vitals) any { return v.kept.LastSaveBytes })},

	{"persistence", "journal_mode", "always, everysec, os or off; none where nothing is kept", told("none", func(v *vitals) any { return v.kept.Mode })},
	{"persistence", "journal_dir", "the directory", told(nil, func(v *vitals) any { return v.kept.Dir })},
	{"persistence", "journal_generation", "number of the newest generation", told(nil, func(v *vitals) any { return v.kept.Generation })},
	{"persistence", "journal_bytes", "of all generations that count", told(nil, func(v *vitals) any { return v.kept.JournalBytes })},
	{"persistence", "journal_held_bytes", "in memory: handed over and not durable yet", told(nil, func(v *vitals) any { return v.kept.HeldBytes })},
	{"persistence", "journal_unsynced_bytes", "written since the last sync", told(nil, func(v *vitals) any { return v.kept.UnsyncedBytes })},
	{"persistence", "journal_lag_ms", "age of the oldest change in the journal that is not durable", told(nil, func(v *vitals) any { return v.kept.Lag.Milliseconds() })},
	{"persistence", "journal_syncs", "since the start", told(nil, func(v *vitals) any { return v.kept.Syncs })},
	{"persistence", "journal_faults", "how often the journal has not kept its promise, since the start", told(nil, func(v *vitals) any { return v.kept.Faults })},
	{"persistence", "journal_fault", "why it does not at present; empty: it does", told(nil, func(v *vitals) any { return line(v.kept.Fault) })},
	{"persistence", "journal_lost_batches", "batches that only a snapshot makes good, since the start", told(nil, func(v *vitals) any { return v.kept.Lost })},
	{"persistence", "last_disk_error", "the last error of the disk, healed or not; empty: none", told(nil, func(v *vitals) any { return line(v.kept.LastError) })},
	{"persistence", "snapshot_file", "the current snapshot; empty: none", told(nil, func(v *vitals) any { return v.kept.LastSaveFile })},
	{"persistence", "snapshot_bytes", "of the current snapshot", told(nil, func(v *vitals) any { return v.kept.LastSaveBytes })},
	{"persistence", "snapshot_keys", "in the current snapshot", told(nil, func(v *vitals) any { return v.kept.LastSaveKeys })},
	{"persistence", "snapshot_last_ms", "how long the last one took to write", told(nil, func(v *vitals) any { return v.kept.LastSaveTook.Milliseconds() })},
	{"persistence", "snapshot_due", "1 where the journal lacks what a snapshot must make good", told(nil, func(v *vitals) any { return bit(v.kept.SaveDue) })},
	{"persistence", "snapshot_last_error", "of the last that was tried; empty: it worked", told(nil, func(v *vitals) any { return line(v.kept.LastSaveError) })},
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

func health(problem string) string {
	if problem == "" {
		return "ok"
	}
	return "err"
}

// line makes a text of the disk's one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

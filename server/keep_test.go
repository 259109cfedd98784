package server

// What commands get while data are loaded, while the journal cannot be written, and when
// it fails under them; and what the commands that save say.

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/internal/clock"
	"sluice/internal/keeper"
	"sluice/shard"
)

// fakeKeeper answers what a test has put into it, and is the journal as well.
type fakeKeeper struct {
	refusing error
	fails    error // what making records durable says
	saveFail error
	saves    int
	last     int // SaveLast
	status   keeper.Status
}

func (k *fakeKeeper) Save() error           { k.saves++; return k.saveFail }
func (k *fakeKeeper) SaveLast() error       { k.last++; return k.saveFail }
func (k *fakeKeeper) BackgroundSave() error { return k.saveFail }
func (k *fakeKeeper) Refusing() error       { return k.refusing }
func (k *fakeKeeper) Status() keeper.Status { return k.status }

func (k *fakeKeeper) Behind() bool   { return false }
func (k *fakeKeeper) Buffer() []byte { return nil }
func (k *fakeKeeper) Submit(_ uint64, _ []byte, done func(error)) {
	if done != nil {
		done(k.fails)
	}
}

// newKeepRig is a server with a keeper under which every change is made durable before
// it is acknowledged.
func newKeepRig(t testing.TB) (*rig, *fakeKeeper) {
	t.Helper()
	c, k := clock.NewTest(), &fakeKeeper{status: keeper.Status{Mode: "always"}}
	set := shard.NewSet(2, c)
	set.Journal(k, true)
	ended := 0
	s := New(Options{
		Version: "0.1.0", Shards: set, Clock: c, TestClock: c, Keeper: k, Shutdown: func() { ended++ },
		Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		s.Close()
		set.Close()
	})
	return &rig{Server: s, t: t, clock: c}, k
}

const misconf = "-MISCONF the journal cannot be written, so nothing that spends is acknowledged until it can: "

var errDisk = errors.New("sync /data/journal-0000000001: input/output error")

func TestLoadingHoldsBack(t *testing.T) {
	r, k := newKeepRig(t)
	k.status.Mode = "must not be asked"
	w := r.dial()
	r.SetLoading(&Loading{Done: 250, Total: 1000, Since: 1_800_000_000 * nanosPerSecond})
	for _, line := range []string{
		"RL.ALLOW k gcra 1 1s", "RL.PEEK k gcra 1 1s", "RL.MALLOW k gcra 1 1s 1", "RL.RESET k", "DEL k", "EXISTS k", "TTL k",
		"SCAN 0", "KEYS *", "DBSIZE", "RANDOMKEY", "FLUSHALL", "RL.INSPECT k", "SAVE", "BGSAVE", "LASTSAVE",
	} {
		w.want(t, line, "-LOADING Sluice is loading its data, 250 of 1000 bytes")
	}
	w.want(t, "PING", "+PONG")
	info := w.line(t, "INFO persistence").text
	for _, field := range []string{
		"loading:1", "loading_start_time:1800000000", "loading_total_bytes:1000", "loading_loaded_bytes:250", "loading_loaded_perc:25",
	} {
		if !strings.Contains(info, field+"\r\n") {
			t.Errorf("INFO does not say %s:\n%s", field, info)
		}
	}
	if strings.Contains(info, "must not be asked") {
		t.Error("the keeper was asked while it loads")
	}
	r.SetLoading(nil)
	k.status.Mode = "always"
	w.want(t, "RL.ALLOW k gcra 1 1s", "[1 1 0 0 1000 0]")
	if info := w.line(t, "INFO persistence").text; !strings.Contains(info, "loading:0\r\n") || strings.Contains(info, "loading_") && !strings.Contains(info, "async_loading:0") {
		t.Error(info)
	}
}

// A server that loads can be ended; there is nothing to save.
func TestShutdownWhileLoading(t *testing.T) {
	r, k := newKeepRig(t)
	r.SetLoading(&Loading{})
	w := r.dial()
	if reply, open := w.send(request("SHUTDOWN")); open || len(reply) > 0 {
		t.Errorf("reply %q, open %v", reply, open)
	}
	if k.last+k.saves > 0 {
		t.Error("a snapshot of half of the data was asked for")
	}
}

// While the journal cannot be written whatever would change anything is refused, in every
// command that can, and whatever would not is answered as ever.
func TestRefusing(t *testing.T) {
	r, k := newKeepRig(t)
	w := r.dial()
	w.want(t, "RL.ALLOW used gcra 5 1m 5", "[1 5 0 0 60000 0]")
	w.want(t, "RL.ALLOW part fixed_window 5 1m 2", "[1 5 3 0 60000 0]")
	k.refusing = errDisk
	refused := misconf + errDisk.Error()
	for range 2 { // the second time it is a repeated request
		w.want(t, "RL.ALLOW part fixed_window 5 1m 2", refused)
		w.want(t, "RL.ALLOW used gcra 5 1m 1", "[0 5 0 12000 60000 0]")
		w.want(t, "RL.PEEK part fixed_window 5 1m 2", "[1 5 3 0 60000 0]")
	}
	w.want(t, "RL.ALLOW new sliding_log 1 1s", refused)
	w.want(t, "RL.ALLOW new gcra 1 1s 2", "[0 1 1 -1 0 0]")
	w.want(t, "RL.MALLOW used gcra 5 1m 1 part fixed_window 5 1m 1 used gcra 5 1m 6",
		"[[0 5 0 12000 60000 0] "+refused+" [0 5 0 -1 60000 0]]")
	for _, line := range []string{"RL.RESET used", "DEL used", "UNLINK used", "FLUSHALL", "FLUSHDB"} {
		w.want(t, line, refused)
	}
	w.want(t, "EXISTS used part new", "2")
	w.want(t, "RL.ALLOW part nonsense 5 1m 2", w.line(t, "RL.PEEK part nonsense 5 1m 2").String())
	w.want(t, "SAVE", "+OK")
	k.refusing = nil
	w.want(t, "RL.ALLOW part fixed_window 5 1m 2", "[1 5 1 0 60000 0]")
	w.want(t, "DEL used", "1")
	w.want(t, "FLUSHALL", "+OK")
}

// A pipeline that is read while nothing may be spent has its answers in order.
func TestRefusingPipeline(t *testing.T) {
	r, k := newKeepRig(t)
	w := r.dial()
	w.want(t, "RL.ALLOW used gcra 1 1m", "[1 1 0 0 60000 0]")
	k.refusing = errDisk
	var batch []byte
	for range 3 {
		batch = append(batch, requestLine(t, "RL.ALLOW used gcra 1 1m")...)
		batch = append(batch, requestLine(t, "DEL used other")...)
		batch = append(batch, requestLine(t, "EXISTS used")...)
	}
	reply, _ := w.send(batch)
	for i, v := range decodeAll(t, reply) {
		if want := []string{"[0 1 0 60000 60000 0]", misconf + errDisk.Error(), "1"}[i%3]; v.String() != want {
			t.Errorf("reply %d is %s, want %s", i, v, want)
		}
	}
}

// The disk fails under a call: what has changed is not acknowledged, what has not is
// answered, and the cause is told even when the disk works again by then.
func TestUnsaved(t *testing.T) {
	r, k := newKeepRig(t)
	w := r.dial()
	w.want(t, "RL.ALLOW used gcra 1 1m", "[1 1 0 0 60000 0]")
	w.want(t, "RL.ALLOW other gcra 9 1m", "[1 9 8 0 6667 0]")
	k.fails, k.status.LastError = errDisk, "write /data/journal-0000000001: no space left on device"
	refused := misconf + k.status.LastError
	w.want(t, "RL.ALLOW part gcra 2 1m", refused)
	w.want(t, "RL.ALLOW used gcra 1 1m", "[0 1 0 60000 60000 0]")
	w.want(t, "RL.PEEK used gcra 1 1m", "[0 1 0 60000 60000 0]")
	w.want(t, "EXISTS used", "1")
	w.want(t, "DBSIZE", "3")
	w.want(t, "SCAN 0 COUNT 100 MATCH used", `["0" ["used"]]`)
	w.want(t, "RL.MALLOW {x}used gcra 1 1m 1 {x}used gcra 1 1m 1", "["+refused+" [0 1 0 60000 60000 0]]")
	w.want(t, "RL.RESET used", refused)
	w.want(t, "DEL other", refused)
	k.refusing = errDisk // and it is known by now
	w.want(t, "DEL nothing", misconf+errDisk.Error())
	k.refusing = nil
	w.want(t, "FLUSHALL", misconf+errDisk.Error())
	k.fails = nil
	w.want(t, "RL.ALLOW used gcra 1 1m", "[1 1 0 0 60000 0]") // what was refused has happened in memory
	w.want(t, "DEL nothing", "0")
}

func TestSaving(t *testing.T) {
	r, k := newKeepRig(t)
	w := r.dial()
	w.want(t, "LASTSAVE", "0")
	k.status.LastSave = 1_800_000_123_456_789_000
	w.want(t, "LASTSAVE", "1800000123")
	w.want(t, "SAVE", "+OK")
	w.want(t, "BGSAVE", "+Background saving started")
	w.want(t, "BGSAVE SCHEDULE", "+Background saving started")
	w.want(t, "BGSAVE NOW", "-ERR BGSAVE takes SCHEDULE or nothing, got 'NOW'")
	k.saveFail = errors.New("a snapshot is being written already")
	w.want(t, "SAVE", "-ERR a snapshot is being written already")
	w.want(t, "BGSAVE", "-ERR a snapshot is being written already")
	w.want(t, "SHUTDOWN", "-ERR not ended, because the snapshot failed; SHUTDOWN NOSAVE ends without one: a snapshot is being written already")
	w.want(t, "SHUTDOWN NOW", "-ERR SHUTDOWN takes SAVE, NOSAVE or nothing, got 'NOW'")
	before := *k
	if reply, open := w.send(request("SHUTDOWN", "NOSAVE")); open || len(reply) > 0 {
		t.Errorf("reply %q, open %v", reply, open)
	}
	if k.last != before.last {
		t.Error("NOSAVE saves")
	}
	k.saveFail = nil
	if reply, open := r.dial().send(request("SHUTDOWN")); open || len(reply) > 0 || k.last != before.last+1 {
		t.Errorf("reply %q, open %v, %d saved", reply, open, k.last-before.last)
	}
}

// Without a directory there is nothing to save, and that is said.
func TestNothingKept(t *testing.T) {
	w := newRig(t, 1).dial()
	w.want(t, "SAVE", "-"+errNothingKept.Error())
	w.want(t, "BGSAVE", "-"+errNothingKept.Error())
	w.want(t, "SHUTDOWN SAVE", "-"+errNothingKept.Error())
	w.want(t, "SHUTDOWN", "-ERR this server cannot be ended by a command")
	w.want(t, "LASTSAVE", "0")
}

// Every field that there can be, with a value of its own, so that none is another's.
func TestInfoPersistence(t *testing.T) {
	r, k := newKeepRig(t)
	k.status = keeper.Status{
		Mode: "everysec", Dir: "/data", JournalBytes: 11, HeldBytes: 12, UnsyncedBytes: 13, Lag: 14 * time.Millisecond, Generation: 15,
		Syncs: 16, Lost: 17, Faults: 18, Fault: "a fault\nof two lines", LastError: "an error", Saving: true, SavingFor: 19 * time.Second,
		Saves: 20, SaveDue: true, ChangedSince: 21, LastSave: 22 * nanosPerSecond, LastSaveFile: "snapshot-0000000023", LastSaveBytes: 24,
		LastSaveKeys: 25, LastSaveTook: 26500 * time.Millisecond, LastSaveError: "no space", LoadedRecords: 27, LoadedBytes: 28,
	}
	want := `# Persistence
loading:0
async_loading:0
rdb_changes_since_last_save:21
rdb_bgsave_in_progress:1
rdb_last_save_time:22
rdb_last_bgsave_status:err
rdb_last_bgsave_time_sec:26
rdb_current_bgsave_time_sec:19
rdb_saves:20
rdb_last_load_keys_loaded:27
aof_enabled:1
aof_rewrite_in_progress:1
aof_rewrite_scheduled:0
aof_last_bgrewrite_status:err
aof_last_write_status:err
aof_current_size:11
aof_base_size:24
journal_mode:everysec
journal_dir:/data
journal_generation:15
journal_bytes:11
journal_held_bytes:12
journal_unsynced_bytes:13
journal_lag_ms:14
journal_syncs:16
journal_faults:18
journal_fault:a fault of two lines
journal_lost_batches:17
last_disk_error:an error
snapshot_file:snapshot-0000000023
snapshot_bytes:24
snapshot_keys:25
snapshot_last_ms:26500
snapshot_due:1
snapshot_last_error:no space
`
	w := r.dial()
	if got := strings.ReplaceAll(w.line(t, "INFO persistence").text, "\r\n", "\n"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	k.status = keeper.Status{Mode: "off"}
	got := w.line(t, "INFO persistence").text
	for _, field := range []string{
		"aof_enabled:0", "rdb_last_bgsave_status:ok", "rdb_last_bgsave_time_sec:-1", "rdb_current_bgsave_time_sec:-1",
		"aof_last_write_status:ok", "journal_fault:", "snapshot_due:0",
	} {
		if !strings.Contains(got, field+"\r\n") {
			t.Errorf("%s is missing from\n%s", field, got)
		}
	}
}

// The store on a disk that works: what is appended comes back, in order, across generations and snapshots.

package persistence_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

func TestEmptyDirectory(t *testing.T) {
	fs := faultfs.New(1)
	store, s, recovery := mustLoad(t, fs)
	equal(t, s, state{})
	if recovery.Generations != 0 || recovery.LastTime != 0 || recovery.Cuts != nil {
		t.Errorf("recovery is %+v", recovery)
	}
	must(t, store.Close(1))
	if got := names(fs); got != "" {
		t.Errorf("files %q after a start without a write", got)
	}
}

func TestAppendComesBack(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 10, "a=1 b=2")
	put(t, store, 20, "b= c=3")
	must(t, store.Append(30, batch("a=4"), batch("d=5 e=6")))
	must(t, store.Close(40))

	store, s, recovery := mustLoad(t, fs)
	equal(t, s, parse("a=4 c=3 d=5 e=6"))
	if recovery.JournalRecords != 7 || recovery.LastTime != 40 || recovery.Cuts != nil || recovery.Generations != 1 {
		t.Errorf("recovery is %+v", recovery)
	}
	put(t, store, 50, "a=5")
	must(t, store.Close(60))
	_, s, recovery = mustLoad(t, fs)
	equal(t, s, parse("a=5 c=3 d=5 e=6"))
	if recovery.Generations != 2 || recovery.LastTime != 60 {
		t.Errorf("recovery is %+v", recovery)
	}
}

// A record of a kind that is an order takes effect between those before and those after.
func TestOrderOfControlRecords(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1 b=2")
	must(t, store.Rotate(2))
	put(t, store, 3, "c=3 CLEAR d=4")
	put(t, store, 4, "e=5")
	must(t, store.Close(5))
	_, s, _ := mustLoad(t, fs)
	equal(t, s, parse("d=4 e=5"))
}

func TestSnapshotSupersedes(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1 b=2")
	must(t, store.Rotate(2))
	put(t, store, 3, "b=3")
	saved := save(t, store, 4, parse("a=1 b=3"))
	if got, want := names(fs), journal(3)+" "+snapshot(3); got != want {
		t.Errorf("files %q, want %q", got, want)
	}
	if saved.Records != 2 || saved.Generation != 3 || saved.Time != 4 || saved.File != snapshot(3) || saved.Leftover != nil {
		t.Errorf("saved is %+v", saved)
	}
	data, _ := fs.ReadFile(path(saved.File))
	if int64(len(data)) != saved.Bytes {
		t.Errorf("the snapshot has %d bytes, said %d", len(data), saved.Bytes)
	}
	put(t, store, 5, "c=4")
	if got := store.JournalBytes(); got != int64(persistence.HeaderBytes+persistence.FrameHeadBytes+len(batch("c=4"))) {
		t.Errorf("the journal has %d bytes", got)
	}
	must(t, store.Close(6))

	_, s, recovery := mustLoad(t, fs)
	equal(t, s, parse("a=1 b=3 c=4"))
	if recovery.Snapshot != snapshot(3) || recovery.SnapshotRecords != 2 || recovery.JournalRecords != 1 || recovery.SnapshotTime != 4 {
		t.Errorf("recovery is %+v", recovery)
	}
}

// What is appended while the snapshot is written, before and after a key is exported, counts.
func TestSnapshotIsFuzzy(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1 b=1")
	w, err := store.BeginSnapshot(2)
	must(t, err)
	must(t, store.Append(3, batch("a=2")))
	must(t, w.Append(4, batch("a=2")))
	must(t, store.Append(5, batch("a=3 b=3")))
	must(t, w.Append(6, batch("b=3")))
	_, err = w.Commit()
	must(t, err)
	if store.Durable() != store.Appended() {
		t.Error("the snapshot knows more than the durable journal")
	}
	put(t, store, 7, "b=4")
	must(t, store.Close(8))
	_, s, _ := mustLoad(t, fs)
	equal(t, s, parse("a=3 b=4"))
}

func TestSnapshotAborted(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1")
	w, err := store.BeginSnapshot(2)
	must(t, err)
	if _, err := store.BeginSnapshot(2); !errors.Is(err, persistence.ErrSnapshotRunning) {
		t.Errorf("a second snapshot: %v", err)
	}
	must(t, w.Append(3, batch("a=9")))
	w.Abort()
	w.Abort()
	if got, want := names(fs), journal(1)+" "+journal(2); got != want {
		t.Errorf("files %q, want %q", got, want)
	}
	save(t, store, 4, parse("a=1"))
	must(t, store.Close(5))
	_, s, _ := mustLoad(t, fs)
	equal(t, s, parse("a=1"))
}

func TestCloseAbortsTheSnapshot(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1")
	_, err := store.BeginSnapshot(2)
	must(t, err)
	must(t, store.Close(3))
	if got := names(fs); strings.Contains(got, "tmp") {
		t.Errorf("files %q", got)
	}
}

// A generation to which nothing was appended needs no mark.
func TestCloseOfAnEmptyGeneration(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	save(t, store, 1, state{})
	must(t, store.Close(2))
	if data, _ := fs.ReadFile(path(journal(1))); len(data) != persistence.HeaderBytes {
		t.Errorf("the journal has %d bytes", len(data))
	}
}

// A long snapshot is synced as it is written, so that the last sync is short.
func TestSnapshotIsSyncedOnTheWay(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	w, err := store.BeginSnapshot(1)
	must(t, err)
	syncs := 0
	fs.SetHook(func(op faultfs.Op, _ string) {
		if op == faultfs.OpSync {
			syncs++
		}
	})
	for range 20 {
		must(t, w.Append(1, batch("a="+strings.Repeat("v", 1<<20))))
	}
	if want := 20 << 20 / persistence.SnapshotSyncBytes; syncs != want {
		t.Errorf("%d syncs, want %d", syncs, want)
	}
	_, err = w.Commit()
	must(t, err)
	must(t, store.Close(2))
}

func TestSnapshotWithoutJournal(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	save(t, store, 4, parse("a=1 b=3"))
	must(t, store.Close(5))
	fs.RemoveFile(path(journal(1)))

	store, s, recovery := mustLoad(t, fs) // C121
	equal(t, s, parse("a=1 b=3"))
	if recovery.Generations != 0 {
		t.Errorf("recovery is %+v", recovery)
	}
	put(t, store, 6, "c=1")
	must(t, store.Close(7))
	_, s, _ = mustLoad(t, fs)
	equal(t, s, parse("a=1 b=3 c=1"))
}

func TestLargeBatchesAndManyGenerations(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	want := state{}
	for i := range 12 {
		value := strings.Repeat(string(rune('a'+i)), 1<<i*40)
		want[fmt.Sprint(i)] = value
		put(t, store, uint64(i), fmt.Sprintf("%d=%s", i, value))
		must(t, store.Rotate(uint64(i)))
	}
	biggest := strings.Repeat("z", persistence.FramePayloadBytesMax-persistence.RecordOverheadBytesMax)
	want["big"] = biggest
	put(t, store, 99, "big="+biggest)
	want["small"] = "1"
	put(t, store, 99, "small=1")
	must(t, store.Close(100))
	_, s, _ := mustLoad(t, fs)
	equal(t, s, want)
}

func TestProgressAndApplyError(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	for i := range 20 {
		must(t, store.Append(uint64(i), batch(fmt.Sprintf("%d=%s", i, strings.Repeat("v", 1<<20)))))
	}
	must(t, store.Close(100))

	store, err := persistence.Open(fs, dir, persistence.Options{})
	must(t, err)
	var done []int64
	_, err = store.Replay(each(state{}.apply), func(d, total int64) {
		if total != 20<<20+20*int64(persistence.FrameHeadBytes+6)+10+int64(persistence.HeaderBytes+persistence.FrameHeadBytes) {
			t.Fatalf("total is %d", total)
		}
		done = append(done, d)
	})
	must(t, err)
	if len(done) != 7 || done[0] != 0 || done[6] <= done[5] {
		t.Errorf("progress is %v", done)
	}
	must(t, store.Close(100))

	store, err = persistence.Open(fs, dir, persistence.Options{})
	must(t, err)
	broken := errors.New("no such algorithm")
	_, err = store.Replay(func([]persistence.Record) error { return broken }, nil)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "replay "+path(journal(1))) {
		t.Errorf("error is %v", err)
	}
	must(t, store.Close(100))
}

func TestLock(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	_, _, _, err := load(fs, dir)
	var locked *persistence.LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), "127.0.0.1:6380") {
		t.Fatalf("second opener: %v", err)
	}
	must(t, store.Close(1))
	store, _, _ = mustLoad(t, fs)
	must(t, store.Close(1))
}

func TestMisuse(t *testing.T) {
	fs := faultfs.New(1)
	store, err := persistence.Open(fs, dir, persistence.Options{})
	must(t, err)
	panics(t, "append before replay", func() { store.Append(1, nil) })
	store.Replay(each(state{}.apply), nil)
	panics(t, "replay twice", func() { store.Replay(each(state{}.apply), nil) })
	panics(t, "too long", func() { store.Append(1, make([]byte, persistence.FrameBytesMax)) })
	w, err := store.BeginSnapshot(1)
	must(t, err)
	panics(t, "no records", func() { w.Append(1, []byte{1, 2, 3}) })
	must(t, store.Close(1))
	panics(t, "append after close", func() { store.Append(1, nil) })
}

func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

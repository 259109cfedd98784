// Failures of the store one by one: what stays in the journal, where the next frame goes, and that a full disk fills up
// with nothing of ours (C112, G8).

package persistence_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

func TestFailedWriteTakesBackItsFrame(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	must(t, store.Append(1, batch("a=1")))
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.ENOSPC})
	if err := store.Append(2, batch("a=2")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error is %v", err)
	}
	if store.Appended() != 1 || store.Durable() != 0 {
		t.Errorf("%d appended, %d durable", store.Appended(), store.Durable())
	}
	must(t, store.Append(3, batch("b=3")))
	if store.Appended() != 2 || store.Durable() != 1 || store.Generation() != 2 {
		t.Errorf("%d appended, %d durable, generation %d", store.Appended(), store.Durable(), store.Generation())
	}
	must(t, store.Sync())
	_, s, recovery := mustLoad(t, fs.PowerLoss(1))
	equal(t, s, parse("a=1 b=3"))
	if recovery.Cuts != nil {
		t.Errorf("cuts %v behind a seal", recovery.Cuts)
	}
}

func TestFailedSyncTakesBackAllThatIsNotDurable(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, 1, "a=1")
	must(t, store.Append(2, batch("b=2")))
	must(t, store.Append(3, batch("c=3")))
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO})
	if err := store.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error is %v", err)
	}
	if store.Appended() != 1 || store.Durable() != 1 {
		t.Errorf("%d appended, %d durable", store.Appended(), store.Durable())
	}
	must(t, store.Sync())
	put(t, store, 4, "d=4")
	for _, image := range []*faultfs.FS{fs.Kill(), fs.PowerLoss(1)} {
		_, s, recovery := mustLoad(t, image)
		equal(t, s, parse("a=1 d=4")) // what was taken back is dead even if it is on disk
		if recovery.Generations != 2 {
			t.Errorf("recovery is %+v", recovery)
		}
	}
}

// A sync may run while frames are appended; they are not covered by it.
func TestSplitSync(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	must(t, store.Append(1, batch("a=1")))
	ticket, ok := store.SyncStart()
	if !ok {
		t.Fatal("nothing to sync")
	}
	must(t, ticket.Run())
	must(t, store.Append(2, batch("b=2")))
	panics(t, "a second sync", func() { store.SyncStart() })
	must(t, store.SyncDone(ticket, nil))
	if store.Durable() != 1 || store.Appended() != 2 {
		t.Errorf("%d durable, %d appended", store.Durable(), store.Appended())
	}
}

func TestRotateSyncs(t *testing.T) {
	for seed := range uint64(20) {
		fs := faultfs.New(seed)
		store, _, _ := mustLoad(t, fs)
		must(t, store.Append(1, batch("a=1")))
		must(t, store.Rotate(2))
		if store.Durable() != 1 {
			t.Error("the rotation has not synced")
		}
		_, s, _ := mustLoad(t, fs.PowerLoss(seed))
		equal(t, s, parse("a=1"))
	}
}

// A generation that cannot be begun leaves no file, or one that the next attempt removes.
func TestFailedBeginLeavesNothing(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.OpCreate, faultfs.OpWrite, faultfs.OpSync, faultfs.OpSyncDir} {
		for _, removable := range []bool{true, false} {
			fs := faultfs.New(1)
			store, _, _ := mustLoad(t, fs)
			put(t, store, 1, "a=1")
			faults := []faultfs.Fault{{Call: 1, Op: op, Path: "", Err: syscall.EIO}}
			if op != faultfs.OpSyncDir {
				faults[0].Path = journal(2)
			}
			if !removable {
				faults = append(faults, faultfs.Fault{Call: 1, Op: faultfs.OpRemove, Err: syscall.EIO})
			}
			fs.SetFaults(faults...)
			if err := store.Rotate(2); !errors.Is(err, syscall.EIO) {
				t.Fatalf("%s: error is %v", op, err)
			}
			if got := names(fs); removable && got != journal(1) {
				t.Errorf("%s: files %q", op, got)
			}
			_, s, _ := mustLoad(t, fs.Kill())
			equal(t, s, parse("a=1"))
			put(t, store, 3, "b=2")
			if got := names(fs); got != journal(1)+" "+journal(2) {
				t.Errorf("%s: files %q", op, got)
			}
			_, s, _ = mustLoad(t, fs.PowerLoss(1))
			equal(t, s, parse("a=1 b=2"))
		}
	}
}

func TestSnapshotThatFailsLeavesTheOldOne(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.OpWrite, faultfs.OpSync, faultfs.OpRename, faultfs.OpSyncDir} {
		fs := faultfs.New(1)
		store, _, _ := mustLoad(t, fs)
		put(t, store, 1, "a=1")
		save(t, store, 2, parse("a=1"))
		put(t, store, 3, "b=2")
		w, err := store.BeginSnapshot(4)
		must(t, err)
		fs.SetFaults(faultfs.Fault{Call: 1, Op: op, Err: syscall.EIO})
		w.Append(5, batch("a=1 b=2"))
		if _, err := w.Commit(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("%s: error is %v", op, err)
		}
		if strings.Contains(names(fs), "tmp") {
			t.Errorf("%s: files %q", op, names(fs))
		}
		put(t, store, 6, "c=3")
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, parse("a=1 b=2 c=3"))
		save(t, store, 7, parse("a=1 b=2 c=3"))
		if strings.Count(names(fs), "snapshot") != 1 || strings.Count(names(fs), "journal") != 1 {
			t.Errorf("%s: files %q after the next snapshot", op, names(fs))
		}
	}
}

// One hundred times the disk fills up under journal and snapshots and is freed again (C112, G8). What was acknowledged is
// there, no file is empty, and within a second everything goes on without a restart.
func TestFullAndFreeAgain(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		fs := faultfs.New(1)
		store, _, _ := mustLoad(t, fs)
		needed := false
		q := persistence.NewQueue(store, mode, 64<<10, func() { needed = true })
		now, acked, sent := time.Duration(0), state{}, state{}
		submit := func(i int) (answer error) {
			now += 20 * time.Millisecond
			line := fmt.Sprintf("k%d=%s", i%50, strings.Repeat(fmt.Sprint(i%10), 6000))
			sent.apply(mustCut(line))
			q.Submit(now, uint64(i), batch(line), func(err error) {
				if answer = err; err == nil {
					acked.apply(mustCut(line))
				}
			})
			q.Tick(now)
			return answer
		}
		i := 0
		for round := range 100 {
			fs.SetCapacity(256 << 10)
			full := false
			for n := 0; n < 400 && !full; n++ {
				i++
				full = submit(i) != nil
			}
			if !full || q.Fault() == nil {
				t.Fatalf("round %d: the disk is not full with %d bytes", round, fs.Used())
			}
			if w, err := q.Begin(now, 1); err == nil {
				t.Errorf("round %d: a snapshot began on a full disk", round)
				w.Abort()
			}
			for _, name := range fs.Names(dir) {
				if data, _ := fs.ReadFile(path(name)); len(data) == 0 {
					t.Fatalf("round %d: %s is empty", round, name)
				}
			}
			if mode == persistence.Always && round%10 == 0 {
				_, s, _ := mustLoad(t, fs.PowerLoss(uint64(round)))
				for key, value := range acked {
					if s[key] != value {
						t.Fatalf("round %d: %s was acknowledged and is lost", round, key)
					}
				}
			}
			fs.SetCapacity(-1)
			for freed := now; q.Fault() != nil; q.Tick(now) {
				if now += 50 * time.Millisecond; now-freed > time.Second {
					t.Fatalf("round %d: %v a second after the disk was freed", round, q.Fault())
				}
			}
			w, err := q.Begin(now, uint64(i))
			must(t, err)
			for key, value := range sent {
				must(t, w.Append(uint64(i), batch(key+"="+value)))
			}
			must(t, q.Commit(now, w))
			must(t, w.Sweep())
		}
		must(t, q.Close(now, uint64(i)))
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, sent)
		if mode == persistence.Always && len(acked) == 0 || needed {
			t.Errorf("%d acknowledged, snapshot needed: %v", len(acked), needed)
		}
	}
}

func mustCut(line string) persistence.Record {
	r, _, _ := persistence.CutRecord(batch(line))
	return r
}

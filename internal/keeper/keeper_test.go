package keeper_test

// The life of a keeper where nothing fails: loading, snapshots and when they are due,
// what it tells of itself. C115, C120, C121.

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/persistence/faultfs"
	"sluice/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What was there before comes back, whatever the mode was and is: also a snapshot
// alone, when a journal is begun on top of it (C121).
func TestEveryModeReadsEveryOther(t *testing.T) {
	modes := []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides, persistence.Off}
	for _, first := range modes {
		for _, second := range modes {
			synctest.Test(t, func(t *testing.T) {
				disk := faultfs.New(1)
				r := open(t, disk, first, nil)
				r.fill("first", 10)
				if err := r.Close(first == persistence.Off); err != nil {
					t.Error(err)
				}
				r.set.Close()
				r = open(t, disk.PowerLoss(1), second, nil)
				r.fill("second", 10)
				if err := r.Close(second == persistence.Off); err != nil {
					t.Error(err)
				}
				r.set.Close()
				back := open(t, r.disk.PowerLoss(2), persistence.Always, nil)
				back.want(map[string]uint64{"first3": 1, "second7": 1})
				if n := back.keys(); n != 20 {
					t.Errorf("%v, then %v: %d keys of 20", first, second, n)
				}
				back.close()
			})
		}
	}
}

// A snapshot in the background rests most of the time, so that it takes little from who
// calls meanwhile. One that somebody waits for does not, and the end of the server does
// not wait for one that rests.
func TestBackgroundSnapshotsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, nil)
		r.fill("k", 60_000)
		slow(disk, faultfs.OpWrite, "snapshot", time.Millisecond)
		if err := r.Save(); err != nil {
			t.Fatal(err)
		}
		work := r.Status().LastSaveTook
		if err := r.BackgroundSave(); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if took := r.Status().LastSaveTook; work < 40*ms || took < 6*work || took > 8*work {
			t.Errorf("a snapshot took %v, and %v in the background", work, took)
		}
		if err := r.BackgroundSave(); err != nil {
			t.Fatal(err)
		}
		pass(work)
		began := elapsed()
		if err := r.SaveLast(); err != nil {
			t.Fatal(err)
		}
		if took := elapsed() - began; took > 2*work || r.Status().Saves != 4 {
			t.Errorf("the last snapshot took %v, those before %v; %d are written", took, work, r.Status().Saves)
		}
		r.close()
	})
}

// Snapshots come when their time has come and something has changed, or when the
// journal has become long.
func TestSnapshotsWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, func(o *keeper.Options) {
			o.SnapshotEvery, o.SnapshotJournalBytes = time.Minute, 64<<10
		})
		saves := func() uint64 { return r.Status().Saves }
		pass(10 * time.Minute)
		if saves() != 0 {
			t.Errorf("%d snapshots of nothing", saves())
		}
		r.spend("a")
		pass(2 * time.Second)
		if saves() != 1 {
			t.Errorf("%d snapshots after the first change in ten minutes", saves())
		}
		pass(10 * time.Minute)
		if saves() != 1 {
			t.Errorf("%d snapshots, want no other without a change", saves())
		}
		for range 120 {
			r.spend("a")
			pass(time.Second)
		}
		if n := saves(); n < 3 || n > 4 {
			t.Errorf("%d snapshots after two minutes of changes", n)
		}
		before := saves()
		r.fill("k", 3000)
		pass(3 * time.Second)
		if s := r.Status(); s.Saves != before+1 || s.JournalBytes > 1000 || s.LastSaveKeys != 3001 {
			t.Errorf("%+v after the journal has become long", s)
		}
		// The snapshot is longer than the bound now: the journal must be as long.
		before = saves()
		if bytes := r.Status().LastSaveBytes; bytes < 80<<10 {
			t.Fatalf("the snapshot has %d bytes", bytes)
		}
		r.fill("k", 2600)
		pass(2 * time.Second)
		if n := r.Status().JournalBytes; saves() != before || n < 65<<10 {
			t.Errorf("%d snapshots more after %d bytes of journal", saves()-before, n)
		}
		r.fill("k", 3000)
		pass(2 * time.Second)
		if saves() != before+1 {
			t.Errorf("%d snapshots more", saves()-before)
		}
		r.close()
	})
}

// A snapshot that is due and fails is tried again, ever more seldom, and what was there
// stays; when the disk works one is written.
func TestFailedSnapshotsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, func(o *keeper.Options) { o.SnapshotJournalBytes = 1 })
		var attempts atomic.Int64
		disk.SetHook(func(op faultfs.Op, path string) {
			if op == faultfs.OpCreate && strings.HasSuffix(path, ".tmp") {
				attempts.Add(1)
			}
		})
		disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Path: ".tmp", Err: syscall.ENOSPC, Sticky: true})
		r.spend("a")
		pass(10 * time.Minute)
		if n := attempts.Load(); n < 8 || n > 20 {
			t.Errorf("%d attempts in ten minutes", n)
		}
		s := r.Status()
		if s.Saves != 0 || !strings.Contains(s.LastSaveError, "no space left") || s.Fault != "" {
			t.Errorf("%+v", s)
		}
		if lines := r.log.lines("could not be written"); len(lines) != int(attempts.Load()) {
			t.Errorf("%d lines in the log for %d attempts", len(lines), attempts.Load())
		}
		if err := r.Save(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("one that is asked for says %v", err)
		}
		for _, name := range disk.Names(dir) {
			if strings.HasSuffix(name, ".tmp") {
				t.Errorf("%s is left", name)
			}
		}
		disk.SetFaults()
		pass(time.Minute + time.Second)
		if s := r.Status(); s.Saves == 0 || s.LastSaveError != "" {
			t.Errorf("%+v after the disk works", s)
		}
		r.close()
	})
}

// One snapshot at a time: who asks for another is told so, but for the last one of all,
// which waits.
func TestOneSnapshotAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, nil)
		r.fill("k", 100)
		slow(disk, faultfs.OpSync, ".tmp", 10*time.Second)
		if err := r.BackgroundSave(); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if s := r.Status(); !s.Saving || s.SavingFor < 900*ms || s.LastSave != 0 {
			t.Errorf("%+v while one is written", s)
		}
		if r.BackgroundSave() == nil || r.Save() == nil {
			t.Error("another one was begun")
		}
		r.spend("late")
		at := bubbleClock{}.Now()
		if err := r.SaveLast(); err != nil {
			t.Error(err)
		}
		s := r.Status()
		if s.Saving || s.Saves != 2 || s.LastSave < at || s.LastSaveKeys != 101 || s.LastSaveTook < 9*time.Second {
			t.Errorf("%+v after the last", s)
		}
		disk.SetHook(nil)
		if err := r.Save(); err != nil || r.Status().Saves != 3 {
			t.Errorf("%v, %+v", err, r.Status())
		}
		r.close()
	})
}

// A snapshot that is written while the table grows and keys are charged and reset (C115)
// has every key once; together with the journal it is the table.
func TestSnapshotWhileTheTableGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, nil)
		r.fill("old", 20_000)
		slow(disk, faultfs.OpWrite, ".tmp", 5*ms)
		if err := r.BackgroundSave(); err != nil {
			t.Fatal(err)
		}
		rounds := 0
		for ; rounds == 0 || r.Status().Saving; rounds++ {
			r.fill(fmt.Sprint("new", rounds, "-"), 3000)
			r.fill("old", 100)
			r.reset(fmt.Sprint("old", 10_000+rounds))
			pass(ms)
		}
		r.spend("after")
		pass(500 * ms)
		if s := r.Status(); s.Saves != 1 || rounds < 10 || s.LastSaveKeys < 20_000 {
			t.Fatalf("%d rounds, %+v", rounds, s)
		}
		image := disk.Kill()
		inSnapshot := make(map[string]int)
		store, err := persistence.Open(image, dir, persistence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		recovery, err := store.Replay(func(records []persistence.Record) error {
			for _, record := range records {
				if n++; n <= r.Status().LastSaveKeys {
					inSnapshot[string(record.Key)]++
				}
			}
			return nil
		}, nil)
		if err != nil || recovery.SnapshotRecords != r.Status().LastSaveKeys {
			t.Fatal(recovery, err)
		}
		store.Close(0)
		for i := range 20_000 {
			key := fmt.Sprint("old", i)
			if n := inSnapshot[key]; n > 1 || n == 0 && (i < 10_000 || i >= 10_000+rounds) {
				t.Fatalf("%s is in the snapshot %d times", key, n)
			}
		}
		back := open(t, image, persistence.EverySec, nil)
		if back.keys() != r.keys() || back.keys() != 20_000+2000*rounds+1000*rounds-rounds+1 {
			t.Errorf("%d keys are back of %d", back.keys(), r.keys())
		}
		back.want(map[string]uint64{"old0": 1 + uint64(rounds), "old99": 1 + uint64(rounds), "old100": 1, "old10000": 0, "after": 1, "new0-2999": 1})
		back.close()
		r.close()
	})
}

// reset makes a key fresh.
func (r *rig) reset(key string) bool {
	b := shard.NewBatch(r.set.Len())
	op := b.Add(tagHash([]byte(key)))
	op.Kind, op.Key = shard.Reset, []byte(key)
	r.set.Run(b)
	return !b.Ops[0].Unsaved
}

// All keys are made fresh at once, and stay so with any number of shards.
func TestClearIsKept(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			r := open(t, disk, mode, nil)
			r.fill("k", 1000)
			pass(time.Second)
			if err := r.set.Each(func(_ int, c *shard.Core, _ uint64) { c.Clear() }); err != nil {
				t.Error(err)
			}
			r.spend("k1")
			pass(time.Second)
			image := disk.PowerLoss(1)
			disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.EIO, Sticky: true})
			err := r.set.Each(func(_ int, c *shard.Core, _ uint64) { c.Clear() })
			if (err != nil) != (mode == persistence.Always) {
				t.Errorf("%v: clearing on a disk that fails says %v", mode, err)
			}
			r.abandon()
			back := open(t, image, mode, nil)
			if back.keys() != 1 || back.used("k1") != 1 {
				t.Errorf("%v: %d keys", mode, back.keys())
			}
			back.close()
		})
	}
}

// A server that is to end while it loads stops loading; nothing on disk has changed.
func TestStopWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.Off, nil)
		r.fill("k", 200_000)
		if err := r.Close(true); err != nil {
			t.Fatal(err)
		}
		r.set.Close()
		before := contents(t, disk)
		slow(disk, faultfs.OpRead, "snapshot", time.Second)
		k, err := keeper.Open(keeper.Options{FS: disk, Dir: dir, Elapsed: elapsed, TagHash: tagHash, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		set := shard.NewSet(2, bubbleClock{})
		var told []int64
		var total int64
		loaded := make(chan error)
		go func() {
			_, err := k.Load(set, bubbleClock{}, func(done, of int64) { told, total = append(told, done), of })
			loaded <- err
		}()
		time.Sleep(5 * time.Second) // reason: it is the bubble's time
		// Who looks at the shards meanwhile is answered.
		n := 0
		set.Each(func(_ int, c *shard.Core, _ uint64) { n += c.Len() })
		if n == 0 || n > 150_000 {
			t.Errorf("%d keys after some seconds of loading", n)
		}
		k.Stop()
		if err := <-loaded; !errors.Is(err, keeper.ErrStopped) {
			t.Errorf("loading ended with %v", err)
		}
		if total < 5<<20 || len(told) == 0 {
			t.Errorf("told of %v of %d bytes", told, total)
		}
		if err := k.Close(false); err != nil {
			t.Error(err)
		}
		set.Close()
		disk.SetHook(nil)
		if after := contents(t, disk); after != before {
			t.Errorf("the files are %.200q, were %.200q", after, before)
		}
		back := open(t, disk, persistence.Off, nil)
		if n := back.keys(); n != 200_000 {
			t.Errorf("%d keys", n)
		}
		if s := back.Status(); s.LoadedRecords != 200_000 || s.LoadedBytes != total {
			t.Errorf("%+v", s)
		}
		back.close()
	})
}

// contents are the names and contents of all files but the lock, which a start writes.
func contents(t testing.TB, disk *faultfs.FS) string {
	var b strings.Builder
	for _, name := range disk.Names(dir) {
		data, err := disk.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".lock") {
			fmt.Fprintf(&b, "%s %d %x\n", name, len(data), data[:min(len(data), 1000)])
		}
	}
	return b.String()
}

// Records that no server of this version can have written end the start, with the name
// of the file, and leave the directory as it was.
func TestRecordsThatCannotBe(t *testing.T) {
	for name, record := range map[string]persistence.Record{
		"an unknown kind":      {Kind: 99, Key: []byte("k"), Value: []byte("v")},
		"a value of nonsense":  {Kind: shard.RecordKey, Key: []byte("k"), Value: []byte("v")},
		"a clear of nonsense":  {Kind: shard.RecordClear, Value: []byte("v")},
		"a key that is a book": {Kind: shard.RecordKey, Key: make([]byte, shard.KeyBytesMax+1), Value: []byte("v")},
	} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			store, err := persistence.Open(disk, dir, persistence.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Replay(func([]persistence.Record) error { return nil }, nil); err != nil {
				t.Fatal(err)
			}
			if err := store.Append(1, persistence.AppendRecord(nil, record.Kind, record.Key, record.Value)); err != nil {
				t.Fatal(err)
			}
			if err := store.Close(2); err != nil {
				t.Fatal(err)
			}
			before := contents(t, disk)
			if _, err := tryOpen(t, disk, persistence.Always, nil); err == nil || !strings.Contains(err.Error(), "journal-0000000001") {
				t.Errorf("%s: %v", name, err)
			}
			if contents(t, disk) != before {
				t.Errorf("%s: the files have changed", name)
			}
		})
	}
}

// A torn tail is one line of the log.
func TestTornTailIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, nil)
		r.spend("a")
		pass(time.Second)
		r.spend("b")
		pass(time.Second)
		image := disk.Kill()
		r.close()
		name := dir + "/journal-0000000001"
		data, err := image.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		image.WriteFile(name, data[:len(data)-3])
		back := open(t, image, persistence.EverySec, nil)
		if lines := back.log.lines("torn tail"); len(lines) != 1 || !strings.Contains(lines[0], "journal-0000000001") || !strings.Contains(lines[0], "offset=") {
			t.Errorf("the log says %q", back.log.lines(""))
		}
		back.want(map[string]uint64{"a": 1, "b": 0})
		back.close()
	})
}

// Two keepers of one directory: the second is told who holds it.
func TestDirectoryIsHeldByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.EverySec, nil)
		var locked *persistence.LockedError
		if _, err := tryOpen(t, disk, persistence.EverySec, nil); !errors.As(err, &locked) || !strings.Contains(err.Error(), "127.0.0.1:6380") {
			t.Errorf("%v", err)
		}
		r.close()
		open(t, disk, persistence.EverySec, nil).close()
	})
}

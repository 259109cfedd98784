// Snapshots and the committer's goroutine: asked for, written while records come, and failing. Time is the bubble's, as in
// committer_test.go.

package persistence_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// EverySec with a failing disk keeps serving, loses beyond its memory, and is whole again after the snapshot that it asks
// for.
func TestSnapshotIsAskedForAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		asked := make(chan struct{}, 10)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec, HeldBytesMax: 10_000,
			SnapshotNeeded: func() { asked <- struct{}{} }})
		want := state{}
		fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.ENOSPC, Sticky: true})
		for i := range 2000 { // more than the channel holds, in bursts
			line := fmt.Sprintf("k%d=%s", i%100, strings.Repeat("v", i))
			want.apply(mustCut(line))
			send(c, line, nil)
			if held := c.Stats().HeldBytes; held > 15_000 {
				t.Fatalf("%d bytes held", held)
			}
			if i%100 == 0 {
				pass(10 * ms)
			}
		}
		pass(time.Second)
		if len(asked) != 0 || !c.Stats().SnapshotNeeded {
			t.Errorf("asked %d times while the disk fails, needed %v", len(asked), c.Stats().SnapshotNeeded)
		}
		fs.SetFaults()
		<-asked
		w, err := c.BeginSnapshot(5)
		must(t, err)
		for key, value := range want {
			must(t, w.Append(6, batch(key+"="+value)))
		}
		saved, err := w.Commit()
		must(t, err)
		if st := c.Stats(); st.SnapshotNeeded || st.LastSave == nil || st.LastSave.File != saved.File || st.LastSaveError != nil {
			t.Errorf("stats are %+v", st)
		}
		must(t, c.Close(9))
		stop()
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, want)
	})
}

// Shards submit while a snapshot is written again and again, and the directory holds exactly the last states.
func TestSnapshotsUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
		var mu sync.Mutex // stands for the shards: a state and its record are made in one turn
		want := state{}
		var wait sync.WaitGroup
		for shard := range 4 {
			wait.Go(func() {
				for i := range 300 {
					line := fmt.Sprintf("s%dk%d=%d", shard, i%40, i)
					mu.Lock()
					want.apply(mustCut(line))
					send(c, line, nil)
					mu.Unlock()
					pass(ms)
				}
			})
		}
		for range 10 {
			w, err := c.BeginSnapshot(5)
			must(t, err)
			if _, err := c.BeginSnapshot(5); !errors.Is(err, persistence.ErrSnapshotRunning) {
				t.Errorf("a second snapshot: %v", err)
			}
			for part := range 4 {
				mu.Lock()
				slots := maps.Clone(want)
				mu.Unlock()
				maps.DeleteFunc(slots, func(key, _ string) bool { return key[1] != byte('0'+part) })
				must(t, w.Append(6, slots.encode()))
				pass(5 * ms)
			}
			saved, err := w.Commit()
			must(t, err)
			must(t, saved.Leftover)
			w.Abort()
		}
		wait.Wait()
		must(t, c.Close(9))
		stop()
		_, s, recovery := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, want)
		if recovery.Generations != 1 || recovery.Snapshot == "" {
			t.Errorf("recovery is %+v", recovery)
		}
	})
}

// Whatever a request finds in the channel is written, also by one that has nothing to do on the disk: nobody else may come
// who would write it.
func TestRequestsWriteWhatTheyFind(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		synctest.Test(t, func(t *testing.T) {
			fs := faultfs.New(1)
			c, stop := commit(t, fs, persistence.Config{Mode: mode})
			slow(fs, faultfs.OpSync, "journal", 10*ms)
			for i := range 30 { // which of the two goes first is drawn
				snapshot, err := c.BeginSnapshot(1)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := snapshot.Commit(); err != nil {
					t.Fatal(err)
				}
				// While the goroutine syncs the first batch, a second one and a request come.
				send(c, fmt.Sprintf("first%d=1", i), nil)
				synctest.Wait()
				answer := make(chan error, 1)
				send(c, fmt.Sprintf("second%d=1", i), func(err error) { answer <- err })
				go snapshot.Abort()
				select {
				case err := <-answer:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(time.Second):
					t.Fatalf("%v, round %d: a batch waits for ever", mode, i)
				}
			}
			if err := c.Close(1); err != nil {
				t.Error(err)
			}
			stop()
		})
	}
}

// One that could not even begin, because the journal could not be written before it, has
// failed as any other.
func TestSnapshotCannotBegin(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.OpWrite, faultfs.OpSync, faultfs.OpCreate} {
		synctest.Test(t, func(t *testing.T) {
			fs := faultfs.New(1)
			c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
			send(c, "a=1", nil)
			fs.SetFaults(faultfs.Fault{Call: 1, Op: op, Path: "journal", Err: syscall.ENOSPC, Sticky: true})
			if _, err := c.BeginSnapshot(1); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("begin: %v", err)
			}
			if st := c.Stats(); !errors.Is(st.LastSaveError, syscall.ENOSPC) {
				t.Errorf("the last snapshot failed with %v", st.LastSaveError)
			}
			fs.SetFaults()
			w, err := c.BeginSnapshot(1)
			must(t, err)
			must(t, w.Append(2, batch("a=1")))
			if _, err := w.Commit(); err != nil {
				t.Error(err)
			}
			if st := c.Stats(); st.LastSaveError != nil {
				t.Errorf("after one that worked: %v", st.LastSaveError)
			}
			must(t, c.Close(9))
			stop()
		})
	}
}

// What is left of a snapshot when the disk fails under it is an error and the old state.
func TestSnapshotFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
		send(c, "a=1", nil)
		w, err := c.BeginSnapshot(1)
		must(t, err)
		fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Path: "tmp", Err: syscall.ENOSPC, Sticky: true})
		if err := w.Append(2, batch("a=1")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("append: %v", err)
		}
		if _, err := w.Commit(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("commit: %v", err)
		}
		if _, err := c.BeginSnapshot(1); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("begin: %v", err)
		}
		if st := c.Stats(); st.Fault != nil || !errors.Is(st.LastSaveError, syscall.ENOSPC) || strings.Contains(names(fs), "tmp") {
			t.Errorf("stats are %+v, files %q", st, names(fs))
		}
		must(t, c.Close(9))
		stop()
		_, s, _ := mustLoad(t, fs)
		equal(t, s, parse("a=1"))
	})
}

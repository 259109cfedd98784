// The committer's goroutine, in a bubble of synctest: time stands still until everyone waits, so that slow disks are slow
// to the millisecond and no test sleeps for real.

package persistence_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// bubbleStart is when the clock of a bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func bubbleClock() time.Duration { return time.Since(bubbleStart) }

// commit starts a committer on an empty disk, with a ticker that stop ends.
func commit(t *testing.T, fs *faultfs.FS, config persistence.Config) (c *persistence.Committer, stop func()) {
	t.Helper()
	store, _, _ := mustLoad(t, fs)
	ticker := time.NewTicker(50 * ms)
	config.Clock, config.Ticks = bubbleClock, ticker.C
	return persistence.NewCommitter(store, config), ticker.Stop
}

// slow makes every call of one kind take a while, and counts them.
func slow(fs *faultfs.FS, op faultfs.Op, path string, takes time.Duration) *atomic.Int64 {
	var calls atomic.Int64
	fs.SetHook(func(o faultfs.Op, p string) {
		if o == op && strings.Contains(p, path) {
			calls.Add(1)
			pass(takes)
		}
	})
	return &calls
}

// send submits one line in a recycled buffer.
func send(c *persistence.Committer, line string, done func(error)) {
	c.Submit(1, append(c.Buffer(), batch(line)...), done)
}

func TestAlwaysCommitsInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.Always})
		syncs := slow(fs, faultfs.OpSync, "journal", 10*ms)
		var wait sync.WaitGroup
		for shard := range 8 {
			wait.Go(func() {
				for i := range 100 {
					answer := make(chan error)
					send(c, fmt.Sprintf("s%dk%d=1", shard, i), func(err error) { answer <- err })
					if err := <-answer; err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		if len(s) != 800 {
			t.Errorf("%d of 800 acknowledged batches are durable", len(s))
		}
		// Each round of eight takes one sync, or two when the first of them went alone.
		if n := syncs.Load(); n < 100 || n > 203 {
			t.Errorf("%d syncs for 800 batches of 8 shards", n)
		}
		if st := c.Stats(); st.Batches != 800 || st.HeldBytes != 0 || st.UnsyncedBytes != 0 || st.Lag != 0 {
			t.Errorf("stats are %+v", st)
		}
		must(t, c.Close(9))
		stop()
	})
}

// A sync of 400 ms stalls neither submitters nor writes, and what a power loss takes is younger than a second: what came
// just after one sync had begun waits for that one and the next.
func TestEverySecDoesNotWaitForTheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
		slow(fs, faultfs.OpSync, "journal", 400*ms)
		for i := range 500 {
			began := bubbleClock()
			send(c, fmt.Sprintf("k%d=1", i), nil)
			if bubbleClock() != began {
				t.Fatal("submit waited")
			}
			pass(10 * ms)
			synctest.Wait()
			if i < 100 { // the generation is begun with slow syncs as well
				continue
			}
			_, s, _ := mustLoad(t, fs.Kill())
			if len(s) != i+1 {
				t.Fatalf("batch %d is not written 10 ms later", i)
			}
			_, s, _ = mustLoad(t, fs.PowerLoss(uint64(i)))
			if len(s) < i-100 {
				t.Fatalf("power loss takes %d batches of 10 ms each", i+1-len(s))
			}
		}
		if fault := c.Fault(); fault != nil {
			t.Errorf("fault is %v", fault)
		}
		must(t, c.Close(9))
		stop()
	})
}

// A disk that hangs is a fault, whether the committer sees it or is stuck itself, and ends by itself.
func TestEverySecNoticesADiskThatHangs(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.OpSync, faultfs.OpWrite} {
		synctest.Test(t, func(t *testing.T) {
			fs := faultfs.New(1)
			c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
			send(c, "a=1", nil)
			pass(time.Second)
			slow(fs, op, "journal", 5*time.Second)
			var faulty int
			for i := range 30 {
				send(c, fmt.Sprintf("b=%d", i), nil)
				pass(100 * ms)
				if c.Fault() != nil {
					faulty++
				}
			}
			if faulty < 17 || faulty > 24 {
				t.Errorf("%s: faulty in %d of 30 tenths of a second", op, faulty)
			}
			fs.SetHook(nil)
			pass(10 * time.Second)
			if fault := c.Fault(); fault != nil || c.Stats().Lost > 0 {
				t.Errorf("%s: fault %v, %d lost", op, fault, c.Stats().Lost)
			}
			must(t, c.Close(9))
			stop()
			_, s, _ := mustLoad(t, fs)
			equal(t, s, parse("a=1 b=29"))
		})
	}
}

// Under OS nothing is synced but at a rotation and at the end.
func TestOSDoesNotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.OSDecides})
		send(c, "a=1", nil)
		pass(time.Second)
		syncs := slow(fs, faultfs.OpSync, "", 0)
		for range 100 {
			send(c, "b=1", nil)
			pass(100 * ms)
		}
		if syncs.Load() != 0 || c.Stats().Lag != 0 || c.Stats().HeldBytes != 0 {
			t.Errorf("%d syncs, stats %+v", syncs.Load(), c.Stats())
		}
		must(t, c.Close(9))
		stop()
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, parse("a=1 b=1"))
	})
}

func TestOffJournalsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.Off})
		answers := 0
		send(c, "a=1", func(err error) {
			must(t, err)
			answers++
		})
		if got := names(fs); got != "" || answers != 1 {
			t.Errorf("files %q, %d answers", got, answers)
		}
		w, err := c.BeginSnapshot(5)
		must(t, err)
		must(t, w.Append(6, batch("a=1")))
		_, err = w.Commit()
		must(t, err)
		must(t, c.Close(9))
		stop()
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, parse("a=1"))
	})
}

// Under Always a disk that fails refuses, and a disk that works again answers, without a restart (C113).
func TestAlwaysFailsAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.Always})
		ask := func(line string) error {
			answer := make(chan error)
			send(c, line, func(err error) { answer <- err })
			return <-answer
		}
		must(t, ask("a=1"))
		fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO, Sticky: true})
		for i := range 5 {
			if err := ask(fmt.Sprintf("b=%d", i)); !errors.Is(err, syscall.EIO) {
				t.Errorf("answer is %v", err)
			}
		}
		pass(10 * time.Second)
		if st := c.Stats(); !errors.Is(st.Fault, syscall.EIO) || st.Faults != 1 || st.LastError == nil {
			t.Errorf("stats are %+v", st)
		}
		fs.SetFaults()
		pass(time.Second)
		if c.Fault() != nil {
			t.Errorf("fault %v a second after", c.Fault())
		}
		must(t, ask("c=1"))
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, parse("a=1 b=4 c=1"))
		must(t, c.Close(9))
		stop()
	})
}

// A full channel makes submitters wait under Always, and loses under EverySec.
func TestFullChannel(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		synctest.Test(t, func(t *testing.T) {
			fs := faultfs.New(1)
			c, stop := commit(t, fs, persistence.Config{Mode: mode})
			slow(fs, faultfs.OpWrite, "journal", time.Second)
			var lost, committed atomic.Int64
			began := bubbleClock()
			for i := range 3 * persistence.SubmissionsMax {
				send(c, fmt.Sprintf("k%d=1", i), func(err error) {
					if errors.Is(err, persistence.ErrLost) {
						lost.Add(1)
					} else if err == nil {
						committed.Add(1)
					}
				})
			}
			waited := bubbleClock() - began
			must(t, c.Sync())
			if always := mode == persistence.Always; always != (lost.Load() == 0) || always != (waited > 0) {
				t.Errorf("%v: waited %v, lost %d", mode, waited, lost.Load())
			}
			if lost.Load()+committed.Load() != 3*persistence.SubmissionsMax || c.Stats().HeldBytes != 0 {
				t.Errorf("%v: %d lost and %d committed, %d bytes held", mode, lost.Load(), committed.Load(), c.Stats().HeldBytes)
			}
			must(t, c.Close(9))
			stop()
		})
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New(1)
		c, stop := commit(t, fs, persistence.Config{Mode: persistence.EverySec})
		send(c, "a=1", nil)
		w, err := c.BeginSnapshot(1)
		must(t, err)
		if err := c.Close(2); !errors.Is(err, persistence.ErrSnapshotRunning) {
			t.Errorf("close during a snapshot: %v", err)
		}
		w.Abort()
		send(c, "b=2", nil)
		must(t, c.Close(3))
		stop()
		if err := c.Close(4); !errors.Is(err, persistence.ErrClosed) {
			t.Errorf("close twice: %v", err)
		}
		if err := c.Sync(); !errors.Is(err, persistence.ErrClosed) {
			t.Errorf("sync after close: %v", err)
		}
		if _, err := c.BeginSnapshot(5); !errors.Is(err, persistence.ErrClosed) {
			t.Errorf("snapshot after close: %v", err)
		}
		_, s, recovery := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, parse("a=1 b=2"))
		if recovery.LastTime != 3 {
			t.Errorf("the last time is %d", recovery.LastTime)
		}
	})
}

// What is submitted while the committer closes, or afterwards, is answered.
func TestSubmitTooLate(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		synctest.Test(t, func(t *testing.T) {
			fs := faultfs.New(1)
			c, stop := commit(t, fs, persistence.Config{Mode: mode})
			send(c, "a=1", nil)
			synctest.Wait()
			slow(fs, faultfs.OpWrite, "journal", time.Second)
			go c.Close(1)
			pass(100 * ms)
			var answers []error
			answer := func(err error) { answers = append(answers, err) }
			send(c, "b=2", answer)
			pass(10 * time.Second)
			synctest.Wait() // the committer's goroutine has answered
			send(c, "c=3", answer)
			if len(answers) != 2 || answers[0] != persistence.ErrClosed || answers[1] != persistence.ErrClosed {
				t.Errorf("%v: answers %v", mode, answers)
			}
			stop()
		})
	}
}

// Many submit at the moment at which the committer ends, and each is answered: if one was not, all would wait, and the
// bubble would say so.
func TestEverySubmissionIsAnswered(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		for range 1000 {
			synctest.Test(t, func(t *testing.T) {
				c, stop := commit(t, faultfs.New(1), persistence.Config{Mode: mode})
				const submitters, each = 4, 20
				answers := make(chan error)
				for range submitters {
					go func() {
						for range each {
							send(c, "a=1", func(err error) { go func() { answers <- err }() })
						}
					}()
				}
				must(t, c.Close(1))
				for range submitters * each {
					if err := <-answers; err != nil && err != persistence.ErrClosed {
						t.Errorf("%v: %v", mode, err)
					}
				}
				stop()
			})
		}
	}
}

func TestBuffersAreRecycled(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	c := persistence.NewCommitter(store, persistence.Config{Mode: persistence.Off, Clock: func() time.Duration { return 0 }})
	key, value := make([]byte, 20), make([]byte, 40)
	allocs := testing.AllocsPerRun(100, func() {
		b := c.Buffer()
		for range 10 {
			b = persistence.AppendRecord(b, kindPut, key, value)
		}
		c.Submit(1, b, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
	must(t, c.Close(1))
}

func TestModeNames(t *testing.T) {
	for _, name := range []string{"always", "everysec", "os", "off"} {
		if mode, err := persistence.ParseMode(name); err != nil || mode.String() != name {
			t.Errorf("%s: %v, %v", name, mode, err)
		}
	}
	want := "unknown journal mode 'never', one of always, everysec, os, off"
	if _, err := persistence.ParseMode("never"); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}

// pass lets time pass in a bubble, whose clock jumps when everybody waits.
func pass(d time.Duration) {
	time.Sleep(d) // reason: it is the bubble's clock that sleeps; no real time passes
}

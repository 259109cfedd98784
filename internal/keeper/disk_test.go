package keeper_test

// What a disk does to a server that works: it fails once or for good, fills up, hangs.
// C112, C113, G8.

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/persistence/faultfs"
)

const ms = time.Millisecond

// Under always a write or sync that fails is not acknowledged, and nothing is until one
// works again; then all goes on, and what had happened is on disk.
func TestAlwaysRefusesUntilTheDiskWorks(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.OpWrite, faultfs.OpSync, faultfs.OpCreate} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			r := open(t, disk, persistence.Always, nil)
			acked := uint64(0)
			if op != faultfs.OpCreate { // which is the first thing that is done
				if acked++; !r.spend("a") || r.Refusing() != nil {
					t.Fatal("not acknowledged")
				}
			}
			disk.SetFaults(faultfs.Fault{Call: 1, Op: op, Err: syscall.EIO, Sticky: true})
			if r.spend("a") {
				t.Errorf("%s: acknowledged", op)
			}
			if err := r.Refusing(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), dir+"/journal-") {
				t.Errorf("%s: refusing because of %v", op, err)
			}
			pass(5 * time.Second)
			if r.Refusing() == nil || r.Status().Fault == "" || r.Status().Faults != 1 {
				t.Errorf("%s: the disk has failed: %+v", op, r.Status())
			}
			if lines := r.log.lines("does not keep its promise"); len(lines) != 1 || !strings.Contains(lines[0], "input/output error") || !strings.Contains(lines[0], "refusing=true") {
				t.Errorf("%s: the log says %q", op, lines)
			}
			disk.SetFaults()
			pass(persistence.RetryEvery + persistence.TickAgeMax)
			if err := r.Refusing(); err != nil {
				t.Errorf("%s: the disk works, and yet: %v", op, err)
			}
			if !r.spend("b") {
				t.Errorf("%s: not acknowledged although the disk works", op)
			}
			pass(2 * time.Second)
			if s := r.Status(); s.Fault != "" || !strings.Contains(s.LastError, "input/output error") || len(r.log.lines("keeps its promise again")) != 1 {
				t.Errorf("%s: status %+v", op, s)
			}
			image := disk.PowerLoss(1)
			r.close()
			back := open(t, image, persistence.Always, nil)
			// The call that was refused has happened in memory, and so it is on disk as
			// soon as that works.
			back.want(map[string]uint64{"a": acked + 1, "b": 1})
			back.close()
		})
	}
}

// A disk that is full is told with its name, whatever is asked meanwhile is answered,
// and space is all that it takes to go on.
func TestAlwaysOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.Always, nil)
		acked := make(map[string]uint64)
		for round := range 20 {
			disk.SetCapacity(disk.Used() + 2000)
			for i := range 200 {
				key := fmt.Sprint("k", i%10)
				if r.spend(key) {
					acked[key]++
				}
			}
			if err := r.Refusing(); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("round %d: %v", round, err)
			}
			image := disk.PowerLoss(uint64(round))
			image.SetCapacity(-1)
			back := open(t, image, persistence.Always, nil)
			for key, n := range acked {
				if got := back.used(key); got < n {
					t.Errorf("round %d: %s was acknowledged %d times and is back at %d", round, key, n, got)
				}
			}
			back.close()
			disk.SetCapacity(-1)
			pass(time.Second)
			if err := r.Refusing(); err != nil {
				t.Fatalf("round %d: a second after there is space: %v", round, err)
			}
			for key := range acked {
				acked[key] = r.used(key) // what was refused has happened, and is on disk now
			}
		}
		r.close()
	})
}

// Under everysec a failure is told and, as the operator chose, felt or not.
func TestEverySecServesOrRefuses(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			r := open(t, disk, persistence.EverySec, func(o *keeper.Options) { o.Refuse = refuse })
			r.spend("a")
			pass(time.Second)
			disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.ENOSPC, Sticky: true})
			r.spend("a")
			pass(3 * time.Second)
			if !r.spend("b") {
				t.Error("a call was not acknowledged")
			}
			if got := r.Refusing(); (got != nil) != refuse {
				t.Errorf("refuse %v: refusing because of %v", refuse, got)
			}
			if s := r.Status(); s.Fault == "" || len(r.log.lines("does not keep its promise")) != 1 {
				t.Errorf("status %+v", s)
			}
			disk.SetFaults()
			pass(time.Second)
			if r.Refusing() != nil || r.Status().Lost != 0 {
				t.Errorf("refusing because of %v, %d lost", r.Refusing(), r.Status().Lost)
			}
			image := disk.PowerLoss(1)
			r.close()
			back := open(t, image, persistence.EverySec, nil)
			back.want(map[string]uint64{"a": 2, "b": 1})
			back.close()
		})
	}
}

// A fault that comes and goes between two looks is in the log all the same.
func TestMomentaryFaultIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.Always, nil)
		r.spend("a")
		pass(time.Second + 10*ms)
		disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO})
		if r.spend("a") {
			t.Error("acknowledged")
		}
		pass(3 * time.Second)
		if lines := r.log.lines("for a moment"); len(lines) != 1 || !strings.Contains(lines[0], "input/output error") {
			t.Errorf("the log says %q", r.log.lines(""))
		}
		r.close()
	})
}

// A disk that hangs for a minute under everysec: calls go on and do not wait, the fault
// is told within a second, memory does not grow with the number of calls, and nothing
// is lost.
func TestDiskThatHangs(t *testing.T) {
	long := strings.Repeat("long", 50)
	for _, op := range []faultfs.Op{faultfs.OpSync, faultfs.OpWrite} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			const held = 8 << 20
			r := open(t, disk, persistence.EverySec, func(o *keeper.Options) { o.HeldBytesMax = held })
			r.fill(long, 5_000)
			pass(time.Second)
			slow(disk, op, "journal", time.Minute)
			var most int64
			var told time.Duration
			began := elapsed()
			for elapsed()-began < 50*time.Second {
				at := elapsed()
				r.fill(long, 5_000)
				if elapsed() != at {
					t.Fatal("calls waited for the disk")
				}
				pass(400 * ms)
				s := r.Status()
				most = max(most, s.HeldBytes)
				if s.Fault != "" && told == 0 {
					told = elapsed() - began
				}
			}
			// A million changes were made; each key waits once, in its shard.
			if most > held+1<<20 || told == 0 || told > 1700*ms {
				t.Errorf("%s: %d bytes waited, the fault was told after %v", op, most, told)
			}
			disk.SetHook(nil)
			pass(time.Minute)
			if s := r.Status(); s.Fault != "" || s.Lost != 0 || s.SaveDue {
				t.Errorf("%s: status %+v", op, s)
			}
			image := disk.PowerLoss(1)
			want := r.used(long + "7")
			r.close()
			back := open(t, image, persistence.EverySec, nil)
			if n := back.keys(); n != 5_000 {
				t.Errorf("%s: %d keys", op, n)
			}
			back.want(map[string]uint64{long + "7": want, long + "4999": want})
			back.close()
		})
	}
}

// The end of a server on a slow disk loses nothing, however much is owed.
func TestCloseWritesEverything(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			r := open(t, disk, mode, nil)
			slow(disk, faultfs.OpWrite, "journal", 300*ms)
			r.fill("k", 30_000)
			r.close()
			back := open(t, disk.PowerLoss(1), mode, nil)
			if n := back.keys(); n != 30_000 {
				t.Errorf("%v: %d keys of 30,000", mode, n)
			}
			back.close()
		})
	}
}

// A disk that fails at the very end is tried again, and if it is dead that is said.
func TestCloseOnAFailingDisk(t *testing.T) {
	for _, sticky := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(1)
			r := open(t, disk, persistence.EverySec, nil)
			r.fill("k", 100)
			disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO, Sticky: sticky})
			err := r.Close(false)
			r.set.Close()
			if (err != nil) != sticky {
				t.Errorf("sticky %v: closing says %v", sticky, err)
			}
			back := open(t, disk.PowerLoss(1), persistence.EverySec, nil)
			if n := back.keys(); !sticky && n != 100 {
				t.Errorf("%d keys of 100", n)
			}
			back.close()
		})
	}
}

// With nothing journaled a snapshot at the end is all there is.
func TestCloseWithSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.Off, nil)
		r.fill("k", 100)
		if err := r.Close(true); err != nil {
			t.Fatal(err)
		}
		r.set.Close()
		back := open(t, disk.PowerLoss(1), persistence.Off, nil)
		if n := back.keys(); n != 100 || len(disk.Names(dir)) != 3 {
			t.Errorf("%d keys of 100, files %q", n, disk.Names(dir))
		}
		back.close()
	})
}

// The fault sweep (C111, C113, G4): one life of a directory, from replay over snapshots to close, in which the N-th call
// to the disk fails, for every N, every kind of failure, once and for ever. Whatever happens: nothing that was
// acknowledged is lost, nothing is there twice, the failure is seen, and a disk that works again has everything.

package persistence_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// life is what the sweep's script has seen.
type life struct {
	log     []string
	acked   int   // under Always durable, otherwise written
	seen    error // all failures that were told
	started bool
	lost    uint64
}

func (l *life) see(err error) { l.seen = errors.Join(l.seen, err) }

// sweepBase is a directory with everything in it: a snapshot, two generations, a stale temporary snapshot.
func sweepBase(t testing.TB) (*faultfs.FS, []string) {
	fs := faultfs.New(7)
	store, _, _ := mustLoad(t, fs)
	lines := []string{"a=1 b=1 seq=1", "b=2 seq=2", "c=3 seq=3"}
	put(t, store, 1, lines[0])
	save(t, store, 2, parse(lines[0]))
	put(t, store, 3, lines[1])
	must(t, store.Rotate(4))
	put(t, store, 5, lines[2])
	must(t, store.Close(6))
	fs.WriteFile(path("snapshot.tmp"), []byte("SLUICESN torn"))
	return fs, lines
}

// live runs the script. The clock goes on by 150 ms a step, so that every failure is followed by a retry.
func live(disk *faultfs.FS, mode persistence.Mode, before []string) *life {
	l := &life{log: before, acked: len(before)}
	store, _, _, err := load(disk, dir)
	if err != nil {
		l.see(err)
		return l
	}
	l.started = true
	q := persistence.NewQueue(store, mode, 1<<20, nil)
	now := time.Duration(0)
	submit := func(words string) {
		now += 150 * time.Millisecond
		number := len(l.log) + 1
		line := fmt.Sprintf("%s seq=%d", words, number)
		l.log = append(l.log[:len(l.log):len(l.log)], line)
		q.Submit(now, uint64(number), batch(line), func(err error) {
			if l.see(err); err == nil {
				l.acked = max(l.acked, number)
			}
		})
		q.Tick(now)
		if ticket, ok := q.StartSync(now); ok {
			q.FinishSync(now, ticket.Run())
		}
		if fault := q.Fault(); fault != nil {
			l.see(fault)
		}
	}
	snapshot := func() {
		w, err := q.Begin(now, 10)
		l.see(err)
		if err == nil {
			l.see(w.Append(11, stateOf(l.log, len(l.log)).encode()))
			submit("during=1")
			if err := q.Commit(now, w); err != nil {
				l.see(err)
			} else {
				l.see(w.Sweep())
			}
		}
	}
	submit("a=2")
	submit("d=" + strings.Repeat("long", 400))
	snapshot()
	submit("e=5")
	snapshot()
	submit("b= f=6")
	for range 4 {
		now += 150 * time.Millisecond
		q.Tick(now)
	}
	l.see(q.Close(now, 100))
	l.lost = q.Lost()
	if q.Faults() > 0 {
		l.see(fmt.Errorf("%d faults", q.Faults()))
	}
	return l
}

func stateOf(log []string, p int) state { return parse(strings.Join(log[:p], " ")) }

// verify starts from a disk that works again and compares.
func (l *life) verify(disk *faultfs.FS, atLeast int) error {
	store, s, _, err := load(disk, dir)
	if err != nil {
		return err
	}
	var p int
	fmt.Sscan(s["seq"], &p)
	if p < atLeast || p > len(l.log) {
		return fmt.Errorf("%d of %d batches, at least %d expected", p, len(l.log), atLeast)
	}
	if want := stateOf(l.log, p); !maps.Equal(s, want) {
		return fmt.Errorf("state %v, want %v", s, want)
	}
	for _, name := range disk.Names(dir) {
		if data, _ := disk.ReadFile(path(name)); len(data) == 0 {
			return fmt.Errorf("%s is empty", name)
		}
	}
	return store.Close(1)
}

func TestFaultSweep(t *testing.T) {
	base, before := sweepBase(t)
	kinds := []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR, nil}
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides} {
		clean := base.Kill()
		l := live(clean, mode, before)
		if l.seen != nil || l.acked != len(l.log) {
			t.Fatalf("without a fault: %d of %d acknowledged, %v", l.acked, len(l.log), l.seen)
		}
		for n := 1; n <= clean.Calls(); n++ {
			for _, kind := range kinds {
				for _, sticky := range []bool{false, true} {
					fault := faultfs.Fault{Call: n, Err: kind, Sticky: sticky}
					if err := sweepOne(base.Kill(), mode, before, fault); err != nil {
						t.Errorf("%v, call %d of %d, %v, sticky %v: %v", mode, n, clean.Calls(), kind, sticky, err)
					}
				}
			}
		}
	}
}

// sweepOne lives once with a fault.
func sweepOne(disk *faultfs.FS, mode persistence.Mode, before []string, fault faultfs.Fault) error {
	var met faultfs.Op
	calls := 0
	disk.SetHook(func(op faultfs.Op, path string) {
		if calls++; calls == fault.Call {
			met = op
		}
	})
	disk.SetFaults(fault)
	l := live(disk, mode, before)
	disk.SetFaults()
	disk.SetHook(nil)

	harmless := fault.Err == nil || fault.Err == syscall.EINTR && !fault.Sticky
	// A file that is closed was synced or is given up; one that cannot be removed is removed by the next snapshot.
	quiet := met == faultfs.OpClose || met == faultfs.OpRemove
	switch {
	case harmless && (l.seen != nil || l.acked != len(l.log)):
		return fmt.Errorf("%s: should go unnoticed: %v", met, l.seen)
	case !harmless && !quiet && l.seen == nil:
		return fmt.Errorf("%s: nobody was told", met)
	}
	atLeast := l.acked
	if !fault.Sticky && l.started && l.lost == 0 {
		atLeast = len(l.log) // the disk works again: everything is there, also what was refused
	}
	// Under OSDecides a failed sync loses what no longer is in memory, and the loss is counted.
	if l.lost > 0 {
		if mode != persistence.OSDecides {
			return fmt.Errorf("%d batches lost", l.lost)
		}
		return nil
	}
	if err := l.verify(disk.Kill(), atLeast); err != nil {
		return fmt.Errorf("%s: after a kill: %w", met, err)
	}
	if mode != persistence.Always && fault.Sticky {
		atLeast = len(before)
	}
	for seed := range uint64(3) {
		if err := l.verify(disk.PowerLoss(seed), atLeast); err != nil {
			return fmt.Errorf("%s: after a power loss: %w", met, err)
		}
	}
	return nil
}

package simulation

// The fault sweep (C111, C113, G4): one life of a world, from a start that finds a
// snapshot and two generations to an orderly end, in which the N-th call to the disk
// fails, for every N, in every way, once and for ever.

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"sluice/internal/clock"
	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// sweepSteps is the length of the life.
const sweepSteps = 90

// lived is a world that has ended in order and left something of everything.
func lived(t testing.TB, mode persistence.Mode, seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 8)), mode: mode, now: clock.T0Ns}
	w.model, w.disk = newModel(w.Rand), faultfs.New(seed)
	must(t, w.start(2, nothing))
	for w.stats.snapshots == 0 {
		must(t, w.step())
	}
	for range 20 {
		must(t, w.step())
	}
	if w.snapshot != nil {
		w.snapshot.Abort()
	}
	w.take()
	w.commit()
	must(t, w.store.Close(w.now))
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nothing(*history) int { return 0 }

// again is a copy of a world on a disk of its own, which meets a fault.
func (w *world) again(seed uint64, faults ...faultfs.Fault) *world {
	c := &world{Rand: rand.New(rand.NewPCG(seed, 9)), mode: w.mode, now: w.now, model: w.model.clone(), disk: w.disk.Kill()}
	c.disk.SetFaults(faults...)
	return c
}

// life is what is swept: a start, some steps, an end. started says how far it came.
func (w *world) life() (started bool, err error) {
	if err := w.start(3, func(h *history) int { return h.written }); err != nil {
		return false, err
	}
	for range sweepSteps {
		if err := w.step(); err != nil {
			return true, err
		}
	}
	return true, nil
}

func TestFaultSweep(t *testing.T) {
	kinds := []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR, nil}
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec} {
		base := lived(t, mode, 3)
		clean := base.again(1)
		if _, err := clean.life(); err != nil {
			t.Fatal(err)
		}
		calls := clean.disk.Calls()
		for n := 1; n <= calls; n++ {
			for _, kind := range kinds {
				for _, sticky := range []bool{false, true} {
					fault := faultfs.Fault{Call: n, Err: kind, Sticky: sticky}
					if err := base.sweepOne(fault); err != nil {
						t.Fatalf("%v, call %d of %d, %v, sticky %v: %v", mode, n, calls, kind, sticky, err)
					}
				}
			}
		}
		t.Logf("%v: %d calls", mode, calls)
	}
}

// sweepOne lives once with a fault, then crashes, and then goes on on a disk that works
// again.
func (w *world) sweepOne(fault faultfs.Fault) error {
	c := w.again(1, fault)
	started, err := c.life()
	harmless := fault.Err == nil || fault.Err == syscall.EINTR && !fault.Sticky
	if started && err != nil || !started && harmless {
		return err
	}
	if !started { // it has refused, and changed nothing that counts
		c.model = w.model.clone()
		c = c.again(2) // on the disk that the refusal left
		if err := c.start(2, func(h *history) int { return h.written }); err != nil {
			return fmt.Errorf("started again: %w", err)
		}
		return nil
	}
	if harmless && c.stats.failures > 0 {
		return fmt.Errorf("what should go unnoticed was noticed")
	}
	for seed := range uint64(2) {
		lost := &world{Rand: rand.New(rand.NewPCG(seed, 10)), mode: c.mode, now: c.now, model: c.model.clone(), disk: c.disk.PowerLoss(seed)}
		if err := lost.start(1+int(seed), func(h *history) int { return h.durable }); err != nil {
			return fmt.Errorf("after a power loss: %w", err)
		}
	}
	return c.goOn()
}

// goOn has the disk work again: without a restart everything is durable soon.
func (w *world) goOn() error {
	w.disk.SetFaults()
	if w.snapshot != nil {
		w.snapshot.Abort()
		w.snapshot = nil
	}
	w.take()
	for range 100 {
		w.advance(stepTime)
		if err := w.due(); err != nil {
			return err
		}
	}
	w.take()
	if w.retryAt != 0 || !w.commit() {
		return fmt.Errorf("the disk works and the journal does not")
	}
	if err := w.store.Close(w.now); err != nil {
		return err
	}
	back := w.again(3)
	return back.start(2, func(h *history) int { return len(h.versions) - 1 })
}

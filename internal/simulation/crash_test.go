package simulation

// Crashes at random moments, from seeds (G1, G2, G5, C114, C115, C117, C119, C120).

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	"sluice/internal/clock"
	"sluice/persistence"
	"sluice/persistence/faultfs"
)

var firstSeed = flag.Uint64("simulation.seed", 0, "the first seed of crashes")

// imagesMax is how many images of a disk are started from: 2,000, or ten for each kill
// that is asked for, which is 10,000 for the thousand of `make crash`.
func imagesMax(t testing.TB) int {
	text := os.Getenv("SLUICE_CRASH_KILLS")
	if text == "" {
		return 2000
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SLUICE_CRASH_KILLS: %v", err)
	}
	return 10 * kills
}

// TestCrashWorlds lives from seed to seed until it has started from so many images.
func TestCrashWorlds(t *testing.T) {
	modes := []persistence.Mode{persistence.Always, persistence.EverySec, persistence.Always, persistence.OSDecides}
	images, wanted := 0, imagesMax(t)
	var total struct{ allowed, denied, snapshots, failures int }
	seed := *firstSeed
	for ; images < wanted; seed++ {
		mode := modes[seed%4]
		w := &world{Rand: rand.New(rand.NewPCG(seed, 7)), mode: mode, now: clock.T0Ns}
		n, err := w.lives(seed)
		images += n
		if err != nil {
			t.Fatalf("-simulation.seed=%d, %v, image %d: %v", seed, mode, n, err)
		}
		total.allowed += w.stats.allowed
		total.denied += w.stats.denied
		total.snapshots += w.stats.snapshots
		total.failures += w.stats.failures
	}
	t.Logf("%d images of %d worlds: %d calls passed and %d did not, %d snapshots, %d failures of the disk",
		images, seed-*firstSeed, total.allowed, total.denied, total.snapshots, total.failures)
	if total.snapshots < images/20 || total.failures < images/20 || total.denied < total.allowed/10 {
		t.Error("too little has happened")
	}
}

// lives is some lives of one world, each ended by a crash, of which several images are
// tried. The world goes on from the last of them.
func (w *world) lives(seed uint64) (images int, err error) {
	w.model, w.disk = newModel(w.Rand), faultfs.New(seed)
	if err := w.start(1+w.IntN(4), func(*history) int { return 0 }); err != nil {
		return 0, err
	}
	for range 1 + w.IntN(4) {
		trouble := w.IntN(3) == 0 && w.mode != persistence.OSDecides
		faults := []faultfs.Fault{faultfs.Crash(20 + w.IntN(300))}
		if trouble {
			kinds := []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR, nil}
			faults = append(faults, faultfs.Fault{Call: 1 + w.IntN(80), Err: kinds[w.IntN(len(kinds))]})
		}
		w.disk.SetFaults(faults...)
		for range 20 + w.IntN(200) {
			if err := w.step(); err != nil {
				return images, err
			}
		}
		if w.IntN(4) == 0 {
			w.store.Close(w.now) // an orderly end, or a crash in it
		}
		n, err := w.crash(trouble)
		images += n
		if err != nil {
			return images, err
		}
	}
	return images, nil
}

// crash starts from some images of the disk as it is now, at a later time and with
// other numbers of shards.
func (w *world) crash(trouble bool) (images int, err error) {
	disk, before, model := w.disk, w.now, w.model
	for range 1 + w.IntN(4) {
		images++
		w.model, w.now = model.clone(), before
		if w.IntN(3) == 0 {
			w.now += w.Uint64N(5 * second)
		}
		least := func(h *history) int { return h.durable }
		// A killed process does not see which pages a failed sync has dropped.
		if !trouble && w.IntN(4) == 0 {
			w.disk, least = disk.Kill(), func(h *history) int { return h.written }
		} else {
			w.disk = disk.PowerLoss(w.Uint64())
		}
		if err := w.start(1+w.IntN(4), least); err != nil {
			return images, err
		}
		// It is fit to be started from again, and says the same.
		if w.IntN(8) == 0 {
			w.disk = w.disk.PowerLoss(w.Uint64())
			if err := w.start(1+w.IntN(4), func(*history) int { return 0 }); err != nil {
				return images, err
			}
		}
	}
	return images, nil
}

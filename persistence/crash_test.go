// Power failures and kills at random moments, from seeds, with a model beside (C118, C120, G1, G2, G5, G7). Each image is
// started from; one of a history's images is what the history goes on with, so that crashes follow upon crashes.

package persistence_test

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// TestPowerLoss starts from CRASH_IMAGES images, by default 2,000. CRASH_SEED chooses others.
func TestPowerLoss(t *testing.T) {
	images, first := count(t, "CRASH_IMAGES", 2000), count(t, "CRASH_SEED", 0)
	modes := []persistence.Mode{persistence.Always, persistence.Always, persistence.EverySec, persistence.OSDecides}
	for n, seed := 0, uint64(first); n < images; seed++ {
		n += history(t, seed, modes[seed%4])
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// history is up to four lives of one directory, each ended by a crash of which several images are tried.
func history(t *testing.T, seed uint64, mode persistence.Mode) (images int) {
	r := rand.New(rand.NewPCG(seed, 1))
	g := &rig{r: r, mode: mode, disk: faultfs.New(seed)}
	if err := g.start(0); err != nil {
		t.Fatal(err)
	}
	for range 1 + r.IntN(4) {
		faults := []faultfs.Fault{faultfs.Crash(1 + r.IntN(150))}
		trouble := r.IntN(2) == 0 && mode != persistence.OSDecides
		if trouble { // the disk fails once before the end
			kinds := []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR, nil}
			faults = append(faults, faultfs.Fault{Call: 1 + r.IntN(60), Err: kinds[r.IntN(4)]})
		}
		g.disk.SetFaults(faults...)
		for range 10 + r.IntN(60) {
			g.step()
		}
		if g.queue.Lost() > 0 && mode != persistence.OSDecides {
			t.Errorf("lost %d batches", g.queue.Lost())
		}
		disk, log, durable, written := g.disk, g.log, g.durable, g.written
		for range 1 + r.IntN(4) {
			images++
			atLeast := durable
			// A killed process does not see which pages a failed sync has dropped; see the caveats in doc.go.
			if !trouble && r.IntN(4) == 0 {
				g.disk, atLeast = disk.Kill(), written
			} else {
				g.disk = disk.PowerLoss(r.Uint64())
			}
			g.log = log
			if err := g.start(atLeast); err != nil {
				t.Errorf("%v, after a life that ended with %q: %v", mode, names(disk), err)
				return images
			}
		}
	}
	return images
}

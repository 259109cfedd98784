package keeper_test

// Crashes of a whole keeper with its shards, committer and snapshots, each on its own
// goroutine, while clients call (C118, G1, G2, G7). What the clients do comes from a
// seed; who meets whom when does not.
//
// Images of the disk are taken just before its calls. At that moment the model knows
// what each client has been told, and when; the image must hold that.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/persistence/faultfs"
	"sluice/shard"
)

// slack is the time beyond the promise that a batch and the goroutines' turns take.
const slack = 20 * ms

// ledger is what the clients know: for each key the times at which its charges were
// acknowledged, and how many were begun.
type ledger struct {
	mu    sync.Mutex
	acked map[string][]time.Duration
	begun map[string]uint64
}

// begin notes a charge that is about to be made, acknowledge that it was told to have
// worked.
func (l *ledger) begin(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[key]++
}

func (l *ledger) acknowledge(key string, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[key] = append(l.acked[key], at)
}

// promise is how often each key must have been charged at least, and at most.
type promise struct{ least, most map[string]uint64 }

// promised counts the charges that were acknowledged before an instant.
func (l *ledger) promised(before time.Duration) promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := promise{make(map[string]uint64), make(map[string]uint64)}
	for key, n := range l.begun {
		p.most[key] = n
	}
	for key, times := range l.acked {
		for _, at := range times {
			if at < before {
				p.least[key]++
			}
		}
	}
	return p
}

// image is a disk as a crash leaves it, and what must be on it.
type image struct {
	promise
	disk *faultfs.FS
	at   time.Duration
	kill bool
}

// imagesPerWorld is how many images are taken of one disk.
const imagesPerWorld = 25

// worlds is how many there are: five, or so many that there is an image for each kill
// that is asked for.
func worlds(t testing.TB) int {
	text := os.Getenv("SLUICE_CRASH_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SLUICE_CRASH_KILLS: %v", err)
	}
	return max(n/imagesPerWorld, 5)
}

// age is how old a charge can be that a crash takes away. A kill leaves what was written:
// what waits is for the next flush, or behind the syncs, of a tenth of a second here, with
// which a snapshot begins and ends. A write that fails waits for the flush after that, so
// with trouble a kill takes no more than a power loss, but not less either.
func age(mode persistence.Mode, kill, trouble bool) time.Duration {
	switch {
	case mode == persistence.Always:
		return 0
	case kill && !trouble:
		return shard.FlushInterval + 400*ms + slack
	}
	return time.Second + slack
}

func TestCrashKeeper(t *testing.T) {
	modes := []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides, persistence.Always, persistence.EverySec}
	var faults uint64
	for seed := range worlds(t) {
		synctest.Test(t, func(t *testing.T) { faults += crashWorld(t, uint64(seed), modes[seed%5], seed%5 >= 3) })
	}
	if faults == 0 {
		t.Error("the journal never failed")
	}
}

// crashWorld has clients call for a while, and then starts from every image. It returns
// how often the journal failed.
func crashWorld(t *testing.T, seed uint64, mode persistence.Mode, trouble bool) (faults uint64) {
	r := rand.New(rand.NewPCG(seed, 11))
	disk := faultfs.New(seed)
	k := open(t, disk, mode, func(o *keeper.Options) { o.SnapshotEvery = 2 * time.Second })
	known := &ledger{acked: make(map[string][]time.Duration), begun: make(map[string]uint64)}
	images := hook(disk, r, known, mode, trouble, imagesPerWorld)
	var clients sync.WaitGroup
	quit := make(chan struct{})
	for n := range 4 {
		mine := rand.New(rand.NewPCG(seed, uint64(100+n)))
		clients.Go(func() { client(k, known, mine, n, quit) })
	}
	var taken []image
	for len(taken) < imagesPerWorld {
		if trouble && r.IntN(3) == 0 {
			kinds := []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR}
			disk.SetFaults(faultfs.Fault{Call: 1 + r.IntN(10), Err: kinds[r.IntN(3)]})
		}
		taken = append(taken, <-images)
	}
	disk.SetHook(nil)
	disk.SetFaults()
	close(quit)
	clients.Wait()
	pass(2 * time.Second)
	s := k.Status()
	if s.Fault != "" || s.Lost > 0 || s.Saves == 0 {
		t.Errorf("%v: %+v in the end", mode, s)
	}
	for n, image := range taken {
		image.check(t, fmt.Sprintf("seed %d, %v, image %d at %v", seed, mode, n, image.at), mode)
	}
	k.close()
	return s.Faults
}

// hook takes images before calls of the disk, and makes calls take time.
func hook(disk *faultfs.FS, r *rand.Rand, known *ledger, mode persistence.Mode, trouble bool, most int) <-chan image {
	images := make(chan image)
	var mu sync.Mutex // of r
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	left := most
	disk.SetHook(func(op faultfs.Op, path string) {
		if roll(60) == 0 {
			at := elapsed()
			kill := mode == persistence.OSDecides || roll(3) == 0
			i := image{known.promised(at - age(mode, kill, trouble)), nil, at, kill}
			if mode == persistence.Always {
				i.promise = known.promised(1 << 62)
			}
			if kill {
				i.disk = disk.Kill()
			} else {
				i.disk = disk.PowerLoss(uint64(roll(1 << 30)))
			}
			mu.Lock()
			wanted := left > 0
			left--
			mu.Unlock()
			if wanted {
				images <- i
			}
		}
		switch op {
		case faultfs.OpWrite:
			time.Sleep(time.Duration(roll(5)) * ms) // reason: it is the bubble's time
		case faultfs.OpSync:
			time.Sleep(time.Duration(roll(100)) * ms) // reason: it is the bubble's time
		}
	})
	return images
}

// client charges keys of its own, and some that are used once.
func client(k *rig, known *ledger, r *rand.Rand, n int, quit chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-quit:
			return
		default:
		}
		key := fmt.Sprintf("client%d:%d", n, r.IntN(5))
		if r.IntN(4) == 0 {
			key = fmt.Sprintf("client%d:once%d", n, i)
		}
		if k.Refusing() != nil {
			time.Sleep(ms) // reason: it is the bubble's time
			continue
		}
		known.begin(key)
		if k.spend(key) {
			known.acknowledge(key, elapsed())
		}
		time.Sleep(time.Duration(r.IntN(10)) * ms) // reason: it is the bubble's time
	}
}

// check starts from an image.
func (i *image) check(t *testing.T, what string, mode persistence.Mode) {
	k, err := tryOpen(t, i.disk, mode, nil)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer k.close()
	for _, name := range i.disk.Names(dir) {
		if data, _ := i.disk.ReadFile(dir + "/" + name); len(data) == 0 || strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s: %s is left with %d bytes", what, name, len(data))
		}
	}
	keys := 0
	for key, most := range i.most {
		used := k.used(key)
		if used > 0 {
			keys++
		}
		if used < i.least[key] || used > most {
			t.Errorf("%s, killed %v: %s is back at %d, promised were %d, begun %d", what, i.kill, key, used, i.least[key], most)
			return
		}
	}
	if n := k.keys(); n != keys {
		t.Errorf("%s: %d keys, want %d", what, n, keys)
	}
}

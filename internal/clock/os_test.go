// Boot time computed from the runtime's clocks against the kernel's own: on a machine that suspends and steps at the
// worst moments, and on the real one.

package clock

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tightNs is how far boot time may be behind the kernel's on a simulated machine: what a few readings cost there.
const tightNs = 1000

// Reading takes time, and a suspend, a step or a long wait for the core may come before each single reading. Whatever
// happens: never back, never ahead of the kernel, never behind what the kernel said before the call.
func TestBootAgainstTheKernel(t *testing.T) {
	for seed := range uint64(20) {
		rng := seeded(t, seed)
		m := newMachine()
		m.onRead = func(m *machine) {
			m.mono += 20 + rng.Int64N(60)
			switch rng.IntN(400) {
			case 0:
				m.sleep(time.Millisecond + time.Duration(rng.Int64N(int64(10*time.Hour))))
			case 1:
				m.skew += rng.Int64N(int64(time.Hour)) - int64(30*time.Minute)
			case 2:
				m.mono += rng.Int64N(int64(10 * time.Millisecond)) // the core was taken away
			}
		}
		source := m.os(t)
		var last uint64
		for call := range 20_000 {
			m.run(time.Duration(rng.Int64N(int64(50 * time.Millisecond))))
			before := m.boot()
			got := source.Boot()
			after := m.boot()
			if got < last || got > after || got+tightNs < before {
				t.Fatalf("seed %d call %d: boot time %d, last %d, the kernel said %d before and %d after",
					seed, call, got, last, before, after)
			}
			last = got
		}
	}
}

// The core is taken away in the middle of a measurement, and another goroutine measures and reads meanwhile. What the
// first one finds is then a looser bound than what is known, and what it returns must not be earlier.
func TestBootAfterAnOvertakenMeasurement(t *testing.T) {
	m := newMachine()
	var source *OS
	var other uint64
	overtake := false
	source, err := newOS(m.read, func() (uint64, error) {
		now, err := m.kernel()
		if overtake {
			overtake = false
			m.run(time.Millisecond)
			other = source.Boot()
			overtake = true
		}
		return now, err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.step(time.Hour)
	overtake = true
	if got := source.Boot(); got < other {
		t.Fatalf("boot time %d, after another goroutine was told %d", got, other)
	}
}

// The one thing that the skew cannot show is made up for within a second.
func TestBootFindsAHiddenSuspend(t *testing.T) {
	m := newMachine()
	source := m.os(t)
	m.suspend(10 * time.Hour)
	m.step(-10 * time.Hour)
	m.run(time.Second + 1)
	if got, want := source.Boot(), m.boot(); got != want {
		t.Fatalf("boot time %d, want %d: %s short", got, want, time.Duration(want-got))
	}
}

// While nothing happens the kernel is asked once a second, and not more.
func TestBootAsksTheKernelSeldom(t *testing.T) {
	m := newMachine()
	asked := 0
	source, err := newOS(m.read, func() (uint64, error) { asked++; return m.kernel() })
	if err != nil {
		t.Fatal(err)
	}
	asked = 0
	for range 10_000 {
		m.run(time.Millisecond)
		source.Boot()
	}
	if asked > 10*measurements {
		t.Fatalf("asked %d times in 10 s, want at most %d", asked, 10*measurements)
	}
}

func TestNoBootClockIsAnError(t *testing.T) {
	m := newMachine()
	broken := errors.New("function not implemented")
	if _, err := newOS(m.read, func() (uint64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}

func TestWallBefore1970(t *testing.T) {
	m := newMachine()
	source := m.os(t)
	m.step(-100 * 365 * 24 * time.Hour)
	if got := source.Wall(); got != 0 {
		t.Fatalf("got %d, want 0", got)
	}
}

// Several goroutines read while the machine is suspended under them. What one has been told, no other undercuts, and a
// call that begins after a resume includes it.
func TestBootFromManyGoroutines(t *testing.T) {
	m := newMachine()
	m.onRead = func(m *machine) { m.mono += 40 }
	source := m.os(t)
	var latest, floor atomic.Uint64
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 5_000 {
				atLeast := max(latest.Load(), floor.Load())
				got := source.Boot()
				if got < atLeast {
					t.Errorf("boot time %d, although %d had been told before the call", got, atLeast)
					return
				}
				raise(&latest, got)
			}
		})
	}
	for range 200 {
		m.suspend(time.Second)
		floor.Store(m.boot() - uint64(500*time.Millisecond)) // less what may pass while a reader waits for its core
		m.run(time.Millisecond)
	}
	readers.Wait()
}

// raise sets a to v unless it is greater already.
func raise(a *atomic.Uint64, v uint64) {
	for old := a.Load(); old < v && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

// The real machine: between two readings of the kernel's clock, near enough to the first.
func TestBootOnThisMachine(t *testing.T) {
	source, err := NewOS()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		before, err := kernelBoot()
		if err != nil {
			t.Fatal(err)
		}
		got := source.Boot()
		after, _ := kernelBoot()
		if got > after || got+uint64(50*time.Millisecond) < before {
			t.Fatalf("boot time %d, the kernel said %d before and %d after", got, before, after)
		}
	}
}

func TestServerFromManyGoroutines(t *testing.T) {
	for name, server := range map[string]*Server{"plain": realServer(t), "slewing": realServer(t, SlewToWall())} {
		t.Run(name, func(t *testing.T) {
			var latest atomic.Uint64
			var readers sync.WaitGroup
			for range 4 {
				readers.Go(func() {
					for call := range 20_000 {
						if call%100 == 0 {
							server.Correct()
						}
						told := latest.Load()
						if now := server.Now(); now < told {
							t.Errorf("server time %d after %d", now, told)
							return
						} else {
							raise(&latest, now)
						}
					}
				})
			}
			readers.Wait()
		})
	}
}

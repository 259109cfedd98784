// The clock of tests, of examples in the documentation and of `serve --test-clock`: it stands still until it is moved, so
// that nothing ever sleeps to watch a window roll and every printed answer is the same on every machine.

package clock

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Test is a clock that stands still at T0Ns until Set or Advance moves it. Use NewTest. Unlike a Server it may be set
// back, because what limits do then is one of the things to test.
type Test struct {
	now atomic.Uint64
}

// NewTest returns a clock that stands at T0Ns.
func NewTest() *Test {
	t := &Test{}
	t.now.Store(T0Ns)
	return t
}

// Now returns the instant at which the clock stands, in nanoseconds since the Unix epoch.
func (t *Test) Now() uint64 { return t.now.Load() }

// Offset returns 0: a clock that stands still has nothing to do with the wall clock.
func (t *Test) Offset() int64 { return 0 }

// Set puts the clock at an instant, earlier or later, given in milliseconds since the Unix epoch. After InstantNsMax it
// fails and nothing moves.
func (t *Test) Set(ms uint64) error {
	if ms > InstantNsMax/nsPerMs {
		return fmt.Errorf("the clock can be set to %d ms (the year 2200) at most, got %d", InstantNsMax/nsPerMs, ms)
	}
	t.now.Store(ms * nsPerMs)
	return nil
}

// Advance moves the clock on. A negative duration, or one that leads past InstantNsMax, fails and nothing moves.
func (t *Test) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("the clock cannot be advanced by %s: use Set to go back", d)
	}
	for {
		old := t.now.Load()
		if uint64(d) > InstantNsMax-old {
			return fmt.Errorf("the clock cannot be advanced by %s: it would pass %d ms (the year 2200)", d, InstantNsMax/nsPerMs)
		}
		if t.now.CompareAndSwap(old, old+uint64(d)) {
			return nil
		}
	}
}

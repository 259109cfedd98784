// The machine's clocks, and the only file of Sluice that reads them.
//
// Boot time has a clock of its own in the kernel, but the Go runtime reads only two others without a system call: the
// wall clock and the monotonic clock. A system call costs several times what time.Now costs, and a shard asks once a
// batch. So boot time is computed from the monotonic clock, which differs from it by the time spent suspended:
//
//	boot = monotonic + offset        the offset changes only at a resume, and only grows
//
// What shows a resume is the wall clock, which moves on over a suspend while the monotonic clock does not:
//
//	skew = wall − monotonic          the same until a resume or a step of the wall clock
//
// time.Now reads both, so each call can compare the skew with the one known. While they agree the offset holds. When
// they do not, or once in checkNs regardless, the offset is measured by system call before the call returns. So the
// first call after a resume includes the suspend. The one suspend that this can overlook, for checkNs at most, is one
// that the wall clock hides: set back by its very length, to within skewSlopNs, before the first call after it.
//
// The offset held is never above the true one and never falls. Each measurement is a lower bound, because the
// monotonic clock is read after the boot clock, and the greatest is kept. So boot time never goes back and is never
// ahead of the kernel's; it is behind by no more than the quickest measurement since the last resume took, some 0.5 µs.

package clock

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// checkNs is the longest time for which boot time is computed without a look at the kernel's.
	checkNs = nsPerSecond

	// skewSlopNs is how far the skew may be off without a measurement. The two clocks in it are read one after the
	// other, some 30 ns apart; no suspend is this short.
	skewSlopNs = 2_000

	// measurements is how often the offset is measured in a row, so that one of them is likely to run undisturbed and
	// the bound is tight: a scheduler that takes the core away in the middle loosens it by as long as it does.
	measurements = 4
)

// OS is the machine's own clocks. Use NewOS.
type OS struct {
	read   func() (wall, mono int64) // ns since the Unix epoch, ns since some instant of this process
	kernel func() (uint64, error)    // the kernel's boot time, ns
	line   bootLine
}

// NewOS returns the machine's clocks, or an error if it has none that counts suspended time.
func NewOS() (*OS, error) {
	origin := time.Now()
	read := func() (int64, int64) {
		t := time.Now()
		return t.UnixNano(), int64(t.Sub(origin))
	}
	return newOS(read, kernelBoot)
}

func newOS(read func() (int64, int64), kernel func() (uint64, error)) (*OS, error) {
	o := &OS{read: read, kernel: kernel}
	o.line.offset.Store(math.MinInt64)
	if _, err := o.measure(); err != nil {
		return nil, err
	}
	return o, nil
}

// Wall returns the time of day in nanoseconds since the Unix epoch, 0 before it.
func (o *OS) Wall() uint64 {
	wall, _ := o.read()
	return uint64(max(wall, 0))
}

// Boot returns the time since the machine started in nanoseconds, suspend included.
func (o *OS) Boot() uint64 {
	wall, mono := o.read()
	if boot, ok := o.line.at(wall, mono); ok {
		return boot
	}
	boot, err := o.measure()
	if err != nil {
		panic(err) // it worked when the process began, and takes no argument that could have gone bad
	}
	return boot
}

// measure asks the kernel for boot time, keeps what follows from it and returns boot time by the line. The skew is read
// before any of it: if a resume comes between, the skew is out of date, and the next call measures again.
func (o *OS) measure() (uint64, error) {
	wall, mono := o.read()
	skew, lower := wall-mono, int64(math.MinInt64)
	for range measurements {
		boot, err := o.kernel()
		if err != nil {
			return 0, err
		}
		_, mono = o.read()
		lower = max(lower, int64(boot)-mono)
	}
	o.line.learn(skew, mono, lower)
	return uint64(mono + o.line.offset.Load()), nil
}

// bootLine is what is known about boot time: how far it is ahead of the monotonic clock, and by what one could tell that
// this has changed. The words are written offset first and read skew first, so that whoever sees a new skew sees the
// offset that belongs to it or a later one. All are nanoseconds.
type bootLine struct {
	offset  atomic.Int64 // boot − monotonic: a lower bound that never falls
	skew    atomic.Int64 // wall − monotonic, when the offset was measured
	checked atomic.Int64 // monotonic time of the measurement
}

// at returns boot time for a reading of the two other clocks, or false if it has to be measured.
func (l *bootLine) at(wall, mono int64) (uint64, bool) {
	moved := wall - mono - l.skew.Load()
	if moved > skewSlopNs || moved < -skewSlopNs || mono-l.checked.Load() > checkNs {
		return 0, false
	}
	return uint64(mono + l.offset.Load()), true
}

// learn takes in a measurement: a lower bound of the offset, the skew before it, the monotonic time at its end.
func (l *bootLine) learn(skew, mono, lower int64) {
	for old := l.offset.Load(); lower > old; old = l.offset.Load() {
		if l.offset.CompareAndSwap(old, lower) {
			break
		}
	}
	l.checked.Store(mono)
	l.skew.Store(skew)
}

// Stopwatch measures the time since it was made, suspend included. It reads the monotonic clock alone, which costs about
// half of what boot time does, and looks for a suspend only every stopwatchLookNs of that: what ran out while the machine
// was suspended has run out for everybody but callers within the first of these afterwards. Steps of the wall clock are
// not felt. Use NewStopwatch.
type Stopwatch struct {
	origin time.Time
	read   func() (wall, mono int64)
	kernel func() (uint64, error)
	start  int64        // the kernel's boot time when it was made
	looked atomic.Int64 // monotonic time of the last look
	skew   atomic.Int64 // wall − monotonic, at that
	asleep atomic.Int64 // time suspended since it was made: a lower bound that never falls
}

const (
	stopwatchLookNs = 1_000_000
	// stopwatchSlopNs is how far the skew may be off without asking the kernel. No suspend is this short.
	stopwatchSlopNs = 1_000_000
)

// NewStopwatch starts a stopwatch. On a machine without a clock that counts suspended time it does not count it.
func NewStopwatch() *Stopwatch {
	origin := time.Now()
	return newStopwatch(origin, func() (int64, int64) {
		t := time.Now()
		return t.UnixNano(), int64(t.Sub(origin))
	}, kernelBoot)
}

func newStopwatch(origin time.Time, read func() (wall, mono int64), kernel func() (uint64, error)) *Stopwatch {
	s := &Stopwatch{origin: origin, read: read, kernel: kernel}
	wall, mono := read()
	s.looked.Store(mono)
	s.skew.Store(wall - mono)
	boot, err := kernel()
	if err != nil {
		s.kernel = nil
	}
	s.start = int64(boot) - mono // not less than it was, so that asleep is not more
	return s
}

// Elapsed returns the time since the stopwatch was made. It never goes back.
func (s *Stopwatch) Elapsed() time.Duration {
	mono := int64(time.Since(s.origin))
	if mono-s.looked.Load() < stopwatchLookNs {
		return time.Duration(mono + s.asleep.Load())
	}
	return s.look()
}

// look is Elapsed with a look for a suspend. What it found is there before it says that it has looked.
func (s *Stopwatch) look() time.Duration {
	wall, mono := s.read()
	skew := wall - mono
	if moved := skew - s.skew.Load(); (moved > stopwatchSlopNs || moved < -stopwatchSlopNs) && s.kernel != nil {
		if boot, err := s.kernel(); err == nil {
			_, mono = s.read()
			asleep := int64(boot) - s.start - mono
			for old := s.asleep.Load(); asleep > old; old = s.asleep.Load() {
				if s.asleep.CompareAndSwap(old, asleep) {
					break
				}
			}
			s.skew.Store(skew)
		}
	}
	s.looked.Store(mono)
	return time.Duration(mono + s.asleep.Load())
}

// Wall returns the time of day.
func (s *Stopwatch) Wall() time.Time { return time.Now() }

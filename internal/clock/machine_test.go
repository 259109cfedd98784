// A machine whose clocks the tests turn: the wall clock can be stepped, the whole can be suspended, and reading takes
// time. It keeps the kernel's bookkeeping, in which the three clocks differ by two numbers that change at one instant.

package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// machine is the kernel's side of os.go. Its time moves only by run, suspend and, where a cost is set, by reading.
type machine struct {
	mu   sync.Mutex
	mono int64 // ns
	skew int64 // wall − mono
	slpt int64 // boot − mono: time spent suspended since the machine started

	// onRead, if not nil, is called before each clock is read, with the lock held.
	onRead func(*machine)
}

// newMachine returns a machine whose wall clock stands at T0 and that has been up for an hour.
func newMachine() *machine {
	const up = int64(time.Hour)
	return &machine{mono: up, skew: int64(T0Ns) - up}
}

func (m *machine) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// run lets time pass.
func (m *machine) run(d time.Duration) { m.locked(func() { m.mono += int64(d) }) }

// suspend lets time pass while the machine sleeps.
func (m *machine) suspend(d time.Duration) { m.locked(func() { m.sleep(d) }) }

func (m *machine) sleep(d time.Duration) {
	m.skew += int64(d)
	m.slpt += int64(d)
}

// step moves the wall clock alone.
func (m *machine) step(d time.Duration) { m.locked(func() { m.skew += int64(d) }) }

// boot is what the kernel's boot clock would say, read without a cost.
func (m *machine) boot() (now uint64) {
	m.locked(func() { now = uint64(m.mono + m.slpt) })
	return now
}

// wall is what the wall clock would say, read without a cost.
func (m *machine) wall() (now uint64) {
	m.locked(func() { now = uint64(m.mono + m.skew) })
	return now
}

// read does as time.Now: first the wall clock, then the monotonic one.
func (m *machine) read() (wall, mono int64) {
	m.locked(func() { m.reading(); wall = m.mono + m.skew })
	m.locked(func() { m.reading(); mono = m.mono })
	return wall, mono
}

func (m *machine) kernel() (now uint64, err error) {
	m.locked(func() { m.reading(); now = uint64(m.mono + m.slpt) })
	return now, nil
}

func (m *machine) reading() {
	if m.onRead != nil {
		m.onRead(m)
	}
}

// os returns os.go's view of the machine.
func (m *machine) os(tb testing.TB) *OS {
	tb.Helper()
	source, err := newOS(m.read, m.kernel)
	if err != nil {
		tb.Fatal(err)
	}
	return source
}

// server returns a server's clock on the machine.
func (m *machine) server(tb testing.TB, lastRecorded uint64, options ...Option) *Server {
	tb.Helper()
	server, err := NewServer(m.os(tb), lastRecorded, options...)
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// seeded returns a source of chance that a failing test can name.
func seeded(tb testing.TB, seed uint64) *rand.Rand {
	tb.Helper()
	tb.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// The stopwatch on a machine that suspends and steps, and on this one.

package clock

import (
	"errors"
	"testing"
	"time"
)

func TestStopwatchCountsSuspend(t *testing.T) {
	m := newMachine()
	s := newStopwatch(time.Now(), m.read, m.kernel)
	want := s.look()
	for _, row := range []struct {
		what string
		do   func(time.Duration)
		d    time.Duration
		adds time.Duration
	}{
		{"time goes by", m.run, time.Second, time.Second},
		{"suspend", m.suspend, 200 * time.Millisecond, 200 * time.Millisecond},
		{"the wall clock is set back", m.step, -time.Hour, 0},
		{"the wall clock is set forward", m.step, 3 * time.Hour, 0},
		{"a long suspend", m.suspend, 10 * time.Hour, 10 * time.Hour},
		{"and on", m.run, time.Millisecond, time.Millisecond},
	} {
		row.do(row.d)
		want += row.adds
		if got := s.look(); got != want {
			t.Errorf("%s: %s, want %s", row.what, got, want)
		}
	}
}

// Without a clock that counts suspended time the stopwatch goes on without it.
func TestStopwatchWithoutABootClock(t *testing.T) {
	m := newMachine()
	s := newStopwatch(time.Now(), m.read, func() (uint64, error) { return 0, errors.New("none") })
	want := s.look()
	m.suspend(time.Hour)
	if got := s.look(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Whatever happens between the readings, it never goes back and is never ahead.
func TestStopwatchNeverGoesBack(t *testing.T) {
	for seed := range uint64(10) {
		rng := seeded(t, seed)
		m := newMachine()
		start := m.boot()
		s := newStopwatch(time.Now(), m.read, m.kernel)
		base := s.look()
		m.onRead = func(m *machine) {
			m.mono += 20 + rng.Int64N(60)
			switch rng.IntN(200) {
			case 0:
				m.sleep(time.Millisecond + time.Duration(rng.Int64N(int64(time.Hour))))
			case 1:
				m.skew += rng.Int64N(int64(time.Hour)) - int64(30*time.Minute)
			}
		}
		var last time.Duration
		for call := range 20_000 {
			m.run(time.Duration(rng.Int64N(int64(5 * time.Millisecond))))
			got := s.look()
			if after := time.Duration(m.boot() - start); got < last || got-base > after {
				t.Fatalf("seed %d call %d: %s after %s, %s have gone by", seed, call, got, last, after)
			}
			last = got
		}
	}
}

func TestStopwatchOnThisMachine(t *testing.T) {
	before := time.Now()
	s := NewStopwatch()
	var last time.Duration
	for time.Since(before) < 5*time.Millisecond { // over several looks
		got := s.Elapsed()
		if got < last || got > time.Since(before) {
			t.Fatalf("%s after %s", got, last)
		}
		last = got
	}
}

func BenchmarkStopwatch(b *testing.B) {
	s := NewStopwatch()
	for b.Loop() {
		sink = uint64(s.Elapsed())
	}
}

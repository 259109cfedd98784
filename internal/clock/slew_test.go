// The slew: at most a thousandth, never a step, never back, and it gets there.

package clock

import (
	"testing"
	"time"
)

func TestSlewReachesTheWall(t *testing.T) {
	rows := []struct {
		name     string
		step     time.Duration
		recorded uint64
		offset   time.Duration // what is to be corrected
	}{
		{"wall ahead", 2 * time.Second, 0, 2 * time.Second},
		{"wall behind", -2 * time.Second, 0, -2 * time.Second},
		{"started from the record", 0, T0Ns + 5*nsPerSecond, -5 * time.Second},
		{"two nanoseconds", 2, 0, 2},
		{"nothing", 0, 0, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMachine()
			server := m.server(t, row.recorded, SlewToWall())
			m.step(row.step)
			if got := server.Offset(); got != int64(row.offset) {
				t.Fatalf("before: offset %d, want %d", got, row.offset)
			}
			server.Correct()
			half := row.offset.Abs() / 2
			for _, stage := range []struct {
				runs time.Duration
				want time.Duration
			}{
				{0, row.offset},
				{half * slewDivisor, row.offset / 2},
				{(row.offset.Abs() - half) * slewDivisor, 0},
				{time.Hour, 0},
			} {
				m.run(stage.runs)
				server.Correct() // aiming again on the way changes nothing
				if got := server.Offset(); got != int64(stage.want) {
					t.Fatalf("%s later: offset %d, want %d", stage.runs, got, stage.want)
				}
			}
		})
	}
}

// The wall clock flaps, corrections come at random; whatever it does, server time runs at 99.9 to 100.1 % of boot time.
func TestSlewIsNeverSteep(t *testing.T) {
	rng := seeded(t, 40)
	m := newMachine()
	server := m.server(t, 0, SlewToWall())
	last, lastBoot := server.Now(), m.boot()
	for range 20_000 {
		m.run(time.Duration(rng.Int64N(int64(3 * time.Second))))
		now, boot := server.Now(), m.boot()
		gone, elapsed := int64(now-last), int64(boot-lastBoot)
		if off := gone - elapsed; off > elapsed/slewDivisor+1 || -off > elapsed/slewDivisor+1 {
			t.Fatalf("%d ns of server time in %d ns of boot time", gone, elapsed)
		}
		last, lastBoot = now, boot
		switch rng.IntN(4) {
		case 0:
			m.step(time.Duration(rng.Int64N(int64(22*time.Second))) - 11*time.Second)
		case 1:
			server.Correct()
		}
	}
}

func TestWithoutSlewNothingIsCorrected(t *testing.T) {
	m := newMachine()
	server := m.server(t, 0)
	m.step(time.Minute)
	server.Correct()
	m.run(time.Hour)
	server.Correct()
	if got := server.Offset(); got != int64(time.Minute) {
		t.Fatalf("offset %s, want 1m0s", time.Duration(got))
	}
}

// A reader that was overtaken: it read boot time, then the line was replaced by one that leans the other way.
func TestSlewLineBeforeItsStart(t *testing.T) {
	line := &slewLine{fromBoot: 5000, startNs: -7, amountNs: 3}
	for _, row := range []struct {
		boot uint64
		want int64
	}{{0, -7}, {5000, -7}, {5999, -7}, {6000, -6}, {7000, -5}, {8000, -4}, {1 << 63, -4}} {
		if got := line.at(row.boot); got != row.want {
			t.Errorf("correction at %d: %d, want %d", row.boot, got, row.want)
		}
	}
}

// Two readers that hold different lines: the one that comes out lower is told what the other was.
func TestSlewTellsNobodyLess(t *testing.T) {
	s := newSlew(0)
	for _, row := range []struct{ plain, want uint64 }{{100, 100}, {99, 100}, {100, 100}, {101, 101}} {
		if got := s.correct(row.plain, 0); got != row.want {
			t.Fatalf("plain time %d: told %d, want %d", row.plain, got, row.want)
		}
	}
}

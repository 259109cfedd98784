// Server time at the seam: where it starts, that it follows boot time and nothing else, where it ends.

package clock

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestServerStart(t *testing.T) {
	const day, ms = 24 * 3600 * uint64(nsPerSecond), uint64(nsPerMs)
	rows := []struct {
		name     string
		wall     uint64
		recorded uint64
		allow    bool
		want     uint64
		err      string
	}{
		{"nothing recorded", T0Ns, 0, false, T0Ns, ""},
		{"the epoch", 0, 0, false, 0, ""},
		{"recorded earlier", T0Ns, T0Ns - 5*day, false, T0Ns, ""},
		{"recorded later", T0Ns, T0Ns + ms, false, T0Ns + ms, ""},
		{"a day behind", T0Ns, T0Ns + day, false, T0Ns + day, ""},
		{"over a day behind", T0Ns, T0Ns + day + 1, false, 0, "behind the last recorded time"},
		{"over a day behind, allowed", T0Ns, T0Ns + day + 1, true, T0Ns + day + 1, ""},
		{"a dead battery", 0, T0Ns, false, 0, "set the clock right"},
		{"the last instant but one", InstantNsMax - 1, 0, false, InstantNsMax - 1, ""},
		{"after 2200", InstantNsMax, 0, true, 0, "the wall clock reads 2200 or later"},
		{"recorded after 2200", T0Ns, InstantNsMax, true, 0, "the record is damaged"},
		{"no clock at all", ^uint64(0), 0, true, 0, "the wall clock reads 2200 or later"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var options []Option
			if row.allow {
				options = append(options, AllowBehind())
			}
			server, err := NewServer(&fixed{wall: row.wall, boot: 7}, row.recorded, options...)
			switch {
			case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
				t.Fatalf("error %v, want one that says %q", err, row.err)
			case row.err == "" && err != nil:
				t.Fatal(err)
			case row.err == "" && server.Now() != row.want:
				t.Fatalf("starts at %d, want %d", server.Now(), row.want)
			}
		})
	}
}

// fixed is a source that says what it is told to.
type fixed struct{ wall, boot uint64 }

func (f *fixed) Wall() uint64 { return f.wall }
func (f *fixed) Boot() uint64 { return f.boot }

func TestBehindErrorSaysWhatToDo(t *testing.T) {
	_, err := NewServer(&fixed{wall: T0Ns}, T0Ns+48*3600*nsPerSecond)
	behind, ok := errors.AsType[*BehindError](err)
	if !ok || behind.WallNs != T0Ns || behind.RecordedNs != T0Ns+48*3600*nsPerSecond {
		t.Fatalf("got %#v", err)
	}
	const want = "the wall clock reads 2027-01-15T08:00:00Z, 48h0m0s behind the last recorded time 2027-01-17T08:00:00Z: " +
		"set the clock right, or start with --allow-clock-behind to go on from the recorded time"
	if err.Error() != want {
		t.Fatalf("got  %s\nwant %s", err, want)
	}
}

// The wall clock goes up and down by up to ten years, at random; server time is start + boot time, to the nanosecond.
func TestServerDoesNotFeelTheWall(t *testing.T) {
	const tenYears = 10 * 365 * 24 * time.Hour
	rng := seeded(t, 39)
	m := newMachine()
	server := m.server(t, 0)
	start := m.boot()
	for range 10_000 {
		switch rng.IntN(3) {
		case 0:
			m.run(time.Duration(rng.Int64N(int64(5 * time.Second))))
		case 1:
			m.suspend(time.Millisecond + time.Duration(rng.Int64N(int64(10*time.Hour))))
		case 2:
			at := T0Ns + uint64(rng.Int64N(2*int64(tenYears)))
			m.step(time.Duration(int64(at) - int64(m.wall())))
		}
		if got, want := server.Now(), T0Ns+m.boot()-start; got != want {
			t.Fatalf("server time %d, want %d: %d ns off", got, want, int64(got-want))
		}
		if got, want := server.Offset(), int64(m.wall())-int64(server.Now()); got != want {
			t.Fatalf("offset %d, want %d", got, want)
		}
	}
}

func TestOffsetShowsTheStep(t *testing.T) {
	m := newMachine()
	server := m.server(t, 0)
	for _, step := range []time.Duration{0, 11 * time.Second, -22 * time.Second, -10 * time.Minute, 10*time.Minute + 11*time.Second} {
		before := server.Offset()
		m.step(step)
		m.run(time.Second)
		m.suspend(time.Hour)
		if got := server.Offset() - before; got != int64(step) {
			t.Errorf("a step of %s changed the offset by %s", step, time.Duration(got))
		}
	}
	if server.Offset() != 0 {
		t.Errorf("the wall clock is back, the offset is %d", server.Offset())
	}
}

func TestOffsetOfAStartFromTheRecord(t *testing.T) {
	m := newMachine()
	if got := m.server(t, T0Ns+3*nsPerSecond).Offset(); got != -3*nsPerSecond {
		t.Fatalf("offset %d, want −3 s: the wall clock is behind", got)
	}
}

func TestServerTimeEndsIn2200(t *testing.T) {
	source := &fixed{wall: InstantNsMax - 10, boot: 100}
	server, err := NewServer(source, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ boot, want uint64 }{
		{109, InstantNsMax - 1}, {110, InstantNsMax}, {111, InstantNsMax}, {1 << 62, InstantNsMax},
	} {
		source.boot = row.boot
		if got := server.Now(); got != row.want {
			t.Errorf("boot %d: %d, want %d", row.boot, got, row.want)
		}
	}
}

// A source that reads earlier than at start breaks its promise. The answer must not be an instant centuries away.
func TestServerStandsBeforeItsStart(t *testing.T) {
	source := &fixed{wall: T0Ns, boot: 100}
	server, err := NewServer(source, 0)
	if err != nil {
		t.Fatal(err)
	}
	source.boot = 99
	if got := server.Now(); got != T0Ns {
		t.Fatalf("got %d, want %d", got, T0Ns)
	}
}

func TestNowAllocatesNothing(t *testing.T) {
	for name, server := range map[string]*Server{"plain": realServer(t), "slewing": realServer(t, SlewToWall())} {
		if n := testing.AllocsPerRun(1000, func() { sink = server.Now() }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

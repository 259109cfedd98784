// The rows of the list of reported faults that are about the clock (C39, C40, C41, C43), replayed at the seam: the wall
// clock of a machine is turned, and limits that see nothing but server time give the answers that the list asks for.
// The limits are the plainest that can be written. The real ones are held against the same rows elsewhere; here it is
// the clock that is tested, and this package imports none of ours.

package clock

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// answer writes a decision as the list does: A remaining, D remaining retry_after_ms.
func answer(passes bool, remaining, waitNs uint64) string {
	if passes {
		return fmt.Sprintf("A %d", remaining)
	}
	return fmt.Sprintf("D %d %d", remaining, (waitNs+nsPerMs-1)/nsPerMs)
}

// bucket is a token bucket of size tokens, one of which is earned every earnNs.
type bucket struct {
	size, earnNs uint64
	debtNs, at   uint64 // nanoseconds until full, and when that was so
}

func (b *bucket) allow(now uint64) string {
	gone := now - b.at
	b.debtNs -= min(b.debtNs, gone)
	b.at = now
	free := b.size*b.earnNs - b.debtNs
	if free < b.earnNs {
		return answer(false, 0, b.earnNs-free)
	}
	b.debtNs += b.earnNs
	return answer(true, (free-b.earnNs)/b.earnNs, 0)
}

// window counts calls from its first one (fixed window) or remembers one call for a window's length (log of one): with a
// limit of one the two are the same.
type window struct {
	lengthNs, end uint64
}

func (w *window) allow(now uint64) string {
	if now < w.end {
		return answer(false, 0, w.end-now)
	}
	w.end = now + w.lengthNs
	return answer(true, 0, 0)
}

// C39: the wall clock is set back a minute; nobody is locked out until it catches up.
func TestC39WallSetBack(t *testing.T) {
	m := newMachine()
	server := m.server(t, 0)
	b := &bucket{size: 5, earnNs: nsPerSecond / 5}
	m.run(100 * time.Second)
	got := []string{b.allow(server.Now())}
	m.step(-60 * time.Second)
	for range 5 {
		got = append(got, b.allow(server.Now()))
	}
	m.run(200 * time.Millisecond)
	got = append(got, b.allow(server.Now()))
	if s := strings.Join(got, ", "); s != "A 4, A 3, A 2, A 1, A 0, D 0 200, A 0" {
		t.Fatal(s)
	}
}

// C40: the wall clock flaps by 11 s every 3 s; 601 calls in a minute get the 10 + 60 that there are, and no long waits.
func TestC40WallFlaps(t *testing.T) {
	m := newMachine()
	server := m.server(t, 0)
	b := &bucket{size: 10, earnNs: nsPerSecond}
	flap := 11 * time.Second
	allowed := 0
	for call := range 601 {
		if call > 0 {
			m.run(100 * time.Millisecond)
		}
		if call%30 == 29 {
			m.step(flap)
			if got := server.Offset(); got != 0 && got != int64(11*time.Second) {
				t.Fatalf("call %d: offset %s", call, time.Duration(got))
			}
			flap = -flap
		}
		var remaining, wait uint64
		switch s := b.allow(server.Now()); s[0] {
		case 'A':
			allowed++
		default:
			if _, err := fmt.Sscanf(s, "D %d %d", &remaining, &wait); err != nil || wait > 1000 {
				t.Fatalf("call %d: %s", call, s)
			}
		}
	}
	if allowed != 70 {
		t.Fatalf("%d of 601 calls passed, want 70", allowed)
	}
}

// C41: the wall clock is set back ten minutes inside a window of one; the wait is what is left of the window.
func TestC41WaitIsNotTheJump(t *testing.T) {
	m := newMachine()
	server := m.server(t, 0)
	w := &window{lengthNs: 60 * nsPerSecond}
	first := w.allow(server.Now())
	m.step(-10 * time.Minute)
	m.run(time.Second)
	if second := w.allow(server.Now()); first != "A 0" || second != "D 0 59000" {
		t.Fatalf("%s, then %s; want A 0, then D 0 59000", first, second)
	}
}

// C43: ten hours of suspend end a limit of one hour. Ten hours of the wall clock alone do not.
func TestC43SuspendCounts(t *testing.T) {
	rows := []struct {
		name   string
		happen func(*machine)
		want   string
	}{
		{"boot time", func(m *machine) { m.suspend(10 * time.Hour) }, "A 0"},
		{"wall alone", func(m *machine) { m.step(10 * time.Hour) }, "D 0 3599000"},
		{"suspend, and the wall set back", func(m *machine) { m.suspend(10 * time.Hour); m.step(-11 * time.Hour) }, "A 0"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMachine()
			server := m.server(t, 0)
			w := &window{lengthNs: 3600 * nsPerSecond}
			if got := w.allow(server.Now()); got != "A 0" {
				t.Fatal(got)
			}
			m.run(time.Second)
			row.happen(m)
			if got := w.allow(server.Now()); got != row.want {
				t.Fatalf("%s, want %s", got, row.want)
			}
		})
	}
}

package server

// What a transcript cannot show: what one connection does while another waits or
// watches.

import (
	"fmt"
	"strings"
	"testing"
)

// TestTransactionsAreAlone: what a transaction reads and charges in between, nobody
// else sees or changes.
func TestTransactionsAreAlone(t *testing.T) {
	r := newRig(t, 3)
	const rounds = 300
	done := make(chan bool)
	go func() {
		defer close(done)
		w := r.dial()
		for range fewer(rounds) {
			w.send(request("RL.MALLOW", "a", "fixed_window", "1000000", "1h", "1", "b", "fixed_window", "1000000", "1h", "1"))
		}
	}()
	w := r.dial()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		w.want(t, "MULTI", "+OK")
		for range 2 {
			w.want(t, "RL.PEEK a fixed_window 1000000 1h", "+QUEUED")
			w.want(t, "RL.PEEK b fixed_window 1000000 1h", "+QUEUED")
		}
		all := w.line(t, "EXEC").list
		if len(all) != 4 || all[0].String() != all[2].String() || all[1].String() != all[3].String() {
			t.Fatalf("in one transaction: %v", all)
		}
	}
}

// TestPausedCommandsWait: and are done when the pause is over.
func TestPausedCommandsWait(t *testing.T) {
	r := newRig(t, 1)
	w, other, third := r.dial(), r.dial(), r.dial()
	w.want(t, "CLIENT PAUSE 86400000", "+OK")
	answered := make(chan value)
	go func() { answered <- other.line(t, "RL.ALLOW k gcra 10 10s") }()
	third.want(t, "PING", "+PONG")
	for range 1000 {
		select {
		case v := <-answered:
			t.Fatalf("not paused: %s", v)
		default:
			third.want(t, "PING", "+PONG")
		}
	}
	w.want(t, "CLIENT UNPAUSE", "+OK")
	if got := (<-answered).String(); got != "[1 10 9 0 1000 0]" {
		t.Errorf("after the pause: %s", got)
	}
	// One that ends by itself.
	w.want(t, "CLIENT PAUSE 1 WRITE", "+OK")
	other.want(t, "RL.ALLOW k gcra 10 10s", "[1 10 8 0 2000 0]")
	if r.paused.Load() != nil {
		t.Error("the pause has not ended")
	}
}

// TestMonitor: what others do is shown, but nothing that may be a password; who does not
// keep up misses some and is told.
func TestMonitor(t *testing.T) {
	r := newRig(t, 1)
	m := &monitor{session: r.session(newWire()), lines: make(chan []byte, 3), over: make(chan struct{})}
	r.monitors.add(m)
	w := r.dial()
	w.want(t, `ECHO "a\"\x00b"`, `"a\"\x00b"`)
	w.want(t, "AUTH default sesame", "+OK")
	w.want(t, "ACL SETUSER u >sesame", "+OK")
	w.want(t, "CONFIG SET requirepass sesame", "+OK")
	w.line(t, "DEL "+strings.Repeat("k ", 40)+strings.Repeat("x", 200))
	for range 10 {
		w.want(t, "PING", "+PONG")
	}
	r.monitors.remove(m)
	w.want(t, "PING", "+PONG")
	var got []string
	for range 3 {
		got = append(got, string(<-m.lines))
	}
	want := []string{
		`+1800000000.000000 [0 peer:0] "ECHO" "a\"\x00b"` + "\r\n",
		`+1800000000.000000 [0 peer:0] "DEL"` + strings.Repeat(` "k"`, 30) + ` "... (11 more arguments)"` + "\r\n",
		`+1800000000.000000 [0 peer:0] "PING"` + "\r\n",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("shown:\n%q\nwant\n%q", got, want)
	}
	if n := m.missed.Load(); n != 9 {
		t.Errorf("%d are missed", n)
	}
	if r.monitors.any.Load() {
		t.Error("there is still a monitor")
	}
}

// TestMonitorOverASocket: lines come while nothing is asked, and end with RESET.
func TestMonitorOverASocket(t *testing.T) {
	r := newRig(t, 1)
	conn := dialTCP(t, r.listen())
	read := func(want string) {
		t.Helper()
		b := make([]byte, len(want))
		if _, err := conn.Read(b); err != nil || string(b) != want {
			t.Fatalf("got %q (%v), want %q", b, err, want)
		}
	}
	conn.Write(request("MONITOR"))
	read("+OK\r\n")
	w := r.dial()
	w.want(t, "RL.PEEK k gcra 1 1s", "[1 1 1 0 0 0]")
	read(`+1800000000.000000 [0 peer:0] "RL.PEEK" "k" "gcra" "1" "1s"` + "\r\n")
	conn.Write(request("RESET"))
	read("+RESET\r\n")
	conn.Write(request("PING"))
	read("+PONG\r\n")
}

// TestSlowLog remembers what took long, without passwords.
func TestSlowLog(t *testing.T) {
	r := newRig(t, 1)
	s := r.session(newWire())
	add := func(took uint64, args ...string) {
		list := make([][]byte, len(args))
		for i := range args {
			list[i] = []byte(args[i])
		}
		c, err := lookup(list)
		if err != nil {
			t.Fatal(err)
		}
		r.slow.add(s, c, list, took)
	}
	add(9_999_999, "KEYS", "*")
	add(10_000_000, "KEYS", "a*")
	add(12_345_678, "ACL", "SETUSER", "u", ">sesame")
	w := r.dial()
	w.want(t, "SLOWLOG LEN", "2")
	w.want(t, "SLOWLOG GET", `[[1 1800000000 12345 ["ACL" "SETUSER"] "peer:0" ""] [0 1800000000 10000 ["KEYS" "a*"] "peer:0" ""]]`)
	w.want(t, "SLOWLOG RESET", "+OK")
	w.want(t, "SLOWLOG LEN", "0")
	w.want(t, "CONFIG SET slow-log 0", "+OK")
	add(1e12, "KEYS", "*")
	w.want(t, "SLOWLOG LEN", "0")
}

// TestModesLeaveNothing: a connection that has done with all that is special is as any
// other.
func TestModesLeaveNothing(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	for _, line := range []string{"HELLO 3", "MULTI", "PING", "EXEC", "WATCH k", "UNWATCH", "CLIENT TRACKING ON", "CLIENT TRACKING OFF", "CLIENT REPLY ON", "CLIENT PAUSE 86400000 WRITE", "CLIENT UNPAUSE"} {
		w.line(t, line)
	}
	w.want(t, "PING", "+PONG")
	for _, c := range r.all() {
		c.look()
		if c.modes != nil || c.held {
			t.Errorf("modes %+v, held %v", c.modes, c.held)
		}
	}
}

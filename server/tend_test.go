package server

// Connections that are closed because of what they do not do, by seconds that the test
// counts; and how many there may be.

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// tendFor lets the server look after its connections n times.
func (r *rig) tendFor(n int) {
	for range n {
		r.tend()
	}
}

// isOpen says whether a connection in memory is open.
func (w *wire) isOpen() bool {
	select {
	case <-w.gone:
		return false
	default:
		return true
	}
}

func TestHalfSentRequestsEnd(t *testing.T) {
	half := request("PING")[:9]
	for _, row := range []struct {
		name  string
		first []byte
	}{
		{"at first", half},
		{"after a whole one", append(request("PING"), half...)},
		{"of an inline command", []byte("PIN")},
		{"of a header", []byte("*")},
	} {
		r := newRig(t, 1)
		w, other := r.dial(), r.dial()
		w.send(row.first)
		r.tendFor(HalfSentSecondsMax)
		if !w.isOpen() {
			t.Errorf("%s: closed after %d s", row.name, HalfSentSecondsMax)
		}
		r.tend()
		if w.isOpen() {
			t.Errorf("%s: open after %d s", row.name, HalfSentSecondsMax+1)
		}
		if !other.isOpen() {
			t.Errorf("%s: a connection that sent nothing was closed", row.name)
		}
		r.left(1)
		r.end()
	}
}

// TestSlowRequestsArrive: who completes a request in time has as long for the next, and
// bytes that trickle do not prolong it.
func TestSlowRequestsArrive(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	ping := request("PING")
	for i := range 3 {
		w.send(ping[:5])
		r.tendFor(HalfSentSecondsMax)
		if reply, open := w.send(append(ping[5:len(ping):len(ping)], ping[:5]...)); !open || string(reply) != "+PONG\r\n" {
			t.Fatalf("request %d: %q, open %v", i, reply, open)
		}
		w.send(ping[5:])
	}
	for i := range HalfSentSecondsMax + 1 {
		if !w.isOpen() {
			t.Fatalf("closed after %d s", i)
		}
		if i < len(ping)-1 {
			w.send(ping[i : i+1])
		}
		r.tend()
	}
	if w.isOpen() {
		t.Error("bytes that trickle keep a connection open")
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	r.tendFor(100_000)
	w.want(t, "PING", "+PONG")
	w.want(t, "CONFIG SET idle-timeout 60s", "+OK")
	w.want(t, "CONFIG GET timeout", `["timeout" "60"]`)
	for range 3 {
		r.tendFor(60)
		w.want(t, "PING", "+PONG")
	}
	r.tendFor(61)
	if w.isOpen() {
		t.Error("open after 61 idle seconds")
	}
}

// TestPeersThatTakeNothing: who does not read is not read from, and cut off after a
// while; others are served meanwhile, and who reads a little goes on.
func TestPeersThatTakeNothing(t *testing.T) {
	r := newRig(t, 1)
	address := r.listen()
	conn := dialTCP(t, address)
	conn.SetReadBuffer(4 << 10)
	go conn.Write(bytes.Repeat(request("ECHO", strings.Repeat("x", 1000)), 20_000))
	stuck := func() (n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for c := range r.sessions {
			if c.watched.writing.Load() > 0 {
				n++
			}
		}
		return n
	}
	began := r.seconds.Load()
	for stuck() == 0 {
		time.Sleep(time.Millisecond) // reason: the kernel's buffers must fill
	}
	r.dial().want(t, "PING", "+PONG")
	for conns := 2; conns > 1; { // the peer and the one that pinged
		r.tend()
		time.Sleep(time.Millisecond) // reason: a cut connection ends in its own goroutine
		conns = r.connected()
		if r.seconds.Load()-began > 1000 {
			t.Fatal("it is never cut off")
		}
	}
	if n := r.stats.cutOff.Load(); n != 1 {
		t.Errorf("%d were cut off", n)
	}
	if _, err := io.Copy(io.Discard, conn); err == nil {
		t.Log("the peer saw an end, not a reset")
	}
}

// TestLongReplies: one that is longer than output-max is an error, and the connection
// goes on.
func TestLongReplies(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	for i := range 100 {
		w.want(t, "RL.ALLOW "+strings.Repeat("k", 100)+string(rune('a'+i%26))+strings.Repeat("z", i)+" gcra 10 1h", "[1 10 9 0 360000 0]")
	}
	w.want(t, "CONFIG SET output-max 4KiB", "+OK")
	if got := w.line(t, "KEYS *").text; !strings.HasPrefix(got, "ERR the reply would have ") || !strings.HasSuffix(got, " bytes, and output-max is 4096; ask for less at once, as SCAN does") {
		t.Errorf("KEYS answers %q", got)
	}
	w.want(t, "PING", "+PONG")
	if got := w.line(t, "SCAN 0 COUNT 20"); got.kind != '*' {
		t.Errorf("SCAN answers %s", got)
	}
}

func TestMaxClients(t *testing.T) {
	r := newRig(t, 1)
	r.set("max-clients", "2")
	address := r.listen()
	first, second := dialTCP(t, address), dialTCP(t, address)
	for _, conn := range []net.Conn{first, second} {
		conn.Write(request("PING"))
		if _, err := io.ReadFull(conn, make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := io.ReadAll(dialTCP(t, address)); string(got) != "-"+errTooMany+"\r\n" || err != nil {
		t.Errorf("the third gets %q (%v)", got, err)
	}
	if n := r.stats.refused.Load(); n != 1 {
		t.Errorf("%d were refused", n)
	}
	first.Close()
	r.left(1)
	third := dialTCP(t, address)
	third.Write(request("PING"))
	if _, err := io.ReadFull(third, make([]byte, 7)); err != nil {
		t.Errorf("one who comes when another has gone: %v", err)
	}
}

// No more connections are taken than there are files for.
func TestMaxClientsKeepsToFiles(t *testing.T) {
	r := newRig(t, 1)
	r.filesMax = FilesReserved + 7
	r.set("max-clients", "100")
	if n := r.ClientsMax(); n != 7 {
		t.Errorf("with %d files there may be %d connections", r.filesMax, n)
	}
}

// TestHandshakesEnd: TLS connections have as long for the handshake as others for a
// request.
func TestHandshakesEnd(t *testing.T) {
	r := newRig(t, 1)
	w := newWire()
	r.open(tls.Server(w, &tls.Config{}))
	w.wait()
	r.tendFor(HalfSentSecondsMax)
	if !w.isOpen() {
		t.Errorf("closed after %d s", HalfSentSecondsMax)
	}
	r.tend()
	if w.isOpen() {
		t.Errorf("open after %d s", HalfSentSecondsMax+1)
	}
}

// TestCommandsOfASecond: INFO tells the commands between the last two seconds.
func TestCommandsOfASecond(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	for _, line := range []string{"PING", "RL.ALLOW k gcra 10 10s", "NOSUCH"} {
		w.line(t, line)
	}
	told := func(want string) {
		t.Helper()
		if got := w.line(t, "INFO stats").text; !strings.Contains(got, "\r\ninstantaneous_ops_per_sec:"+want+"\r\n") {
			t.Errorf("want %s: %s", want, got)
		}
	}
	told("0")
	r.tend()
	told("4") // with the INFO before
	w.line(t, "CONFIG RESETSTAT")
	r.tend()
	told("0")
	r.tend()
	told("1")
}

package server

// Streams that are no requests, and connections that cost what they should: what stands
// between the port and whoever reaches it.

import (
	"bytes"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"testing"
)

// broken makes a stream out of requests by breaking it somewhere, in a way that is drawn.
func (c chance) broken() []byte {
	var b []byte
	for range 1 + c.IntN(4) {
		b = append(b, request(c.command()...)...)
	}
	for range 1 + c.IntN(3) {
		if len(b) == 0 {
			break
		}
		at := c.IntN(len(b))
		switch c.IntN(6) {
		case 0: // another byte
			b[at] = byte(c.IntN(256))
		case 1: // a byte too few
			b = slices.Delete(b, at, at+1)
		case 2: // bytes too many
			b = slices.Insert(b, at, []byte("\r\n$*-9223372036854775808\x00")[:1+c.IntN(24)]...)
		case 3: // the end is missing
			b = b[:at+1]
		case 4: // a length that is not true
			if i := bytes.IndexAny(b[at:], "$*"); i >= 0 && at+i+1 < len(b) {
				b = slices.Insert(b, at+i+1, []byte{"0123456789-"[c.IntN(11)], "0123456789"[c.IntN(10)]}...)
			}
		case 5: // something else altogether
			junk := make([]byte, 1+c.IntN(64))
			for i := range junk {
				junk[i] = byte(c.IntN(256))
			}
			b = slices.Insert(b, at, junk...)
		}
	}
	return b
}

// TestMalformedStreams: whatever arrives, replies are well-formed, a stream that cannot
// be understood ends with an error, and the server lives on with nothing more to hold.
func TestMalformedStreams(t *testing.T) {
	const seed = 11
	r := newRig(t, 2)
	protocolErrors := int64(0)
	for number := range fewer(100_000) {
		c := chance{rand.New(rand.NewPCG(seed, uint64(number)))}
		b := c.broken()
		reply := r.play(b)
		rest, last := reply, value{}
		var err error
		for len(rest) > 0 {
			if last, rest, err = decode(rest); err != nil {
				t.Fatalf("seed %d, stream %d: %q\nis answered %q: %v", seed, number, b, reply, err)
			}
		}
		if n := r.stats.protocolErrors.Load(); n > protocolErrors {
			protocolErrors = n
			if last.kind != '-' {
				t.Fatalf("seed %d, stream %d: %q\nends with %s", seed, number, b, last)
			}
		}
		// What a stream may have done to the server, by chance.
		if r.users.Initial() == nil || r.paused.Load() != nil {
			t.Fatalf("seed %d, stream %d: %q\nlocked others out", seed, number, b)
		}
	}
	if protocolErrors == 0 {
		t.Error("no stream was malformed")
	}
	if n := r.connected(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	r.dial().want(t, "PING", "+PONG")
}

// IdleConnectionBytesMax is what an idle connection may cost, the peer's side of it in
// this process included.
const IdleConnectionBytesMax = 16 << 10

func TestIdleConnectionsAreCheap(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const connections = 500
	r := newRig(t, 2)
	address := r.listen()
	used := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapInuse + m.StackInuse)
	}
	ping := request("PING")
	connect := func(n int) {
		for range n {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			pong := make([]byte, len("+PONG\r\n"))
			if _, err := conn.Write(ping); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(pong); err != nil {
				t.Fatal(err)
			}
		}
	}
	connect(20)
	before := used()
	connect(connections)
	if each := (used() - before) / connections; each > IdleConnectionBytesMax {
		t.Errorf("an idle connection costs %d bytes, at most %d are wanted", each, IdleConnectionBytesMax)
	} else {
		t.Logf("an idle connection costs %d bytes", each)
	}
}

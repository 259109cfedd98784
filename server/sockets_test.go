package server

// Sessions over real sockets, which have a way of their own to read and write:
// requests cut into pieces, peers that read late, peers that vanish.

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
)

func dialTCP(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// exchange writes pieces, ends its side and returns all that comes back.
func exchange(t *testing.T, conn *net.TCPConn, pieces [][]byte) []byte {
	t.Helper()
	go func() {
		for _, b := range pieces {
			if _, err := conn.Write(b); err != nil {
				return // the server has closed, as it may after what it cannot understand
			}
		}
		conn.CloseWrite()
	}()
	// A reset instead of an end may come after the server has closed.
	out, _ := io.ReadAll(conn)
	return out
}

// TestSocketsCutAnywhere: over a socket the answers are those that memory gives.
func TestSocketsCutAnywhere(t *testing.T) {
	const seed = 31
	for number := range fewer(60) {
		c := chance{rand.New(rand.NewPCG(seed, uint64(number)))}
		var pipeline []byte
		for range 30 {
			pipeline = append(pipeline, request(c.command()...)...)
		}
		want := playFresh(t, 2, pipeline)
		r := newRig(t, 2)
		var pieces [][]byte
		for rest := pipeline; len(rest) > 0; {
			n := min(1+c.IntN(40), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := exchange(t, dialTCP(t, r.listen()), pieces); !bytes.Equal(got, want) {
			t.Fatalf("seed %d, pipeline %d: %q\n got %q\nwant %q", seed, number, pipeline, got, want)
		}
		r.end()
	}
}

// TestSocketsLongRequests: requests around the sizes of the buffers.
func TestSocketsLongRequests(t *testing.T) {
	r := newRig(t, 2)
	address := r.listen()
	for _, size := range []int{1, 2 << 10, 4 << 10, ReadBytesMax - 20, ReadBytesMax, ReadBytesMax + 1, 3*ReadBytesMax + 7, RequestBytesMax - 100} {
		conn := dialTCP(t, address)
		text := bytes.Repeat([]byte{'x'}, size)
		b := request("ECHO", string(text))
		got := exchange(t, conn, [][]byte{b[:size/3], b[size/3:], request("PING"), b[:len(b)-1], b[len(b)-1:]})
		all := decodeAll(t, got)
		if len(all) != 3 || all[0].text != string(text) || all[1].text != "PONG" || all[2].text != string(text) {
			t.Errorf("%d bytes: %d replies, %.100q", size, len(all), got)
		}
	}
}

// TestSocketPeerThatReadsLate: a peer that sends much and reads nothing for long
// gets all of its replies in the end.
func TestSocketPeerThatReadsLate(t *testing.T) {
	r := newRig(t, 2)
	conn := dialTCP(t, r.listen())
	n := fewer(200_000)
	call := request("RL.PEEK", "k", "gcra", "100", "1h")
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(bytes.Repeat(call, n))
		conn.CloseWrite()
		sent <- err
	}()
	// Others are served while the server cannot write to this one.
	w := r.dial()
	for range 100 {
		w.want(t, "PING", "+PONG")
	}
	reply := []byte("*6\r\n:1\r\n:100\r\n:100\r\n:0\r\n:0\r\n:0\r\n")
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, bytes.Repeat(reply, n)) {
		t.Errorf("%d bytes of replies (%v), want %d", len(got), err, n*len(reply))
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestSocketsThatVanish: peers that reset or end the connection in the middle of things,
// also where nothing is to be answered, leave nothing behind.
func TestSocketsThatVanish(t *testing.T) {
	r := newRig(t, 2)
	address := r.listen()
	call := request("RL.ALLOW", "k", "gcra", "100000", "1h")
	for i := range 100 {
		conn := dialTCP(t, address)
		if i%2 == 0 {
			conn.SetLinger(0)
		}
		b := slices.Concat(call, call[:i%len(call)])
		switch i % 3 {
		case 0:
			b = bytes.Repeat(call, 20_000) // more replies than a socket takes
		case 1:
			b = call[:1+i%(len(call)-1)]
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	r.left(0)
	w := r.dial()
	w.want(t, "RL.RESET k", "1")
	w.want(t, "DBSIZE", "0")
}

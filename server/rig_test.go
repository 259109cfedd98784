package server

// What the tests drive a server with: a test clock, and connections in memory
// that tell when the server has answered everything it was sent. Nothing here
// waits for time to pass.

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/clock"
	"sluice/internal/settings"
	"sluice/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server under the test clock.
type rig struct {
	*Server
	t     testing.TB
	clock *clock.Test
	end   func()

	waited atomic.Int64 // ns that answers would have waited
}

func newRig(t testing.TB, shards int) *rig {
	t.Helper()
	c := clock.NewTest()
	set := shard.NewSet(shards, c)
	s := New(Options{
		Version: "0.1.0", Shards: set, Clock: c, TestClock: c,
		Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
	})
	r := &rig{Server: s, t: t, clock: c}
	s.wait = func(d time.Duration) { r.waited.Add(int64(d)) }
	r.end = sync.OnceFunc(func() {
		s.Close()
		s.shards.Close()
	})
	t.Cleanup(r.end)
	return r
}

// set changes settings as CONFIG SET does.
func (r *rig) set(pairs ...string) {
	r.t.Helper()
	if err := r.settings.Set(pairs...); err != nil {
		r.t.Fatal(err)
	}
}

// startedWith makes settings, names and values by turns, those that the server was
// started with. It must not serve anybody yet.
func (r *rig) startedWith(pairs ...string) {
	r.t.Helper()
	flags := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		flags[pairs[i]] = pairs[i+1]
	}
	c, err := settings.Load(settings.Given{Flags: flags})
	if err != nil {
		r.t.Fatal(err)
	}
	r.settings = settings.NewLive(c)
}

// playFresh plays reads on a server of their own.
func playFresh(t testing.TB, shards int, reads ...[]byte) []byte {
	r := newRig(t, shards)
	defer r.end()
	return r.play(reads...)
}

// wire is a connection in memory, seen from both sides.
type wire struct {
	in   chan []byte   // what the peer sends
	idle chan struct{} // the server has read all of it and wants more
	gone chan struct{} // the server has closed
	wake chan struct{} // closed when the server may not wait any more

	rest []byte // of what was sent, not read yet
	out  []byte // what the server has written
	fail error  // what writing says

	wakeOnce, closeOnce sync.Once
}

func newWire() *wire {
	return &wire{in: make(chan []byte), idle: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{})}
}

// dial opens a connection and returns when the server waits for it.
func (r *rig) dial() *wire {
	w := newWire()
	r.open(w)
	w.wait()
	return w
}

// wait returns when the server has read everything, true, or has closed, false.
func (w *wire) wait() bool {
	select {
	case <-w.idle:
		return true
	case <-w.gone:
		return false
	}
}

// send hands the server some bytes at once and returns what it writes until it
// wants more. open is false when it closes instead.
func (w *wire) send(b []byte) (reply []byte, open bool) {
	select {
	case w.in <- b:
		open = w.wait()
	case <-w.gone:
	}
	reply, w.out = w.out, nil
	return reply, open
}

// hangUp ends the connection from the peer's side.
func (w *wire) hangUp() {
	close(w.in)
	<-w.gone
}

// left waits until only n connections are left: a session is forgotten a moment
// after its connection has been closed.
func (r *rig) left(n int) {
	for r.connected() != n {
		runtime.Gosched()
	}
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		select {
		case w.idle <- struct{}{}:
		case <-w.wake:
			return 0, os.ErrDeadlineExceeded
		}
		select {
		case b, ok := <-w.in:
			if !ok {
				return 0, io.EOF
			}
			w.rest = b
		case <-w.wake:
			return 0, os.ErrDeadlineExceeded
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wire) Write(p []byte) (int, error) {
	if w.fail != nil {
		return 0, w.fail
	}
	w.out = append(w.out, p...)
	return len(p), nil
}

func (w *wire) Close() error                     { w.closeOnce.Do(func() { close(w.gone) }); return nil }
func (w *wire) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "server", Net: "memory"} }
func (w *wire) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "peer", Net: "memory"} }
func (w *wire) SetDeadline(time.Time) error      { return w.SetReadDeadline(time.Time{}) }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
func (w *wire) SetReadDeadline(time.Time) error {
	w.wakeOnce.Do(func() { close(w.wake) })
	return nil
}

// script is a connection whose bytes are known beforehand, cut into reads.
type script struct {
	wire
	reads [][]byte
}

func (s *script) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if len(s.reads) == 0 {
			return 0, io.EOF
		}
		s.rest, s.reads = s.reads[0], s.reads[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// play runs a whole session over bytes, cut into reads, in this goroutine, and
// returns what it writes.
func (r *rig) play(reads ...[]byte) []byte {
	conn := &script{reads: reads}
	r.session(conn).serve()
	return conn.out
}

// session makes a session that nobody serves yet.
func (r *rig) session(conn net.Conn) *session {
	return r.newSession(conn)
}

// request is a command as clients send it.
func request(args ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b = append(b, "$"+strconv.Itoa(len(a))+"\r\n"+a+"\r\n"...)
	}
	return b
}

// requestLine is the request for a line as it is typed into redis-cli.
func requestLine(t testing.TB, line string) []byte {
	t.Helper()
	words, err := splitWords([]byte(line), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = string(w)
	}
	return request(args...)
}

// ask sends a command and returns its reply, which must be one.
func (w *wire) ask(t testing.TB, args ...string) value {
	t.Helper()
	return w.askRaw(t, request(args...))
}

func (w *wire) askRaw(t testing.TB, b []byte) value {
	t.Helper()
	reply, _ := w.send(b)
	v, rest, err := decode(reply)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%.200q: want one reply, got %.500q (%v)", b, reply, err)
	}
	return v
}

// line asks what is typed, as askRaw.
func (w *wire) line(t testing.TB, line string) value {
	t.Helper()
	return w.askRaw(t, requestLine(t, line))
}

// want asks what is typed and compares the reply, written on one line.
func (w *wire) want(t testing.TB, line, reply string) {
	t.Helper()
	if got := w.line(t, line).String(); got != reply {
		t.Errorf("%.200s\n got %.500s\nwant %s", line, got, reply)
	}
}

// value is a reply taken apart.
type value struct {
	kind byte // as on the wire, but '_' for every kind of nil
	text string
	n    int64
	list []value // of a map: key, value, key, value
}

var errShort = errors.New("the reply is not complete")

// decode takes the first reply off some bytes.
func decode(b []byte) (v value, rest []byte, err error) {
	line, after, found := bytes.Cut(b, []byte("\r\n"))
	if !found || len(line) == 0 {
		return v, b, errShort
	}
	v.kind, v.text = line[0], string(line[1:])
	switch v.kind {
	case '+', '-':
		return v, after, plain(v.text)
	case ':':
		v.n, err = strconv.ParseInt(v.text, 10, 64)
		return v, after, err
	case '_', ',':
		return v, after, nil
	}
	n, err := strconv.Atoi(v.text)
	switch {
	case err != nil:
		return v, b, err
	case n == -1 && (v.kind == '$' || v.kind == '*'):
		return value{kind: '_'}, after, nil
	case n < 0:
		return v, b, errors.New("a length below 0")
	}
	switch v.kind {
	case '$', '=':
		if len(after) < n+2 {
			return v, b, errShort
		}
		if string(after[n:n+2]) != "\r\n" {
			return v, b, errors.New("a string does not end where it should")
		}
		v.text = string(after[:n])
		return v, after[n+2:], nil
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			var item value
			if item, after, err = decode(after); err != nil {
				return v, b, err
			}
			v.list = append(v.list, item)
		}
		return v, after, nil
	}
	return v, b, errors.New("a reply of unknown kind " + strconv.Quote(string(line)))
}

// plain refuses what cannot stand in a line.
func plain(line string) error {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return errors.New("a line that is not ASCII: " + strconv.Quote(line))
		}
	}
	return nil
}

// decodeAll takes all replies off some bytes.
func decodeAll(t testing.TB, b []byte) (all []value) {
	t.Helper()
	for len(b) > 0 {
		v, rest, err := decode(b)
		if err != nil {
			t.Fatalf("%v in %.500q", err, b)
		}
		all, b = append(all, v), rest
	}
	return all
}

// String writes a reply on one line: 5, "bulk", +simple, -ERR text, nil,
// ,double, [array], ~[set], >[push], {key: value}, and txt"verbatim".
func (v value) String() string {
	var items []string
	for _, item := range v.list {
		items = append(items, item.String())
	}
	switch v.kind {
	case '+', '-':
		return string(v.kind) + v.text
	case ':':
		return strconv.FormatInt(v.n, 10)
	case '_':
		return "nil"
	case ',':
		return "," + v.text
	case '>':
		return ">[" + strings.Join(items, " ") + "]"
	case '$':
		return quoted(v.text)
	case '=':
		return v.text[:3] + quoted(v.text[4:])
	case '%':
		var pairs []string
		for i := 0; i < len(items); i += 2 {
			pairs = append(pairs, items[i]+": "+items[i+1])
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case '~':
		return "~[" + strings.Join(items, " ") + "]"
	}
	return "[" + strings.Join(items, " ") + "]"
}

// quoted writes a string as redis-cli does.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\' || c == '"':
			b.WriteString(`\` + string(rune(c)))
		case strings.IndexByte("\n\r\t\a\b", c) >= 0:
			b.WriteString(strconv.Quote(string(rune(c)))[1:3])
		case c < ' ' || c > '~':
			const digits = "0123456789abcdef"
			b.WriteString(`\x` + string(digits[c>>4]) + string(digits[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// cli writes a reply as redis-cli prints it, without the last line's end.
func (v value) cli() string { return strings.TrimSuffix(v.cliLines(""), "\n") }

func (v value) cliLines(prefix string) string {
	switch v.kind {
	case '+':
		return v.text + "\n"
	case '-':
		return "(error) " + v.text + "\n"
	case ':':
		return "(integer) " + strconv.FormatInt(v.n, 10) + "\n"
	case '_':
		return "(nil)\n"
	case '$':
		return quoted(v.text) + "\n"
	case '=':
		return v.text[4:] + "\n"
	}
	if len(v.list) == 0 {
		return "(empty " + map[byte]string{'*': "array", '%': "hash", '~': "set"}[v.kind] + ")\n"
	}
	n := len(v.list)
	if v.kind == '%' {
		n /= 2
	}
	digits := len(strconv.Itoa(n))
	inner := prefix + strings.Repeat(" ", digits+2)
	var b strings.Builder
	for i := 0; i < len(v.list); i++ {
		at := i + 1
		if v.kind == '%' {
			at = i/2 + 1
		}
		number := strconv.Itoa(at)
		if i > 0 {
			b.WriteString(prefix)
		}
		b.WriteString(strings.Repeat(" ", digits-len(number)) + number + map[byte]string{'*': ") ", '%': "# ", '~': "~ "}[v.kind])
		b.WriteString(v.list[i].cliLines(inner))
		if v.kind == '%' {
			i++
			text := strings.TrimSuffix(b.String(), "\n")
			b.Reset()
			b.WriteString(text + " => " + v.list[i].cliLines(inner))
		}
	}
	return b.String()
}

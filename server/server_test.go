package server

// Start, end and what is told about the server: Serve and Close, INFO, CONFIG
// GET, COMMAND.

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/clock"
	"sluice/internal/settings"
	"sluice/shard"
)

// tray is a listener whose connections and errors are laid out beforehand.
type tray struct {
	next   chan any // net.Conn or error
	closed chan struct{}
	once   sync.Once
}

func newTray() *tray { return &tray{next: make(chan any), closed: make(chan struct{})} }

func (l *tray) Accept() (net.Conn, error) {
	select {
	case x := <-l.next:
		if conn, ok := x.(net.Conn); ok {
			return conn, nil
		}
		return nil, x.(error)
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *tray) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *tray) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6380} }

// TestAcceptPauses: without file descriptors the server waits, longer each time
// up to a second, and goes on when there are some again.
func TestAcceptPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		l := newTray()
		served := make(chan error, 1)
		go func() { served <- r.Serve(l) }()
		began := time.Now()
		for range 12 {
			l.next <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", syscall.EMFILE)}
		}
		w := newWire()
		l.next <- w
		w.wait()
		w.want(t, "PING", "+PONG")
		// 5 + 10 + … + 640 ms, then a second four times.
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("twelve failures took %v", took)
		}
		r.end()
		if err := <-served; err != ErrClosed {
			t.Error(err)
		}
	})
}

func TestListenerThatFails(t *testing.T) {
	r := newRig(t, 1)
	l := newTray()
	served := make(chan error, 1)
	go func() { served <- r.Serve(l) }()
	broken := errors.New("broken")
	l.next <- broken
	if err := <-served; !errors.Is(err, broken) || !strings.Contains(err.Error(), "accept 127.0.0.1:6380") {
		t.Error(err)
	}
}

// stuck is a connection whose peer takes no replies.
type stuck struct {
	*wire
	freed chan struct{}
	once  sync.Once
}

func (s *stuck) Write([]byte) (int, error) { <-s.freed; return 0, os.ErrDeadlineExceeded }
func (s *stuck) SetDeadline(d time.Time) error {
	s.once.Do(func() { close(s.freed) })
	return s.SetReadDeadline(d)
}

// A server may be closed while it begins to serve, and served after it was closed.
func TestCloseWhileServing(t *testing.T) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 1)
		served := make(chan error)
		go func() { served <- r.Serve(l) }()
		r.end()
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
}

// TestCloseIsNotHeldUp: a peer that takes no replies is given up on.
func TestCloseIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		s := &stuck{wire: newWire(), freed: make(chan struct{})}
		r.open(s)
		s.wait()
		s.in <- []byte("PING\r\n")
		synctest.Wait()
		began := time.Now()
		r.end()
		if took := time.Since(began); took != CloseGrace {
			t.Errorf("closing took %v, want %v", took, CloseGrace)
		}
	})
}

// TestCloseAnswersFirst: what was read is answered; then the connection is closed.
func TestCloseAnswersFirst(t *testing.T) {
	r := newRig(t, 2)
	conn, err := net.Dial("tcp", r.listen())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply := make([]byte, 64)
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(reply); string(reply[:n]) != "+PONG\r\n" {
		t.Fatalf("%q, %v", reply[:n], err)
	}
	r.end()
	if n, err := conn.Read(reply); n != 0 || err == nil {
		t.Errorf("after the end there is %q, %v", reply[:n], err)
	}
	if err := r.Serve(newTray()); err != ErrClosed {
		t.Errorf("serving after the end: %v", err)
	}
	late := newWire()
	r.open(late)
	if late.wait() {
		t.Error("a connection is served after the end")
	}
}

// TestProtocolErrorsCloseSockets: over a real socket the error arrives, then the
// end. The server has read all of it, so nothing is reset.
func TestProtocolErrorsCloseSockets(t *testing.T) {
	r := newRig(t, 2)
	address := r.listen()
	for _, text := range []string{"*1\r\n$-5\r\n", "*2000000000\r\n", "*1\r\n*1\r\n", "ECHO \"\r\n", "QUIT\r\n"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(text))
		var all []byte
		for buf := make([]byte, 256); ; {
			n, err := conn.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil {
				break
			}
		}
		conn.Close()
		if len(decodeAll(t, all)) != 1 {
			t.Errorf("%q: %q", text, all)
		}
	}
	if got := r.stats.protocolErrors.Load(); got != 4 {
		t.Errorf("%d protocol errors were counted, want 4", got)
	}
}

// TestMachineClock: without a test clock nobody moves the time.
func TestMachineClock(t *testing.T) {
	c := clock.NewTest()
	set := shard.NewSet(1, c)
	defer set.Close()
	s := New(Options{Version: "0.1.0", Shards: set, Clock: c, Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	w := (&rig{Server: s}).dial()
	w.want(t, "RL.CLOCK GET", "1800000000000")
	w.want(t, "RL.CLOCK SET 1", "-"+errNoTestClock)
	w.want(t, "RL.CLOCK ADVANCE 1s", "-"+errNoTestClock)
	w.want(t, "RL.CLOCK GET", "1800000000000")
}

func TestInfo(t *testing.T) {
	r := newRig(t, 2)
	address := r.listen()
	w := r.dial()
	w.line(t, "RL.ALLOW k gcra 1 1m")
	w.line(t, "RL.ALLOW k gcra 1 1m")
	w.line(t, "NONSENSE")
	w.line(t, "RL.CLOCK ADVANCE 1s")
	text := w.line(t, "INFO").text
	fields := map[string]string{}
	titles := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		name, value, isField := strings.Cut(line, ":")
		switch {
		case isField:
			fields[name] = value
		case strings.HasPrefix(line, "# "):
			titles++
		case line != "":
			t.Errorf("what is %q?", line)
		}
	}
	want, look := 0, r.look()
	for _, row := range statistics {
		switch value := row.value(look).(type) {
		case nil: // left out: nothing is kept here, and nothing is being loaded
		case []statLine:
			if isDefault(row.section) {
				want += len(value)
			}
		default:
			want++
		}
	}
	if len(fields) != want || titles != len(sections())-2 {
		t.Errorf("%d fields of %d, %d titles", len(fields), want, titles)
	}
	for name, want := range map[string]string{
		"redis_version": RedisVersion, "sluice_version": "0.1.0", "redis_mode": "standalone", "tcp_port": port(t, address), "shards": "2",
		"server_time_usec": "1800000001000000", "uptime_in_seconds": "1", "uptime_in_days": "0", "clock_offset_ms": "0",
		"connected_clients": "1", "loading": "0", "role": "master", "db0": "keys=1,expires=1,avg_ttl=0",
		"total_connections_received": "1", "total_commands_processed": "5", "total_error_replies": "1", "protocol_errors": "0",
		"decisions_allowed": "1", "decisions_denied": "1", "expired_keys": "0", "maxmemory": r.redisSetting("maxmemory"), "maxmemory_policy": "noeviction",
	} {
		if fields[name] != want {
			t.Errorf("%s is %q, want %q", name, fields[name], want)
		}
	}
	for _, row := range []struct {
		words string
		all   bool
	}{{"everything", true}, {"ALL", true}, {"keyspace all", true}, {"default", false}, {"nothing default", false}} {
		got := w.line(t, "INFO "+row.words).text
		if strings.Count(got, "\r\n# ") != strings.Count(text, "\r\n# ")+2*bit(row.all) || strings.Contains(got, "cmdstat_rl.allow:calls=2,") != row.all {
			t.Errorf("INFO %s is\n%s", row.words, got)
		}
	}
	w.want(t, "INFO KEYSPACE", `"# Keyspace\r\ndb0:keys=1,expires=1,avg_ttl=0\r\n"`)
	w.want(t, "DEL k", "1")
	w.want(t, "INFO keyspace", `"# Keyspace\r\n"`)
	w.want(t, "INFO nothing", `""`)
}

// TestErrorsAreLines: whatever an error's text holds, it is one line of ASCII.
func TestErrorsAreLines(t *testing.T) {
	for text, want := range map[string]string{
		"ERR a": "-ERR a\r\n", "ERR a\r\n+OK": "-ERR a??+OK\r\n", "ERR é\xff\x00": "-ERR ???\r\n", "": "-\r\n",
	} {
		if got := string(appendError(nil, text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestHuman(t *testing.T) {
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 1536: "1.50K", 1 << 20: "1.00M", 3<<30 + 1<<29: "3.50G", 1 << 50: "1024.00T"} {
		if got := human(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestLoading(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	r.SetLoading(&Loading{Done: 5, Total: 10})
	const loading = "-LOADING Sluice is loading its data, 5 of 10 bytes"
	for line, want := range map[string]string{
		"RL.ALLOW k gcra 1 1m": loading, "RL.PEEK k gcra 1 1m": loading, "RL.RESET k": loading, "DBSIZE": loading, "SCAN 0": loading, "FLUSHALL": loading,
		"PING": "+PONG", "SELECT 0": "+OK", "CLIENT SETNAME x": "+OK", "CONFIG GET save": `["save" ""]`, "NONSENSE": "-ERR unknown command 'NONSENSE', with args beginning with: ",
	} {
		w.want(t, line, want)
	}
	if text := w.line(t, "INFO persistence").text; !strings.Contains(text, "loading:1\r\n") {
		t.Errorf("%q", text)
	}
	r.SetLoading(nil)
	w.want(t, "RL.ALLOW k gcra 1 1m", "[1 1 0 0 60000 0]")
}

func TestConfig(t *testing.T) {
	c := clock.NewTest()
	set := shard.NewSet(1, c)
	defer set.Close()
	config, err := settings.Load(settings.Given{Flags: map[string]string{"max-memory": "17MB", "sliding-log-max": "500"}})
	if err != nil {
		t.Fatal(err)
	}
	var reloaded error
	s := New(Options{
		Version: "0.1.0", Shards: set, Clock: c, Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
		Settings: settings.NewLive(config), Reload: func() error { return reloaded },
	})
	defer s.Close()
	w := (&rig{Server: s}).dial()
	w.want(t, "CONFIG GET max*y LISTEN listen slid*g*", `["listen" "127.0.0.1:6380" "max-memory" "17MB" "maxmemory" "17000000" "maxmemory-policy" "noeviction" "sliding-log-max" "500"]`)
	w.want(t, "CONFIG SET LOG_LEVEL debug", "+OK")
	w.want(t, "CONFIG GET log-level", `["log-level" "debug"]`)
	w.want(t, "CONFIG RELOAD", "+OK")
	reloaded = errors.New("line 3:\n\tis wrong")
	w.want(t, "CONFIG RELOAD", "-ERR nothing was changed: line 3: is wrong")
	if got := len(w.line(t, "CONFIG GET *").list); got != 2*(len(settingRows)+len(settings.Rows)) {
		t.Errorf("CONFIG GET * has %d words", got)
	}
	w.want(t, "RL.ALLOW k sliding_log 501 1s", "-ERR limit out of range: a sliding_log keeps at most 500 units, got 501; use sliding_counter for larger limits")
	w.want(t, "RL.ALLOW k sliding_log 500 1s", "[1 500 499 0 1000 0]")
	if !slices.IsSortedFunc(settingRows, func(a, b setting) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the settings are not in order")
	}
}

// TestCommandTable: COMMAND and COMMAND DOCS tell of every row, in both protocols.
func TestCommandTable(t *testing.T) {
	w := newRig(t, 1).dial()
	for _, protocol := range []string{"2", "3"} {
		w.line(t, "HELLO "+protocol)
		entries := w.line(t, "COMMAND").list
		docs := w.line(t, "COMMAND DOCS").list
		if len(entries) != len(table) || len(docs) != 2*len(table) || w.line(t, "COMMAND COUNT").n != int64(len(table)) {
			t.Fatalf("RESP%s: %d entries and %d of documentation, want %d", protocol, len(entries), len(docs)/2, len(table))
		}
		for i, c := range table {
			if e := entries[i].list; len(e) != 10 || e[0].text != c.lower || e[1].n != int64(c.Arity) || len(e[9].list) != len(c.Sub) {
				t.Errorf("RESP%s: %s has the entry %s", protocol, c.Name, entries[i])
			}
			if docs[2*i].text != c.lower || docs[2*i+1].list[1].text != c.Summary {
				t.Errorf("RESP%s: %s has the documentation %s", protocol, c.Name, docs[2*i+1])
			}
			for _, name := range []string{c.lower, c.Name} {
				if got := w.ask(t, "COMMAND", "INFO", name).list[0].String(); got != entries[i].String() {
					t.Errorf("RESP%s: COMMAND INFO %s is %s", protocol, name, got)
				}
			}
		}
	}
	names := 0
	each(func(*Command) { names++ })
	if got := len(w.line(t, "COMMAND LIST").list); got != names {
		t.Errorf("COMMAND LIST has %d names, want %d", got, names)
	}
	for _, v := range w.line(t, "COMMAND LIST FILTERBY ACLCAT admin").list {
		if named([]byte(v.text)).Flags&FlagAdmin == 0 {
			t.Errorf("%s is no command for operators", v.text)
		}
	}
}

// TestHelpForEverything: RL.HELP explains every command and names each in its list.
func TestHelpForEverything(t *testing.T) {
	w := newRig(t, 1).dial()
	all := w.line(t, "RL.HELP").String()
	each(func(c *Command) {
		lines := w.line(t, "RL.HELP "+c.Name).list
		if len(lines) < 2 || lines[0].text != c.Usage() || strings.TrimSpace(lines[1].text) != c.Summary {
			t.Errorf("RL.HELP %s is %v", c.Name, lines)
		}
		if !strings.Contains(c.Name, " ") && !strings.Contains(all, "+"+c.Usage()) {
			t.Errorf("RL.HELP does not list %s", c.Usage())
		}
	})
}

package main

// Crowds at a real server: more connections than it may have open, connections that
// are idle, that come and go, that take no replies, that announce what never comes. The
// others are served all the while, and nothing is left behind. Rows C91, C104, C105, C107
// and figures G13 and G14 of what has gone wrong with other servers.
//
// SLUICE_CROWD makes the crowds so many times larger, and adds what takes long (make crowd).

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/server"
)

// many is a number of connections, as many times larger as it is asked for, and at
// most as many as this process may open beside others.
func many(t *testing.T, n int) int {
	factor, err := strconv.Atoi(os.Getenv("SLUICE_CROWD"))
	if err != nil || factor < 1 {
		factor = 1
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	return min(n*factor, int(files.Cur)-500)
}

// openFilesMax is how many files a server may have open that may not have many.
const openFilesMax = 256

// limitOpenFiles sets how many files such a process may have open.
func (p *process) limitOpenFiles(n int) {
	p.t.Helper()
	limit := unix.Rlimit{Cur: uint64(n), Max: openFilesMax}
	if err := unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		p.t.Skip("the files of a process cannot be limited here: ", err)
	}
}

// openFiles is how many the process has.
func (p *process) openFiles() int {
	p.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(entries)
}

// residentBytes is what the process has in memory.
func (p *process) residentBytes() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}

// processorTime is what the process has used, in the 100ths of a second that Linux counts.
func (p *process) processorTime() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// connect opens n connections and asks each for a PONG; it returns those that got one.
func (p *process) connect(n int) (served []net.Conn, refused int) {
	p.t.Helper()
	for range n {
		conn, err := net.DialTimeout("tcp", p.address, patience)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { conn.Close() })
		switch reply := pinged(conn); reply {
		case "+PONG\r\n":
			served = append(served, conn)
		case "-ERR max number of clients reached\r\n", "": // "": the end came as a reset
			refused++
			conn.Close()
		default:
			p.t.Fatalf("PING is answered %q", reply)
		}
	}
	return served, refused
}

// pinged is the answer to a PING, "" where the connection ends before.
func pinged(conn net.Conn) string {
	conn.SetDeadline(time.Now().Add(patience))
	conn.Write([]byte("PING\r\n"))
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	return string(answer[:n])
}

// A server that may open few files takes as many connections as that allows, and tells
// the others; when there is no file left all the same, it waits, and does not spin (C105).
func TestCrowdWithoutFiles(t *testing.T) {
	shell := fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, openFilesMax)
	p := launchCommand(t, exec.Command("sh", append([]string{"-c", shell, program}, serveArgs([]string{"--dir", ""})...)...))
	p.ready()
	if lines := p.told("fewer connections are taken than max-clients"); !strings.HasSuffix(lines[0], fmt.Sprint("max-clients=10000 taken=", openFilesMax-server.FilesReserved)) {
		t.Errorf("the log says %q", lines)
	}
	before := p.openFiles()
	served, refused := p.connect(1000)
	if len(served) < 100 || len(served)+refused != 1000 {
		t.Errorf("of 1000 connections %d are served and %d refused", len(served), refused)
	}
	for _, conn := range served {
		if reply := pinged(conn); reply != "+PONG\r\n" {
			t.Fatalf("a connection that was open gets %q", reply)
		}
		conn.Close()
	}
	p.until("the files are closed", func() bool { return p.openFiles() <= before })

	c := p.dial()
	c.want("PING", "+PONG")
	p.limitOpenFiles(p.openFiles())
	waiting := make([]net.Conn, 20) // as far as the system's queue, but for numbers that are free in between
	for i := range waiting {
		var err error
		if waiting[i], err = net.Dial("tcp", p.address); err != nil {
			t.Fatal(err)
		}
		defer waiting[i].Close()
	}
	const line = "a connection could not be accepted"
	first := p.told(line)[0]
	spent := p.processorTime()
	p.until("it has tried nine times", func() bool { return len(p.logs(line)) >= 9 })
	took, spent := loggedAt(t, p.logs(line)[8]).Sub(loggedAt(t, first)), p.processorTime()-spent
	if took < time.Second || spent > took/5+20*time.Millisecond {
		t.Errorf("it tried nine times in %v and took %v of a processor for it", took, spent)
	}
	t.Logf("nine tries in %v took %v of a processor", took, spent)
	c.want("PING", "+PONG")
	p.limitOpenFiles(openFilesMax)
	freed := time.Now()
	for _, conn := range waiting {
		if reply := pinged(conn); reply != "+PONG\r\n" {
			t.Errorf("who waited gets %q", reply)
		}
	}
	t.Logf("who waited is served %v after there is a file", time.Since(freed))
	p.terminate()
}

// loggedAt is when a line was logged.
func loggedAt(t *testing.T, line string) time.Time {
	t.Helper()
	_, rest, _ := strings.Cut(line, "time=")
	text, _, _ := strings.Cut(rest, " ")
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// IdleConnectionBytesMax is what an idle connection may cost, in memory of the process.
const IdleConnectionBytesMax = 16 << 10

// Idle connections cost little, and are in nobody's way (G14).
func TestCrowdIdle(t *testing.T) {
	p := start(t, "--dir", "", "--max-clients", "20000")
	c := p.dial()
	p.connect(100)
	c.want("RL.ALLOW warm gcra 10 10s", "[1 10 9 0 1000 0]")
	before, files := p.residentBytes(), p.openFiles()
	n := many(t, 2000)
	idle, _ := p.connect(n)
	if len(idle) != n {
		t.Fatalf("%d of %d connections are served", len(idle), n)
	}
	each := (p.residentBytes() - before) / n
	t.Logf("an idle connection costs %d bytes, of %d", each, n)
	if each > IdleConnectionBytesMax {
		t.Errorf("an idle connection costs %d bytes, at most %d are wanted", each, IdleConnectionBytesMax)
	}
	t.Run("beside others", func(t *testing.T) {
		var group sync.WaitGroup
		for i := range min(n/10, 500) {
			group.Go(func() {
				active := p.dial()
				for range 20 {
					if reply := active.ask(fmt.Sprintf("RL.ALLOW active:%d gcra 100 1h", i)); !strings.HasPrefix(reply, "[1 100 ") {
						t.Error(reply)
					}
				}
				active.conn.Close()
			})
		}
		group.Wait()
	})
	for _, conn := range idle {
		conn.Close()
	}
	p.until("the files are closed", func() bool { return p.openFiles() <= files })
	p.terminate()
}

// Connections that come and go, and such as vanish, leave nothing behind (C107, G14).
func TestCrowdComesAndGoes(t *testing.T) {
	p := start(t, "--dir", "")
	c := p.dial()
	c.want("PING", "+PONG")
	before := p.openFiles()
	n := many(t, 1000) * 4
	var made atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := made.Add(1); i <= int64(n); i = made.Add(1) {
				conn, err := net.DialTimeout("tcp", p.address, patience)
				if err != nil {
					t.Error(err)
					return
				}
				conn.(*net.TCPConn).SetLinger(0) // a reset, so that this machine keeps no port for it
				if i%2 == 0 {
					if reply := pinged(conn); reply != "+PONG\r\n" {
						t.Errorf("connection %d gets %q", i, reply)
					}
				}
				conn.Close()
			}
		})
	}
	began := time.Now()
	group.Wait()
	t.Logf("%d connections in %v", n, time.Since(began))
	p.until("the files are closed", func() bool { return p.openFiles() <= before })
	p.until("the sessions are over", func() bool { return c.info("connected_clients") == "1" })
	p.terminate()
}

// p99 is the time that all but one in a hundred did not exceed.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// Peers that send calls and take no replies are held back, cost no more than what is
// read of them, and are cut off; who behaves is served all the while (C104, G13).
func TestCrowdTakesNothing(t *testing.T) {
	p := start(t, "--dir", "", "--output-soft-time", "2s", "--test-clock")
	c := p.dial()
	c.want("RL.ALLOW other gcra 10 10s", "[1 10 9 0 1000 0]")
	var waits []time.Duration
	ask := func() {
		began := time.Now()
		c.want("RL.PEEK other gcra 10 10s 0", "[1 10 9 0 1000 0]")
		waits = append(waits, time.Since(began))
	}
	for range 500 {
		ask()
	}
	quiet := p99(waits)
	waits = nil
	before := p.residentBytes()
	const outputSoft = 1 << 20 // of a connection, as it is set without saying so
	n, calls := many(t, 20), 200_000
	pipeline := bytes.Repeat(request(nil, "RL.PEEK", "k", "gcra", "100", "1h"), calls)
	var group sync.WaitGroup
	for range n {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		group.Go(func() {
			conn.SetWriteDeadline(time.Now().Add(patience))
			conn.Write(pipeline) // until the server reads no more, or closes
		})
	}
	most := 0
	p.until("all are cut off", func() bool {
		most = max(most, p.residentBytes())
		ask()
		return c.info("client_output_buffer_limit_disconnections") == strconv.Itoa(n)
	})
	group.Wait()
	each := (most - before) / n
	t.Logf("%d peers that took nothing cost %d bytes each; of %d calls meanwhile 99 %% were answered within %v, before within %v",
		n, each, len(waits), p99(waits), quiet)
	if each > outputSoft+outputSoft/10 {
		t.Errorf("a peer that takes nothing costs %d bytes, at most %d are wanted", each, outputSoft)
	}
	p.terminate()
}

// A length that is announced takes no memory, whoever announces it (C91).
func TestCrowdAnnounces(t *testing.T) {
	t.Setenv("SLUICE_REQUIREPASS", "a-password-of-some-length")
	p := start(t, "--dir", "")
	before := p.residentBytes()
	n := many(t, 1000)
	for range n {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		conn.Write([]byte("*1048576\r\n$536870912\r\n"))
		if answer, _ := io.ReadAll(conn); !bytes.HasPrefix(answer, []byte("-ERR Protocol error")) {
			t.Fatalf("it answers %q", answer)
		}
		defer conn.Close()
	}
	if each := (p.residentBytes() - before) / n; each > 64<<10 {
		t.Errorf("each costs %d bytes", each)
	}
	p.terminate()
}

// Requests that never arrive whole are ended (G14). It takes the half minute that they
// are given; TestHalfSentRequestsEnd of package server has no need to wait.
func TestCrowdHalfSends(t *testing.T) {
	if os.Getenv("SLUICE_CROWD") == "" {
		t.Skip("takes half a minute: make crowd")
	}
	p := start(t, "--dir", "")
	n := many(t, 500)
	for range n {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("*3\r\n$8\r\nRL.ALLOW\r\n$1")); err != nil {
			t.Fatal(err)
		}
	}
	c := p.dial()
	c.want("PING", "+PONG")
	for range 2 { // longer than what until waits
		for begun := time.Now(); c.info("connected_clients") != "1" && time.Since(begun) < patience; {
			time.Sleep(100 * time.Millisecond) // reason: another process works
		}
	}
	if left := c.info("connected_clients"); left != "1" {
		t.Errorf("%s connections are open", left)
	}
	p.terminate()
}

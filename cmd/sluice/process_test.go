package main

// The binary, run as a user runs it: built once, on loopback ports that the operating
// system chooses, in directories of the test's own. What the tests of the packages know
// in memory is seen here with real files, signals and exit statuses.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the binary under test.
var program string

// patience is how long anything may take before a test gives up; nothing should.
const patience = 30 * time.Second

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "sluice")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is a server that has been started.
type process struct {
	t       testing.TB
	command *exec.Cmd
	address string        // once it listens
	out     chan string   // standard output, line by line
	ended   chan struct{} // closed when it has ended

	mu  sync.Mutex
	log []string // standard error, line by line
}

// launch starts a server and returns when it listens, or has ended without.
func launch(t testing.TB, args ...string) *process {
	t.Helper()
	return launchCommand(t, exec.Command(program, serveArgs(args)...))
}

func serveArgs(args []string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0", "--log-format", "text"}, args...)
}

func launchCommand(t testing.TB, command *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, command: command, out: make(chan string, 100), ended: make(chan struct{})}
	stdout, err := p.command.StdoutPipe()
	if err == nil {
		p.command.Stderr = &lines{line: p.logged}
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.out <- s.Text()
		}
		p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	p.until("it listens", func() bool { return p.listens() || p.over() })
	return p
}

// lines hands on what is written to it, line by line.
type lines struct {
	rest []byte
	line func(string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.line(string(line))
		l.rest = rest
	}
}

func (p *process) logged(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, line)
}

var listening = regexp.MustCompile(`msg=listening listen=(\S+)`)

func (p *process) listens() bool {
	for _, line := range p.logs("msg=listening") {
		p.address = listening.FindStringSubmatch(line)[1]
		return true
	}
	return false
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// logs are the lines of standard error that contain a text.
func (p *process) logs(text string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.log {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// told waits for lines of standard error that contain a text, and returns them: the log
// comes another way than replies do, and may come after them.
func (p *process) told(text string) (found []string) {
	p.t.Helper()
	p.until("the log says "+text, func() bool { found = p.logs(text); return found != nil })
	return found
}

// until waits for something to be so, and gives up after a while.
func (p *process) until(what string, is func() bool) {
	p.t.Helper()
	for begun := time.Now(); !is(); {
		if time.Since(begun) > patience {
			p.t.Fatalf("%v passed and it is not so that %s; the log:\n%s", patience, what, strings.Join(p.logs(""), "\n"))
		}
		time.Sleep(time.Millisecond) // reason: another process works
	}
}

// start launches a server and returns when it is ready.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	p := launch(t, args...)
	p.ready()
	return p
}

func (p *process) ready() {
	p.t.Helper()
	select {
	case line := <-p.out:
		if !strings.HasPrefix(line, "Sluice is ready. Try:  redis-cli -p ") {
			p.t.Fatalf("it says %q", line)
		}
	case <-p.ended:
		p.t.Fatalf("it has ended with %d; the log:\n%s", p.status(), strings.Join(p.logs(""), "\n"))
	case <-time.After(patience):
		p.t.Fatalf("it is not ready; the log:\n%s", strings.Join(p.logs(""), "\n"))
	}
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.command.Process.Kill()
	<-p.ended
}

// wait returns the exit status.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("it does not end; the log:\n%s", strings.Join(p.logs(""), "\n"))
	}
	return p.status()
}

func (p *process) status() int { return p.command.ProcessState.ExitCode() }

// terminate ends the process in order, which must work.
func (p *process) terminate() {
	p.t.Helper()
	p.command.Process.Signal(syscall.SIGTERM)
	if status := p.wait(); status != 0 {
		p.t.Fatalf("SIGTERM ends it with %d; the log:\n%s", status, strings.Join(p.logs(""), "\n"))
	}
}

// run runs a command of the binary to its end.
func run(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	command := exec.Command(program, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), command.ProcessState.ExitCode()
}

// client is a connection.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func (p *process) dial() *client {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * patience))
	return &client{p.t, conn, bufio.NewReaderSize(conn, 64<<10)}
}

// request is a command as clients send it.
func request(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// reply reads a reply and writes it on one line: 5, bulk, +simple, -ERR text, nil, [a b].
func (c *client) reply() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch {
	case line[0] == ':':
		return line[1:], nil
	case (line[0] == '$' || line[0] == '*') && n < 0:
		return "nil", nil
	case line[0] == '$':
		text := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, text); err != nil {
			return "", err
		}
		return string(text[:n]), nil
	case line[0] == '*':
		items := make([]string, n)
		for i := range items {
			if items[i], err = c.reply(); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, " ") + "]", nil
	}
	return line, nil
}

// ask sends a command, typed on one line, and returns the reply.
func (c *client) ask(line string) string {
	c.t.Helper()
	return c.askWords(strings.Fields(line)...)
}

// askWords sends a command whose words may have spaces, and returns the reply.
func (c *client) askWords(words ...string) string {
	c.t.Helper()
	c.conn.SetDeadline(time.Now().Add(2 * patience))
	if _, err := c.conn.Write(request(nil, words...)); err != nil {
		c.t.Fatalf("%s: %v", words, err)
	}
	reply, err := c.reply()
	if err != nil {
		c.t.Fatalf("%s: %v", words, err)
	}
	return reply
}

// want compares a reply.
func (c *client) want(line, reply string) {
	c.t.Helper()
	if got := c.ask(line); got != reply {
		c.t.Errorf("%s\n got %s\nwant %s", line, got, reply)
	}
}

// info is a field of INFO.
func (c *client) info(field string) string {
	c.t.Helper()
	for line := range strings.SplitSeq(c.ask("INFO"), "\r\n") {
		if value, found := strings.CutPrefix(line, field+":"); found {
			return value
		}
	}
	return "(no such field)"
}

// files are the contents of a directory, by name, but for what a server removes meanwhile.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		switch {
		case err == nil:
			found[e.Name()] = string(data)
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		}
	}
	return found
}

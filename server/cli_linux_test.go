package server

// redis-cli as people use it, at a terminal: hints while they type, and help.
// Both are made of COMMAND DOCS.

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal with a program in it.
type terminal struct {
	t    *testing.T
	hand *os.File // what the person at the terminal has
	seen string
}

func newTerminal(t *testing.T, path string, args ...string) *terminal {
	t.Helper()
	hand, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	raw, err := hand.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 250})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	c := exec.Command(path, args...)
	c.Env = append(os.Environ(), "TERM=xterm", "REDISCLI_HISTFILE=/dev/null", "REDISCLI_RCFILE=/dev/null")
	c.Stdin, c.Stdout, c.Stderr = screen, screen, screen
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		hand.Close()
	})
	return &terminal{t: t, hand: hand}
}

// escapes are what moves the cursor and sets colours.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// prompt is what redis-cli shows when it waits; what is typed earlier is lost.
const prompt = "> "

// types types something and waits until all of some texts have been shown, and
// until the prompt stands at the end, if that is among them.
func (m *terminal) types(text string, want ...string) {
	m.t.Helper()
	m.seen = ""
	if _, err := m.hand.WriteString(text); err != nil {
		m.t.Fatal(err)
	}
	m.hand.SetReadDeadline(time.Now().Add(20 * time.Second))
	buf := make([]byte, 4096)
	for {
		missing := ""
		for _, w := range want {
			if w == prompt && !strings.HasSuffix(strings.TrimRight(m.seen, "\r"), prompt) || !strings.Contains(m.seen, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		n, err := m.hand.Read(buf)
		if err != nil {
			m.t.Fatalf("after %q the terminal does not show %q (%v) but\n%s", text, missing, err, m.seen)
		}
		m.seen = escapes.ReplaceAllString(m.seen+string(buf[:n]), "")
	}
}

func TestRedisCLIAtATerminal(t *testing.T) {
	r := newRig(t, 2)
	address := r.listen()
	m := newTerminal(t, tool(t, "redis-cli"), "-p", port(t, address))
	m.types("", "127.0.0.1:"+port(t, address), prompt)
	m.types("RL.ALLOW ", "key algorithm limit window|@plan [cost] [BURST burst] [ALIGN EPOCH|FIRST|JITTER]")
	m.types("user:42 ", " algorithm limit window|@plan [cost] [BURST burst]")
	m.types("token_bucket 10 1s\r", "1) (integer) 1", "6) (integer) 0", prompt)
	m.types("RL.CLOCK SET ", "unix-ms")
	m.types("\x15", prompt) // clears the line
	m.types("help RL.ALLOW\r", "RL.ALLOW key algorithm limit window", "summary: Decides whether a call may pass and spends its cost, in one atomic step.",
		"since: 0.1.0", "group: ratelimit", prompt)
	m.types("help @ratelimit\r", "RL.PEEK key algorithm limit window", "RL.MALLOW key algorithm limit window cost", "RL.RESET key [key ...] [@plan]", "RL.CLOCK ADVANCE duration", "RL.HELP", prompt)
	m.types("help @connection\r", "HELLO", "PING [message]", prompt)
	m.types("nonsense\r", "(error) ERR unknown command 'nonsense'", prompt)
	if errors := r.stats.errors.Load(); errors != 1 {
		t.Errorf("%d error replies, want the one of nonsense", errors)
	}
}

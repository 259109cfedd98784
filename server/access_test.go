package server

// Logging in, where a transcript does not reach: how long answers wait, what is
// logged, who is let in at all, and the file of users.

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGuessesWait: each wrong password from a host waits longer than the one before,
// until a minute has gone by without one.
func TestGuessesWait(t *testing.T) {
	var g guesses
	var now uint64 = 1e18
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 3200, 3200, 3200, 3200, 3200} {
		failures, delay := g.add("192.0.2.1", now)
		if failures != i+1 || delay != want*time.Millisecond {
			t.Errorf("guess %d: number %d waits %v, want %v", i+1, failures, delay, want*time.Millisecond)
		}
	}
	if failures, delay := g.add("192.0.2.2", now); failures != 1 || delay != GuessDelayMin {
		t.Errorf("another host: number %d waits %v", failures, delay)
	}
	if _, delay := g.add("192.0.2.1", now+guessMemoryNanos); delay != GuessDelayMax {
		t.Errorf("a minute later it waits %v", delay)
	}
	if failures, delay := g.add("192.0.2.1", now+2*guessMemoryNanos+1); failures != 1 || delay != GuessDelayMin {
		t.Errorf("over a minute later: number %d waits %v", failures, delay)
	}
}

// TestGuessesAreBounded: more hosts than are remembered cost no more memory, and gain
// nothing.
func TestGuessesAreBounded(t *testing.T) {
	var g guesses
	for i := range GuessHostsMax {
		g.add(fmt.Sprint(i), 1)
	}
	if _, delay := g.add("new", 1); delay != GuessDelayMax || len(g.byHost) != GuessHostsMax {
		t.Errorf("one more waits %v, %d hosts are remembered", delay, len(g.byHost))
	}
	if _, delay := g.add("new", 2+guessMemoryNanos); delay != GuessDelayMin || len(g.byHost) != 1 {
		t.Errorf("when all are forgotten a first one waits %v, %d hosts are remembered", delay, len(g.byHost))
	}
}

// TestFailedLoginsAreLogged: with the peer's address, and without what was tried.
func TestFailedLoginsAreLogged(t *testing.T) {
	r := newRig(t, 1)
	var text bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&text, nil))
	w := r.dial()
	w.want(t, "ACL SETUSER default >sesame", "+OK")
	stranger := r.dial()
	for range 3 {
		stranger.want(t, "AUTH hunter2", "-"+errWrongPass)
		stranger.want(t, `AUTH "hunter2\nlevel=INFO" hunter2`, "-"+errWrongPass)
	}
	if got := time.Duration(r.waited.Load()); got != (100+200+400+800+1600+3200)*time.Millisecond {
		t.Errorf("six wrong passwords waited %v", got)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 6 {
		t.Errorf("%d lines are logged:\n%s", len(lines), text.String())
	}
	for _, line := range lines {
		if !strings.Contains(line, "peer=peer:0") || strings.Contains(line, "hunter2") {
			t.Errorf("logged: %s", line)
		}
	}
}

// strange is a connection from elsewhere.
type strange struct {
	*wire
	from string
}

func (s strange) RemoteAddr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", s.from)
	if err != nil {
		panic(err)
	}
	return a
}

// TestStrangersNeedAPassword: while none is set only this machine is served.
func TestStrangersNeedAPassword(t *testing.T) {
	for _, row := range []struct {
		from                string
		password, openToAll bool
		served              bool
	}{
		{from: "127.0.0.1:5000", served: true},
		{from: "127.9.9.9:5000", served: true},
		{from: "[::1]:5000", served: true},
		{from: "[::ffff:127.0.0.1]:5000", served: true},
		{from: "192.0.2.7:5000"},
		{from: "[2001:db8::7]:5000"},
		{from: "192.0.2.7:5000", password: true, served: true},
		{from: "192.0.2.7:5000", openToAll: true, served: true},
	} {
		r := newRig(t, 1)
		if row.openToAll {
			r.set("protected-mode", "false")
		}
		if row.password {
			r.dial().want(t, "ACL SETUSER default >sesame", "+OK")
		}
		w := newWire()
		r.open(strange{w, row.from})
		if open := w.wait(); open != row.served {
			t.Errorf("%+v: served %v", row, open)
		}
		r.end()
	}
}

// TestUsersFile: what ACL SAVE writes is what ACL LOAD reads, and a file that is wrong
// changes nothing.
func TestUsersFile(t *testing.T) {
	r := newRig(t, 1)
	file := filepath.Join(t.TempDir(), "users.acl")
	r.startedWith("acl-file", file)
	w := r.dial()
	w.want(t, "ACL SETUSER web on >pw ~user:* %R~all:* &news +@ratelimit -rl.reset", "+OK")
	list := w.line(t, "ACL LIST").String()
	w.want(t, "ACL SAVE", "+OK")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info.Mode(), err)
	}
	w.want(t, "ACL SETUSER other on nopass +ping", "+OK")
	w.want(t, "ACL SETUSER web reset", "+OK")
	other := r.dial()
	other.want(t, "AUTH other x", "+OK")
	w.want(t, "ACL LOAD", "+OK")
	w.want(t, "ACL LIST", list)
	if reply, open := other.send(request("PING")); open || len(reply) > 0 {
		t.Errorf("a deleted user's connection is open %v and answers %q", open, reply)
	}
	bad := "# a comment\n\nuser web on >pw\nusr x\nuser web off\nuser y +nosuch\nuser z >pw <other\n"
	if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	got := w.line(t, "ACL LOAD").text
	for _, want := range []string{"nothing was changed", "line 4: it must be 'user', a name and rules", "line 5: user 'web' was there before", "line 6: Error in ACL SETUSER modifier '+nosuch'", "line 7: Error in ACL SETUSER modifier '<(a password)'"} {
		if !strings.Contains(got, want) {
			t.Errorf("ACL LOAD answers %q, without %q", got, want)
		}
	}
	w.want(t, "ACL LIST", list)
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if got := w.line(t, "ACL SAVE").text; !strings.Contains(got, "no such file or directory") {
		t.Errorf("ACL SAVE into no directory answers %q", got)
	}
}

// TestFreeUsersCostNothing: a session whose user may do everything is not checked
// command by command, and one that may not, is.
func TestFreeUsersCostNothing(t *testing.T) {
	r := newRig(t, 1)
	s := r.session(newWire())
	for _, row := range []struct {
		rules []string
		held  bool
	}{
		{nil, false},
		{[]string{"-ping"}, true},
		{[]string{"+@all"}, false},
		{[]string{"resetkeys", "~k*"}, true},
		{[]string{"resetkeys", "~*"}, false},
		{[]string{">pw"}, false}, // who is logged in stays so
	} {
		if err := r.users.Set("default", row.rules); err != nil {
			t.Fatal(err)
		}
		if s.look(); s.held != row.held {
			t.Errorf("after %v held is %v", row.rules, s.held)
		}
	}
	s.account.Store(r.users.Initial())
	if s.look(); !s.held || s.user != nil || !s.reader.strict {
		t.Errorf("without a login: held %v, user %v, strict %v", s.held, s.user, s.reader.strict)
	}
}

// TestRequirePass: CONFIG SET changes the password, and never shows it.
func TestRequirePass(t *testing.T) {
	r := newRig(t, 1)
	w := r.dial()
	w.want(t, "CONFIG GET requirepass", `["requirepass" ""]`)
	w.want(t, "CONFIG SET requirepass sesame", "+OK")
	w.want(t, "CONFIG GET requirepass", `["requirepass" "(hidden)"]`)
	stranger := r.dial()
	stranger.want(t, "PING", "-"+errNoAuth)
	stranger.want(t, "AUTH sesame", "+OK")
	w.want(t, "CONFIG SET requirepass other", "+OK")
	stranger.want(t, "AUTH sesame", "-"+errWrongPass)
	stranger.want(t, "AUTH other", "+OK")
	w.want(t, `CONFIG SET requirepass ""`, "+OK")
	r.dial().want(t, "PING", "+PONG")
}

package main

// Who is let in, on a server as it is started.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPasswordFromFile(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte("open sesame\r\nanother line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--dir", "", "--requirepass-file", secret)
	c := p.dial()
	c.want("PING", "-NOAUTH Authentication required.")
	if reply := c.askWords("AUTH", "another line"); !strings.HasPrefix(reply, "-WRONGPASS ") {
		t.Errorf("a wrong password: %s", reply)
	}
	if reply := c.askWords("AUTH", "open sesame"); reply != "+OK" {
		t.Errorf("the password: %s", reply)
	}
	c.want("PING", "+PONG")
	if lines := p.told("a login failed"); len(lines) != 1 || !strings.Contains(lines[0], "peer=127.0.0.1:") {
		t.Errorf("logged: %q", lines)
	}
	p.terminate()
	if p.logs("sesame") != nil || p.logs("another") != nil {
		t.Error("a password is in the log")
	}
}

// Users are read at start, changed by command, saved, and there again after a restart.
func TestUsersFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	p := start(t, "--dir", "", "--acl-file", file)
	c := p.dial()
	c.want("ACL SETUSER default >operator", "+OK")
	c.want("ACL SETUSER web on >pw ~user:* +@ratelimit", "+OK")
	c.want("ACL SAVE", "+OK")
	if len(p.told("the file of users is not there")) != 1 {
		t.Error("nothing warns of a file that is not there")
	}
	p.kill()

	p = start(t, "--dir", "", "--acl-file", file, "--listen", "0.0.0.0:0")
	c = p.dial()
	if p.logs("the file of users is not there") != nil {
		t.Error("a file that is there is warned of")
	}
	c.want("PING", "-NOAUTH Authentication required.")
	c.want("AUTH web pw", "+OK")
	c.want("RL.ALLOW user:42 gcra 10 10s", "[1 10 9 0 1000 0]")
	c.want("RL.ALLOW host:42 gcra 10 10s", "-NOPERM User web has no permissions to access the 'host:42' key")
	c.want("FLUSHALL", "-NOPERM User web has no permissions to run the 'flushall' command")
	c.want("AUTH operator", "+OK")
	c.want("ACL DELUSER web", "1")
	c.want("ACL LOAD", "+OK")
	c.want("ACL USERS", "[default web]")
}

// A server that everybody may use can be had, by saying so.
func TestUnprotected(t *testing.T) {
	p := start(t, "--dir", "", "--protected-mode=false", "--listen", "0.0.0.0:0")
	p.dial().want("PING", "+PONG")
}

package main

// The commands that the pages for operators show are typed, in order, into a shell: what
// is indented as code on a page is its script. Paths lead into a directory of the test,
// ports to servers that it has started; a command line of `sluice serve` is read and not
// left running, and there is no service manager. What installs something is not run here
// but in CI's section on packages.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pagePrelude stands before every page's script.
const pagePrelude = `set -euo pipefail
sluice() {
	case "$1" in
	serve) shift; "$PROGRAM" config show "$@" >/dev/null ;;
	top) shift; "$PROGRAM" top --once "$@" ;;
	*) "$PROGRAM" "$@" ;;
	esac
}
sluice-new() { "$PROGRAM" "$@"; }
sudo() { [ "$1" != -u ] || shift 2; "$@"; }
systemctl() { :; }
journalctl() { :; }
`

// commandsOf are the lines that a page shows as code, outside of fences: for a shell,
// and for the server.
func commandsOf(page string) (shell, server []string) {
	page = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
	for _, line := range regexp.MustCompile(`(?m)^(?: {4}| {7})([A-Za-z].*)$`).FindAllStringSubmatch(page, -1) {
		if regexp.MustCompile(`^[A-Z.]+ `).MatchString(line[1]) {
			server = append(server, line[1])
		} else {
			shell = append(shell, line[1])
		}
	}
	return shell, server
}

// site is a machine with Sluice on it, as the pages take it to be, in a directory.
type site struct {
	dir   string
	paths []string // pairs: what the pages say, and what it is here
	env   []string
}

func newSite(t *testing.T) *site {
	tool(t, "redis-cli")
	tool(t, "openssl")
	tool(t, "curl")
	s := &site{dir: t.TempDir(), env: []string{"PROGRAM=" + program}}
	for _, name := range []string{"etc", "backup"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(s.dir, "etc", "sluice.yaml"), "server: {max_clients: 100}\n")
	write(t, filepath.Join(s.dir, "etc", "admin-token"), "correct-horse-battery\n")
	s.paths = []string{"/etc/sluice", filepath.Join(s.dir, "etc"), "/var/lib/sluice", s.lib(), "/backup", filepath.Join(s.dir, "backup")}
	return s
}

// lib is the directory of the server's state.
func (s *site) lib() string { return filepath.Join(s.dir, "lib") }

// start starts the server that the pages speak of.
func (s *site) start(t *testing.T) *process {
	etc := filepath.Join(s.dir, "etc")
	p := start(t, "--dir", s.lib(), "--config", filepath.Join(etc, "sluice.yaml"), "--admin", "127.0.0.1:0", "--admin-token-file", filepath.Join(etc, "admin-token"), "--pprof")
	_, port, _ := strings.Cut(p.address, ":")
	s.paths = append(s.paths, "-p 6380", "-p "+port, "127.0.0.1:6380", p.address, "127.0.0.1:6381", p.adminOf())
	s.env = append(s.env, "SLUICE_LISTEN="+p.address)
	return p
}

// pageOf is the text of a page for operators.
func pageOf(t *testing.T, name string) string {
	text, err := os.ReadFile("../../docs/operations/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// typed types lines into a shell and returns what it prints.
func (s *site) typed(t *testing.T, prelude string, lines []string, paths ...string) string {
	script := strings.NewReplacer(append(paths, s.paths...)...).Replace(strings.Join(lines, "\n"))
	command := exec.Command("bash", "-c", pagePrelude+prelude+script)
	command.Dir, command.Stdin, command.Env = s.dir, strings.NewReader("PING\n"), append(os.Environ(), s.env...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// says fails the test where an output does not hold some texts, in order, and returns
// what comes after them.
func says(t *testing.T, out string, wants ...string) (rest string) {
	t.Helper()
	rest = out
	for _, want := range wants {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
		rest = after
	}
	return rest
}

func TestOperationsPages(t *testing.T) {
	s := newSite(t)
	p := s.start(t)

	// The page on TLS has certificates, and a server that is started as it says.
	ca := newAuthority(t, s.dir, "ca")
	ca.server("server")
	write(t, filepath.Join(s.dir, "password"), "correct-horse\n")
	secured := func(lines []string) (address string) {
		for _, line := range lines {
			if strings.HasPrefix(line, "sluice serve ") && strings.Contains(line, "--tls-listen") {
				line = strings.NewReplacer("0.0.0.0:", "127.0.0.1:", "6380", "0", "6390", "0").Replace(line)
				command := exec.Command(program, append(strings.Fields(line)[1:], "--dir", "", "--log-format", "text")...)
				command.Dir = s.dir
				q := launchCommand(t, command)
				return q.addresses()[1]
			}
		}
		t.Fatal("the page on security starts no server that speaks TLS")
		return ""
	}
	for _, row := range []struct {
		page  string
		shell int      // how many commands it shows
		says  []string // some of what they print, in order
	}{
		{"backup", 4, []string{"OK", "snapshot-0000000001: whole"}},
		{"upgrade", 2, []string{"is right", "snapshot-0000000001: whole"}},
		{"security", 5, []string{"PONG", "Sluice "}},
		{"denials", 5, []string{"Sluice ", "DENIED MOST"}},
		{"alerts", 30, []string{
			"is right", "ready", // SluiceDown
			"1\n1\n0\n0\n1000\n0\n0\n1\n0\n", "sluice_canary_checks_total{result=\"wrong\"} 0", `sluice_limiting_works 1`, // SluiceNotLimiting
			"aof_last_write_status:", "journal_fault:", "last_disk_error:", "Filesystem", // SluiceJournalBroken
			"journal_mode:everysec", "journal_lag_ms:", "rdb_last_bgsave_status:ok", "Background saving started", // SluiceJournalLags, SluiceSnapshotFailed
			"is right", "plans:0", "book_version:", "clock_offset_ms:0", // up to SluiceClockOff
			"sluice_keys_evicted_total", "evicted_keys:0", "# Errorstats", "max-keys", // SluiceEvicting, SluiceFull
			"latency_percentiles_usec_rl.allow:", "sluice_batch_commands_sum", "load average", // SluiceSlow
		}},
	} {
		t.Run(row.page, func(t *testing.T) {
			shell, server := commandsOf(pageOf(t, row.page))
			if len(shell) != row.shell {
				t.Errorf("the page shows %d commands, want %d: %q", len(shell), row.shell, shell)
			}
			var paths []string
			if row.page == "security" {
				_, tls, _ := strings.Cut(secured(shell), ":")
				paths = []string{"-p 6390", "-p " + tls, "localhost:6390", "localhost:" + tls}
				t.Setenv("REDISCLI_AUTH", "correct-horse")
			}
			rest := says(t, s.typed(t, "", shell, paths...), row.says...)
			switch row.page {
			case "denials":
				if lines := strings.Split(strings.TrimSpace(rest), "\n"); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(lines[len(lines)-1]) {
					t.Errorf("the hash of a key is %q", lines[len(lines)-1])
				}
			case "alerts":
				file, err := os.ReadFile(filepath.Join(s.dir, "goroutines.txt"))
				if err != nil || !strings.Contains(string(file), "sluice/shard.") {
					t.Errorf("the profile is %.100q, %v", file, err)
				}
			}
			for _, line := range server {
				p.dial().want(line, "+OK")
			}
		})
	}
}

// The page on durability is read in two sittings: while the server runs, and when it
// does not start any more because its journal is damaged.
func TestDurabilityPage(t *testing.T) {
	s := newSite(t)
	p := s.start(t)
	c := p.dial()
	c.ask("RL.ALLOW user:42 fixed_window 1000 100000h 1")
	c.want("SAVE", "+OK")
	running, rest, found := strings.Cut(pageOf(t, "durability"), "## When the server does not start")
	if !found {
		t.Fatal("the page has changed")
	}
	shell, _ := commandsOf(running)
	if len(shell) != 6 {
		t.Errorf("the page shows %d commands, want 6: %q", len(shell), shell)
	}
	says(t, s.typed(t, "", shell), "Background saving started", "rdb_bgsave_in_progress:", "snapshot_last_error:", "journal_lag_ms:", "journal_fault:", "Filesystem", s.lib())
	p.until("the page's snapshot is written", func() bool { return c.info("rdb_saves") == "2" })
	c.ask("RL.ALLOW user:43 fixed_window 1000 100000h 1")
	p.terminate()
	damaged := ""
	for name := range files(t, s.lib()) {
		if strings.HasPrefix(name, "journal-") {
			damaged = max(damaged, name)
		}
	}
	change(t, s.lib(), damaged, func(b []byte) []byte { b[bytes.Index(b, []byte("user:43"))] ^= 1; return b })
	refused(t, s.lib())

	shell, _ = commandsOf(rest)
	if len(shell) != 5 {
		t.Errorf("the page shows %d commands, want 5: %q", len(shell), shell)
	}
	// Its first look exits with 1, as the page says.
	says(t, s.typed(t, "sluice() { \"$PROGRAM\" \"$@\" || echo \"exit $?\"; }\n", shell),
		damaged+": damaged", "problem:", "exit 1", "kept: "+damaged+".damaged-1", "written: snapshot-", "whole")
	if files(t, filepath.Join(s.dir, "backup", "damaged"))[damaged] == "" {
		t.Error("the copy does not have the damaged file")
	}
	p = s.start(t)
	p.dial().want("DBSIZE", "1")
	p.dial().want("EXISTS user:42", "1")
}

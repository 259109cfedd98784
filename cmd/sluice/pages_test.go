package main

// The commands that the pages for operators show are typed, in order, into a shell: what
// is indented as code on a page is its script. Paths lead into a directory of the test,
// ports to servers that it has started; a command line of `sluice serve` is read and not
// left running. What installs something is not run here but in CI's section on packages.

import (
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

func TestOperationsPages(t *testing.T) {
	tool(t, "redis-cli")
	tool(t, "openssl")
	dir := t.TempDir()
	for _, name := range []string{"etc", "backup"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "etc", "sluice.yaml"), "server: {max_clients: 100}\n")
	p := start(t, "--dir", filepath.Join(dir, "lib"))
	_, port, _ := strings.Cut(p.address, ":")
	paths := []string{"/etc/sluice", filepath.Join(dir, "etc"), "/var/lib/sluice", filepath.Join(dir, "lib"), "/backup", filepath.Join(dir, "backup"), "-p 6380", "-p " + port}

	// The page on TLS has certificates, and a server that is started as it says.
	ca := newAuthority(t, dir, "ca")
	ca.server("server")
	write(t, filepath.Join(dir, "password"), "correct-horse\n")
	secured := func(lines []string) (address string) {
		for _, line := range lines {
			if strings.HasPrefix(line, "sluice serve ") && strings.Contains(line, "--tls-listen") {
				line = strings.NewReplacer("0.0.0.0:", "127.0.0.1:", "6380", "0", "6390", "0").Replace(line)
				command := exec.Command(program, append(strings.Fields(line)[1:], "--dir", "", "--log-format", "text")...)
				command.Dir = dir
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
		{"backup", 3, []string{"OK", "snapshot-0000000001: whole"}},
		{"upgrade", 2, []string{"is right", "snapshot-0000000001: whole"}},
		{"security", 5, []string{"PONG", "Sluice "}},
		{"denials", 5, []string{"Sluice ", "DENIED MOST"}},
	} {
		t.Run(row.page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/operations/" + row.page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			shell, server := commandsOf(string(text))
			if len(shell) != row.shell {
				t.Errorf("the page shows %d commands, want %d: %q", len(shell), row.shell, shell)
			}
			replace := paths
			if row.page == "security" {
				_, tls, _ := strings.Cut(secured(shell), ":")
				replace = append(replace, "-p 6390", "-p "+tls, "localhost:6390", "localhost:"+tls)
			}
			script := strings.NewReplacer(replace...).Replace(strings.Join(shell, "\n"))
			command := exec.Command("bash", "-c", pagePrelude+script)
			command.Dir, command.Stdin = dir, strings.NewReader("PING\n")
			command.Env = append(os.Environ(), "PROGRAM="+program, "SLUICE_LISTEN="+p.address)
			if row.page == "security" {
				command.Env = append(command.Env, "REDISCLI_AUTH=correct-horse")
			}
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, script, out)
			}
			rest := string(out)
			for _, want := range row.says {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
				rest = after
			}
			if row.page == "denials" {
				if lines := strings.Split(strings.TrimSpace(rest), "\n"); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(lines[len(lines)-1]) {
					t.Errorf("the hash of a key is %q", lines[len(lines)-1])
				}
			}
			for _, line := range server {
				p.dial().want(line, "+OK")
			}
		})
	}
}

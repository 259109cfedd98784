package main

// The commands around the server: configuration from file, environment and flags,
// reading it again, asking how it is.

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inFile writes a file of the test's own and returns its path.
func inFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	rewrite(t, path, text)
	return path
}

func rewrite(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is wrong in a file is shown in place, with exit status 3, by check as by serve.
func TestWrongFile(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"server:\n  lisen: 127.0.0.1:1\n", "FILE:2:3: server.lisen: there is no such setting, did you mean 'listen'?\n    2 |   lisen: 127.0.0.1:1\n      |   ^\n"},
		{"server:\n  shards: 0\n", "FILE:2:3: server.shards: must be from 1 to 256, got 0\n    2 |   shards: 0\n      |   ^\n"},
		{"plans:\n  pro:\n    limits:\n      rpm: {algorithm: tokenbucket, limt: 10, window: 1m}\n",
			"FILE:4:37: plans.pro.limits.rpm: unknown field 'limt', did you mean 'limit'?\n    4 |       rpm: {algorithm: tokenbucket, limt: 10, window: 1m}\n      |                                     ^\n"},
		{"rules: [{name: api, match: /api/, per: user, plan: pro}]\n", "FILE:1:52: rules[0].plan: rule 'api' names plan 'pro', which does not exist\n"},
		{"plan: {}\n", "FILE:1:1: unknown field 'plan', did you mean 'plans'?\n    1 | plan: {}\n      | ^\n"},
		{"server: {shards: 2, max_keys: 1}\n", "FILE:1:21: server.max_keys: must be 0, or at least the number of shards (2), got 1 (shards is from the file FILE:1)\n"},
	} {
		path := inFile(t, "sluice.yaml", row.text)
		for _, args := range [][]string{{"check", path}, {"serve", "--config", path, "--dir", ""}, {"config", "show", "--config", path}} {
			out, err, status := run(t, args...)
			if got := strings.ReplaceAll(err, path, "FILE"); status != 3 || !strings.HasPrefix(got, "sluice: "+row.want) || out != "" {
				t.Errorf("sluice %s\nexit %d, %q, %s\nwant 3, %s", args[0], status, out, got, row.want)
			}
		}
	}
	if _, err, status := run(t, "check", "/nowhere.yaml"); status != 3 || err != "sluice: open /nowhere.yaml: no such file or directory\n" {
		t.Errorf("exit %d, %s", status, err)
	}
	if _, err, status := run(t, "serve", "--config", "/nowhere.yaml"); status != 3 || err != "sluice: the file of --config cannot be read: open /nowhere.yaml: no such file or directory\n" {
		t.Errorf("exit %d, %s", status, err)
	}
}

// A wrong variable is a wrong configuration; a right one is told with its origin.
func TestEnvironment(t *testing.T) {
	t.Setenv("SLUICE_SHARDS", "0")
	if _, err, status := run(t, "serve"); status != 3 || err != "sluice: SLUICE_SHARDS must be from 1 to 256, got 0\n" {
		t.Errorf("exit %d, %s", status, err)
	}
	// Everything that is wrong is told at once, each on a line of its own.
	path := inFile(t, "sluice.yaml", "server:\n  journal: fsync\n  lisen: x\n  max_keys: 7\n")
	if _, err, status := run(t, "serve", "--config", path); status != 3 || err != "sluice: "+path+":2:3: server.journal: must be always, everysec, os or off, got \"fsync\"\n    2 |   journal: fsync\n      |   ^\n"+
		"sluice: "+path+":3:3: server.lisen: there is no such setting, did you mean 'listen'?\n    3 |   lisen: x\n      |   ^\n"+
		"sluice: SLUICE_SHARDS must be from 1 to 256, got 0\n" {
		t.Errorf("exit %d, %s", status, err)
	}
	rewrite(t, path, "server:\n  journal: os\n")
	t.Setenv("SLUICE_SHARDS", "3")
	t.Setenv("SLUICE_CONFIG", path)
	out, _, status := run(t, "config", "show", "--origin", "--log-level", "warn")
	for _, want := range []string{"shards 3 environment SLUICE_SHARDS\n", "journal os file " + path + ":2\n", "log-level warn flag --log-level\n", "listen \"127.0.0.1:6380\" default\n"} {
		if status != 0 || !hasLine(out, want) {
			t.Errorf("exit %d, no line %q in\n%s", status, want, out)
		}
	}
}

// hasLine says whether a line is there, whatever blanks are between its words.
func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.Join(strings.Fields(line), " ") == strings.TrimSpace(want) {
			return true
		}
	}
	return false
}

// The file that config show --default prints is right as it stands, and a server that
// starts from it is a server without one.
func TestDefaultFileStarts(t *testing.T) {
	out, _, status := run(t, "config", "show", "--default")
	if status != 0 {
		t.Fatalf("exit %d", status)
	}
	path := inFile(t, "sluice.yaml", out)
	said, err, status := run(t, "check", path)
	if status != 0 || !strings.HasPrefix(said, path+" is right: 0 plans, 0 rules, 0 settings; version ") {
		t.Errorf("exit %d, %s%s", status, said, err)
	}
	start(t, "--config", path, "--dir", "").terminate()
}

// SIGHUP and sluice reload take what is live, say what waits for the next start, and
// change nothing if anything is wrong.
func TestReload(t *testing.T) {
	path := inFile(t, "sluice.yaml", "server: {log_level: info, shards: 3}\n")
	p := start(t, "--config", path, "--dir", "", "--shards", "2")
	c := p.dial()

	if lines := p.told("a setting of the file does not hold"); len(lines) != 1 || !strings.HasSuffix(lines[0], "setting=shards file="+path+":1 \"beaten by\"=--shards") {
		t.Errorf("the file says another number of shards, and the log %q", lines)
	}
	rewrite(t, path, "server: {log_level: debug, max_keys: 500}\n")
	p.command.Process.Signal(syscall.SIGHUP)
	p.until("the level has changed", func() bool { return c.ask("CONFIG GET log-level") == "[log-level debug]" })
	c.want("CONFIG GET max-keys", "[max-keys 0]")
	p.until("the difference is logged", func() bool { return len(p.logs("configuration read again")) == 1 })
	if len(p.logs(`msg="setting changed" setting=log-level was=info is=debug`)) != 1 ||
		len(p.logs(`msg="setting differs and holds from the next start on" setting=max-keys is=0 "will be"=500`)) != 1 {
		t.Errorf("the log says\n%s", strings.Join(p.logs(""), "\n"))
	}

	rewrite(t, path, "server: {log_level: warn, shards: many, drain: long}\n")
	_, err, status := run(t, "reload", "--server", p.address)
	const wrong = "server.shards: must be a whole number from 1 to 256, got \"many\"; "
	if status != 3 || !strings.HasPrefix(err, "sluice: ERR nothing was changed: "+path+":1:") || !strings.Contains(err, wrong) {
		t.Errorf("exit %d, %s", status, err)
	}
	c.want("CONFIG GET log-level", "[log-level debug]")
	p.told("the configuration was not read again")

	rewrite(t, path, "server: {log_level: warn}\n")
	if out, err, status := run(t, "reload", "--server", p.address); status != 0 || err != "" || out != "read again; the log tells what differs\n" {
		t.Errorf("exit %d, %s%s", status, out, err)
	}
	c.want("CONFIG GET log-level", "[log-level warn]")
	c.want("CONFIG SET requirepass s3cret", "+OK")
	for _, command := range []string{"reload", "top"} {
		_, err, status := run(t, command, "--server", p.address)
		if status != 1 || err != "sluice: NOAUTH Authentication required. (the password is taken from --password-file or SLUICE_PASSWORD)\n" {
			t.Errorf("%s without the password: exit %d, %q", command, status, err)
		}
	}
	if out, err, status := run(t, "healthcheck", "--server", p.address); status != 0 || out != "it answers, and whether it is ready it tells those who are logged in\n" {
		t.Errorf("healthcheck without the password: exit %d, %q, %q", status, out, err)
	}
	p.terminate()
}

// Plans and rules of the file hold from the start; a reload swaps all of them or none,
// and leaves alone what commands have set.
func TestReloadPlans(t *testing.T) {
	const plan = "plans: {%s: {limits: {rpm: {algorithm: fixed_window, limit: %d, window: 1h}}}}\n"
	path := inFile(t, "sluice.yaml", fmt.Sprintf(plan, "pro", 10))
	p := start(t, "--config", path, "--dir", t.TempDir(), "--test-clock")
	c := p.dial()
	c.want("RL.ALLOW k @pro", "[1 10 9 0 3600000 0 rpm]")
	c.want("RL.PLAN SET mine {limits:{rpm:{algorithm:fixed_window,limit:5,window:1h}}}", "+OK")
	rewrite(t, path, fmt.Sprintf(plan, "pro", 4))
	if _, err, status := run(t, "reload", "--server", p.address); status != 0 {
		t.Fatalf("exit %d, %s", status, err)
	}
	c.want("RL.ALLOW k @pro", "[1 4 2 0 3600000 0 rpm]")
	p.told(`msg="plan changed" plan=pro`)
	// Right by itself, and wrong beside what a command has set.
	rewrite(t, path, "server: {log_level: debug}\nplans: {pro: {limits: {rpm: {algorithm: budget, limit: 5, window: 1h}}}}\n")
	_, err, status := run(t, "reload", "--server", p.address)
	if status != 3 || !strings.Contains(err, "counts money in plan 'pro'") {
		t.Errorf("exit %d, %s", status, err)
	}
	c.want("CONFIG GET log-level", "[log-level info]")
	c.want("RL.ALLOW k @pro", "[1 4 1 0 3600000 0 rpm]")
	rewrite(t, path, fmt.Sprintf(plan, "free", 1))
	if _, err, status := run(t, "reload", "--server", p.address); status != 0 {
		t.Fatalf("exit %d, %s", status, err)
	}
	c.want("RL.ALLOW k @pro", "-NOPLAN no such plan 'pro'")
	c.want("RL.PLAN LIST", "[free mine]")
	// What a command has set beats the file, which is told.
	const hidden = "a plan of the file does not hold: a command has set one of that name, until RL.PLAN DEL"
	if lines := p.logs(hidden); lines != nil {
		t.Errorf("nothing is hidden, and the log says %q", lines)
	}
	c.want("CONFIG SET log-level warn", "+OK")
	rewrite(t, path, fmt.Sprintf(plan, "mine", 9))
	if _, err, status := run(t, "reload", "--server", p.address); status != 0 {
		t.Fatalf("exit %d, %s", status, err)
	}
	if lines := p.told(hidden); len(lines) != 1 || !strings.HasSuffix(lines[0], " plan=mine") {
		t.Errorf("the log says %q", lines)
	}
	p.told(`msg="setting differs, and what CONFIG SET has said holds until the server ends" setting=log-level is=warn "will be"=info`)
	c.want("RL.ALLOW m @mine", "[1 5 4 0 3600000 0 rpm]")
	c.want("RL.PLAN DEL mine", "+OK")
	c.want("RL.ALLOW m @mine", "[1 9 7 0 3600000 0 rpm]")
	p.terminate()
}

// healthcheck: 0 for a server that is ready, 1 for none.
func TestHealthcheck(t *testing.T) {
	p := start(t, "--dir", "")
	if out, err, status := run(t, "healthcheck", "--server", p.address); status != 0 || out != "ready\n" {
		t.Errorf("exit %d, %s%s", status, out, err)
	}
	// The address of the environment is where a container's own server is.
	command := exec.Command(program, "healthcheck")
	command.Env = append(os.Environ(), "SLUICE_LISTEN="+p.address)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	p.terminate()
	if _, err, status := run(t, "healthcheck", "--server", p.address, "--timeout", "1s"); status != 1 || !strings.HasPrefix(err, "sluice: "+p.address+" does not answer: ") {
		t.Errorf("exit %d, %s", status, err)
	}
}

// systemd is told when the server is ready, reads its configuration again and ends; it
// gets signs of life, and the log is JSON where nobody sits at a terminal.
func TestSystemd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.SetReadDeadline(time.Now().Add(patience))
	hear := func(want ...string) {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			n, err := l.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %q: %v", want, err)
			}
			said := string(buf[:n])
			missing := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return strings.Contains(said, w) })
			if len(missing) == 0 {
				return
			}
		}
	}
	path := inFile(t, "sluice.yaml", "server: {log_level: info}\n")
	command := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--dir", "", "--config", path, "--drain", "1ms")
	command.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=3000000", "SLUICE_LISTN=x")
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Process.Kill()
	hear("READY=1", "STATUS=Decides calls on 127.0.0.1:")
	hear("WATCHDOG=1")
	command.Process.Signal(syscall.SIGHUP)
	hear("RELOADING=1", "MONOTONIC_USEC=")
	hear("READY=1", "STATUS=Decides calls on 127.0.0.1:")
	rewrite(t, path, "server: {log_level: loud}\n")
	command.Process.Signal(syscall.SIGHUP)
	hear("READY=1", "STATUS=Decides calls on 127.0.0.1:", " by the old configuration: "+path+":1:")
	command.Process.Signal(syscall.SIGTERM)
	hear("STOPPING=1", "EXTEND_TIMEOUT_USEC=90001000")
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if !strings.Contains(log.String(), `"drain":"1ms"}`) {
		t.Errorf("a time is told without its unit:\n%s", log.String())
	}
	if !strings.Contains(log.String(), `"variable":"SLUICE_LISTN","meant":"SLUICE_LISTEN"`) {
		t.Errorf("the misspelt variable is not told:\n%s", log.String())
	}
}

// top shows who is limited, once or until it is interrupted.
func TestTop(t *testing.T) {
	p := start(t, "--dir", "")
	c := p.dial()
	for range 3 {
		c.ask("RL.ALLOW user:42 token_bucket 1 1h")
	}
	out, err, status := run(t, "top", "--once", "--server", p.address)
	if status != 0 || !hasLine(out, "user:42 token_bucket 2 0") || !strings.Contains(out, "1 clients; 1 keys") && !strings.Contains(out, "2 clients; 1 keys") {
		t.Errorf("exit %d, %s\n%s", status, err, out)
	}
	live := exec.Command(program, "top", "--every", "100ms", "--server", p.address)
	var screen strings.Builder
	var mu sync.Mutex
	live.Stdout = &lines{line: func(line string) { mu.Lock(); defer mu.Unlock(); screen.WriteString(line + "\n") }}
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("it has drawn twice", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Count(screen.String(), "\x1b[H\x1b[2JSluice ") > 1 && strings.Contains(screen.String(), "decisions/s 0 allowed, 0 denied")
	})
	live.Process.Signal(syscall.SIGINT)
	if err := live.Wait(); err != nil {
		t.Error(err)
	}
	p.terminate()
	if _, err, status := run(t, "top", "--once", "--server", p.address); status != 1 || !strings.Contains(err, "does not answer") {
		t.Errorf("exit %d, %s", status, err)
	}
}

// What scripts and packagers ask the binary for.
func TestAboutTheBinary(t *testing.T) {
	out, _, status := run(t, "version", "--json")
	var told map[string]string
	if err := json.Unmarshal([]byte(out), &told); err != nil || status != 0 || told["version"] != version || !strings.HasPrefix(told["go"], "go1.") {
		t.Errorf("exit %d, %v: %s", status, err, out)
	}
	dir := t.TempDir()
	if _, err, status := run(t, "man", dir); status != 0 {
		t.Fatal(err)
	}
	if page := files(t, dir)["sluice-serve.1"]; !strings.Contains(page, "max-memory") {
		t.Errorf("the manual of serve says %q", page)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, _, status := run(t, "completion", shell); status != 0 || !strings.Contains(out, "sluice") {
			t.Errorf("completion %s: exit %d", shell, status)
		}
	}
}

// Every command has an example in its help.
func TestEveryCommandHasAnExample(t *testing.T) {
	for _, words := range []string{"", "serve", "check", "config", "config show", "reload", "healthcheck", "top", "version", "data", "data check", "data repair", "man"} {
		out, _, status := run(t, append(strings.Fields(words), "--help")...)
		if status != 0 || !strings.Contains(out, "Examples:\n  sluice "+words) {
			t.Errorf("sluice %s --help: exit %d\n%s", words, status, out)
		}
	}
}

// get asks the admin listener of a process.
func (p *process) get(path string) (status int, body string) {
	p.t.Helper()
	reply, err := http.Get("http://" + p.adminOf() + path)
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

// The admin listener answers probes and metrics. SIGTERM turns the one probe, and
// nothing else until the drain is over, or a second signal comes.
func TestAdmin(t *testing.T) {
	p := start(t, "--dir", t.TempDir(), "--admin", "127.0.0.1:0", "--drain", "1h")
	c := p.dial()
	c.ask("RL.ALLOW k token_bucket 10 1h")
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		if status, body := p.get(path); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	checked, body := regexp.MustCompile(`sluice_canary_checks_total\{result="right"\} ([2-9]|[0-9]{2})`), ""
	p.until("the canary has come back, and the disk keeps up", func() bool {
		_, body = p.get("/metrics")
		return checked.MatchString(body) && strings.Contains(body, "\nsluice_journal_works 1")
	})
	for _, want := range []string{
		"sluice_limiting_works 1", "sluice_canary_checks_total{result=\"wrong\"} 0", "sluice_loading 0",
		"sluice_decisions_total{algorithm=\"token_bucket\",limit=\"\",outcome=\"allowed\",plan=\"\",reason=\"rate\",rule=\"\"} 1",
		"process_open_fds ", "go_goroutines ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	c.want("DBSIZE", "1")
	p.command.Process.Signal(syscall.SIGTERM)
	p.until("it is not ready", func() bool { status, _ := p.get("/readyz"); return status == 503 })
	c.want("PING", "+PONG")
	p.command.Process.Signal(syscall.SIGTERM)
	if status := p.wait(); status != exitFault || p.logs("ended by a second signal") == nil {
		t.Errorf("a second signal ends it with %d", status)
	}
	// A clock that stands still does not limit.
	p = start(t, "--dir", "", "--admin", "127.0.0.1:0", "--drain", "1ms", "--test-clock")
	p.until("the canary complains", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, "\nsluice_limiting_works 0")
	})
	p.terminate()
}

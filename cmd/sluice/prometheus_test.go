package main

// What is shipped for operators, used as they would use it: Prometheus, as Debian
// packages it, scrapes a server under load and loads the shipped alerts. Every query of
// the dashboard has a value then, and the alert for a limiter that does not limit fires.

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tool finds a program, or skips the test where it need not be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("SLUICE_CI") == "" {
		t.Skipf("%s is not installed", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The shipped rules are right, and say what their tests want.
func TestAlertRules(t *testing.T) {
	promtool := tool(t, "promtool")
	for _, args := range []string{"check config ../../deploy/prometheus/prometheus.yml", "test rules ../../deploy/prometheus/alerts_test.yml"} {
		if out, err := exec.Command(promtool, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

// The shipped unit is what systemd understands.
func TestUnit(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	text, err := os.ReadFile("../../deploy/systemd/sluice.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "sluice.service")
	rewrite(t, unit, strings.ReplaceAll(strings.ReplaceAll(string(text), "/usr/bin/sluice", program), "Documentation=man:sluice-serve(1)\n", ""))
	out, err := exec.Command(analyze, "verify", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), unit) {
		t.Errorf("%v\n%s", err, out)
	}
	// What it tells the server, the server takes.
	env := regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(string(text), -1)
	command := exec.Command(program, "config", "show", "--origin")
	for _, e := range env {
		command.Env = append(command.Env, e[1])
	}
	shown, err := command.CombinedOutput()
	if err != nil || !hasLine(string(shown), "dir /var/lib/sluice environment SLUICE_DIR") {
		t.Errorf("%v\n%s", err, shown)
	}
}

// systemd starts a server again that its watchdog has ended. It does so by SIGABRT,
// after which Go exits with the status of a panic.
func TestUnitRestarts(t *testing.T) {
	text, err := os.ReadFile("../../deploy/systemd/sluice.service")
	if err != nil {
		t.Fatal(err)
	}
	final := regexp.MustCompile(`(?m)^RestartPreventExitStatus=(.*)$`).FindStringSubmatch(string(text))
	p := start(t, "--dir", "")
	p.command.Process.Signal(syscall.SIGABRT)
	if status := p.wait(); status == 0 || len(final) != 2 || slices.Contains(strings.Fields(final[1]), strconv.Itoa(status)) {
		t.Errorf("it exits with %d, and %q are not started again", status, final)
	}
}

// prometheus is one that has been started.
type prometheus struct {
	t       *testing.T
	address string
}

// startPrometheus scrapes the addresses with the shipped intervals and alerts.
func startPrometheus(t *testing.T, addresses ...string) *prometheus {
	t.Helper()
	path := tool(t, "prometheus")
	dir := t.TempDir()
	config, err := os.ReadFile("../../deploy/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := filepath.Abs("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), `["127.0.0.1:6381"]`, `["`+strings.Join(addresses, `", "`)+`"]`, 1)
	text = strings.Replace(text, "[alerts.yml]", "["+alerts+"]", 1)
	rewrite(t, filepath.Join(dir, "prometheus.yml"), text)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	command := exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	return &prometheus{t, address}
}

// query returns how many values a query has.
func (p *prometheus) query(expr string) int {
	reply, err := http.Get("http://" + p.address + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0 // it is starting
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	var result struct {
		Status string
		Error  string
		Data   struct{ Result []json.RawMessage }
	}
	if err != nil || json.Unmarshal(text, &result) != nil {
		return 0
	}
	if result.Error != "" {
		p.t.Fatalf("%s: %s", expr, result.Error)
	}
	return len(result.Data.Result)
}

// until waits until a query has a value.
func (p *prometheus) until(expr string) {
	p.t.Helper()
	for begun := time.Now(); p.query(expr) == 0; {
		if time.Since(begun) > 2*patience {
			p.t.Fatalf("there is no %s", expr)
		}
		time.Sleep(100 * time.Millisecond) // reason: another process works
	}
}

// adminOf is the address of a process's admin listener.
func (p *process) adminOf() string {
	p.t.Helper()
	_, address, _ := strings.Cut(p.told(`msg="admin listener"`)[0], "admin=")
	return address
}

func TestPrometheus(t *testing.T) {
	tool(t, "prometheus")
	config := inFile(t, "sluice.yaml", "plans: {pro: {limits: {rpm: {algorithm: fixed_window, limit: 5, window: 1h}}}}\nrules: [{name: api, match: /api/, per: user, plan: pro}]\n")
	right := start(t, "--config", config, "--dir", t.TempDir(), "--admin", "127.0.0.1:0")
	broken := start(t, "--dir", "", "--test-clock", "--admin", "127.0.0.1:0")
	p := startPrometheus(t, right.adminOf(), broken.adminOf())
	c := right.dial()
	c.want("SAVE", "+OK")
	load := func() {
		for i := range 20 {
			c.ask(fmt.Sprintf("RL.ALLOW user:%d token_bucket 3 1h", i%3))
			c.ask("RL.REQUEST METHOD GET PATH /api/ USER 7")
			c.ask("RL.ALLOW k nonsense 1 1s")
		}
	}
	load()
	p.until(fmt.Sprintf(`sluice_decisions_total{instance="%s", plan="pro", rule="api", outcome="denied"} > 0`, right.adminOf()))

	// The clock of the other server stands still, so it does not limit.
	began := time.Now()
	p.until(fmt.Sprintf(`ALERTS{alertname="SluiceNotLimiting", alertstate="firing", instance="%s"}`, broken.adminOf()))
	t.Logf("the alert fired %v after the first scrape was seen", time.Since(began).Round(100*time.Millisecond))
	if p.query(fmt.Sprintf(`ALERTS{alertname="SluiceNotLimiting", instance="%s"}`, right.adminOf())) != 0 {
		t.Error("the alert fires for a server that limits")
	}

	text, err := os.ReadFile("../../deploy/grafana/sluice.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%v: %d panels", err, len(dashboard.Panels))
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			load()
			p.until(target.Expr)
		}
	}
	// What was denied can be found by who it was.
	if out, _, status := run(t, "top", "--once", "--server", right.address); status != 0 || !strings.Contains(out, "{api|user:7}#rpm") {
		t.Errorf("exit %d\n%s", status, out)
	}
	right.terminate()
	broken.terminate()
}

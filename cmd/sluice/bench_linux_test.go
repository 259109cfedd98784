package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benched runs sluice bench with some arguments.
func benched(args ...string) (out string, status int) {
	c := exec.Command(program, append([]string{"bench"}, args...)...)
	text, _ := c.CombinedOutput()
	return string(text), c.ProcessState.ExitCode()
}

// Load on a running server: all requests are answered, and of a limit no more than the limit passes.
func TestBenchLoad(t *testing.T) {
	p := start(t, "--dir", "")
	out, status := benched("load", "--server", p.address, "--requests", "3000", "--pipeline", "7", "--keys", "each:2", "--",
		"RL.ALLOW", "user:{key}", "fixed_window", "100", "52w")
	if status != 0 || !strings.HasPrefix(out, "3000 requests in ") || !strings.Contains(out, " 200 passed;") {
		t.Errorf("status %d: %s", status, out)
	}
	out, status = benched("load", "--server", p.address, "--rate", "20000", "--requests", "2000", "--keys", "hot", "--", "RL.ALLOW", "user", "tokenbuket", "100", "1s")
	if status != 0 || !strings.Contains(out, "2000 errors, the first is \"ERR unknown algorithm 'tokenbuket'") {
		t.Errorf("status %d: %s", status, out)
	}
}

// The accuracy stage as a user runs it, with its report.
func TestBenchAccuracy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	file, parts := filepath.Join(t.TempDir(), "report.json"), filepath.Join(t.TempDir(), "parts.txt")
	if err := os.WriteFile(parts, []byte("BenchmarkLeasedAllow-2   \t 100\t        86.04 ns/op\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, status := benched("--only", "accuracy", "--turn", "100ms", "--port", fmt.Sprint(port), "--json", file, "--go-bench", parts)
	if status != 0 || !strings.Contains(out, "= 64,000") {
		t.Fatalf("status %d: %s", status, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Machine  string
		Verdicts []struct {
			Measured bool
			Median   float64
		}
	}
	if err := json.Unmarshal(text, &report); err != nil || report.Machine == "" || len(report.Verdicts) == 0 || report.Verdicts[0].Measured {
		t.Errorf("%v: %s", err, text)
	}
	if last := report.Verdicts[len(report.Verdicts)-1]; last.Median != 86.04 {
		t.Errorf("a leased decision is told to take %v ns", last.Median)
	}
}

// The gateways at work, for a moment: all calls pass, and hot keys ask the server for few of them.
func TestBenchGateways(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	out, status := benched("--only", "gateways", "--turn", "250ms", "--rounds", "1", "--port", fmt.Sprint(port))
	if status != 0 || !strings.Contains(out, "100,000 users, 1.5 calls a minute of each on each gateway") || !strings.Contains(out, "50 users, 50 calls a second") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestBenchUsage(t *testing.T) {
	for _, row := range []struct{ args, says string }{
		{"--only speed", `no stage is called "speed"; there are accuracy, pipelines,`},
		{"--rounds 0", "rounds must be from 1 to 100, got 0"},
		{"--turn 1ms", "a turn must take from 100ms to 1m0s, got 1ms"},
		{"--quick --smoke", "--quick and --smoke are different runs"},
		{"--peer x=10.0.0.1:1,PING", "peer x: 10.0.0.1:1 is not this machine"},
		{"--peer 127.0.0.1:1", "a peer is name=HOST:PORT,command with {key} in it"},
		{"load --keys gauss:3 -- PING", `keys are uniform, zipf, hot, new, each, got "gauss"`},
		{"load --server 10.0.0.1:6380 -- PING", "10.0.0.1:6380 is not this machine; --allow-remote lets load go there"},
		{"load", "requires at least 1 arg"},
	} {
		out, status := benched(strings.Fields(row.args)...)
		if status != exitUsage || !strings.Contains(out, row.says) {
			t.Errorf("%s: status %d, %s", row.args, status, out)
		}
	}
}

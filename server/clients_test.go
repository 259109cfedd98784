package server

// Clients that others have written, against a server on a loopback port: go-redis,
// redis-cli and redis-benchmark. What they send when they connect must be answered
// so that none of them warns, and what they print must be what the table says.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// tool finds a program of redis-tools. Without it a test is skipped, but not
// where everything has to be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("SLUICE_CI") != "" {
		t.Fatalf("%s is not installed, and SLUICE_CI is set: install redis-tools", name)
	}
	if err != nil {
		t.Skipf("%s is not installed: install redis-tools", name)
	}
	return path
}

// run runs a program and returns what it prints, to both outputs.
func run(t *testing.T, input, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", path, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// port is the port of an address.
func port(t *testing.T, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// complaints gathers what go-redis logs.
type complaints struct {
	mu    sync.Mutex
	lines []string
}

func (c *complaints) Printf(_ context.Context, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

func TestGoRedis(t *testing.T) {
	log := &complaints{}
	redis.SetLogger(log)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			r := newRig(t, 2)
			client := redis.NewClient(&redis.Options{Addr: r.listen(), Protocol: protocol, ClientName: "test", DB: 3})
			defer client.Close()
			goRedisCalls(t, r, client)
			goRedisPipelines(t, client)
			goRedisConnections(t, client)
		})
	}
	if len(log.lines) > 0 {
		t.Errorf("go-redis logs %q", log.lines)
	}
}

func goRedisCalls(t *testing.T, r *rig, client *redis.Client) {
	ctx := t.Context()
	decision, err := client.Do(ctx, "RL.ALLOW", "user:42", "token_bucket", 10, "10s", 4).Int64Slice()
	if err != nil || !slices.Equal(decision, []int64{1, 10, 6, 0, 4000, 0}) {
		t.Errorf("%v, %v", decision, err)
	}
	decision, err = client.Do(ctx, "RL.ALLOW", "user:42", "token_bucket", 10, "10s", 7).Int64Slice()
	if err != nil || !slices.Equal(decision, []int64{0, 10, 6, 1000, 4000, 0}) {
		t.Errorf("%v, %v", decision, err)
	}
	var refused redis.Error
	err = client.Do(ctx, "RL.ALLOW", "user:42", "tokenbuket", 10, "10s").Err()
	if !errors.As(err, &refused) || err.Error() != "ERR unknown algorithm 'tokenbuket', did you mean 'token_bucket'?" {
		t.Errorf("%T %v", err, err)
	}
	if err := client.Do(ctx, "RL.INSPECT", "nobody").Err(); err != redis.Nil {
		t.Errorf("nil comes as %v", err)
	}
	checks := map[string]func() (any, error){
		"PONG":         func() (any, error) { return client.Ping(ctx).Result() },
		"4s":           func() (any, error) { return client.TTL(ctx, "user:42").Result() },
		"3.999s":       func() (any, error) { r.clock.Advance(time.Millisecond); return client.PTTL(ctx, "user:42").Result() },
		"-2ns":         func() (any, error) { return client.TTL(ctx, "nobody").Result() },
		"token_bucket": func() (any, error) { return client.Type(ctx, "user:42").Result() },
		"1":            func() (any, error) { return client.Exists(ctx, "user:42", "nobody").Result() },
		"[user:42]":    func() (any, error) { return client.Keys(ctx, "user:*").Result() },
		"user:42":      func() (any, error) { return client.RandomKey(ctx).Result() },
		"map[appendfsync:no appendonly:no save:]": func() (any, error) { return client.ConfigGet(ctx, "[as][ap][vp]e*").Result() },
		"test":                          func() (any, error) { return client.ClientGetName(ctx).Result() },
		"2027-01-15 08:00:00 +0000 UTC": func() (any, error) { at, err := client.Time(ctx).Result(); return at.UTC().Truncate(time.Second), err },
	}
	for want, call := range checks {
		if want == "3.999s" {
			continue // moves the clock: last
		}
		if got, err := call(); err != nil || fmt.Sprint(got) != want {
			t.Errorf("got %v (%v), want %s", got, err, want)
		}
	}
	if got, err := checks["3.999s"](); err != nil || fmt.Sprint(got) != "3.999s" {
		t.Errorf("got %v, %v", got, err)
	}
	if commands, err := client.Command(ctx).Result(); err != nil || commands["rl.allow"] == nil || commands["rl.allow"].FirstKeyPos != 1 {
		t.Errorf("COMMAND: %v, %v", commands["rl.allow"], err)
	}
	if about, err := client.ClientInfo(ctx).Result(); err != nil || about.Name != "test" || about.DB != 3 || about.LastCmd != "client|info" || about.FD < 3 || about.TotalMemory == 0 {
		t.Errorf("CLIENT INFO: %+v, %v", about, err)
	}
	if keys, err := client.CommandGetKeysAndFlags(ctx, "RL.ALLOW", "a", "gcra", 1, "1s").Result(); err != nil || fmt.Sprint(keys) != "[{a [RW access update]}]" {
		t.Errorf("COMMAND GETKEYSANDFLAGS: %v, %v", keys, err)
	}
	if latencies, err := client.Latency(ctx).Result(); err != nil || len(latencies) != 0 {
		t.Errorf("LATENCY LATEST: %v, %v", latencies, err)
	}
	if info, err := client.Info(ctx, "replication").Result(); err != nil || !strings.Contains(info, "role:master\r\n") {
		t.Errorf("INFO: %q, %v", info, err)
	}
	if keys, cursor, err := client.Scan(ctx, 0, "*", 100).Result(); err != nil || len(keys) != 1 || cursor != 0 {
		t.Errorf("SCAN: %v %d %v", keys, cursor, err)
	}
	if n, err := client.Del(ctx, "user:42").Result(); err != nil || n != 1 {
		t.Errorf("DEL: %d, %v", n, err)
	}
}

func goRedisPipelines(t *testing.T, client *redis.Client) {
	pipe := client.Pipeline()
	var calls []*redis.Cmd
	for range 1000 {
		calls = append(calls, pipe.Do(t.Context(), "RL.ALLOW", "pipe", "fixed_window", 400, "1h"))
	}
	bad := pipe.Do(t.Context(), "RL.ALLOW", "pipe", "fixed_window", 0, "1h")
	if _, err := pipe.Exec(t.Context()); err == nil || err != bad.Err() {
		t.Errorf("the pipeline's error is %v, want that of its last command, %v", err, bad.Err())
	}
	for i, call := range calls {
		decision, err := call.Int64Slice()
		if want := int64(max(0, 399-i)); err != nil || (decision[0] == 1) != (i < 400) || decision[2] != want {
			t.Fatalf("call %d: %v, %v", i, decision, err)
		}
	}
}

// goRedisConnections has as many connections as the pool gives.
func goRedisConnections(t *testing.T, client *redis.Client) {
	var group sync.WaitGroup
	counts := make([]int, 16)
	for i := range counts {
		group.Go(func() {
			for range 25 {
				decision, err := client.Do(t.Context(), "RL.ALLOW", "shared", "sliding_log", 100, "1h").Int64Slice()
				if err != nil {
					t.Error(err)
					return
				}
				counts[i] += int(decision[0])
			}
		})
	}
	group.Wait()
	if got := sum(counts); got != 100 {
		t.Errorf("%d of 400 calls pass, want 100", got)
	}
}

func TestRedisBenchmark(t *testing.T) {
	benchmark := tool(t, "redis-benchmark")
	for _, options := range [][]string{{"-P", "100"}, {"-P", "1", "-n", "2000"}, {"-P", "16", "-3"}} {
		r := newRig(t, 2)
		n := "50000"
		if i := slices.Index(options, "-n"); i >= 0 {
			n = options[i+1]
		}
		args := append([]string{"-h", "127.0.0.1", "-p", port(t, r.listen()), "-n", n, "-r", "1000", "-q"}, options...)
		out := run(t, "", benchmark, append(args, "RL.ALLOW", "user:__rand_int__", "token_bucket", "100", "1s", "1")...)
		if !strings.Contains(out, "requests per second") || badWords(out) {
			t.Errorf("redis-benchmark %v prints\n%s", options, out)
		}
		v := r.look()
		if got := fmt.Sprint(v.shards.Allowed + v.shards.Denied); got != n {
			t.Errorf("redis-benchmark %v: %s decisions, want %s", options, got, n)
		}
		if errors := r.stats.errors.Load(); errors != 0 {
			t.Errorf("redis-benchmark %v: %d error replies", options, errors)
		}
	}
	r := newRig(t, 2)
	out := run(t, "", benchmark, "-h", "127.0.0.1", "-p", port(t, r.listen()), "-n", "2000", "-q", "-t", "ping")
	if strings.Count(out, "requests per second") != 2 || badWords(out) {
		t.Errorf("redis-benchmark -t ping prints\n%s", out)
	}
}

// badWords says whether a tool complains.
func badWords(out string) bool {
	out = strings.ToLower(out)
	return strings.Contains(out, "warn") || strings.Contains(out, "error") || strings.Contains(out, "err ") || strings.Contains(out, "fail")
}

// waited is what redis-cli adds to a reply that came after half a second or more.
var waited = regexp.MustCompile(`(?m)^\([0-9]+\.[0-9]{2}s\)\n`)

// TestRedisCLI has redis-cli print every example of the table; so what stands
// there is what people see.
func TestRedisCLI(t *testing.T) {
	cli := tool(t, "redis-cli")
	each(func(c *Command) {
		if len(c.Examples) == 0 || c.Name == "QUIT" { // redis-cli keeps that word for itself
			return
		}
		t.Run(c.lower, func(t *testing.T) {
			var typed strings.Builder
			var want []string
			for _, e := range c.Examples {
				fmt.Fprintln(&typed, e.In)
				want = append(want, e.Out)
			}
			out := run(t, typed.String(), cli, "--no-raw", "-p", port(t, newRig(t, 2).listen()))
			out = strings.TrimSuffix(waited.ReplaceAllString(strings.ReplaceAll(out, "\r", ""), ""), "\n")
			// redis-cli ends an error with an empty line.
			if got := strings.ReplaceAll(out, "\n\n", "\n"); !shows(strings.Join(want, "\n"), got) {
				t.Errorf("redis-cli prints\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	})
}

func TestRedisCLIModes(t *testing.T) {
	cli := tool(t, "redis-cli")
	r := newRig(t, 2)
	p := port(t, r.listen())
	rows := []struct{ args, want string }{
		{"PING", "PONG\n"},
		{"-n 3 RL.ALLOW user:42 token_bucket 10 1s 1", "1\n10\n9\n0\n100\n0\n"},
		{"--no-raw -3 RL.INSPECT user:42", "1# \"algorithm\" => \"token_bucket\"\n2# \"limit\" => (integer) 10\n3# \"burst\" => (integer) 10\n4# \"window_ms\" => (integer) 1000\n5# \"used\" => (integer) 1\n6# \"remaining\" => (integer) 9\n7# \"reset_after_ms\" => (integer) 100\n"},
		{"-3 INFO replication", "# Replication\nrole:master\nconnected_slaves:0\n"},
		{"--scan", "user:42\n"},
		{"--scan --pattern user:*", "user:42\n"},
		{"-r 3 -i 0 ECHO hello", "hello\nhello\nhello\n"},
	}
	for _, row := range rows {
		args := append([]string{"-p", p}, strings.Fields(row.args)...)
		if got := strings.ReplaceAll(run(t, "", cli, args...), "\r", ""); got != row.want {
			t.Errorf("redis-cli %s prints\n%q\nwant\n%q", row.args, got, row.want)
		}
	}
	piped := bytes.Repeat(request("RL.ALLOW", "pipe", "gcra", "100", "1h"), 20_000)
	if out := run(t, string(piped), cli, "-p", p, "--pipe"); !strings.Contains(out, "errors: 0, replies: 20000") {
		t.Errorf("redis-cli --pipe prints\n%s", out)
	}
}

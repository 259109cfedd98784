package main

// Starting and ending: what a user sees, exit statuses, what is refused, and that an
// orderly end loses nothing.

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Every flag that is wrong is told in one line that says what would be right.
func TestWrongFlags(t *testing.T) {
	for _, row := range []struct {
		args string
		want string
	}{
		{"serve --listen 6380", `--listen must be HOST:PORT such as 127.0.0.1:6380, got "6380"; did you mean "127.0.0.1:6380"?`},
		{"serve --admin 6381", `--admin must be HOST:PORT such as 127.0.0.1:6380, got "6381"; did you mean "127.0.0.1:6381"?`},
		{"serve --admin 0.0.0.0:6381", "--admin listens beyond this machine (0.0.0.0:6381), so it needs a token: set admin-token-file, or listen on 127.0.0.1"},
		{"serve --admin-token-file /nowhere", "--admin-token-file must be a file that can be read: open /nowhere: no such file or directory"},
		{"serve --admin-token-file /dev/null", "--admin-token-file must be a file with the token on its first line, and /dev/null has none there"},
		{"serve --pprof=perhaps", `--pprof must be true or false, got "perhaps"`},
		{"serve --drain soon", `--drain must be 0 or a duration such as 5m or 30s, got "soon"`},
		{"serve --shards 0", "--shards must be from 1 to 256, got 0"},
		{"serve --shards 257", "--shards must be from 1 to 256, got 257"},
		{"serve --shards many", `--shards must be a whole number from 1 to 256, got "many"`},
		{"serve --journal sometimes", `--journal must be always, everysec, os or off, got "sometimes"`},
		{"serve --snapshot-every 5", `--snapshot-every must be 0 or a duration such as 5m or 30s, got "5"; did you mean "5s"?`},
		{"serve --snapshot-every=-1s", `--snapshot-every must be 0 or a duration such as 5m or 30s, got "-1s"`},
		{"serve --snapshot-journal-bytes lots", `--snapshot-journal-bytes must be a size such as 256MiB, got "lots"`},
		{"serve --on-disk-error panic", `--on-disk-error must be serve or refuse, got "panic"`},
		{"serve --max-memory 1kB", `--max-memory must be a size such as 2GiB, at least 16 MiB, or a share such as 75%, got "1kB"`},
		{"serve --max-memory 101%", `--max-memory must be a size such as 2GiB, at least 16 MiB, or a share such as 75%, got "101%"`},
		{"serve --shards 2 --max-keys 1", "--max-keys must be 0, or at least the number of shards (2), got 1 (shards is from the flag --shards)"},
		{"serve --max-keys=-5", "--max-keys must be from 0 to 281474976710656, got -5"},
		{"serve --on-full forget", `--on-full must be refuse or evict-soonest, got "forget"`},
		{"serve --sliding-log-max 0", "--sliding-log-max must be from 1 to 1000000, got 0"},
		{"serve --sliding-log-max 1000001", "--sliding-log-max must be from 1 to 1000000, got 1000001"},
		{"serve --sliding-log-max=-1", "--sliding-log-max must be from 1 to 1000000, got -1"},
		{"serve --test-clock=perhaps", `--test-clock must be true or false, got "perhaps"`},
		{"serve --allow-clock-behind=perhaps", `--allow-clock-behind must be true or false, got "perhaps"`},
		{"serve --listen 0.0.0.0:0", "--listen 0.0.0.0:0 would be open to everybody who can reach it: set a password with --requirepass-file or SLUICE_REQUIREPASS, or users with --acl-file; --protected-mode=false opens it all the same"},
		{"serve --listen :0", "--listen :0 would be open to everybody who can reach it: set a password with --requirepass-file or SLUICE_REQUIREPASS, or users with --acl-file; --protected-mode=false opens it all the same"},
		{"serve --listen=", "--listen must be an address where there is no tls-listen and no unix-socket"},
		{"serve --listen 127.0.0.1:1,2", `--listen must be HOST:PORT such as 127.0.0.1:6380, got "2"; did you mean "127.0.0.1:2"?`},
		{"serve --tls-listen 6380", `--tls-listen must be HOST:PORT such as 127.0.0.1:6380, got "6380"; did you mean "127.0.0.1:6380"?`},
		{"serve --tls-listen 127.0.0.1:0", "--tls-listen needs tls-cert and tls-key"},
		{"serve --tls-listen 127.0.0.1:0 --tls-cert a", "--tls-listen needs tls-cert and tls-key (tls-cert is from the flag --tls-cert)"},
		{"serve --tls-listen 127.0.0.1:0 --tls-key a", "--tls-listen needs tls-cert and tls-key (tls-key is from the flag --tls-key)"},
		{"serve --unix-socket s --unix-socket-mode 888", `--unix-socket-mode must be permissions such as 700 or 770, got "888"`},
		{"serve --max-clients 0", "--max-clients must be from 1 to 1048576, got 0"},
		{"serve --idle-timeout soon", `--idle-timeout must be 0 or a duration such as 5m or 30s, got "soon"`},
		{"serve --tcp-keepalive soon", `--tcp-keepalive must be 0 or a duration such as 5m or 30s, got "soon"`},
		{"serve --output-max much", `--output-max must be a size such as 256MiB, got "much"`},
		{"serve --output-soft much", `--output-soft must be a size such as 256MiB, got "much"`},
		{"serve --enable-debug=perhaps", `--enable-debug must be true or false, got "perhaps"`},
		{"serve --slow-log soon", `--slow-log must be 0 or a duration such as 5m or 30s, got "soon"`},
		{"serve --output-soft-time soon", `--output-soft-time must be 0 or a duration such as 5m or 30s, got "soon"`},
		{"serve --tls-client-ca", "flag needs an argument: --tls-client-ca (sluice serve --help lists the flags)"},
		{"serve --protected-mode=perhaps", `--protected-mode must be true or false, got "perhaps"`},
		{"serve --requirepass-file /dev/null", "--requirepass-file must be a file with the password on its first line, and /dev/null has none there"},
		{"serve --requirepass-file ./nosuch", "--requirepass-file must be a file that can be read: open ./nosuch: no such file or directory"},
		{"serve --acl-file testdata/wrong.acl", "--acl-file cannot be used: testdata/wrong.acl: line 2: Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"},
		{"serve --log-level loud", `--log-level must be debug, info, warn or error, got "loud"`},
		{"serve --log-format xml", `--log-format must be auto, text or json, got "xml"`},
		{"serve --denial-log 1%", `--denial-log must be a whole number from 0 to 1000000000, got "1%"`},
		{"serve --denial-log-keys md5", `--denial-log-keys must be hashed or plain, got "md5"`},
		{"serve --denial-log-secret-file /nowhere", "--denial-log-secret-file must be a file that can be read: open /nowhere: no such file or directory"},
		{"serve --slew=perhaps", `--slew must be true or false, got "perhaps"`},
		{"serve --lsten 1", "unknown flag: --lsten (did you mean --listen? sluice serve --help lists the flags)"},
		{"serve --max-memroy 1GB", "unknown flag: --max-memroy (did you mean --max-memory? sluice serve --help lists the flags)"},
		{"serve --colour", "unknown flag: --colour (sluice serve --help lists the flags)"},
		{"serve -x", "unknown shorthand flag: 'x' in -x (sluice serve --help lists the flags)"},
		{"config show --orign", "unknown flag: --orign (did you mean --origin? sluice config show --help lists the flags)"},
		{"serve --pprof=yes", `--pprof must be true or false, got "yes"; did you mean "true"?`},
		{"serve --dir= --listen 127.0.0.1:0 --tls-listen 127.0.0.1:0 --tls-cert /nowhere --tls-key /nowhere", "--tls-cert and tls-key must be files of a certificate and its key, PEM: open /nowhere: no such file or directory"},
		{"serve --tls-client-ca ca.crt", "--tls-client-ca asks clients for certificates, and no tls-listen is given: nobody would be asked"},
		{"serve --dir= --journal always", "--dir is empty, so nothing is kept, and journal always promises that everything is: give a directory, or another journal (journal is from the flag --journal)"},
		{"serve --journal always --on-disk-error serve", "--on-disk-error is serve, and journal always never acknowledges what is not on disk: leave it away, or choose another journal (journal is from the flag --journal)"},
		{"serve --listen", "flag needs an argument: --listen (sluice serve --help lists the flags)"},
		{"serve now", `unknown command "now" for "sluice serve"`},
		{"srve", `unknown command "srve" for "sluice"; did you mean "serve"?`},
		{"config", "sluice config wants a command: show"},
		{"config shwo", `sluice config has no command "shwo", only show`},
		{"config show --default --origin", "--default shows a file of defaults: it goes with no other flag"},
		{"config show --shards 0", "--shards must be from 1 to 256, got 0"},
		{"check", "one file is wanted, such as: sluice check sluice.yaml"},
		{"man", "one directory is wanted, such as: sluice man ./man"},
		{"top --rows 0", "--rows must be from 1 to 50, got 0"},
		{"top --every 1ms", "--every must be at least 100ms, got 1ms"},
		{"reload --timeout soon", `invalid argument "soon" for "--timeout" flag: time: invalid duration "soon" (sluice reload --help lists the flags)`},
		{"data", "sluice data wants a command: check or repair"},
		{"data chek x", `sluice data has no command "chek", only check and repair`},
		{"data check", "one directory is wanted, such as: sluice data check ./sluice-data"},
		{"data repair a b", "one directory is wanted, such as: sluice data repair ./sluice-data"},
	} {
		out, err, status := run(t, strings.Fields(row.args)...)
		if status != 2 || err != "sluice: "+row.want+"\n" || out != "" {
			t.Errorf("sluice %s\nexit %d, %q, %q\nwant 2, %q", row.args, status, out, err, row.want)
		}
	}
	// Every flag there is stands in a row.
	help, _, _ := run(t, "serve", "--help")
	for line := range strings.Lines(help) {
		flag, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(flag, "--") && flag != "--dir" && flag != "--config" && !tested(flag) {
			t.Errorf("%s is never given wrong", flag)
		}
	}
}

// tested says whether a flag stands in this file.
func tested(flag string) bool {
	text, err := os.ReadFile("serve_test.go")
	return err == nil && strings.Contains(string(text), flag+" ") || strings.Contains(string(text), flag+"=")
}

// What cannot be had is told in one line, with exit status 1.
func TestCannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	held := filepath.Join(dir, "held")
	holder := start(t, "--dir", held)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", taken.Addr().String(), "--dir", filepath.Join(dir, "a")},
			taken.Addr().String() + " is in use; stop the program that listens there, or choose another address with --listen"},
		{[]string{"--protected-mode=false", "--listen", "192.0.2.1:6380", "--dir", filepath.Join(dir, "b")}, "cannot listen on 192.0.2.1:6380: "},
		{[]string{"--dir", file}, "mkdir " + file + ": not a directory; choose another directory with --dir"},
		{[]string{"--dir", held}, fmt.Sprintf("lock %s/sluice.lock: held by pid %d, 127.0.0.1:0; stop that server, or choose another directory with --dir", held, holder.command.Process.Pid)},
	} {
		_, err, status := run(t, append([]string{"serve", "--log-level", "error"}, row.args...)...)
		if status != 1 || !strings.HasPrefix(err, "sluice: "+row.want) || strings.Count(err, "\n") != 1 {
			t.Errorf("%q\nexit %d, %q\nwant 1, %q", row.args, status, err, row.want)
		}
		if strings.Contains(row.want, "; ") && !strings.HasPrefix(row.want, "mkdir") {
			documented(t, held, strings.ReplaceAll(err, "127.0.0.1:0", "127.0.0.1:6380"))
		}
	}
	holder.dial().want("PING", "+PONG")
	if text, _ := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file holds %q", text)
	}
	// A directory whose server was not reached for the port is free again.
	start(t, "--dir", filepath.Join(dir, "a")).terminate()
}

// Without flags state is kept in ./sluice-data; with --dir "" it is kept nowhere.
func TestWhereStateIsKept(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		command := exec.Command(program, serveArgs(nil)...)
		command.Dir = dir
		p := launchCommand(t, command)
		p.ready()
		c := p.dial()
		c.ask("RL.ALLOW k fixed_window 1000 100000h 1")
		c.want("CONFIG GET dir", "[dir ./sluice-data]")
		p.terminate()
	}
	p := start(t, "--dir", filepath.Join(dir, "sluice-data"))
	if got := p.dial().ask("RL.PEEK k fixed_window 1000 100000h"); !strings.HasPrefix(got, "[1 1000 998 ") {
		t.Errorf("two calls were made: %s", got)
	}
	p.terminate()

	empty := t.TempDir()
	command := exec.Command(program, serveArgs([]string{"--dir", ""})...)
	command.Dir = empty
	p = launchCommand(t, command)
	p.ready()
	c := p.dial()
	c.ask("RL.ALLOW k fixed_window 1000 100000h 1")
	c.want("SAVE", `-ERR nothing is kept: the server was started with --dir ""`)
	if got := c.info("journal_mode"); got != "none" {
		t.Errorf("journal_mode is %s", got)
	}
	p.terminate()
	if left := files(t, empty); len(left) > 0 {
		t.Errorf("%d files are kept", len(left))
	}
}

// SIGTERM, SIGINT and SHUTDOWN under load end the server with 0, whatever is journaled,
// and what was acknowledged is there: with nothing journaled, in a snapshot.
func TestOrderlyEndLosesNothing(t *testing.T) {
	ends := map[string]func(p *process){
		"SIGTERM":  func(p *process) { p.command.Process.Signal(syscall.SIGTERM) },
		"SIGINT":   func(p *process) { p.command.Process.Signal(syscall.SIGINT) },
		"SHUTDOWN": func(p *process) { p.dial().conn.Write(request(nil, "SHUTDOWN", "NOSAVE")) },
	}
	for _, mode := range []string{"always", "everysec", "os", "off"} {
		for name, end := range ends {
			if mode == "off" && name == "SHUTDOWN" {
				continue // NOSAVE is what it says
			}
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				p := start(t, "--dir", dir, "--journal", mode)
				load := newCrowd(p, 3)
				p.until("there were some calls", func() bool { return load.acknowledged() > 2000 })
				end(p)
				if status := p.wait(); status != 0 {
					t.Errorf("exit %d", status)
				}
				load.wait()
				p = start(t, "--dir", dir, "--journal", mode)
				load.check(p)
				p.terminate()
				if cut := p.logs("torn tail"); len(cut) > 0 {
					t.Errorf("something was cut: %s", cut)
				}
			})
		}
	}
}

// A thousand random keys of every algorithm say the same before and after a restart, an
// orderly one or a kill, at the same instant (C114, C119).
func TestRestartChangesNoAnswer(t *testing.T) {
	for _, end := range []string{"SIGTERM", "SIGKILL", "SAVE and SIGKILL"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := start(t, "--dir", dir, "--test-clock", "--journal", "always", "--shards", "3")
			c, r := p.dial(), rand.New(rand.NewPCG(1, 1))
			var asked []string
			for i := range 1000 {
				asked = append(asked, randomCall(r, i))
			}
			for range 4 {
				for _, call := range asked {
					if reply := c.ask("RL.ALLOW " + call); strings.HasPrefix(reply, "-") {
						t.Fatalf("%s: %s", call, reply)
					}
				}
				c.want(fmt.Sprintf("RL.CLOCK ADVANCE %dns", r.IntN(1_000_000_000)), "+OK")
			}
			c.ask("RL.ALLOW " + asked[0]) // so that the last instant is on record
			c.ask("RL.ALLOW last fixed_window 10 1h")
			before := answers(c, asked)
			switch end {
			case "SIGTERM":
				p.terminate()
			case "SAVE and SIGKILL":
				c.want("SAVE", "+OK")
				fallthrough
			default:
				p.kill()
			}
			p = start(t, "--dir", dir, "--test-clock", "--shards", "2")
			for i, after := range answers(p.dial(), asked) {
				if after != before[i] {
					t.Fatalf("%s\nbefore %s\nafter  %s", asked[i%len(asked)], before[i], after)
				}
			}
			p.terminate()
		})
	}
}

// randomCall is a call on a key of its own.
func randomCall(r *rand.Rand, i int) string {
	algorithms := []string{"token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter", "budget"}
	name := algorithms[i%len(algorithms)]
	units := 1 + r.IntN(1000)
	window, calendar := fmt.Sprintf("%dms", 1000+r.IntN(100_000_000)), ""
	if (name == "fixed_window" || name == "budget") && r.IntN(2) == 0 {
		window = []string{"day", "week", "month", "year"}[r.IntN(4)]
		calendar = []string{" TZ UTC", " TZ Europe/Paris", " TZ Asia/Kathmandu"}[r.IntN(3)]
	}
	call := fmt.Sprintf("key:%d %s %d %s %d%s", i, name, units, window, 1+r.IntN(units), calendar)
	switch {
	case calendar != "":
	case name == "fixed_window":
		call += " ALIGN " + []string{"EPOCH", "FIRST", "JITTER"}[r.IntN(3)]
	case strings.HasSuffix(name, "bucket") && r.IntN(2) == 0:
		call += fmt.Sprint(" BURST ", units+r.IntN(100))
	}
	return call
}

// answers are what is said about each call's key, and about all keys.
func answers(c *client, asked []string) (list []string) {
	for _, call := range asked {
		list = append(list, c.ask("RL.PEEK "+call))
	}
	for _, call := range asked {
		key, _, _ := strings.Cut(call, " ")
		list = append(list, c.ask("RL.INSPECT "+key))
	}
	return append(list, c.ask("DBSIZE"), c.ask("RL.CLOCK GET"))
}

// SAVE, BGSAVE, LASTSAVE, SHUTDOWN and what INFO and CONFIG tell, on a real directory.
func TestSavingByCommand(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "--dir", dir, "--journal", "everysec", "--snapshot-every", "1h", "--max-memory", "64MiB", "--on-full", "evict-soonest")
	c := p.dial()
	c.want("LASTSAVE", "0")
	c.ask("RL.ALLOW k fixed_window 1000 100000h 7")
	c.want("SAVE", "+OK")
	if c.ask("LASTSAVE") == "0" || c.info("snapshot_keys") != "1" || c.info("rdb_saves") != "1" {
		t.Errorf("LASTSAVE %s, %s keys", c.ask("LASTSAVE"), c.info("snapshot_keys"))
	}
	c.want("BGSAVE", "+Background saving started")
	p.until("it is written", func() bool { return c.info("rdb_saves") == "2" })
	p.until("the disk keeps up", func() bool { return c.info("aof_last_write_status") == "ok" })
	if told := c.info("last_disk_error"); c.info("journal_faults") != "0" && !strings.HasSuffix(told, "is durable") { // it was slow, no more
		t.Errorf("the disk has failed: %s", told)
	}
	for field, want := range map[string]string{
		"loading": "0", "aof_enabled": "1", "rdb_last_bgsave_status": "ok", "journal_mode": "everysec",
		"journal_dir": dir, "maxmemory": "67108864", "maxmemory_policy": "volatile-ttl",
	} {
		if got := c.info(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	for setting, want := range map[string]string{"appendonly": "yes", "appendfsync": "everysec", "save": "3600 1", "dir": dir} {
		c.want("CONFIG GET "+setting, "["+setting+" "+want+"]")
	}
	if left := files(t, dir); len(left) != 3 {
		t.Errorf("%d files: one snapshot, one generation and the lock are wanted", len(left))
	}
	c.ask("RL.ALLOW k fixed_window 1000 100000h 1")
	c.conn.Write(request(nil, "SHUTDOWN"))
	if status := p.wait(); status != 0 || len(p.logs("snapshot written")) != 3 {
		t.Errorf("exit %d, %d snapshots", status, len(p.logs("snapshot written")))
	}
	p = start(t, "--dir", dir)
	if got := p.dial().ask("RL.PEEK k fixed_window 1000 100000h"); !strings.HasPrefix(got, "[1 1000 992 ") {
		t.Errorf("eight units were spent: %s", got)
	}
	p.terminate()
}

// Who reads what the server writes may end: that does not end the server.
func TestNobodyReadsTheLog(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	command := exec.Command(program, "serve", "--listen=", "--unix-socket", socket, "--dir", "")
	command.Stdout, command.Stderr = write, write
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Process.Kill()
	write.Close()
	// It has said that it is ready, in the log and in the invitation.
	for lines := bufio.NewScanner(read); lines.Scan() && !strings.HasPrefix(lines.Text(), "Sluice is ready"); {
	}
	read.Close()
	for range 2 {
		if out, errs, status := run(t, "reload", "--server", socket); status != 0 {
			t.Fatalf("exit %d, %s%s", status, out, errs)
		}
	}
	command.Process.Signal(syscall.SIGTERM)
	if err := command.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// A shortage of room is told once when it begins and once when it has been over for a
// minute, however often calls are refused in between, and counters are set back.
func TestShortage(t *testing.T) {
	room := shortage{refused: 7, quiet: roomInterval}
	var told []string
	look := func(seconds int, refused uint64) {
		for range seconds {
			switch begun, over := room.look(refused); {
			case begun:
				told = append(told, "begun")
			case over:
				told = append(told, "over")
			}
		}
	}
	look(100, 7)
	look(1, 8)
	look(59, 8)
	look(1, 9)
	look(1, 0) // CONFIG RESETSTAT
	look(1, 1)
	look(200, 1)
	look(1, 2)
	if got := strings.Join(told, " "); got != "begun over begun" {
		t.Errorf("it is told: %s", got)
	}
}

// At the bound new keys get OOM, and nobody else feels it.
func TestFullTable(t *testing.T) {
	p := start(t, "--dir", "", "--max-keys", "10", "--shards", "1", "--test-clock")
	c := p.dial()
	for i := range 10 {
		c.ask(fmt.Sprintf("RL.ALLOW k%d token_bucket 10 10s", i))
	}
	const full = "-OOM no room for a new key, and none may be thrown away; this call was not decided"
	c.want("RL.ALLOW new token_bucket 10 10s", full)
	documented(t, "nowhere", full)
	if lines := p.told("there is no room"); len(lines) != 1 || !strings.HasSuffix(lines[0], "max-keys=10 max-memory=75%") {
		t.Errorf("the log says %q", lines)
	}
	c.want("RL.PEEK new token_bucket 10 10s", "[1 10 10 0 0 0]")
	c.want("RL.ALLOW k3 token_bucket 10 10s 9", "[1 10 0 0 10000 0]")
	c.want("RL.ALLOW k3 token_bucket 10 10s 1", "[0 10 0 1000 10000 0]")
	c.want("DBSIZE", "10")
	c.want("RL.CLOCK ADVANCE 1s", "+OK")
	c.want("RL.ALLOW new token_bucket 10 10s", "[1 10 9 0 1000 0]")
	p.terminate()
}

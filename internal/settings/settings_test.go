package settings

// The rows by themselves, and one Config out of many sources.

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/plans"
)

// environ is an environment.
func environ(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		i := slices.Index(pairs, name)
		if i < 0 {
			return "", false
		}
		return pairs[i+1], true
	}
}

// file reads the section server of a text.
func file(t *testing.T, text string) *plans.File {
	t.Helper()
	f, err := plans.ParseServer("sluice.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRows(t *testing.T) {
	seen := make(map[string]bool)
	for i := range Rows {
		r := &Rows[i]
		if seen[r.Name] || !regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`).MatchString(r.Name) {
			t.Errorf("%q is no name, or there twice", r.Name)
		}
		seen[r.Name] = true
		if !slices.Contains(Groups, r.Group) {
			t.Errorf("%s is in group %q, which is not listed", r.Name, r.Group)
		}
		if err := r.Check(r.Default); err != nil {
			t.Errorf("the default of %s: %v", r.Name, err)
		}
		if r.Summary == "" || strings.HasSuffix(r.Summary, ".") || r.Summary != strings.ToLower(r.Summary[:1])+r.Summary[1:] {
			t.Errorf("the summary of %s is not one line in small letters without a full stop: %q", r.Name, r.Summary)
		}
	}
	for _, c := range contradictions {
		for _, name := range c.names {
			if byName[name] == nil {
				t.Errorf("a contradiction names %s, which is no setting", name)
			}
		}
	}
}

// A flag beats the environment, which beats the file, which beats the default.
func TestPrecedence(t *testing.T) {
	f := file(t, "server:\n  listen: 127.0.0.1:1\n  max_keys: 1000\n  on-full: evict-soonest\n  snapshot: {every: 7m}\n")
	c, err := Load(Given{
		File: f, Environ: environ("SLUICE_LISTEN", "127.0.0.1:2", "SLUICE_MAX_KEYS", "2000"),
		Flags: map[string]string{"listen": "127.0.0.1:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"listen":         {"127.0.0.1:3", "flag --listen"},
		"max-keys":       {"2000", "environment SLUICE_MAX_KEYS"},
		"on-full":        {"evict-soonest", "file sluice.yaml:4"},
		"snapshot-every": {"7m", "file sluice.yaml:5"},
		"journal":        {"everysec", "default"},
	} {
		if got := [2]string{c.Text(name), c.Origin(name).String()}; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if c.Text("listen") != "127.0.0.1:3" || c.MaxKeys != 2000 || c.OnFull != "evict-soonest" || c.SnapshotEvery.String() != "7m0s" {
		t.Errorf("%+v", c)
	}
	if got, want := c.Beaten(), []Beaten{
		{"listen", Origin{File, "sluice.yaml:2"}, Origin{Environment, "SLUICE_LISTEN"}},
		{"max-keys", Origin{File, "sluice.yaml:3"}, Origin{Environment, "SLUICE_MAX_KEYS"}},
	}; !slices.Equal(got, want) {
		t.Errorf("beaten are %v, want %v", got, want)
	}
	var out bytes.Buffer
	if err := c.WriteOrigins(&out); err != nil || !strings.Contains(out.String(), "\non-full                 evict-soonest  file sluice.yaml:4\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// What is wrong is told with where it came from and what would be right; a value that
// is beaten is checked all the same.
func TestWrong(t *testing.T) {
	for _, row := range []struct {
		file string
		env  []string
		flag [2]string
		want string
	}{
		{flag: [2]string{"listen", "6380"}, want: `--listen must be HOST:PORT such as 127.0.0.1:6380, got "6380"; did you mean "127.0.0.1:6380"?`},
		{flag: [2]string{"admin", "localhost:99999"}, want: `--admin must be HOST:PORT with a port from 0 to 65535, got "localhost:99999"`},
		{env: []string{"SLUICE_LISTEN", "127.0.0.1:http,[::1]:6x"}, want: `SLUICE_LISTEN must be HOST:PORT with a port from 0 to 65535, got "[::1]:6x"`},
		{flag: [2]string{"max-clients", "10k"}, want: `--max-clients must be a whole number from 1 to 1048576, got "10k"; did you mean "10000"?`},
		{flag: [2]string{"max-keys", "2.5e6"}, want: `--max-keys must be a whole number from 0 to 281474976710656, got "2.5e6"; did you mean "2500000"?`},
		{flag: [2]string{"drain", "5"}, want: `--drain must be 0 or a duration such as 5m or 30s, got "5"; did you mean "5s"?`},
		{file: "server:\n  snapshot_every: 10 Minutes\n", want: `sluice.yaml:2:3: server.snapshot_every: must be 0 or a duration such as 5m or 30s, got "10 Minutes"; did you mean "10m"?`},
		{flag: [2]string{"idle-timeout", "2d"}, want: `--idle-timeout must be 0 or a duration such as 5m or 30s, got "2d"; did you mean "48h"?`},
		{flag: [2]string{"slow-log", "-1s"}, want: `--slow-log must be 0 or a duration such as 5m or 30s, got "-1s"`},
		{flag: [2]string{"log-level", "warning"}, want: `--log-level must be debug, info, warn or error, got "warning"; did you mean "warn"?`},
		{flag: [2]string{"on-full", "evict"}, want: `--on-full must be refuse or evict-soonest, got "evict"; did you mean "evict-soonest"?`},
		{file: "server:\n  dir:\n", want: `sluice.yaml:2:3: server.dir: has no value: give it one, or "" for none`},
		{file: "server: {requirepass: ~}", want: `sluice.yaml:1:10: server.requirepass: has no value: give it one, or "" for none`},
		{file: "server: {requirepass_file: /nowhere}", want: "sluice.yaml:1:10: server.requirepass_file: must be a file that can be read: open /nowhere: no such file or directory"},
		{flag: [2]string{"requirepass-file", "/dev/null"}, want: "--requirepass-file must be a file with the password on its first line, and /dev/null has none there"},
		{file: "server: {tls_cert: a.crt, tls_key: a.key}", want: "sluice.yaml:1:10: server.tls_cert: is for TLS, and no tls-listen is given: nobody would be served with it"},
		{file: "server: {admin: '127.0.0.1:6381'}", flag: [2]string{"pprof", "true"},
			want: "--pprof needs admin, where profiles are asked for, and admin-token-file, with what callers must know (admin is from the file sluice.yaml:1)"},
		{flag: [2]string{"listen", "localhost:"}, want: `--listen must be HOST:PORT such as 127.0.0.1:6380, got "localhost:"`},
		{env: []string{"SLUICE_SHARDS", "none"}, want: `SLUICE_SHARDS must be a whole number from 1 to 256, got "none"`},
		{env: []string{"SLUICE_SHARDS", "0"}, flag: [2]string{"shards", "4"}, want: `SLUICE_SHARDS must be from 1 to 256, got 0`},
		{env: []string{"SLUICE_JOURNAL", "Always"}, want: `SLUICE_JOURNAL must be always, everysec, os or off, got "Always"; did you mean "always"?`},
		{file: "server:\n  lisen: x\n", want: "sluice.yaml:2:3: server.lisen: there is no such setting, did you mean 'listen'?"},
		{file: "server:\n  colour: blue\n", want: "sluice.yaml:2:3: server.colour: there is no such setting; `sluice config show --default` lists them"},
		{file: "server:\n  shards: 0\n", flag: [2]string{"shards", "4"}, want: "sluice.yaml:2:3: server.shards: must be from 1 to 256, got 0"},
		{file: "server:\n  max_keys: 10\n  max-keys: 11\n", want: "sluice.yaml:3:3: server.max-keys: is given twice, first in sluice.yaml:2"},
		{file: "server:\n  test_clock: true\n", want: "sluice.yaml:2:3: server.test_clock: cannot be set in a file; use --test-clock or SLUICE_TEST_CLOCK"},
		{file: "server:\n  max_keys: 1\n  shards: 2\n", want: "sluice.yaml:2:3: server.max_keys: must be 0, or at least the number of shards (2), got 1 (shards is from the file sluice.yaml:3)"},
		{env: []string{"SLUICE_ADMIN_TOKEN", "secret"}, want: "SLUICE_ADMIN_TOKEN must have at least 16 bytes, such as `openssl rand -hex 32` makes, got 6"},
		{file: "server: {denial_log: 1%}", want: `sluice.yaml:1:10: server.denial_log: must be a whole number from 0 to 1000000000, got "1%"`},
		{flag: [2]string{"denial-log-keys", "hashe"}, want: `--denial-log-keys must be hashed or plain, got "hashe"; did you mean "hashed"?`},
		{env: []string{"SLUICE_DENIAL_LOG_SECRET", "0123456789abcdef"}, flag: [2]string{"denial-log-secret-file", "testdata/secret"},
			want: "SLUICE_DENIAL_LOG_SECRET and denial-log-secret-file are both given: one of them is enough (denial-log-secret-file is from the flag --denial-log-secret-file)"},
		{env: []string{"SLUICE_PPROF", "Yes"}, want: `SLUICE_PPROF must be true or false, got "Yes"; did you mean "true"?`},
		{file: "server:\n  slew: off\n", want: `sluice.yaml:2:3: server.slew: must be true or false, got "off"; did you mean "false"?`},
		{file: "server:\n  tls_client_ca: ca.crt\n", want: "sluice.yaml:2:3: server.tls_client_ca: asks clients for certificates, and no tls-listen is given: nobody would be asked"},
		{file: "server:\n  journal: always\n", env: []string{"SLUICE_DIR", ""},
			want: "SLUICE_DIR is empty, so nothing is kept, and journal always promises that everything is: give a directory, or another journal (journal is from the file sluice.yaml:2)"},
		{env: []string{"SLUICE_JOURNAL", "always"}, flag: [2]string{"on-disk-error", "serve"},
			want: "--on-disk-error is serve, and journal always never acknowledges what is not on disk: leave it away, or choose another journal (journal is from the environment SLUICE_JOURNAL)"},
		{file: "server: {admin: '[::]:6381'}", want: "sluice.yaml:1:10: server.admin: listens beyond this machine ([::]:6381), so it needs a token: set admin-token-file, or listen on 127.0.0.1"},
		{env: []string{"SLUICE_SHARDS", "2"}, flag: [2]string{"max-keys", "1"},
			want: "--max-keys must be 0, or at least the number of shards (2), got 1 (shards is from the environment SLUICE_SHARDS)"},
	} {
		g := Given{Environ: environ(row.env...)}
		if row.file != "" {
			g.File = file(t, row.file)
		}
		if row.flag[0] != "" {
			g.Flags = map[string]string{row.flag[0]: row.flag[1]}
		}
		if _, err := Load(g); err == nil || err.Error() != row.want {
			t.Errorf("%+v\n got %v\nwant %s", row, err, row.want)
		}
	}
}

// What cannot be changed while the server runs is told with the ways in which it can.
func TestSetAtStart(t *testing.T) {
	for name, want := range map[string]string{
		"shards":            "shards is read at start only; set it with --shards, SLUICE_SHARDS or in the file, and start again",
		"denial-log-secret": "denial-log-secret is read at start only; set it with SLUICE_DENIAL_LOG_SECRET or in the file, and start again",
		"test-clock":        "test-clock is read at start only; set it with --test-clock or SLUICE_TEST_CLOCK, and start again",
	} {
		if err := NewLive(nil).Set(name, "1"); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The file that explains everything says what holds without it, and all that it has
// in comments can stand in a file.
func TestDefaultFile(t *testing.T) {
	var out bytes.Buffer
	if err := WriteDefault(&out); err != nil {
		t.Fatal(err)
	}
	f, err := plans.ParseFile("sluice.yaml", out.Bytes())
	if err != nil || len(f.Server)+len(f.Plans)+len(f.Rules) > 0 {
		t.Fatalf("%v: %+v", err, f)
	}
	bare := regexp.MustCompile(`(?m)^( *)# (.*)$`).ReplaceAll(out.Bytes(), []byte("$1$2"))
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bare = regexp.MustCompile("/etc/sluice/(admin-token|denial-log-secret)").ReplaceAll(bare, []byte(token))
	bare = regexp.MustCompile("(?m)^ *(admin_token|denial_log_secret): .*$").ReplaceAll(bare, nil) // contradict the files
	f, err = plans.ParseFile("sluice.yaml", bare)
	if err != nil {
		t.Fatalf("%v\n%s", err, bare)
	}
	if _, err := plans.NewBook(f, plans.Set{}); err != nil {
		t.Error(err)
	}
	c, err := Load(Given{File: f})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Plans) != 2 || len(f.Rules) != 2 || len(f.Addresses.Trusted) != 1 {
		t.Errorf("%d plans, %d rules, %d trusted networks", len(f.Plans), len(f.Rules), len(f.Addresses.Trusted))
	}
	standard := NewLive(nil).Config()
	for i := range Rows {
		r := &Rows[i]
		if from := c.Origin(r.Name).Source; (from == File) == r.Outside && r.Name != "admin-token" && r.Name != "denial-log-secret" {
			t.Errorf("%s comes from %d", r.Name, from)
		}
		if r.Example == "" && c.Text(r.Name) != standard.Text(r.Name) {
			t.Errorf("%s is %q, want %q", r.Name, c.Text(r.Name), standard.Text(r.Name))
		}
	}
}

// What config show prints is a file that gives the same Config.
func TestShownFile(t *testing.T) {
	c, err := Load(Given{Flags: map[string]string{"dir": "", "max-memory": "50%", "listen": "[::1]:7000", "journal": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WriteFile(&out); err != nil {
		t.Fatal(err)
	}
	again, err := Load(Given{File: file(t, out.String())})
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for i := range Rows {
		if name := Rows[i].Name; again.Text(name) != c.Text(name) {
			t.Errorf("%s is %q, want %q", name, again.Text(name), c.Text(name))
		}
	}
}

func TestStray(t *testing.T) {
	got := Stray([]string{"SLUICE_LISTN=x", "SLUICE_LISTEN=y", "SLUICE_PORT=tcp://10.0.0.1:6380", "SLUICE_SERVICE_HOST=10.0.0.1",
		"SLUICE_PORT_6380_TCP_ADDR=10.0.0.1", "SLUICE_PASSWORD=x", "LISTN=z"})
	if len(got) != 1 || got[0] != [2]string{"SLUICE_LISTN", "SLUICE_LISTEN"} {
		t.Errorf("%v", got)
	}
}

// liveNames are the settings that CONFIG SET changes.
func liveNames() (names []string) {
	for _, r := range Rows {
		if r.Live {
			names = append(names, r.Name)
		}
	}
	return names
}

// CONFIG SET changes what is live, all or nothing, and stays over reloads.
func TestLive(t *testing.T) {
	c, err := Load(Given{File: file(t, "server: {log_level: warn}")})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLive(c)
	var levels []string
	l.Watch(func(c *Config) { levels = append(levels, c.LogLevel.String()) })
	for _, row := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"log-level", "debug", "shards", "2"}, "shards is read at start only; set it with --shards, SLUICE_SHARDS or in the file, and start again"},
		{[]string{"log-level", "debug", "log_level", "info"}, "log-level is given twice"},
		{[]string{"loglevel", "debug"}, "there is no setting 'loglevel', did you mean 'log-level'?"},
		{[]string{"zzz\n", "debug"}, `there is no setting 'zzz\n' that can be changed, only ` + strings.Join(liveNames(), ", ")},
	} {
		if err := l.Set(row.pairs...); err == nil || err.Error() != row.want {
			t.Errorf("%v\n got %v\nwant %s", row.pairs, err, row.want)
		}
	}
	reload := func(text string) []Difference {
		t.Helper()
		n, err := Load(Given{File: file(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		list, err := l.Reload(n)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	want := []Difference{{Name: "max-keys", Was: "0", Is: "1000"}, {Name: "log-level", Was: "warn", Is: "error", Live: true}}
	if got := reload("server: {log_level: error, max_keys: 1000}"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if l.Config().MaxKeys != 0 {
		t.Error("max-keys changed while running")
	}
	if err := l.Set("LOG-LEVEL", "debug"); err != nil {
		t.Fatal(err)
	}
	want = []Difference{{Name: "log-level", Was: "debug", Is: "info", Live: true, Held: true}}
	if got := reload("server: {log_level: info}"); !slices.Equal(got, want) {
		t.Errorf("a reload after CONFIG SET differs in %v, want %v", got, want)
	}
	if text, there := l.Shown("log-level"); text != "debug" || !there || l.Config().Origin("log-level").String() != "CONFIG SET" {
		t.Errorf("log-level is %q", text)
	}
	if strings.Join(levels, " ") != "WARN ERROR DEBUG DEBUG" {
		t.Errorf("the watcher saw %v", levels)
	}
}

// An Error is told apart from one in a file, since the exit status depends on it.
func TestErrorHasOrigin(t *testing.T) {
	_, err := Load(Given{Flags: map[string]string{"shards": "0"}})
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Origin.Source != Flag {
		t.Errorf("%v", err)
	}
}

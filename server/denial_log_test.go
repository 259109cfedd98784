package server

// The log of denials: what a line tells, that keys cannot be read off their hashes, and
// that nothing is left out in silence.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logRig is a rig with settings, names and values by turns, whose log can be read.
func logRig(t *testing.T, pairs ...string) (*rig, *bytes.Buffer) {
	r, log := newRig(t, 2), &bytes.Buffer{}
	r.startedWith(pairs...)
	r.denialLog.begin(r.Server)
	r.log = slog.New(slog.NewJSONHandler(log, nil))
	return r, log
}

// logged takes what has been logged since: line by line, without the time of the log and
// its level.
func logged(t *testing.T, log *bytes.Buffer) (list []string) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		_, rest, _ := strings.Cut(strings.TrimSpace(line), `"msg":`)
		list = append(list, rest)
	}
	log.Reset()
	return list
}

func (r *rig) ask(lines ...string) {
	r.t.Helper()
	w := r.dial()
	for _, line := range lines {
		w.line(r.t, line)
	}
	w.hangUp()
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("is missing: %s", want[i])
		case i >= len(want):
			t.Errorf("is too much: %s", got[i])
		case got[i] != want[i]:
			t.Errorf("is   %s\nwant %s", got[i], want[i])
		}
	}
}

func TestDenialLog(t *testing.T) {
	r, log := logRig(t, "denial-log", "1", "denial-log-keys", "plain")
	if err := r.SetPlan("pro", []byte("limits: {rpm: {algorithm: fixed_window, limit: 1, window: 1h}, money: {algorithm: budget, limit: 1.5, window: 1h}}")); err != nil {
		t.Fatal(err)
	}
	if err := r.SetRule("api", []byte("{match: /api/, per: user, plan: pro}")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("k", 65)
	r.ask("RL.ALLOW user:42 gcra 1 10s 2", "RL.CLOCK ADVANCE 5ms", "RL.ALLOW user:42 @pro", "RL.ALLOW user:42 @pro", "RL.CLOCK ADVANCE 5ms",
		"RL.REQUEST METHOD GET PATH /api/ USER 7", "RL.REQUEST METHOD GET PATH /api/ USER 7", "RL.CLOCK ADVANCE 5ms",
		"RL.ALLOW j @pro SPEND 2.25", "RL.CLOCK ADVANCE 5ms", `RL.ALLOW "a\x1b[31m\xff\"\\\n" token_bucket 1 10s 2`, "RL.CLOCK ADVANCE 5ms", "RL.ALLOW "+long+" token_bucket 1 10s 2",
		"RL.PEEK user:42 @pro", "RL.ALLOW passes gcra 1 10s")
	r.logDenials()
	wantLines(t, logged(t, log),
		`"denied","time_ms":1800000000000,"key":"user:42","algorithm":"gcra","cost":"2","retry_after_ms":-1,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000005,"key":"user:42","plan":"pro","limit":"rpm","algorithm":"fixed_window","cost":"1","retry_after_ms":3599995,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000010,"key":"api|user:7","plan":"pro","limit":"rpm","rule":"api","algorithm":"fixed_window","cost":"1","retry_after_ms":3599990,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000015,"key":"j","plan":"pro","limit":"money","algorithm":"budget","cost":"2.25","retry_after_ms":-1,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000020,"key":"a\\x1b[31m\\xff\\\"\\\\\\n","algorithm":"token_bucket","cost":"2","retry_after_ms":-1,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000025,"key":"`+long[:64]+`","cut":true,"algorithm":"token_bucket","cost":"2","retry_after_ms":-1,"client":1,"one_of":1}`,
	)
	r.logDenials()
	wantLines(t, logged(t, log))

	// What is denied while it is off is not logged later, and what is denied last is.
	r.set("denial-log", "0")
	r.logDenials()
	r.ask("RL.ALLOW off gcra 1 10s 2")
	r.logDenials()
	r.set("denial-log", "1")
	r.logDenials()
	r.ask("RL.ALLOW on gcra 1 10s 2")
	r.end()
	wantLines(t, logged(t, log), `"denied","time_ms":1800000000025,"key":"on","algorithm":"gcra","cost":"2","retry_after_ms":-1,"client":3,"one_of":1}`)
}

// The hashes are those of `printf %s user:42 | openssl dgst -sha256 -hmac 0123456789abcdef`,
// the first 32 digits; a plan's limit and no plan have the same for a key.
func TestDenialLogHashes(t *testing.T) {
	lines := func(pairs ...string) []string {
		r, log := logRig(t, append(pairs, "denial-log", "1")...)
		if err := r.SetPlan("pro", []byte("limits: {rpm: {algorithm: gcra, limit: 1, window: 1h}}")); err != nil {
			t.Fatal(err)
		}
		r.ask("RL.ALLOW user:42 gcra 1 10s 2", "RL.CLOCK ADVANCE 1ms", "RL.ALLOW user:42 @pro 2")
		r.logDenials()
		if text := log.String(); strings.Contains(text, "user:42") || strings.Contains(text, "0123456789abcdef") {
			t.Errorf("the log tells too much: %s", text)
		}
		return logged(t, log)
	}
	wantLines(t, lines("denial-log-secret-file", secretIn(t, "0123456789abcdef")),
		`"denied","time_ms":1800000000000,"key_hash":"24c38d7f3f36267d550ce10767a9a7b5","algorithm":"gcra","cost":"2","retry_after_ms":-1,"client":1,"one_of":1}`,
		`"denied","time_ms":1800000000001,"key_hash":"24c38d7f3f36267d550ce10767a9a7b5","plan":"pro","limit":"rpm","algorithm":"gcra","cost":"2","retry_after_ms":-1,"client":1,"one_of":1}`)
	if once, again := lines()[0], lines()[0]; once == again || !strings.Contains(once, `"key_hash":"`) {
		t.Errorf("two servers that were given no secret say %s and %s", once, again)
	}
}

func TestDenialLogDraws(t *testing.T) {
	const denials = 2000
	r, log := logRig(t, "denial-log", "10")
	r.deny(denials)
	r.logDenials()
	// By the binomial distribution 200 give or take 13; six times that is far enough.
	if n := len(logged(t, log)); n < 120 || n > 280 {
		t.Errorf("one of 10 of %d denials: %d were logged", denials, n)
	}
}

// A shard remembers 5,000 of 12,000 denials; 1,000 of them may be logged at once.
func TestDenialLogSaysWhatIsMissing(t *testing.T) {
	r, log := logRig(t, "denial-log", "1")
	r.deny(12_000)
	r.logDenials()
	if n := len(logged(t, log)); n != DenialLinesPerSecondMax {
		t.Errorf("%d are logged at once", n)
	}
	r.logDenials()
	wantLines(t, logged(t, log), `"denials are missing from the log: there were too many at once","unseen":7000,"drawn":4000}`)
	r.logDenials()
	wantLines(t, logged(t, log))
}

// deny denies a key some calls, a thousand at once.
func (r *rig) deny(n int) {
	r.t.Helper()
	calls := bytes.Repeat(requestLine(r.t, "RL.ALLOW k gcra 1 10s 2"), 1000)
	for range n / 1000 {
		if got := bytes.Count(r.play(calls), []byte("*6\r\n:0\r\n")); got != 1000 {
			r.t.Fatal(fmt.Sprint(got, " were denied"))
		}
	}
}

// secretIn makes a file with a secret on its first line.
func secretIn(t *testing.T, secret string) string {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

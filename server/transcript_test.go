package server

// Transcripts: testdata/*.txt, commands and what must come back, a reply a line.
//
//	== name                       a case: a fresh server under the test clock, at T0
//	# text                        a comment
//	> COMMAND …                   a request, in words as redis-cli reads them
//	@1.5 > COMMAND …              the same at T0 + 1.5 s; @1.5 alone only moves the clock
//	c2 > COMMAND …                on a second connection, and so on
//	x50 +100ms > COMMAND …        50 times, the clock moved by 100 ms in between
//	raw > *1\r\n$4\r\nPING\r\n    bytes as they are, with Go's escapes
//	hangup >                      the peer ends the connection
//
// Replies stand below, written on one line: 5, "bulk", +simple, -ERR text, nil,
// [array], ~[set], {key: value}, txt"verbatim". (closed) means that the server
// closed the connection, (nothing) that it waits for more. Of repeated requests
// replies are told in runs that begin with the same element:
//
//	3 times [1 10 9 0 1000 0] to [1 10 7 0 3000 0]
//
// Every transcript is played twice, on one shard with whole requests and on
// three shards with every byte read by itself. `go test ./server -run
// TestTranscripts -update` writes what comes back into the files.

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/algorithms"
	"sluice/internal/clock"
)

var update = flag.Bool("update", false, "write transcripts and the reference anew")

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text), 1, false)
			if again := replay(t, string(text), 3, true); again != got {
				t.Errorf("%s\nread byte by byte on three shards it answers otherwise:\n%s", file, difference(got, again))
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("%s\n%s\n(-update writes what comes back)", file, difference(string(text), got))
			}
		})
	}
}

// difference shows the first lines that differ, and the case they are in.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	title, command := "", ""
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			at := func(lines []string) string {
				return strings.Join(lines[min(i, len(lines)):min(i+3, len(lines))], "\n     ")
			}
			return fmt.Sprintf("%s\n%s\nwant %s\n got %s", title, command, at(w), at(g))
		}
		if strings.HasPrefix(w[i], "== ") {
			title = w[i]
		}
		if strings.Contains(w[i], "> ") {
			command = w[i]
		}
	}
	return ""
}

// stage is where a case plays.
type stage struct {
	t      *testing.T
	rig    *rig
	bytes  bool // every byte is a read
	wires  map[string]*wire
	closed map[string]bool
	hands  *wire // moves the clock
}

func newStage(t *testing.T, shards int, bytes bool) *stage {
	r := newRig(t, shards)
	s := &stage{t: t, rig: r, bytes: bytes, wires: map[string]*wire{}, closed: map[string]bool{}}
	s.wire("c1")
	s.hands = r.dial()
	return s
}

func (s *stage) wire(name string) *wire {
	w := s.wires[name]
	if w == nil {
		w = s.rig.dial()
		s.wires[name] = w
	}
	return w
}

// byChance is what a reply tells of memory that depends on what was pooled, and on the build.
var byChance = regexp.MustCompile(`\b(rbs|tot-mem)=\d+`)

// replay plays a transcript and returns it with the replies that came.
func replay(t *testing.T, text string, shards int, bytes bool) string {
	return replayWith(t, text, shards, bytes, func(*rig) {}, func(string) {})
}

// replayWith is replay; begin is called with each case's server before it is used, and
// then what has been done after each line.
func replayWith(t *testing.T, text string, shards int, bytes bool, begin func(*rig), done func(line string)) string {
	var b strings.Builder
	var s *stage
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		head, body, isRequest := strings.Cut(line, "> ")
		if line == "hangup >" || strings.HasSuffix(line, " hangup >") {
			head, isRequest = strings.TrimSuffix(line, ">"), true
		}
		switch {
		case strings.HasPrefix(line, "#"), line == "":
			fmt.Fprintln(&b, line)
		case strings.HasPrefix(line, "== "):
			fmt.Fprintln(&b, line)
			s = newStage(t, shards, bytes)
			begin(s.rig)
		case strings.HasPrefix(line, "@") && !isRequest:
			fmt.Fprintln(&b, line)
			s.at(line[1:])
		case isRequest && isHead(head):
			fmt.Fprintln(&b, line)
			for _, reply := range s.perform(strings.Fields(head), body) {
				fmt.Fprintln(&b, byChance.ReplaceAllString(reply, "$1=…"))
			}
		default:
			continue // a reply of the last time
		}
		if s != nil {
			done(line)
		}
	}
	return b.String()
}

// isHead says whether what stands before "> " is that of a request.
func isHead(head string) bool {
	for _, word := range strings.Fields(head) {
		if !strings.ContainsRune("@cx+", rune(word[0])) && word != "raw" && word != "hangup" {
			return false
		}
	}
	return true
}

// at moves the clock to a number of seconds after T0.
func (s *stage) at(seconds string) {
	whole, fraction, _ := strings.Cut(seconds, ".")
	ns, err := strconv.ParseInt(whole+(fraction + "000000000")[:9], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	instant := uint64(int64(clock.T0Ns) + ns)
	s.hands.want(s.t, fmt.Sprintf("RL.CLOCK SET %d", instant/nanosPerMilli), "+OK")
	if rest := instant % nanosPerMilli; rest > 0 {
		s.hands.want(s.t, fmt.Sprintf("RL.CLOCK ADVANCE %dns", rest), "+OK")
	}
}

// perform does what a line says and returns the replies as they are written.
func (s *stage) perform(head []string, body string) []string {
	name, times, step, raw := "c1", 1, "", false
	for _, word := range head {
		switch word[0] {
		case '@':
			s.at(word[1:])
		case 'c':
			name = word
		case 'x':
			n, err := algorithms.ParseWhole("times", []byte(word[1:]), 1, 1_000_000)
			if err != nil {
				s.t.Fatal(err)
			}
			times = int(n)
		case '+':
			step = word[1:]
		case 'h':
			s.wire(name).hangUp()
			delete(s.wires, name)
			return nil
		case 'r':
			raw = true
		}
	}
	b := requestLineOrBytes(s.t, body, raw)
	if times == 1 {
		return s.replies(name, b)
	}
	var all []value
	for i := range times {
		if i > 0 && step != "" {
			s.hands.want(s.t, "RL.CLOCK ADVANCE "+step, "+OK")
		}
		all = append(all, s.wire(name).askRaw(s.t, b))
	}
	return runs(all)
}

func requestLineOrBytes(t *testing.T, body string, raw bool) []byte {
	if !raw {
		return requestLine(t, body)
	}
	text, err := strconv.Unquote(`"` + body + `"`)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return []byte(text)
}

// replies sends some bytes and writes what comes back.
func (s *stage) replies(name string, b []byte) (lines []string) {
	w := s.wire(name)
	var out []byte
	open := true
	for len(b) > 0 && open {
		n := len(b)
		if s.bytes {
			n = 1
		}
		var reply []byte
		reply, open = w.send(b[:n])
		out, b = append(out, reply...), b[n:]
	}
	for _, v := range decodeAll(s.t, out) {
		lines = append(lines, v.String())
	}
	switch {
	case !open:
		lines = append(lines, "(closed)")
		delete(s.wires, name)
	case len(lines) == 0:
		lines = append(lines, "(nothing)")
	}
	return lines
}

// runs tells many replies in runs that begin with the same element.
func runs(all []value) (lines []string) {
	alike := func(a, b value) bool {
		if a.kind != b.kind || len(a.list) == 0 || len(b.list) == 0 {
			return a.String() == b.String()
		}
		return a.list[0].String() == b.list[0].String()
	}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && alike(all[from], all[to]) {
			to++
		}
		first, last := all[from].String(), all[to-1].String()
		switch {
		case to-from == 1:
			lines = append(lines, first)
		case first == last:
			lines = append(lines, fmt.Sprintf("%d times %s", to-from, first))
		default:
			lines = append(lines, fmt.Sprintf("%d times %s to %s", to-from, first, last))
		}
		from = to
	}
	return lines
}

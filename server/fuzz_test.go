package server

// Fuzzing: any bytes as requests, any words as arguments.

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzRequest: whatever arrives, the server answers with whole replies, and with
// the same ones wherever it is cut; and it keeps no more than its bounds.
func FuzzRequest(f *testing.F) {
	each(func(c *Command) {
		for _, e := range c.Examples {
			f.Add([]byte(e.In+"\r\n"), uint16(3))
			f.Add(requestLine(f, e.In), uint16(7))
		}
	})
	for _, text := range []string{
		"*1\r\n$4\r\nPING\r\n*1\r\n$-1\r\n", "*-1\r\n*0\r\n\r\nPING\n", "*2000000000\r\n", "*1\r\n*1\r\n", "*1\r\n$536870912\r\n", "ECHO \"\\x41\\n\" 'a\\''\r\n",
		"ECHO \"a\"b\r\n", "*2\r\n$4\r\nECHO\r\n$2\r\nab\n\n", "*3\r\n$8\r\nRL.RESET\r\n$1\r\na\r\n$1\r\nb\r\n", "HELLO 3\r\nCONFIG GET *\r\nQUIT\r\nPING\r\n",
	} {
		f.Add([]byte(text), uint16(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		r := newRig(t, 2)
		defer r.end()
		whole := &script{reads: [][]byte{b}}
		s := r.session(whole)
		s.serve()
		decodeAll(t, whole.out)
		if len(s.in) > 2*RequestBytesMax || cap(s.reader.spans) > 2*ArgsMax || cap(s.reader.args) > 2*ArgsMax {
			t.Errorf("after %d bytes the session holds %d, %d spans, %d arguments", len(b), len(s.in), cap(s.reader.spans), cap(s.reader.args))
		}
		if bytes.Contains(bytes.ToUpper(b), []byte("INFO")) {
			return // tells memory, which is never the same twice
		}
		pieces := slices.Collect(slices.Chunk(b, 1+int(cut)%64))
		if got := playFresh(t, 2, pieces...); !bytes.Equal(got, whole.out) {
			t.Errorf("cut into %d pieces it answers otherwise\n got %.500q\nwant %.500q", len(pieces), got, whole.out)
		}
	})
}

// FuzzArguments: every command with any arguments gives one whole reply; if that is an
// error nothing has changed, and if not, what has changed survives a restart.
func FuzzArguments(f *testing.F) {
	var rows []*Command
	each(func(c *Command) { rows = append(rows, c) })
	for i, c := range rows {
		lines := []string{c.Name}
		for _, e := range c.Examples {
			lines = append(lines, e.In)
		}
		for _, e := range c.Refusals {
			lines = append(lines, e.In)
		}
		for _, line := range lines {
			words, err := splitWords([]byte(line), nil)
			if err != nil {
				f.Fatal(err)
			}
			n := min(len(strings.Fields(c.Name)), len(words))
			f.Add(uint8(i), bytes.Join(words[n:], []byte{0}))
		}
	}
	f.Fuzz(func(t *testing.T, row uint8, arguments []byte) {
		c := rows[int(row)%len(rows)]
		args := strings.Fields(c.Name)
		if len(arguments) > 0 {
			args = append(args, strings.Split(string(arguments), "\x00")...)
		}
		if len(arguments) > RequestBytesMax/8 || len(args) > ArgsMax {
			return // a protocol error, not one of arguments
		}
		r := newRig(t, 2)
		defer r.end()
		j := &restarts{rig: r}
		r.shards.Journal(j, false)
		w := r.dial()
		w.want(t, "RL.ALLOW k sliding_log 10 10s 4", "[1 10 6 0 10000 0]")
		before := w.line(t, "RL.INSPECT k").String()
		reply := w.ask(t, args...)
		if reply.kind != '-' {
			look := func() (seen []string) {
				w := r.dial()
				keys := w.line(t, "KEYS *")
				for _, key := range keys.list {
					for _, command := range []string{"RL.INSPECT", "PTTL", "RL.HOLDERS", "RL.USAGE"} {
						seen = append(seen, command+" "+key.String()+" "+w.ask(t, command, key.text).String())
					}
				}
				slices.Sort(seen)
				return seen
			}
			before := look()
			if err := j.restart(); err != nil {
				t.Fatal(err)
			}
			if after := look(); !slices.Equal(before, after) {
				t.Errorf("after a restart\n%q\nis\n%q", before, after)
			}
			return
		}
		w.want(t, "RL.CLOCK GET", "1800000000000")
		w.want(t, "RL.INSPECT k", before)
		w.want(t, "DBSIZE", "1")
	})
}

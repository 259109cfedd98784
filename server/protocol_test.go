package server

// What arrives as bytes: requests at and beyond their bounds, requests cut
// anywhere, and commands with arguments that make no sense.

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sluice/shard"
)

// failing are words that stand where others belong.
var failing = []string{
	"", " ", "0", "-1", "+1", "1e3", "0x10", "1.5", "9007199254740991", "9007199254740992", "18446744073709551616", "\x00", "\r\n", "\xff\xfe",
	"'", "\"", "*", "[a", "\\", "@", "@pro", "{", "{}", "{a}", "é", strings.Repeat("x", 300), "%s%n", "-9223372036854775808", "NaN",
}

// fitting are words that stand where they belong, often enough.
var fitting = []string{
	"k", "user:42", "{tag}a", "{tag}b", "1", "2", "3", "10", "100", "1s", "60s", "10", "1m", "1h30m", "250ms", "0.5", "BURST", "ALIGN", "first", "JITTER", "EPOCH",
	"token_bucket", "gcra", "LB", "fixed-window", "sliding_log", "sc", "MATCH", "COUNT", "TYPE", "user:*", "ASYNC", "SYNC", "GET", "SET", "HELP", "ADVANCE",
	"DOCS", "LIST", "INFO", "GETKEYS", "FILTERBY", "ACLCAT", "PATTERN", "ID", "SETNAME", "GETNAME", "SETINFO", "LIB-NAME", "AUTH", "default", "save", "server",
	"1800000000000", "1800000060000", "RL.ALLOW", "PING", "config|get",
}

// chance draws words and requests from a seed.
type chance struct{ *rand.Rand }

func (c chance) of(list []string) string { return list[c.IntN(len(list))] }

func (c chance) word() string {
	if c.IntN(4) == 0 {
		return c.of(failing)
	}
	return c.of(fitting)
}

// call is a limiter command that mostly makes sense, on few keys and limits.
func (c chance) call() []string {
	args := []string{
		c.of([]string{"RL.ALLOW", "RL.ALLOW", "RL.ALLOW", "rl.allow", "RL.PEEK", "RL.MALLOW"}), c.of([]string{"a", "b", "c", "{a}d", ""}),
		c.of([]string{"token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"}),
		c.of([]string{"5", "100"}), c.of([]string{"1s", "10s", "1m"}), c.of([]string{"1", "1", "2", "7"}),
	}
	if args[0] != "RL.MALLOW" && c.IntN(3) == 0 {
		args = args[:5]
	}
	return args
}

// command is any command of the table with any arguments, but for those whose
// replies are not determined by what was asked.
func (c chance) command() []string {
	if c.IntN(3) > 0 {
		return c.call()
	}
	var names []string
	each(func(row *Command) {
		if !slices.Contains(undetermined, row.Name) {
			names = append(names, row.Name)
		}
	})
	args := strings.Fields(c.of(names))
	for range c.IntN(8) {
		args = append(args, c.word())
	}
	return args
}

// undetermined are the commands whose replies depend on more than what was asked, or
// that end the connection.
var undetermined = []string{"INFO", "QUIT", "ACL GENPASS", "ACL LOG", "CLIENT INFO", "CLIENT LIST", "CLIENT KILL", "CLIENT PAUSE", "MONITOR", "SLOWLOG GET", "SLOWLOG LEN"}

// TestAnyArguments: every command with 0 … 20 arguments of any kind gives one
// well-formed reply, and the server lives on.
func TestAnyArguments(t *testing.T) {
	each(func(row *Command) {
		t.Run(row.lower, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			w := r.dial()
			c := chance{rand.New(rand.NewPCG(96, uint64(len(row.Name))))}
			for n := range 21 {
				for range fewer(200) {
					args := strings.Fields(row.Name)
					for range n {
						args = append(args, c.word())
					}
					reply, open := w.send(request(args...))
					if all := decodeAll(t, reply); len(all) != 1 {
						t.Fatalf("%q: %d replies: %.300q", args, len(all), reply)
					}
					if open == (row.Name == "QUIT" && reply[0] == '+') {
						t.Fatalf("%q: open %v after %.300q", args, open, reply)
					}
					if !open {
						w = r.dial()
					}
				}
			}
			w.ask(t, "RESET")
			w.want(t, "PING", "+PONG")
		})
	})
}

// TestChunks: a pipeline is answered the same wherever its bytes are cut.
func TestChunks(t *testing.T) {
	const seed = 12
	for number := range fewer(200) {
		c := chance{rand.New(rand.NewPCG(seed, uint64(number)))}
		pipeline := c.pipeline()
		want := playFresh(t, 2, pipeline)
		check := func(how string, got []byte) {
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d, pipeline %d, %s: %q\n got %q\nwant %q", seed, number, how, pipeline, got, want)
			}
		}
		check("byte by byte", playFresh(t, 2, slices.Collect(slices.Chunk(pipeline, 1))...))
		check("by five", playFresh(t, 2, slices.Collect(slices.Chunk(pipeline, 5))...))
		if number%20 == 0 {
			for i := range pipeline {
				check(fmt.Sprint("cut at ", i), playFresh(t, 2, pipeline[:i], pipeline[i:]))
			}
		}
	}
}

// TestRequestsCutAnywhere: ten thousand pipelines, each cut at each of its bytes, are the
// same requests, and the same errors. Between two requests a reader remembers
// nothing, so of each cut the request is read that it goes through.
func TestRequestsCutAnywhere(t *testing.T) {
	const seed = 13
	cuts := 0
	for number := range fewer(10_000) {
		c := chance{rand.New(rand.NewPCG(seed, uint64(number)))}
		b := c.pipeline()
		for len(b) > 0 {
			var whole reader
			n, args, err := whole.next(b)
			if n == 0 && err == nil {
				break // its end is missing
			}
			end := n
			if err != nil {
				end = len(b)
			}
			args = slices.Clone(args)
			for i := range end {
				var r reader
				if n, _, early := r.next(b[:i]); n != 0 || early != nil {
					if early == nil || err == nil || early.Error() != err.Error() {
						t.Fatalf("seed %d, pipeline %d: %q is %d bytes, %v", seed, number, b[:i], n, early)
					}
					break // what is wrong is seen before the cut from here on
				}
				m, again, late := r.next(b)
				if m != n || fmt.Sprint(late) != fmt.Sprint(err) || !slices.EqualFunc(again, args, bytes.Equal) {
					t.Fatalf("seed %d, pipeline %d: %q cut at %d is %q, %v; want %q, %v", seed, number, b[:end], i, again, late, args, err)
				}
				cuts++
			}
			if err != nil {
				break
			}
			b = b[n:]
		}
	}
	t.Logf("%d cuts", cuts)
}

// pipeline is some commands, now and then inline, now and then with an end that
// cannot be understood or is missing.
func (c chance) pipeline() (b []byte) {
	for range 1 + c.IntN(12) {
		args := c.command()
		inline := strings.Join(args, " ")
		if c.IntN(8) == 0 && !strings.ContainsAny(inline, "'\"\\\r\n\x00") && args[0] != "" {
			b = append(b, inline+"\r\n"...)
		} else {
			b = append(b, request(args...)...)
		}
	}
	if c.IntN(4) == 0 {
		b = append(b, c.of([]string{"*1\r\n$-1\r\n", "*x\r\n", "ECHO \"\r\n", "*1\r\n$4\r\nPI", "*3\r\n$1\r\n\r\n\r\n"})...)
	}
	return b
}

// TestMemo: a connection that repeats itself gets the same answers as one that
// was opened for each request, which has nothing to remember.
func TestMemo(t *testing.T) {
	const seed = 7
	for number := range fewer(300) {
		c := chance{rand.New(rand.NewPCG(seed, uint64(number)))}
		last := request(c.call()...)
		var requests [][]byte
		for range 50 {
			switch c.IntN(8) {
			case 0:
				last = request(c.call()...)
			case 1:
				last = request(c.command()...)
			case 2:
				// The same but for the key, of any length.
				key := strings.Repeat(c.of(fitting), c.IntN(4))
				words, _, _ := bytes.Cut(last, []byte("\r\n$"))
				if i := bytes.Index(last, []byte("\r\na\r\n")); i > 2 && !bytes.Contains(words, []byte("*2")) {
					last = slices.Concat(last[:i-1], []byte(fmt.Sprintf("%d\r\n%s", len(key), key)), last[i+3:])
				}
			}
			requests = append(requests, last)
		}
		one, fresh := newRig(t, 2), newRig(t, 2)
		got := one.play(bytes.Join(requests, nil))
		var want []byte
		for _, b := range requests {
			want = append(want, fresh.play(b)...)
		}
		one.end()
		fresh.end()
		if !bytes.Equal(got, want) && !slices.ContainsFunc(requests, ofConnection) {
			t.Fatalf("seed %d, history %d: %q\n got %q\nwant %q", seed, number, requests, got, want)
		}
	}
}

// ofConnection says whether a request is about its connection, which is another
// one for each request where nothing is remembered.
func ofConnection(b []byte) bool {
	words := strings.ToUpper(string(b))
	return strings.Contains(words, "HELLO") || strings.Contains(words, "CLIENT") || strings.Contains(words, "DENIALS") || strings.Contains(words, "RESET")
}

// TestMemoIsUsed: what repeats does not go through the parser.
func TestMemoIsUsed(t *testing.T) {
	r := newRig(t, 1)
	s := r.session(&script{})
	s.work = r.works.Get().(*work)
	b := request("RL.ALLOW", "user:1", "gcra", "5", "1m")
	s.in, s.to = slices.Concat(b, b, request("RL.ALLOW", "user:22", "gcra", "5", "1m")), 3*len(b)+1
	if !s.parse() || s.from != s.to {
		t.Fatal("not all of it was parsed")
	}
	s.in, s.from, s.to = slices.Concat(b, request("RL.ALLOW", "user:1", "gcra", "6", "1m")), 0, 2*len(b)
	if !s.memo.repeat(s) {
		t.Error("a request that repeats is not recognised")
	}
	if s.memo.repeat(s) {
		t.Error("a request with another limit is taken for the same")
	}
	s.flush()
	s.release()
}

// TestMemoForgetsTheBatch: between two requests that repeat each other stands
// one that uses the memory of the batch before.
func TestMemoForgetsTheBatch(t *testing.T) {
	for _, between := range []string{"PING\r\n", "PING\r\nRL.MALLOW b gcra 100 1m 1\r\n", "RL.MALLOW b gcra 100 1m 1\r\nDBSIZE\r\nRL.MALLOW b gcra 100 1m 1\r\n"} {
		r := newRig(t, 1)
		call := request("RL.ALLOW", "a", "gcra", "5", "1m")
		out := r.play(slices.Concat(call, []byte(between), call, call))
		all := decodeAll(t, out)
		if got := all[len(all)-1].String(); got != "[1 5 2 0 36000 0]" {
			t.Errorf("after %q: %s", between, got)
		}
	}
}

// TestC93LongFirstArgument: a long argument, then a pause before the next one.
func TestC93LongFirstArgument(t *testing.T) {
	w := newRig(t, 2).dial()
	b := request("EXISTS", strings.Repeat("x", 70_000), "b")
	cut := len(b) - len("$1\r\nb\r\n")
	if reply, open := w.send(b[:cut]); len(reply) > 0 || !open {
		t.Fatalf("%q, open %v", reply, open)
	}
	if reply, _ := w.send(b[cut:]); string(reply) != "-ERR key must be at most 65536 bytes, got 70000\r\n" {
		t.Errorf("%q", reply)
	}
}

// TestRequestBounds: the longest requests that are taken, and the shortest that
// are not, cut into pieces as a network would.
func TestRequestBounds(t *testing.T) {
	echo := func(n int) []byte { return request("ECHO", strings.Repeat("x", n)) }
	overhead := len(echo(1_000_000)) - 1_000_000
	most := make([]string, ArgsMax)
	for i := range most {
		most[i] = "k"
	}
	most[0] = "EXISTS"
	rows := []struct {
		name  string
		bytes []byte
		reply string // how it begins
		open  bool
	}{
		{"inline at its bound", slices.Concat([]byte("ECHO "), bytes.Repeat([]byte("x"), InlineBytesMax-5), []byte("\n")), "$65531\r\n", true},
		{"inline beyond it", slices.Concat([]byte("ECHO "), bytes.Repeat([]byte("x"), InlineBytesMax-4), []byte("\n")), "-ERR Protocol error: too big inline request\r\n", false},
		{"inline without end", bytes.Repeat([]byte("x"), InlineBytesMax+1), "-ERR Protocol error: too big inline request\r\n", false},
		{"TLS without a line's end", slices.Concat([]byte("\x16\x03\x01\x05\xdc"), bytes.Repeat([]byte("x"), 1500)), "-ERR Protocol error: a TLS handshake, and no TLS is spoken here; see tls-listen\r\n", false},
		{"array at its bound", echo(RequestBytesMax - overhead), fmt.Sprintf("$%d\r\n", RequestBytesMax-overhead), true},
		{"array beyond it", echo(RequestBytesMax - overhead + 1), "-ERR Protocol error: too big request, at most 1048576 bytes\r\n", false},
		{"most arguments", request(most...), ":0\r\n", true},
		{"many arguments without end", slices.Concat([]byte("*65536\r\n"), bytes.Repeat([]byte("$16\r\n0123456789abcdef\r\n"), 50_000)), "-ERR Protocol error: too big request, at most 1048576 bytes\r\n", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newRig(t, 2).dial()
			var reply []byte
			open := true
			for b := range slices.Chunk(row.bytes, 1400) {
				var more []byte
				more, open = w.send(b)
				reply = append(reply, more...)
				if !open {
					break
				}
			}
			if !strings.HasPrefix(string(reply), row.reply) || open != row.open {
				t.Errorf("got %.100q, open %v; want %q, open %v", reply, open, row.reply, row.open)
			}
			if open {
				w.want(t, "PING", "+PONG")
			}
		})
	}
}

// TestLongRequestsAreForgotten: a connection that once sent much keeps no room
// for it.
func TestLongRequestsAreForgotten(t *testing.T) {
	r := newRig(t, 2)
	many := slices.Concat([]byte("*60000\r\n$6\r\nEXISTS\r\n"), bytes.Repeat([]byte("$1\r\nk\r\n"), 59_999))
	long := request("ECHO", strings.Repeat("x", 900_000))
	for _, b := range [][]byte{many, long} {
		s := r.session(&script{reads: [][]byte{b, []byte("PING\r\n"), []byte("PING\r\n"), []byte("PING\r\n")}})
		s.serve()
		if cap(s.reader.spans) > argsKeptMax || cap(s.reader.args) > argsKeptMax || len(s.in) > ReadBytesMax {
			t.Errorf("after %d bytes a session keeps %d spans, %d arguments, %d bytes", len(b), cap(s.reader.spans), cap(s.reader.args), len(s.in))
		}
	}
}

// TestC91HeadersAllocateNothing: a length that a peer announces is not believed.
func TestC91HeadersAllocateNothing(t *testing.T) {
	r := newRig(t, 2)
	const peers = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	wires := make([]*wire, peers)
	for i := range wires {
		wires[i] = r.dial()
		if reply, open := wires[i].send([]byte("*65536\r\n$1000000\r\n")); len(reply) > 0 || !open {
			t.Fatalf("%q, open %v", reply, open)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / peers; each > 16<<10 {
		t.Errorf("a peer that has sent 18 bytes costs %d", each)
	}
	for _, w := range wires {
		w.hangUp()
	}
	r.left(0)
}

// TestPeersThatLeave: whatever a peer was in the middle of, it leaves nothing
// behind, and what it had sent as a whole is done.
func TestPeersThatLeave(t *testing.T) {
	r := newRig(t, 2)
	whole := request("RL.ALLOW", "k", "gcra", "1000", "1h")
	for cut := range whole {
		w := r.dial()
		if reply, _ := w.send(slices.Concat(whole, whole[:cut])); len(reply) == 0 {
			t.Fatal("no reply")
		}
		w.hangUp()
	}
	// One that does not take its reply.
	w := r.dial()
	w.fail = io.ErrClosedPipe
	if _, open := w.send(whole); open {
		t.Error("a connection that cannot be written to is kept")
	}
	n := len(whole) + 1
	r.dial().want(t, "RL.PEEK k gcra 1000 1h 0", fmt.Sprintf("[1 1000 %d 0 %d 0]", 1000-n, 3600*n))
	r.left(1)
}

// TestRepliesAreNotHoarded: long replies to a pipeline of short commands are
// written as they come.
func TestRepliesAreNotHoarded(t *testing.T) {
	r := newRig(t, 1)
	conn := &longest{script: script{reads: [][]byte{bytes.Repeat([]byte("COMMAND DOCS\r\n"), 300)}}}
	r.session(conn).serve()
	one := len(newRig(t, 1).play([]byte("COMMAND DOCS\r\n")))
	if conn.total != 300*one {
		t.Errorf("%d bytes of replies, want %d", conn.total, 300*one)
	}
	if conn.most > OutBytesMax+one {
		t.Errorf("%d bytes were gathered before they were written", conn.most)
	}
}

// longest counts what is written and forgets it.
type longest struct {
	script
	most, total int
}

func (l *longest) Write(p []byte) (int, error) {
	l.most, l.total = max(l.most, len(p)), l.total+len(p)
	return len(p), nil
}

// TestManyErrors: a pipeline of nothing but errors is answered one by one.
func TestManyErrors(t *testing.T) {
	r := newRig(t, 1)
	n := 3 * shard.BatchOpsMax
	if got := bytes.Count(r.play(bytes.Repeat([]byte("x\n"), n)), []byte("-ERR unknown command 'x'")); got != n {
		t.Errorf("%d errors, want %d", got, n)
	}
}

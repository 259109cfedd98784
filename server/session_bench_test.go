package server

// What a command costs between two system calls: a session that is fed from
// memory and writes into nothing, with the pipelines of a benchmark.

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"

	"sluice/internal/clock"
	"sluice/shard"
)

// feed is a connection that yields prepared requests, one pipeline a read.
type feed struct {
	net.Conn
	pipelines [][]byte
	next      int
	reads     int
}

func (f *feed) Read(b []byte) (int, error) {
	if f.reads == 0 {
		return 0, io.EOF
	}
	f.reads--
	n := copy(b, f.pipelines[f.next])
	if n < len(f.pipelines[f.next]) {
		panic("the pipeline does not fit the buffer")
	}
	f.next = (f.next + 1) % len(f.pipelines)
	return n, nil
}

func (f *feed) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkSession measures one command: read, parsed, routed, decided and
// answered, without the kernel.
func BenchmarkSession(b *testing.B) {
	for _, depth := range []int{1, 16, 100} {
		for _, keys := range []int{100_000, 1_000_000} {
			b.Run(fmt.Sprintf("pipeline=%d/keys=%d", depth, keys), func(b *testing.B) {
				benchmarkSession(b, depth, keys)
			})
		}
	}
}

func benchmarkSession(b *testing.B, depth, keys int) {
	random := rand.New(rand.NewPCG(1, 2))
	source, err := clock.NewOS()
	if err != nil {
		b.Fatal(err)
	}
	now, err := clock.NewServer(source, 0)
	if err != nil {
		b.Fatal(err)
	}
	set := shard.NewSet(2, now)
	defer set.Close()
	s := New(Options{Shards: set, Clock: now, Random: rand.NewPCG(3, 4), Logger: slog.New(slog.DiscardHandler)})
	f := &feed{}
	for range 200_000 / depth {
		var p []byte
		for range depth {
			key := fmt.Sprintf("user:%012d", random.IntN(keys))
			p = fmt.Appendf(p, "*6\r\n$8\r\nRL.ALLOW\r\n$%d\r\n%s\r\n$12\r\ntoken_bucket\r\n$3\r\n100\r\n$2\r\n1s\r\n$1\r\n1\r\n", len(key), key)
		}
		f.pipelines = append(f.pipelines, p)
	}
	c := s.newSession(f)
	c.in = make([]byte, ReadBytesMax)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += depth {
		f.reads = 1
		n, _ := f.Read(c.in)
		c.received(n)
	}
}

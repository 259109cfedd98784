// What reading the clock costs, beside the ways that were not taken: the system call for boot time, which is slower, and
// the runtime's monotonic clock alone, which does not count suspended time.

package clock

import (
	"testing"
	"time"
)

var sink uint64

func realServer(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	source, err := NewOS()
	if err != nil {
		tb.Fatal(err)
	}
	server, err := NewServer(source, 0, options...)
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

func BenchmarkServerNow(b *testing.B) {
	server := realServer(b)
	b.ReportAllocs()
	for b.Loop() {
		sink = server.Now()
	}
}

func BenchmarkServerNowParallel(b *testing.B) {
	server := realServer(b)
	b.RunParallel(func(pb *testing.PB) {
		var last uint64
		for pb.Next() {
			last = server.Now()
		}
		_ = last
	})
}

func BenchmarkServerNowSlewing(b *testing.B) {
	server := realServer(b, SlewToWall())
	b.ReportAllocs()
	for b.Loop() {
		sink = server.Now()
	}
}

func BenchmarkBootBySystemCall(b *testing.B) {
	for b.Loop() {
		sink, _ = kernelBoot()
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		sink = uint64(time.Now().UnixNano())
	}
}

func BenchmarkTimeSince(b *testing.B) {
	origin := time.Now()
	for b.Loop() {
		sink = uint64(time.Since(origin))
	}
}

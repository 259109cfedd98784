package server

import (
	"testing"

	"sluice/algorithms"
)

// BenchmarkReader takes one request apart that is in the buffer already.
func BenchmarkReader(b *testing.B) {
	for name, request := range map[string]string{
		"array":  "*6\r\n$8\r\nRL.ALLOW\r\n$20\r\nuser:000000000000042\r\n$12\r\ntoken_bucket\r\n$3\r\n100\r\n$2\r\n1s\r\n$1\r\n1\r\n",
		"inline": "RL.ALLOW user:000000000000042 token_bucket 100 1s 1\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			var r reader
			buffer := []byte(request)
			b.ReportAllocs()
			for b.Loop() {
				if n, args, err := r.next(buffer); n != len(buffer) || len(args) != 6 || err != nil {
					b.Fatal(n, args, err)
				}
			}
		})
	}
}

// BenchmarkReply writes the six integers of a decision.
func BenchmarkReply(b *testing.B) {
	d := algorithms.Decision{Allowed: true, Limit: 100, Remaining: 99, ResetAfter: 10 * nanosPerMilli}
	out := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		out = appendDecision(out[:0], &d)
	}
	if len(out) == 0 {
		b.Fatal("no reply")
	}
}

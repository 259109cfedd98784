package server

import "testing"

// BenchmarkGuards measures a command at -P 100, without the kernel. make bench-guards runs it with
// guards and without, where a command repeats the one before and where it does not.
func BenchmarkGuards(b *testing.B) {
	for _, row := range []struct {
		name     string
		variants []string
	}{
		{"repeated", []string{"token_bucket 100 1s 1"}},
		{"parsed", []string{"token_bucket 100 1s 1", "token_bucket 100 1s 2"}},
	} {
		b.Run(row.name, func(b *testing.B) {
			_, c := newFed(b)
			f := &feed{}
			f.fill(20_000, 100, 10_000, row.variants...)
			f.run(c, 20_000)
			benchLeast(b, c, f)
		})
	}
}

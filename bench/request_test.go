package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestRequestsAreFilled(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{"PING", "*1\r\n$4\r\nPING\r\n"},
		{"INCR {key}", "*2\r\n$4\r\nINCR\r\n$15\r\n000000000000007\r\n"},
		{"A u:{key} {{same}}x{key}", "*3\r\n$1\r\nA\r\n$17\r\nu:000000000000007\r\n$33\r\n{000000000000007}x000000000000008\r\n"},
	} {
		at := uint64(6)
		b := requestOf(CountNothing, 1, row.line).batch(3)
		b.fill(2, func() uint64 { return 123456789012345 }) // what an earlier filling left must not stay
		if got := string(b.fill(1, func() uint64 { at++; return at })); got != row.want {
			t.Errorf("%s: got %q, want %q", row.line, got, row.want)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, n := range []uint64{0, 7, 10, 99, 100, 1234567, 999_999_999_999_999} {
		to := bytes.Repeat([]byte{'x'}, keyDigits)
		digits(to, n)
		if want := fmt.Sprintf("%0*d", keyDigits, n); string(to) != want {
			t.Errorf("%d is written %s", n, to)
		}
	}
}

func TestRepliesAreCounted(t *testing.T) {
	const six = "*6\r\n:1\r\n:10\r\n:9\r\n:0\r\n:100\r\n:0\r\n"
	denied := strings.Replace(six, ":1\r", ":0\r", 1)
	for _, row := range []struct {
		name     string
		counts   Counting
		text     string
		admitted uint64
		errors   uint64
	}{
		{"a decision", CountFirst, six, 1, 0},
		{"a denial", CountFirst, denied, 0, 0},
		{"never", CountFirst, "*2\r\n:-1\r\n:5\r\n", 0, 0},
		{"units", CountFirst, "*2\r\n:40\r\n:5\r\n", 40, 0},
		{"an array of decisions, its own first element", CountFirst, "*3\r\n:1\r\n:0\r\n" + six, 1, 0},
		{"an array of decisions, each", CountEach, "*3\r\n" + six + denied + six, 2, 0},
		{"nothing counted", CountNothing, six, 0, 0},
		{"strings", CountFirst, "*3\r\n:1\r\n$5\r\na\r\nbc\r\n$-1\r\n", 1, 0},
		{"an error", CountFirst, "-ERR no\r\n", 0, 1},
		{"an error inside", CountEach, "*2\r\n-ERR no\r\n" + six, 1, 0},
		{"nothing in it", CountFirst, "*0\r\n", 0, 0},
		{"a map", CountEach, "%1\r\n+a\r\n*1\r\n:3\r\n", 3, 0},
	} {
		r := replies{counts: row.counts}
		for cut := range len(row.text) {
			if n, err := r.next([]byte(row.text[:cut])); n != 0 || err != nil && cut > 0 {
				t.Fatalf("%s: %d bytes of it are taken for a reply of %d (%v)", row.name, cut, n, err)
			}
		}
		r = replies{counts: row.counts}
		n, err := r.next([]byte(row.text + "+OK\r\n"))
		if err != nil || n != len(row.text) || r.admitted != row.admitted || r.errors != row.errors {
			t.Errorf("%s: %d of %d bytes, %d admitted, %d errors, %v", row.name, n, len(row.text), r.admitted, r.errors, err)
		}
	}
	r := replies{}
	if _, err := r.next([]byte("HTTP/1.1 400\r\n")); err == nil {
		t.Error("a reply of another protocol is taken")
	}
}

// The same seed gives the same keys, all below the count, and the distributions are what they are called.
func TestKeys(t *testing.T) {
	const count, draws = 1_000, 100_000
	for _, kind := range KeyKinds {
		k, err := ParseKeys(fmt.Sprintf("%s:%d", kind, count))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint64]int{}
		next, again := k.next(5), k.next(5)
		for range draws {
			n := next()
			if n != again() {
				t.Fatalf("%s: one seed gives two series", kind)
			}
			if n >= count && kind != "new" {
				t.Fatalf("%s: key %d of %d", kind, n, count)
			}
			seen[n]++
		}
		most := 0
		for _, n := range seen {
			most = max(most, n)
		}
		for _, fact := range []struct {
			kind  string
			holds bool
		}{
			{"uniform", len(seen) == count && most < 2*draws/count},
			{"zipf", len(seen) > count/2 && most > 50*draws/count},
			{"hot", len(seen) == 1},
			{"new", len(seen) == draws},
			{"each", len(seen) == count && most == draws/count},
		} {
			if fact.kind == kind && !fact.holds {
				t.Errorf("%s: %d keys, the hottest %d times of %d", kind, len(seen), most, draws)
			}
		}
	}
	for _, text := range []string{"uniform:0", "gauss:10", "uniform:x", "uniform:-1", "zipf:9999999999"} {
		if _, err := ParseKeys(text); err == nil {
			t.Errorf("%q is taken for keys", text)
		}
	}
}

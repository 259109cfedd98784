package algorithms

// Rows for how numbers and durations are written, for what errors repeat, and for
// the hints at misspelt words.

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseWhole(t *testing.T) {
	zeros := strings.Repeat("0", 1000)
	rows := []struct {
		text        string
		least, most uint64
		want        uint64
		err         string
	}{
		{"1", 1, UnitsMax, 1, ""},
		{"007", 1, UnitsMax, 7, ""},
		{zeros + "42", 1, UnitsMax, 42, ""},
		{"9007199254740991", 1, UnitsMax, UnitsMax, ""},
		{"0", 0, UnitsMax, 0, ""},
		{zeros, 0, 5, 0, ""},
		{"9223372036854775807", 1, 1<<63 - 1, 1<<63 - 1, ""},
		{"18446744073709551614", 0, 1<<64 - 2, 1<<64 - 2, ""},

		{"0", 1, UnitsMax, 0, "n out of range: it must be a whole number from 1 to 9007199254740991, got '0'"},
		{"9007199254740992", 1, UnitsMax, 0, "out of range"},
		{"9223372036854775808", 1, 1<<63 - 1, 0, "out of range"},
		{"18446744073709551615", 0, 1<<64 - 2, 0, "out of range"},
		{"18446744073709551616", 0, 1<<64 - 2, 0, "out of range"},
		{"18446744073709551617", 0, UnitsMax, 0, "out of range"}, // 1 modulo 2^64
		{"99999999999999999999999999", 0, UnitsMax, 0, "out of range"},
		{"1" + zeros, 0, UnitsMax, 0, "out of range"},
		{"4", 5, 9, 0, "n out of range: it must be a whole number from 5 to 9, got '4'"},
		{"10", 5, 9, 0, "out of range"},

		{"", 0, 9, 0, "n must be a whole number from 0 to 9, got ''"},
		{"1e3", 1, UnitsMax, 0, "n must be a whole number from 1 to 9007199254740991, got '1e3'"},
		{" 1", 0, 9, 0, "got ' 1'"}, {"1 ", 0, 9, 0, "got '1 '"}, {"+1", 0, 9, 0, "got '+1'"},
		{"-1", 0, 9, 0, "got '-1'"}, {"-0", 0, 9, 0, "got '-0'"}, {"0x5", 0, 9, 0, "got '0x5'"},
		{"1.0", 0, 9, 0, "got '1.0'"}, {"1_0", 0, 99, 0, "got '1_0'"}, {"1,0", 0, 99, 0, "got '1,0'"},
		{"/", 0, 9, 0, "got '/'"}, {":", 0, 9, 0, "got ':'"}, {"٣", 0, 9, 0, `got '\u0663'`},
		{"5\n", 0, 9, 0, `got '5\n'`}, {"\x00", 0, 9, 0, `got '\x00'`}, {"NaN", 0, 9, 0, "got 'NaN'"},
		{"-9223372036854775808", 0, UnitsMax, 0, "got '-9223372036854775808'"},
		{"99999999999999999999999999x", 0, UnitsMax, 0, "must be a whole number"},
	}
	for _, r := range rows {
		got, err := ParseWhole("n", []byte(r.text), r.least, r.most)
		check(t, r.text, got, err, r.want, r.err)
	}
}

// check compares a result and an error that must contain some text.
func check(t *testing.T, text string, got uint64, err error, want uint64, wantErr string) {
	t.Helper()
	switch {
	case (err == nil) != (wantErr == "") || got != want:
		t.Errorf("%.40q: got %d, %v, want %d %s", text, got, err, want, wantErr)
	case err != nil && (!strings.Contains(err.Error(), wantErr) || len(err.Error()) > 500):
		t.Errorf("%.40q: got error %q, want %q", text, err, wantErr)
	}
}

const (
	minute = 60 * second
	hour   = 60 * minute
	bad    = "must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), got "
	over   = "w out of range: it must be from 1ms to 3155760000s, got "
)

var durations = []struct {
	text string
	want uint64
	err  string
}{
	{"1w", 7 * day, ""}, {"1d", day, ""}, {"7d", 7 * day, ""}, {"1h", hour, ""}, {"1m", minute, ""},
	{"1s", second, ""}, {"1ms", millisecond, ""}, {"250ms", 250 * millisecond, ""},
	{"1h30m", hour + 30*minute, ""}, {"1w2d3h4m5s6ms", 9*day + 3*hour + 4*minute + 5*second + 6*millisecond, ""},
	{"1m1ms", minute + millisecond, ""}, {"1d1s", day + second, ""}, {"90m", 90 * minute, ""}, {"1h0m", hour, ""},
	{"0h1s", second, ""}, {"01h", hour, ""}, {strings.Repeat("0", 500) + "5s", 5 * second, ""}, {"1000ms", second, ""},
	{"60", minute, ""}, {"1", second, ""}, {"0.5", second / 2, ""}, {"0.001", millisecond, ""}, {"00.25", second / 4, ""},
	{"1.5", 1500 * millisecond, ""}, {"2.500000", 2500 * millisecond, ""}, {"007", 7 * second, ""}, {"0.05", 50 * millisecond, ""},
	{"3155760000", century, ""}, {"3155760000s", century, ""}, {"3155760000.000", century, ""}, {"36525d", century, ""},
	{"3155760000000ms", century, ""}, {"5217w6d", century, ""},

	{"0", 0, over + "'0'"}, {"0s", 0, over}, {"0.000", 0, over}, {"0ms", 0, over}, {"0w0d0h0m0s0ms", 0, over},
	{"3155760001", 0, over}, {"3155760000.001", 0, over}, {"3155760000s1ms", 0, over}, {"5218w", 0, over},
	{"18446744073709551616s", 0, over}, {"18446744073709551615", 0, over}, {"99999999999999999999999999", 0, over},
	{"30500568905w", 0, over}, // 2^64 nanoseconds and a little
	{"18446744074", 0, over}, {"18446744073.710", 0, over}, {"18446744073709551617ms", 0, over},
	{"18446744073s710ms", 0, over}, {"18446744073709551615w18446744073709551615d", 0, over},

	{"", 0, bad + "''"}, {" 1", 0, bad + "' 1'"}, {"1 ", 0, bad}, {"+1", 0, bad}, {"-1", 0, bad + "'-1'"}, {"-1s", 0, bad},
	{"1e3", 0, bad}, {"0x5", 0, bad}, {"1.5h", 0, bad}, {".5", 0, bad}, {"5.", 0, bad}, {".", 0, bad}, {"0.0005", 0, bad},
	{"0.0001", 0, bad}, {"1.0001", 0, bad}, {"1..5", 0, bad}, {"1.5.5", 0, bad}, {"1.-5", 0, bad}, {"0.5s", 0, bad},
	{"30m1h", 0, bad}, {"1h1h", 0, bad}, {"1ms1s", 0, bad}, {"1s1s", 0, bad}, {"1m1h30s", 0, bad}, {"1d1w", 0, bad},
	{"h", 0, bad}, {"1hm", 0, bad}, {"1h30", 0, bad}, {"1h 30m", 0, bad}, {"1 h", 0, bad}, {"1H", 0, bad}, {"1M", 0, bad},
	{"1S", 0, bad}, {"1MS", 0, bad}, {"1us", 0, bad}, {"1ns", 0, bad}, {"1s1us", 0, bad}, {"1y", 0, bad}, {"1mo", 0, bad},
	{"1min", 0, bad}, {"1sec", 0, bad}, {"1s\x00", 0, bad}, {"day", 0, bad}, {"1٣s", 0, bad}, {"inf", 0, bad}, {"1,5", 0, bad},
	{"1h-30m", 0, bad}, {"1h+30m", 0, bad}, {"1_000", 0, bad}, {"1µs", 0, bad},
}

func TestParseDuration(t *testing.T) {
	for _, r := range durations {
		got, err := ParseDuration("w", []byte(r.text), WindowMaxNanos)
		check(t, r.text, got, err, r.want, r.err)
	}
	_, err := ParseDuration("ttl", []byte("61s"), minute)
	check(t, "61s", 0, err, 0, "ttl out of range: it must be from 1ms to 60s, got '61s'")
	got, err := ParseDuration("ttl", []byte("60s"), minute)
	check(t, "60s", got, err, minute, "")
}

func TestParseFineDuration(t *testing.T) {
	for _, r := range durations {
		if strings.Contains(r.text, "us") || strings.Contains(r.text, "ns") {
			continue
		}
		want := strings.Replace(r.err, "250ms, 90s, 1h30m or 7d (a bare number is seconds)", "1s, 250ms, 10us or 1ns", 1)
		want = strings.Replace(want, "from 1ms", "from 1ns", 1)
		got, err := ParseFineDuration("w", []byte(r.text))
		check(t, r.text, got, err, r.want, want)
	}
	for text, want := range map[string]uint64{
		"1ns": 1, "1us": 1000, "10us": 10_000, "1ms1us1ns": 1_001_001, "1s999999999ns": 2*second - 1, "500ns": 500,
		"1w1ns": 7*day + 1, "3155760000000000000ns": century, "0s1ns": 1,
	} {
		got, err := ParseFineDuration("w", []byte(text))
		check(t, text, got, err, want, "")
	}
	for _, text := range []string{"1ns1us", "1us1us", "1ps", "1.5us"} {
		got, err := ParseFineDuration("w", []byte(text))
		check(t, text, got, err, 0, "w must be a duration such as")
	}
	for _, text := range []string{"0ns", "0", "3155760000000000001ns", "18446744073709551616ns"} {
		got, err := ParseFineDuration("w", []byte(text))
		check(t, text, got, err, 0, "w out of range: it must be from 1ns to 3155760000s, got '"+text+"'")
	}
}

func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "a b": "a b", "it's": "it's", `"`: `\"`, `\`: `\\`, "\r\n": `\r\n`, "\x1b[31m": `\x1b[31m`,
		"é": `\u00e9`, "\xff": `\xff`, "\x00": `\x00`, "\u202e": `\u202e`, "😀": `\U0001f600`,
		strings.Repeat("x", 64):              strings.Repeat("x", 64),
		strings.Repeat("x", 65):              strings.Repeat("x", 64) + "...",
		strings.Repeat("x", 63) + "éé":       strings.Repeat("x", 63) + `\xc3...`,
		strings.Repeat("x", 70_000) + "\r\n": strings.Repeat("x", 64) + "...",
	} {
		got := Show([]byte(text))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"tokenbuket": "token_bucket", "token_bucket": "token_bucket", "tokenbucket": "token_bucket", "leaky": "",
		"leaky_buket": "leaky_bucket", "gcr": "gcra", "crga": "", "gcraa": "gcra", "gcrb": "gcra", "slidinglog": "sliding_log",
		"sliding_window": "", "fixed_windows": "fixed_window", "fixed_widow": "fixed_window", "sliding_conter": "sliding_counter",
		"sliding_lgo": "sliding_log", "": "", "x": "", "zebra": "", "TOKEN_BUCKET": "", strings.Repeat("g", 70_000): "",
	} {
		if got := Nearest(word, Names()); got != want {
			t.Errorf("%.40q: got %q, want %q", word, got, want)
		}
	}
	if got := Nearest("ab", []string{"ax", "ab", "xb"}); got != "ab" {
		t.Errorf("an exact word is %q", got)
	}
	if got := Nearest("abc", []string{"abx", "xbc"}); got != "abx" {
		t.Errorf("of equal distances the first, not %q", got)
	}
	if got := Nearest("abc", nil); got != "" {
		t.Errorf("of nothing %q", got)
	}
}

// distance against its definition.
func TestDistance(t *testing.T) {
	var naive func(a, b string) int
	naive = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return naive(a[1:], b[1:])
		}
		return 1 + min(naive(a[1:], b), naive(a, b[1:]), naive(a[1:], b[1:]))
	}
	words := []string{"", "a", "b", "ab", "ba", "abc", "acb", "cab", "aab", "abab", "baba", "kitten", "sitting"}
	for _, a := range words {
		for _, b := range words {
			want := naive(a, b)
			for most := range 9 {
				if got := distance(a, b, most); min(got, most) != min(want, most) {
					t.Errorf("%q to %q, at most %d: got %d, want %d", a, b, most, got, want)
				}
			}
		}
	}
}

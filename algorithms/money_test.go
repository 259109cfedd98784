package algorithms

// Rows for the decimals of budgets.

import (
	"strings"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	const bad = "spend must be a decimal such as 25 or 0.0132 with at most six decimals, got "
	const over = "spend out of range: it must be a decimal from 0.000001 to 9007199254.740991, got "
	for _, r := range []struct {
		text string
		want uint64
		err  string
	}{
		{"25", 25_000_000, ""}, {"25.00", 25_000_000, ""}, {"0.0132", 13_200, ""}, {"0.000001", 1, ""}, {"007.5", 7_500_000, ""},
		{"1.234567", 1_234_567, ""}, {"9007199254.740991", UnitsMax, ""}, {strings.Repeat("0", 300) + "1", 1_000_000, ""},

		{"0", 0, over + "'0'"}, {"0.000000", 0, over}, {"9007199254.740992", 0, over}, {"9007199255", 0, over},
		{"18446744073709.551616", 0, over}, {"18446744073709551616", 0, over}, {"18446744073709.551617", 0, over},
		{"99999999999999999999999999.1", 0, over},

		{"", 0, bad + "''"}, {".5", 0, bad}, {"5.", 0, bad}, {".", 0, bad}, {"1.2345678", 0, bad}, {"1.0000000", 0, bad},
		{"-1", 0, bad}, {"+1", 0, bad}, {" 1", 0, bad}, {"1 ", 0, bad}, {"1e3", 0, bad}, {"0x5", 0, bad}, {"1,5", 0, bad},
		{"1.5.5", 0, bad}, {"1.-5", 0, bad}, {"1. 5", 0, bad}, {"1.5 ", 0, bad}, {"$5", 0, bad}, {"NaN", 0, bad}, {"1.:", 0, bad}, {"1./", 0, bad},
	} {
		got, err := ParseDecimal("spend", []byte(r.text), 1)
		check(t, r.text, got, err, r.want, r.err)
	}
	got, err := ParseDecimal("spend", []byte("0.000"), 0)
	check(t, "0.000", got, err, 0, "")
}

func TestFormatDecimal(t *testing.T) {
	for want, m := range map[string]uint64{
		"0": 0, "0.000001": 1, "0.0132": 13_200, "1": 1_000_000, "25": 25_000_000, "25.5": 25_500_000, "10.01": 10_010_000,
		"1.234567": 1_234_567, "9007199254.740991": UnitsMax, "18446744073709.551615": 1<<64 - 1, "0.1": 100_000,
	} {
		if got := FormatDecimal(m); got != want {
			t.Errorf("%d: got %s, want %s", m, got, want)
		}
		if m > 0 && m <= UnitsMax {
			back, err := ParseDecimal("n", []byte(want), 1)
			check(t, want, back, err, m, "")
		}
	}
	if got := string(AppendDecimal([]byte("x "), 1_500_000)); got != "x 1.5" {
		t.Errorf("appended %q", got)
	}
}

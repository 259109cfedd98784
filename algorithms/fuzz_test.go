package algorithms

// Fuzz targets: the readers against regular expressions and math/big, decisions
// against the oracle. The bytes of FuzzDecide are the dice of a random history, so
// that the fuzzer plays the same corners as the laws do.

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"regexp"
	"testing"
)

var (
	wholeForm    = regexp.MustCompile(`^[0-9]+$`)
	bareForm     = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]{1,3})0*)?$`)
	durationForm = regexp.MustCompile(`^(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?$`)
	fineForm     = regexp.MustCompile(`^(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?(?:([0-9]+)us)?(?:([0-9]+)ns)?$`)
)

// sumOf is the duration that a text has in a form, nil where it has none.
func sumOf(text string, form *regexp.Regexp) *big.Int {
	if m := bareForm.FindStringSubmatch(text); m != nil {
		ms, _ := new(big.Int).SetString(m[1]+(m[2] + "000")[:3], 10)
		return ms.Mul(ms, whole(millisecond))
	}
	m := form.FindStringSubmatch(text)
	if text == "" || m == nil {
		return nil
	}
	sum := new(big.Int)
	for i, nanos := range []uint64{7 * day, day, hour, minute, second, millisecond, 1000, 1}[:len(m)-1] {
		if n, ok := new(big.Int).SetString(m[i+1], 10); ok {
			sum.Add(sum, n.Mul(n, whole(nanos)))
		}
	}
	return sum
}

func within(n *big.Int, least, most uint64) bool {
	return n != nil && n.Cmp(whole(least)) >= 0 && n.Cmp(whole(most)) <= 0
}

// read fails where a reader's result is not the wanted one.
func read(t *testing.T, text string, got uint64, err error, want *big.Int, legal bool) {
	t.Helper()
	if legal != (err == nil) || legal && want.Cmp(whole(got)) != 0 || err != nil && got != 0 {
		t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
	}
	if err != nil && len(err.Error()) > 1000 {
		t.Errorf("%q: an error of %d bytes", text, len(err.Error()))
	}
}

func FuzzDuration(f *testing.F) {
	for _, r := range durations {
		f.Add(r.text)
	}
	f.Add("1s999us999ns")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDuration("w", []byte(text), WindowMaxNanos)
		want := sumOf(text, durationForm)
		read(t, text, got, err, want, within(want, millisecond, WindowMaxNanos))
		got, err = ParseFineDuration("w", []byte(text))
		want = sumOf(text, fineForm)
		read(t, text, got, err, want, within(want, 1, WindowMaxNanos))
	})
}

func FuzzWhole(f *testing.F) {
	for _, text := range []string{"", "0", "1", "007", "-1", "+1", " 1", "1e3", "0x5", "9007199254740991", "9007199254740992",
		"18446744073709551615", "18446744073709551616", "99999999999999999999"} {
		f.Add(text, uint64(1), uint64(UnitsMax))
	}
	f.Fuzz(func(t *testing.T, text string, least, most uint64) {
		most = min(most, 1<<64-2)
		got, err := ParseWhole("n", []byte(text), least, most)
		var want *big.Int
		if wholeForm.MatchString(text) {
			want, _ = new(big.Int).SetString(text, 10)
		}
		read(t, text, got, err, want, within(want, least, most))
	})
}

// tape is a source of dice: the fuzzer's bytes, and after them a fixed sequence.
type tape struct {
	bytes []byte
	after rand.PCG
}

func (t *tape) Uint64() uint64 {
	if len(t.bytes) == 0 {
		return t.after.Uint64()
	}
	var word [8]byte
	n := copy(word[8-min(8, len(t.bytes)):], t.bytes)
	t.bytes = t.bytes[n:]
	return binary.LittleEndian.Uint64(word[:])
}

func FuzzDecide(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for id := range len(Rates()) {
		for range 4 {
			seed := make([]byte, 100+r.IntN(900))
			for i := range seed {
				seed[i] = byte(r.Uint64())
			}
			f.Add(byte(id), seed)
		}
	}
	f.Fuzz(func(t *testing.T, id byte, bytes []byte) {
		a := &Rates()[int(id)%len(Rates())]
		h := drawHistory(rand.New(&tape{bytes: bytes}), a)
		w, d := newTwins(), Decision{}
		var steps []step
		for range h.calls {
			s := h.next(w.key, &d)
			steps = append(steps, s)
			var err error
			if d, err = w.ask(s); err != nil {
				t.Fatalf("%v\n%s", err, transcript(steps))
			}
			if err := tight(w.key, s, d); err != nil {
				t.Fatalf("%v\n%s", err, transcript(steps))
			}
		}
	})
}

package algorithms

// Transcripts: calls on one key and the answers they must get, a line each, in the
// notation of the contract and of the reported cases.
//
//	@<seconds after T0> algorithm limit window cost [BURST n] [ALIGN a] [TZ zone] [ANCHOR n] [PEEK] [xN [+step]]  answer
//
// A cost of 0 is a look, PEEK makes any other one a look. xN asks N times, a step
// apart. The answer is
//
//	A <remaining> [reset <ms>] [delay <ms>] [of <limit>]
//	D <remaining> [<retry after, ms>] [reset <ms>] [of <limit>]
//	ERR [<part of the text>]
//	PASS <how many of the N calls pass>
//
// where what is not said may be anything, and remaining may be said for N calls
// as 9..0 or 9,8,8. Every denial is asked again after its wait and a millisecond
// earlier, and no call that is an error or denied may change the key.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

var shortNames = map[string]string{
	"token": "token_bucket", "leaky": "leaky_bucket", "fixed": "fixed_window",
	"log": "sliding_log", "counter": "sliding_counter",
}

// play runs a transcript on a fresh key.
func play(t *testing.T, text string) {
	t.Helper()
	k := newKey()
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := playLine(k, line); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
}

func playLine(k *key, line string) error {
	r, err := readRow(line)
	if r.wants("ERR") {
		if err == nil || !strings.Contains(err.Error(), r.text) {
			return fmt.Errorf("got error %v", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	passed := 0
	for i := range r.times {
		before, d := k.clone(), k.ask(r.step)
		if d.Allowed && !r.step.peek {
			passed++
		} else if err := k.differs("a call that does not spend", before); err != nil {
			return err
		}
		if err := tight(k, r.step, d); err != nil {
			return err
		}
		if err := r.check(i, d); err != nil {
			return fmt.Errorf("call %d: %w, got %+v", i+1, err, d)
		}
		r.step.call.Now += r.every
	}
	if r.wants("PASS") && passed != r.passed {
		return fmt.Errorf("%d pass", passed)
	}
	return nil
}

// tight asks a denied call again at the end of its wait and before.
func tight(k *key, s step, d Decision) error {
	switch now := k.settled(s.call.Now); {
	case d.Allowed && d.RetryAfter != 0 || d.Remaining > d.Limit || d.ResetAfter < d.RetryAfter:
		return fmt.Errorf("impossible: %+v", d)
	case d.Allowed || d.RetryAfter == Never && s.call.Cost > d.Limit:
		return nil
	case d.RetryAfter < 1, !k.ask(s.at(now + uint64(d.RetryAfter)*millisecond)).Allowed,
		k.ask(s.at(now + uint64(d.RetryAfter-1)*millisecond)).Allowed:
		return fmt.Errorf("the wait is not tight: %+v", d)
	}
	return nil
}

// row is a line that has been read.
type row struct {
	step      step
	times     int
	every     uint64
	verdict   string // A, D, ERR or PASS
	remaining []uint64
	say       map[string]int64 // what else is said
	passed    int
	text      string
}

func (r *row) wants(verdict string) bool { return r.verdict == verdict }

func (r *row) check(i int, d Decision) error {
	if r.wants("PASS") {
		return nil
	}
	if want := r.wants("A"); d.Allowed != want {
		return fmt.Errorf("want allowed %v", want)
	}
	if want := r.remaining[i%len(r.remaining)]; d.Remaining != want {
		return fmt.Errorf("want remaining %d", want)
	}
	for field, got := range map[string]int64{
		"retry": d.RetryAfter, "reset": d.ResetAfter, "delay": d.Delay, "of": int64(d.Limit),
	} {
		if want, said := r.say[field]; said && got != want {
			return fmt.Errorf("want %s %d", field, want)
		}
	}
	return nil
}

// readRow reads a line. The error is the one that a caller of the limiter would
// get; a line that is not written right panics.
func readRow(line string) (r row, err error) {
	words := strings.Fields(line)
	split := 0
	for !strings.Contains(" A D ERR PASS ", " "+words[split]+" ") {
		split++
	}
	r.readAnswer(words[split:])
	return r, r.readCall(words[:split])
}

func (r *row) readAnswer(w []string) {
	r.verdict, r.say, w = w[0], map[string]int64{}, w[1:]
	switch r.verdict {
	case "ERR":
		r.text = strings.Join(w, " ")
		return
	case "PASS":
		r.passed = int(number(w[0]))
		return
	}
	r.remaining, w = series(w[0]), w[1:]
	if r.verdict == "D" && len(w)%2 == 1 {
		w = append([]string{"retry"}, w...)
	}
	for ; len(w) > 0; w = w[2:] {
		r.say[w[0]] = number(w[1])
	}
}

// series reads 7, 9..0 or 9,8,8.
func series(text string) (all []uint64) {
	if from, to, ok := strings.Cut(text, ".."); ok {
		for n := number(from); n >= number(to); n-- {
			all = append(all, uint64(n))
		}
		return all
	}
	for n := range strings.SplitSeq(text, ",") {
		all = append(all, uint64(number(n)))
	}
	return all
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// seconds reads a decimal number of seconds, to the nanosecond and also below 0.
func seconds(text string) int64 {
	whole, fraction, _ := strings.Cut(text, ".")
	return number(whole + (fraction + "000000000")[:9])
}

// readCall reads a call as the server does.
func (r *row) readCall(w []string) error {
	r.times = 1
	c := &r.step.call
	c.Now = startOfTests + uint64(seconds(w[0][1:]))
	name := w[1]
	if long, ok := shortNames[name]; ok {
		name = long
	}
	id, ok := Lookup([]byte(name))
	if !ok {
		return fmt.Errorf("unknown algorithm '%s'", name)
	}
	spec := Spec{Algorithm: id}
	var err error
	if spec.Units, err = ParseWhole("limit", []byte(w[2]), 1, UnitsMax); err != nil {
		return err
	}
	if spec.Align, ok = ParseCalendar([]byte(w[3])); !ok {
		if spec.Window, err = ParseDuration("window", []byte(w[3]), WindowMaxNanos); err != nil {
			return err
		}
	}
	if c.Cost, err = ParseWhole("cost", []byte(w[4]), 0, UnitsMax); err != nil {
		return err
	}
	r.step.peek = c.Cost == 0
	for w = w[5:]; len(w) > 0; w = w[1:] {
		switch {
		case w[0] == "PEEK":
			r.step.peek = true
		case w[0] == "BURST":
			if spec.Burst, err = ParseWhole("burst", []byte(w[1]), 1, UnitsMax); err != nil {
				return err
			}
			w = w[1:]
		case w[0] == "ALIGN":
			spec.Align = map[string]Align{"EPOCH": AlignEpoch, "FIRST": AlignFirst, "JITTER": AlignJitter}[w[1]]
			spec.AlignSet, w = true, w[1:]
		case w[0] == "TZ":
			if spec.Zone, err = ParseZone(w[1]); err != nil {
				return err
			}
			spec.ZoneSet, w = true, w[1:]
		case w[0] == "ANCHOR":
			spec.Anchor, w = uint8(number(w[1])), w[1:]
		case w[0][0] == 'x':
			r.times = int(number(w[0][1:]))
		case w[0][0] == '+':
			if r.every, err = ParseFineDuration("step", []byte(w[0][1:])); err != nil {
				panic(err)
			}
		default:
			panic("what is " + w[0])
		}
	}
	l, err := NewLimit(spec, LogLimitMaxDefault)
	c.Limit = &l
	return err
}

package client

// Replies, read strictly: a reply of another shape than the contract's is an error
// that shows it, never a decision made of what happened to be there. Shapes are
// read with a reader that goes over the elements and remembers the first fault.

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// reader goes over the elements of an array.
type reader struct {
	command string
	whole   any
	list    []any
	at      int
	err     error
}

// read begins a reply that must be an array.
func read(command string, reply any) *reader {
	r := &reader{command: command, whole: reply}
	list, ok := reply.([]any)
	if !ok {
		r.fail("an array")
	}
	r.list = list
	return r
}

// inner begins an array inside of the reply.
func (r *reader) inner() *reader {
	in := &reader{command: r.command, whole: r.whole, err: r.err}
	list, ok := r.next("an array").([]any)
	if !ok {
		in.fail("an array inside")
	}
	in.list = list
	return in
}

// take ends an inner array and passes its fault on.
func (r *reader) take(in *reader) {
	in.end()
	if r.err == nil {
		r.err = in.err
	}
}

func (r *reader) fail(want string) {
	if r.err == nil {
		r.err = &ReplyError{Command: r.command, Want: want, At: r.at, Got: fmt.Sprintf("%#v", r.whole)}
	}
}

func (r *reader) next(want string) any {
	if r.err != nil {
		return nil
	}
	if r.at >= len(r.list) {
		r.fail(want)
		return nil
	}
	r.at++
	return r.list[r.at-1]
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.list) }

// integer reads a whole number in a range.
func (r *reader) integer(name string, low, high int64) int64 {
	n, ok := r.next(name).(int64)
	if r.err == nil && (!ok || n < low || n > high) {
		r.fail(fmt.Sprintf("%s, an integer from %d to %d", name, low, high))
	}
	return n
}

func (r *reader) flag(name string) bool { return r.integer(name, 0, 1) == 1 }

func (r *reader) text(name string) string {
	s, ok := r.next(name).(string)
	if r.err == nil && !ok {
		r.fail(name + ", a string")
	}
	return s
}

// textOrNil reads a string; "" for nil.
func (r *reader) textOrNil(name string) string {
	if r.more() && r.list[r.at] == nil {
		r.at++
		return ""
	}
	return r.text(name)
}

// units reads an integer or, for money, a decimal, which comes back in millionths.
func (r *reader) units(name string, money *bool) int64 { return r.unitsUpTo(name, money, UnitsMax) }

func (r *reader) unitsUpTo(name string, money *bool, high int64) int64 {
	if s, ok := r.peek().(string); ok {
		r.at++
		n, ok := parseDecimal(s)
		if !ok {
			r.fail(name + ", a decimal")
		}
		*money = true
		return n
	}
	return r.integer(name, 0, high)
}

// instant reads an instant in ms since 1970.
func (r *reader) instant(name string) time.Time {
	return time.UnixMilli(r.integer(name, 0, UnitsMax)).UTC()
}

func (r *reader) peek() any {
	if !r.more() {
		return nil
	}
	return r.list[r.at]
}

func (r *reader) wait(name string, low int64) time.Duration {
	return waitOf(r.integer(name, low, UnitsMax))
}

// end complains about elements that nobody has read.
func (r *reader) end() {
	if r.more() {
		r.fail("no more elements")
	}
}

// ReplyError is a reply of another shape than this client knows: the server is no
// Sluice, or another version. It matches ErrReply.
type ReplyError struct {
	Command string // what was asked
	Want    string // what should have been there
	At      int    // how many elements were read before the fault
	Got     string // the whole reply
}

func (e *ReplyError) Error() string {
	return fmt.Sprintf("sluice: %s replied %s: want %s after element %d", e.Command, e.Got, e.Want, e.At)
}

// Is makes errors.Is find ErrReply.
func (e *ReplyError) Is(target error) bool { return target == ErrReply }

// decision reads the six fields that decisions begin with.
func (r *reader) decision() (d Decision) {
	d.Allowed = r.flag("allowed")
	d.Limit = r.units("limit", &d.Money)
	d.Remaining = r.units("remaining", &d.Money)
	d.RetryAfter = r.wait("retry_after_ms", -1)
	d.ResetAfter = r.wait("reset_after_ms", 0)
	d.Delay = r.wait("delay_ms", 0)
	switch {
	case d.Allowed && d.RetryAfter != 0:
		r.fail("retry_after_ms 0 with allowed")
	case !d.Allowed && d.RetryAfter == 0:
		r.fail("retry_after_ms on a denial")
	case d.Remaining > d.Limit:
		r.fail("remaining no greater than limit")
	}
	return d
}

// answer is RL.ALLOW's reply: with a plan its limit's name follows, and then an id
// where one was made.
func answer(command string, reply any, l Limit) (Decision, error) {
	r := read(command, reply)
	d := r.decision()
	if l.algorithm == plan {
		d.LimitName = r.textOrNil("limit name")
		if r.more() {
			d.ID = r.textOrNil("id")
		}
	}
	r.end()
	return d, r.err
}

// parseDecimal reads a decimal without sign as millionths.
func parseDecimal(s string) (int64, bool) {
	whole, rest, dotted := strings.Cut(s, ".")
	if whole == "" || dotted && rest == "" || len(rest) > 6 {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+rest+strings.Repeat("0", 6-len(rest)), 10, 63)
	return int64(n), err == nil
}

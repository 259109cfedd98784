package client

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func list(elements ...any) []any { return elements }

func ints(numbers ...int64) []any {
	var l []any
	for _, n := range numbers {
		l = append(l, n)
	}
	return l
}

func TestAnswer(t *testing.T) {
	pro := Plan("pro")
	tb := TokenBucket(10, time.Second)
	for _, row := range []struct {
		limit Limit
		reply any
		want  Decision
	}{
		{tb, ints(1, 10, 2, 0, 8000, 0), Decision{Allowed: true, Limit: 10, Remaining: 2, ResetAfter: 8 * time.Second}},
		{tb, ints(0, 10, 2, -1, 8000, 0), Decision{Limit: 10, Remaining: 2, RetryAfter: Never, ResetAfter: 8 * time.Second}},
		{tb, ints(0, 10, 0, 1, UnitsMax, 0), Decision{Limit: 10, RetryAfter: time.Millisecond, ResetAfter: math.MaxInt64}},
		{tb, ints(1, 5, 2, 0, 600, 400), Decision{Allowed: true, Limit: 5, Remaining: 2, ResetAfter: 600 * time.Millisecond, Delay: 400 * time.Millisecond}},
		{Budget(Whole, time.Hour), list(int64(1), "1", "0.25", int64(0), int64(5), int64(0)),
			Decision{Allowed: true, Limit: Whole, Remaining: 250_000, ResetAfter: 5 * time.Millisecond, Money: true}},
		{pro, append(ints(1, 10, 2, 0, 8000, 0), "rpm"), Decision{Allowed: true, Limit: 10, Remaining: 2, ResetAfter: 8 * time.Second, LimitName: "rpm"}},
		{pro, append(ints(1, 10, 2, 0, 8000, 0), "rpm", "r1"), Decision{Allowed: true, Limit: 10, Remaining: 2, ResetAfter: 8 * time.Second, LimitName: "rpm", ID: "r1"}},
	} {
		got, err := answer("RL.ALLOW", row.reply, row.limit)
		if err != nil || got != row.want {
			t.Errorf("%v: got %+v, %v, want %+v", row.reply, got, err, row.want)
		}
	}
}

// A reply of another shape is never a decision.
func TestAnswerOfAnotherShape(t *testing.T) {
	tb := TokenBucket(10, time.Second)
	for _, row := range []struct {
		limit Limit
		reply any
	}{
		{tb, nil},
		{tb, "OK"},
		{tb, int64(1)},
		{tb, list()},
		{tb, ints(1)},
		{tb, ints(1, 10, 2, 0, 8000)},
		{tb, ints(1, 10, 2, 0, 8000, 0, 0)},
		{tb, ints(2, 10, 2, 0, 8000, 0)},
		{tb, ints(-1, 10, 2, 0, 8000, 0)},
		{tb, ints(1, 10, 11, 0, 8000, 0)},
		{tb, ints(1, 10, -1, 0, 8000, 0)},
		{tb, ints(1, 10, 2, 5, 8000, 0)},
		{tb, ints(0, 10, 2, 0, 8000, 0)},
		{tb, ints(0, 10, 2, -2, 8000, 0)},
		{tb, ints(1, 10, 2, 0, -1, 0)},
		{tb, ints(1, 10, 2, 0, 8000, -1)},
		{tb, list("1", int64(10), int64(2), int64(0), int64(0), int64(0))},
		{tb, list(int64(1), "many", int64(2), int64(0), int64(0), int64(0))},
		{tb, list(int64(1), nil, int64(2), int64(0), int64(0), int64(0))},
		{tb, append(ints(1, 10, 2, 0, 8000, 0), "rpm")},
		{Plan("pro"), ints(1, 10, 2, 0, 8000, 0)},
		{Plan("pro"), append(ints(1, 10, 2, 0, 8000, 0), int64(7))},
		{Plan("pro"), append(ints(1, 10, 2, 0, 8000, 0), "rpm", "r1", "more")},
	} {
		got, err := answer("RL.ALLOW", row.reply, row.limit)
		if !errors.Is(err, ErrReply) || !strings.Contains(err.Error(), "RL.ALLOW replied") {
			t.Errorf("%#v: got %+v, %v", row.reply, got, err)
		}
	}
}

func TestDecisionErr(t *testing.T) {
	if err := (Decision{Allowed: true}).Err(); err != nil {
		t.Error(err)
	}
	for _, row := range []struct {
		d    Decision
		want string
		away bool
	}{
		{Decision{RetryAfter: time.Second}, "sluice: denied: retry after 1s", false},
		{Decision{RetryAfter: Never}, "sluice: denied: the cost is above the limit", false},
		{Decision{Unavailable: true}, "sluice: denied: the server cannot be reached", true},
	} {
		err := row.d.Err()
		var denied *DeniedError
		if !errors.Is(err, ErrDenied) || errors.Is(err, ErrUnavailable) != row.away || !errors.As(err, &denied) || denied.Decision != row.d {
			t.Errorf("%+v: %v", row.d, err)
		}
		if err.Error() != row.want {
			t.Errorf("says %q, want %q", err, row.want)
		}
	}
}

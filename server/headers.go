package server

// The headers of a response, made of a verdict. RateLimit-Policy and RateLimit are
// those of the IETF's draft (draft-ietf-httpapi-ratelimit-headers, revision 11); the
// three RateLimit-* of its earlier revisions, which most clients and proxies read
// today, stand beside them. All of them are in whole seconds from now, rounded up, so
// that who waits as told is not sent away again. They tell of the binding limit; of
// money nothing is told, for which the draft has no unit.

import (
	"fmt"
	"math/bits"
	"strconv"

	"sluice/algorithms"
)

// Header is a field of a response.
type Header struct{ Name, Value string }

// structuredMax is the largest number that structured fields may hold: 15 digits.
const structuredMax = 999_999_999_999_999

// Headers are the header fields for the response: what the binding limit is and how
// much of it is left, and on a denial when to try again, unless that is never.
func (v *Verdict) Headers() (headers []Header) {
	d := &v.Decision
	wait := secondsUp(d.ResetAfter)
	if d.RetryAfter > 0 {
		wait = secondsUp(d.RetryAfter)
	}
	if v.Limit != nil && v.Limit.Kind() != algorithms.Money {
		limit, remaining := min(d.Limit, structuredMax), min(d.Remaining, structuredMax)
		headers = []Header{
			{"RateLimit-Policy", fmt.Sprintf("%q;q=%d%s", v.LimitName, limit, policyWindow(v.Limit))},
			{"RateLimit", fmt.Sprintf("%q;r=%d;t=%d", v.LimitName, remaining, wait)},
			{"RateLimit-Limit", strconv.FormatUint(limit, 10)},
			{"RateLimit-Remaining", strconv.FormatUint(remaining, 10)},
			{"RateLimit-Reset", strconv.FormatInt(wait, 10)},
		}
	}
	if d.RetryAfter > 0 {
		headers = append(headers, Header{"Retry-After", strconv.FormatInt(wait, 10)})
	}
	return headers
}

// policyWindow is in how many seconds the quota is earned: that of a bucket's burst.
// The windows of a calendar differ in length, and permits have none.
func policyWindow(l *algorithms.Limit) string {
	switch {
	case l.Kind() == algorithms.Permits:
		return `;qu="concurrent-requests"`
	case l.Align.IsCalendar():
		return ""
	}
	high, low := bits.Mul64(l.Window, l.Burst)
	window, _ := bits.Div64(high, low, l.Units) // a hundred years at most
	return fmt.Sprintf(";w=%d", max((window+nanosPerSecond-1)/nanosPerSecond, 1))
}

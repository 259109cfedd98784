package middleware

// What a response tells. RateLimit-Policy and RateLimit are those of the IETF's draft
// (draft-ietf-httpapi-ratelimit-headers, revision 11), X-RateLimit-* what came before.
// Every time is in whole seconds from now, rounded up, so that who waits as told is not
// sent away again; what is left is rounded down. Of money nothing is told but Retry-After:
// the draft has no unit for it.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"sluice/client"
)

// dialect is a set of header fields.
type dialect uint8

const (
	draft11 dialect = 1 << iota
	xRateLimit
)

// structuredMax is the largest number that structured fields may hold: 15 digits.
const structuredMax = 999_999_999_999_999

// The problem types of the draft.
const (
	quotaExceeded    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity  = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	defaultLimitName = "default"
)

// XRateLimit has responses tell X-RateLimit-Limit, -Remaining and -Reset (in seconds from
// now) beside the draft's fields, or, with alone, instead of them.
func XRateLimit(alone bool) Option {
	return func(s *settings) error {
		s.dialects |= xRateLimit
		if alone {
			s.dialects = xRateLimit
		}
		return nil
	}
}

// NoHeaders has responses tell nothing but Retry-After, on a denial.
func NoHeaders() Option {
	return func(s *settings) error { s.dialects = 0; return nil }
}

// told is a decision with what is told beside it.
type told struct {
	client.Decision
	name   string            // of the limit
	window time.Duration     // in which the limit is earned; 0: not told
	unit   string            // "" is requests
	ready  map[string]string // the draft's fields as the server made them
	silent bool              // nothing limits the request
}

// tell says what is told of a decision by By's limit.
func (h *handler) tell(d client.Decision) told {
	t := told{Decision: d, name: d.LimitName}
	if t.name == "" {
		t.name = defaultLimitName
	}
	if h.limited {
		t.window = h.limit.Refill()
	}
	return t
}

// wait is how long until something is to be had: until the call would pass, or until
// everything is there again.
func (t *told) wait() int64 {
	if t.RetryAfter > 0 {
		return seconds(t.RetryAfter)
	}
	return seconds(t.ResetAfter)
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return min(n, structuredMax)
}

// headers sets the fields of a response.
func (h *handler) headers(to http.Header, t told) {
	if t.silent || t.Money || h.dialects == 0 || t.Unavailable {
		return
	}
	limit, remaining := min(t.Limit, structuredMax), min(t.Remaining, structuredMax)
	if h.dialects&draft11 != 0 {
		policy, state := t.ready["RateLimit-Policy"], t.ready["RateLimit"]
		if policy == "" {
			policy = fmt.Sprintf("%q;q=%d", t.name, limit)
			if t.unit != "" {
				policy += fmt.Sprintf(";qu=%q", t.unit)
			}
			if t.window > 0 {
				policy += fmt.Sprintf(";w=%d", max(1, seconds(t.window)))
			}
			state = fmt.Sprintf("%q;r=%d;t=%d", t.name, remaining, t.wait())
		}
		to.Set("RateLimit-Policy", policy)
		to.Set("RateLimit", state)
	}
	if h.dialects&xRateLimit != 0 {
		to.Set("X-RateLimit-Limit", strconv.FormatInt(limit, 10))
		to.Set("X-RateLimit-Remaining", strconv.FormatInt(remaining, 10))
		to.Set("X-RateLimit-Reset", strconv.FormatInt(t.wait(), 10))
	}
	if t.Stale > 0 {
		to.Set("X-RateLimit-Stale", strconv.FormatFloat(t.Stale.Seconds(), 'f', 3, 64))
	}
}

// deny answers a request that is denied: 429, or 503 if nothing is known of the limit.
func (h *handler) deny(w http.ResponseWriter, t told) {
	h.headers(w.Header(), t)
	if t.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(t.RetryAfter), 10))
	}
	if t.Unavailable {
		problem(w, http.StatusServiceUnavailable, reducedCapacity, "requests cannot be counted at the moment", nil)
		return
	}
	detail := "too many requests; the same request passes after the time in Retry-After"
	if t.RetryAfter == client.Never {
		detail = "the request costs more than its limit ever holds"
	}
	problem(w, http.StatusTooManyRequests, quotaExceeded, detail, map[string]any{"violated-policies": []string{t.name}})
}

// problem answers with a problem document (RFC 9457).
func problem(w http.ResponseWriter, status int, kind, detail string, more map[string]any) {
	document := map[string]any{"type": kind, "title": http.StatusText(status), "status": status, "detail": detail}
	maps.Copy(document, more)
	body, err := json.Marshal(document)
	if err != nil {
		panic(err) // strings and numbers
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

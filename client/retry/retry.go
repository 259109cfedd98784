// Package retry has an HTTP client come back when a limiter tells it to: never before
// Retry-After is over, and spread over the time after it, so that many who were sent away
// together do not come back together.
//
//	http.DefaultClient.Transport = &retry.Transport{}
//
// What is tried again: 429, which says that nothing was done, for every method; 503 with
// Retry-After for methods that may be repeated. Both only if the body can be sent again
// (http.Request.GetBody) and the wait is neither above WaitMax nor past the context's
// deadline; else the response is the caller's. A 429 without Retry-After is one that never
// passes.
package retry

import (
	"context"
	crypto "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sluice/internal/clock"
)

// The defaults of a Transport.
const (
	TriesMaxDefault = 4
	WaitMaxDefault  = time.Minute
	JitterDefault   = 0.2

	drainBytesMax = 64 << 10 // of a response that is thrown away, so that its connection can be used again
)

// Transport is an http.RoundTripper that tries again. Its zero value is ready; do not
// change it while it is used.
type Transport struct {
	Base     http.RoundTripper // nil: http.DefaultTransport
	TriesMax int               // requests that are sent at most; 0: TriesMaxDefault
	WaitMax  time.Duration     // the longest Retry-After that is waited for; 0: WaitMaxDefault
	Jitter   float64           // what is waited more, at most, as a part of Retry-After; 0: JitterDefault
	Seed     uint64            // of the jitter; 0: one that nobody can guess

	once   sync.Once
	mu     sync.Mutex
	random *rand.Rand
	watch  *clock.Stopwatch
}

// RoundTrip sends a request until it is answered, or the answer is the caller's.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.once.Do(t.start)
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	for try := 1; ; try++ {
		response, err := base.RoundTrip(r)
		if err != nil || try >= or(t.TriesMax, TriesMaxDefault) {
			return response, err
		}
		wait, ok := t.wait(r.Method, response)
		again := repeat(r)
		if !ok || again == nil || late(r.Context(), t.watch.Wall().Add(wait)) {
			return response, nil
		}
		io.CopyN(io.Discard, response.Body, drainBytesMax)
		response.Body.Close()
		if err := pause(r.Context(), wait); err != nil {
			return nil, err
		}
		if r, err = again(); err != nil {
			return nil, err
		}
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (t *Transport) start() {
	seed := t.Seed
	if seed == 0 {
		var bytes [8]byte
		crypto.Read(bytes[:])
		seed = binary.LittleEndian.Uint64(bytes[:])
	}
	t.random = rand.New(rand.NewPCG(seed, seed))
	t.watch = clock.NewStopwatch()
}

// wait is how long to wait before trying a method again; false if that is no use. A
// response need not know its request: Base may be anything.
func (t *Transport) wait(method string, r *http.Response) (time.Duration, bool) {
	switch {
	case r.StatusCode == http.StatusTooManyRequests:
	case r.StatusCode == http.StatusServiceUnavailable && mayRepeat(method):
	default:
		return 0, false
	}
	least, ok := t.retryAfter(r.Header.Get("Retry-After"))
	if !ok || least > or(t.WaitMax, WaitMaxDefault) {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	more := t.random.Float64() * or(t.Jitter, JitterDefault) * float64(max(least, time.Second))
	return least + time.Duration(more), true
}

// retryAfter reads the field: seconds, or a date.
func (t *Transport) retryAfter(text string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	date, err := http.ParseTime(text)
	return max(0, date.Sub(t.watch.Wall())), err == nil
}

// mayRepeat says whether a method may be sent again although it may have been done.
func mayRepeat(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// repeat makes the same request again; nil if its body cannot be had again.
func repeat(r *http.Request) func() (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() (*http.Request, error) { return r, nil }
	}
	if r.GetBody == nil {
		return nil
	}
	return func() (*http.Request, error) {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		again := r.Clone(r.Context())
		again.Body = body
		return again, nil
	}
}

// late says whether an instant is past the context's deadline.
func late(ctx context.Context, at time.Time) bool {
	end, ok := ctx.Deadline()
	return ok && at.After(end)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

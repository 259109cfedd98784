// Package middleware limits the requests of a net/http server.
//
//	c, err := client.New("127.0.0.1:6380")
//	...
//	limit, err := middleware.New(c, middleware.By(client.Plan("pro")), middleware.Per(middleware.Header("X-API-Key")))
//	...
//	http.ListenAndServe(":8080", limit(mux))
//
// A request is counted for whom it comes from: the first identity of Per that it has, or
// else its address. One that is denied is answered 429 with Retry-After, in whole seconds
// rounded up, and a problem document (RFC 9457); what is left is told in header fields of
// every response. 503 is answered only with client.FailClosed, while the server cannot be
// reached.
package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"sluice/client"
)

// Option says how requests are limited.
type Option func(*settings) error

type settings struct {
	limit     client.Limit
	limited   bool
	rules     bool
	per       []Identity
	trusted   []netip.Prefix
	v6Bits    int
	cost      func(*http.Request) int64
	settle    func(r *http.Request, status int, bytes int64) int64
	inFlight  int64
	permitTTL time.Duration
	dialects  dialect
	observe   func(*http.Request, string, client.Decision)
	log       *slog.Logger
}

// IPv6BitsDefault is how many bits of an IPv6 address count: what one customer of a
// provider has at his disposal.
const IPv6BitsDefault = 64

// By limits every request by one limit or plan.
func By(l client.Limit) Option {
	return func(s *settings) error {
		s.limit, s.limited = l, true
		return l.Err()
	}
}

// ByRules has the server's rules say which plan a request falls under and whom it
// counts. What it needs to know of identities comes from User, APIKey and the address.
func ByRules() Option {
	return func(s *settings) error { s.rules = true; return nil }
}

// Per says whom requests are counted for: the first of these that a request has. One
// that has none is counted for its address, never together with others that have none.
func Per(identities ...Identity) Option {
	return func(s *settings) error { s.per = identities; return nil }
}

// TrustedProxies are the peers whose X-Forwarded-For is believed. By default none is.
func TrustedProxies(prefixes ...netip.Prefix) Option {
	return func(s *settings) error { s.trusted = prefixes; return nil }
}

// IPv6Bits is how many bits of an IPv6 address count, from 1 to 128. The default is
// IPv6BitsDefault.
func IPv6Bits(n int) Option {
	return func(s *settings) error {
		if n < 1 || n > 128 {
			return fmt.Errorf("middleware: IPv6Bits must be from 1 to 128, got %d", n)
		}
		s.v6Bits = n
		return nil
	}
}

// Cost says what a request costs, in units; below 1 is 1. The default is 1, and with
// ByRules what the rule says.
func Cost(cost func(*http.Request) int64) Option {
	return func(s *settings) error { s.cost = cost; return nil }
}

// Settle says what a request did cost, once its handler has returned: Cost is reserved
// before, what is too much is given back, and more is charged even past the limit. A
// round trip for each request is the price. It needs By.
func Settle(actual func(r *http.Request, status int, bytes int64) int64) Option {
	return func(s *settings) error { s.settle = actual; return nil }
}

// InFlight is how many requests of one identity may be under way at once. A permit is
// held for as long as the handler works; one that a dead process held frees itself after
// ttl.
func InFlight(limit int64, ttl time.Duration) Option {
	return func(s *settings) error {
		if limit < 1 || limit > client.UnitsMax || ttl < time.Millisecond || ttl > client.WindowMax || ttl%time.Millisecond != 0 {
			return fmt.Errorf("middleware: InFlight must be from 1 to %d and its ttl whole milliseconds, from 1ms to %s, got %d and %s", int64(client.UnitsMax), client.WindowMax, limit, ttl)
		}
		s.inFlight, s.permitTTL = limit, ttl
		return nil
	}
}

// Observe is called with every decision and the key it is about, for metrics and logs.
func Observe(f func(r *http.Request, key string, d client.Decision)) Option {
	return func(s *settings) error { s.observe = f; return nil }
}

// Logger is where requests that cannot be decided are told of. The default is
// slog.Default.
func Logger(l *slog.Logger) Option {
	return func(s *settings) error { s.log = l; return nil }
}

// New makes a middleware. It needs By, ByRules, InFlight or several of them.
func New(c *client.Client, opts ...Option) (func(http.Handler) http.Handler, error) {
	s := settings{
		v6Bits: IPv6BitsDefault, dialects: draft11,
		observe: func(*http.Request, string, client.Decision) {}, log: slog.Default(),
	}
	for _, o := range opts {
		if err := o(&s); err != nil {
			return nil, err
		}
	}
	switch {
	case c == nil:
		return nil, fmt.Errorf("middleware: the client must not be nil")
	case s.limited && s.rules:
		return nil, fmt.Errorf("middleware: By and ByRules exclude each other")
	case !s.limited && !s.rules && s.inFlight == 0:
		return nil, fmt.Errorf("middleware: By, ByRules or InFlight must say what limits requests")
	case s.settle != nil && !s.limited:
		return nil, fmt.Errorf("middleware: Settle needs By")
	}
	return func(next http.Handler) http.Handler {
		return &handler{settings: s, client: c, next: next}
	}, nil
}

// handler limits what gets to next.
type handler struct {
	settings
	client *client.Client
	next   http.Handler
}

// ServeHTTP takes a permit, asks, and passes the request on or answers it.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := h.identify(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if h.inFlight > 0 {
		p, err := h.client.Acquire(r.Context(), "in_flight|"+who.key(), h.inFlight, h.permitTTL)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		if !p.Allowed {
			h.observe(r, who.key(), p.Decision)
			h.deny(w, told{Decision: p.Decision, name: "in_flight", unit: "concurrent-requests"})
			return
		}
		defer p.Release(context.WithoutCancel(r.Context()))
	}
	switch {
	case h.rules:
		h.byRules(w, r, who)
	case h.settle != nil:
		h.bySettling(w, r, who)
	case h.limited:
		h.byLimit(w, r, who)
	default:
		h.next.ServeHTTP(w, r)
	}
}

// byLimit asks by one limit.
func (h *handler) byLimit(w http.ResponseWriter, r *http.Request, who identified) {
	d, err := h.client.Allow(r.Context(), who.key(), h.limit, max(1, h.price(r)))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if d.ID != "" { // the plan has a limit of concurrency
		defer h.client.ReleasePlan(context.WithoutCancel(r.Context()), who.key(), h.limit.PlanName(), d.ID)
	}
	h.observe(r, who.key(), d)
	h.pass(w, r, h.tell(d))
}

// bySettling reserves the cost and settles it when the handler has returned.
func (h *handler) bySettling(w http.ResponseWriter, r *http.Request, who identified) {
	res, err := h.client.Reserve(r.Context(), who.key(), h.limit, max(1, h.price(r)))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.observe(r, who.key(), res.Decision)
	counted := &counter{ResponseWriter: w, status: http.StatusOK}
	settle := func(actual int64) {
		if _, err := res.Commit(context.WithoutCancel(r.Context()), max(0, actual)); err != nil {
			h.log.Warn("a request's cost could not be settled; what was reserved is charged", "key", who.key(), "error", err)
		}
	}
	if res.Allowed {
		defer func() {
			if broken := recover(); broken != nil {
				settle(h.settle(r, http.StatusInternalServerError, counted.bytes))
				panic(broken)
			}
			settle(h.settle(r, counted.status, counted.bytes))
		}()
	}
	h.pass(counted, r, h.tell(res.Decision))
}

// byRules asks by the server's rules.
func (h *handler) byRules(w http.ResponseWriter, r *http.Request, who identified) {
	v, err := h.client.Request(r.Context(), client.Request{
		Method: r.Method, Path: r.URL.Path, Host: r.Host, User: who.user, APIKey: who.apiKey, IP: who.ip, Cost: h.price(r),
	})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if v.ID != "" {
		defer h.client.ReleasePermit(context.WithoutCancel(r.Context()), v)
	}
	h.observe(r, v.Key, v.Decision)
	t := h.tell(v.Decision)
	t.ready = v.Headers
	t.silent = v.Rule == "" && v.Source == client.SourceServer
	h.pass(w, r, t)
}

// price is what a request costs; 0 if nobody says.
func (h *handler) price(r *http.Request) int64 {
	if h.cost == nil {
		return 0
	}
	return max(1, h.cost(r))
}

// pass answers a request that is denied, and passes every other one on, after the delay
// that a leaky bucket gives.
func (h *handler) pass(w http.ResponseWriter, r *http.Request, t told) {
	if !t.Allowed {
		h.deny(w, t)
		return
	}
	h.headers(w.Header(), t)
	if t.Delay > 0 {
		timer := time.NewTimer(t.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	h.next.ServeHTTP(w, r)
}

// fail answers a request that cannot be decided: something is wrong here, not with it.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for the answer
	}
	h.log.Error("a request could not be decided", "path", r.URL.Path, "error", err)
	problem(w, http.StatusInternalServerError, "about:blank", "the request could not be limited", nil)
}

// counter is a response that is counted.
type counter struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

// WriteHeader notes the status.
func (c *counter) WriteHeader(status int) {
	if !c.wrote && status >= 200 {
		c.status, c.wrote = status, true
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (c *counter) Write(b []byte) (int, error) {
	c.wrote = true
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}

// Flush is for handlers that stream.
func (c *counter) Flush() { http.NewResponseController(c.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

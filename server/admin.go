package server

// The admin listener: probes, metrics, profiles and the control plane, over HTTP.
//
//	GET /livez     the process answers: 200
//	GET /readyz    it decides calls: 200; while it loads or ends: 503 (/healthz too)
//	GET /metrics   for Prometheus
//	/debug/pprof/  profiles, where --pprof says so
//	all others     the control plane (control.go)
//
// Probes are open to everybody, for they tell nothing. Metrics are open to callers
// from this machine. Whatever else there is wants the token, and without a token there
// is nothing else: a page in a browser can reach a port of its own machine too.

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// AdminHeadTimeout and AdminBodyTimeout bound how long a caller may take to send
	// a request.
	AdminHeadTimeout = 5 * time.Second
	AdminBodyTimeout = 30 * time.Second
	// AdminHeadBytesMax is how long the head of a request may be.
	AdminHeadBytesMax = 16 << 10
)

// ServeAdmin answers HTTP on a listener until the server is closed.
func (s *Server) ServeAdmin(l net.Listener) error {
	h := &http.Server{
		Handler: s.admin(), ReadHeaderTimeout: AdminHeadTimeout, ReadTimeout: AdminBodyTimeout, MaxHeaderBytes: AdminHeadBytesMax,
	}
	s.mu.Lock()
	s.admins = append(s.admins, h)
	s.mu.Unlock()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin %s: %w", l.Addr(), err)
	}
	return ErrClosed
}

// Drain says that the server is about to end: /readyz answers 503 from now on, and
// all else goes on.
func (s *Server) Drain() { s.drains.Store(true) }

// unready tells why no calls are decided, "" if they are.
func (s *Server) unready() string {
	switch {
	case s.drains.Load() || s.ending.Load():
		return "the server is ending"
	case s.loading.Load() != nil:
		l := s.loading.Load()
		return fmt.Sprintf("loading, %d of %d bytes", l.Done, l.Total)
	}
	return ""
}

// admin is everything that the listener answers.
func (s *Server) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	ready := func(w http.ResponseWriter, _ *http.Request) {
		if why := s.unready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	}
	mux.HandleFunc("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", ready)
	metrics := promhttp.HandlerFor(s.NewRegistry(), promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
	mux.Handle("GET /metrics", s.fromHere(metrics))
	if s.config().Pprof {
		for path, f := range map[string]http.HandlerFunc{
			"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
		} {
			mux.Handle("/debug/pprof/"+path, s.withToken(f))
		}
	}
	mux.Handle("/", s.withToken(s.control()))
	return mux
}

// fromHere lets callers from this machine through, and others with the token.
func (s *Server) fromHere(h http.Handler) http.Handler {
	token := s.withToken(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && from.Addr().Unmap().IsLoopback() {
			h.ServeHTTP(w, r)
			return
		}
		token.ServeHTTP(w, r)
	})
}

// withToken lets those through that know the token.
func (s *Server) withToken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := s.config().AdminToken
		if token == "" {
			problem(w, http.StatusForbidden, "no-token", "", "this needs a token, and the server was started without: set admin-token-file or SLUICE_ADMIN_TOKEN")
			return
		}
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		// Of equal length, so that the time that comparing takes tells nothing.
		want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
		if !bearer || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
			problem(w, http.StatusUnauthorized, "wrong-token", "", "this needs the header Authorization: Bearer with the token of admin-token-file")
			return
		}
		h.ServeHTTP(w, r)
	})
}

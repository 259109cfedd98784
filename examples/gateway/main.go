// Command gateway is a small HTTP server whose requests Sluice limits, by plans and rules.
// It brings a server of its own along, so that it starts with nothing else:
//
//	go run ./examples/gateway
//	curl -i -H 'X-API-Key: alice' http://127.0.0.1:8080/api/hello
//
// With --server HOST:PORT it asks a server that runs elsewhere. What is to be seen here:
// plans and rules are set at the start and can be changed while it runs (redis-cli RL.PLAN
// SET …); each request is one question to the server, RL.REQUEST; a caller without a key
// is counted for his address, under another plan; decisions are logged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sluice/client"
	"sluice/client/middleware"
	"sluice/client/sluicetest"
)

// plans are what is sold.
var plans = map[string]string{
	"pro": `{limits: {rpm: {algorithm: sliding_counter, limit: 600, window: 1m},
	         burst: {algorithm: token_bucket, limit: 10, window: 1s, burst: 20},
	         inflight: {algorithm: concurrency, limit: 4, window: 30s}}}`,
	"orders":    `{limits: {orders: {algorithm: sliding_log, limit: 5, window: 1m}}}`,
	"anonymous": `{limits: {rpm: {algorithm: sliding_log, limit: 10, window: 1m}}}`,
}

// rules say which plan a request falls under, and whom it counts.
var rules = map[string]string{
	"api":    `{match: "/api/", per: api_key, plan: pro, anonymous_plan: anonymous}`,
	"orders": `{match: "POST /api/orders", per: api_key, plan: orders, anonymous_plan: anonymous}`,
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to serve HTTP on")
	addr := flag.String("server", "", "`address` of a Sluice server; without it one is started here")
	timeout := flag.Duration("timeout", client.TimeoutDefault, "`time` that a decision waits for the server before it is made without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(ctx, l, *addr, *timeout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

// run serves until the context is done.
func run(ctx context.Context, l net.Listener, addr string, timeout time.Duration) error {
	if addr == "" {
		embedded, err := sluicetest.Start(sluicetest.RealTime())
		if err != nil {
			return err
		}
		defer embedded.Close()
		addr = embedded.Addr()
	}
	c, err := client.New(addr, client.Timeout(timeout), client.Logger(slog.Default()))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := define(ctx, c); err != nil {
		return err
	}
	limit, err := middleware.New(c, middleware.ByRules(),
		middleware.Per(middleware.Header("X-API-Key")), middleware.Observe(logged))
	if err != nil {
		return err
	}
	s := &http.Server{Handler: limit(routes()), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		s.Shutdown(context.WithoutCancel(ctx))
	}()
	fmt.Printf("The gateway is ready, its limiter is at %s. Try:  curl -i -H 'X-API-Key: alice' http://%s/api/hello\n", addr, l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// define sets the plans, and then the rules, which name them.
func define(ctx context.Context, c *client.Client) error {
	for name, text := range plans {
		if err := c.SetPlan(ctx, name, text); err != nil {
			return err
		}
	}
	for name, text := range rules {
		if err := c.SetRule(ctx, name, text); err != nil {
			return err
		}
	}
	return nil
}

// routes is what the gateway is a gateway to.
func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	mux.HandleFunc("POST /api/orders", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ordered") })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "fine") })
	return mux
}

// logged logs what was denied, and by which limit.
func logged(r *http.Request, key string, d client.Decision) {
	if !d.Allowed {
		slog.Info("denied", "path", r.URL.Path, "key", key, "limit", d.LimitName, "retry_after", d.RetryAfter, "source", d.Source.String())
	}
}

// Package sluicetest starts a Sluice server inside of a test, in one line:
//
//	srv := sluicetest.New(t)
//	c := srv.Client()
//	d, err := c.Allow(ctx, "user:42", client.TokenBucket(10, time.Second), 1)
//	srv.Advance(time.Second) // and the bucket is full again; nothing slept
//
// The server is the real one, on a port of the loopback interface, with nothing on
// disk. Its clock stands still at 2027-01-15T08:00:00Z until Advance moves it, so
// every answer is the same on every machine.
package sluicetest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/client"
	"sluice/internal/clock"
	"sluice/server"
	"sluice/shard"
)

// shards is how many shards a server has: more than one, so that calls over several
// meet what they would meet in production.
const shards = 2

// patience is how long clients wait for the server: long, because a test machine that
// is busy is no server that is away.
const patience = 10 * time.Second

// Server is a running server.
type Server struct {
	still  *clock.Test // nil: the machine's clock
	clock  server.Clock
	set    *shard.Set
	server *server.Server
	addr   string
	rdb    *redis.Client
	tb     testing.TB // nil outside of tests
	down   bool       // between Down and Up
	closed bool
}

// Option changes what Start starts.
type Option func(*Server)

// RealTime has the server follow the machine's clock, for programs that carry a server
// of their own, such as examples.
func RealTime() Option {
	return func(s *Server) { s.still = nil }
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s, err := Start()
	if err != nil {
		tb.Fatal(err)
	}
	s.tb = tb
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server outside of a test. Close it.
func Start(opts ...Option) (*Server, error) {
	s := &Server{still: clock.NewTest()}
	for _, o := range opts {
		o(s)
	}
	s.clock = s.still
	if s.still == nil {
		machine, err := clock.NewOS()
		if err != nil {
			return nil, fmt.Errorf("sluicetest: %w", err)
		}
		if s.clock, err = clock.NewServer(machine, 0); err != nil {
			return nil, fmt.Errorf("sluicetest: %w", err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("sluicetest: %w", err)
	}
	s.addr = l.Addr().String()
	s.set = shard.NewSet(shards, s.clock)
	s.serve(l)
	s.rdb = redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	return s, nil
}

func (s *Server) serve(l net.Listener) {
	o := server.Options{
		Version: "test", Shards: s.set, Clock: s.clock,
		Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
	}
	if s.still != nil {
		o.TestClock = s.still
	}
	running := server.New(o)
	s.server = running
	go running.Serve(l) // it ends when the server is closed
}

// Addr is the server's address, HOST:PORT.
func (s *Server) Addr() string { return s.addr }

// Client returns a client of the server, which ends with the test. It measures time by
// the server's clock where that stands still, and is patient with a busy machine; opts
// come after that.
func (s *Server) Client(opts ...client.Option) *client.Client {
	set := []client.Option{client.Timeout(patience)}
	if s.still != nil {
		set = append(set, client.Clock(s.Elapsed))
	}
	c, err := client.New(s.addr, append(set, opts...)...)
	if err != nil {
		s.fatal(err)
	}
	if s.tb != nil {
		s.tb.Cleanup(func() { c.Close() })
	}
	return c
}

// Redis is a plain connection to the server.
func (s *Server) Redis() *redis.Client { return s.rdb }

// Elapsed is the server's time since 1970.
func (s *Server) Elapsed() time.Duration { return time.Duration(s.clock.Now()) }

// Now is the server's time.
func (s *Server) Now() time.Time { return time.Unix(0, int64(s.clock.Now())).UTC() }

// Advance moves the clock on, and returns when everything that is due then has been
// freed and settled. It needs a clock that stands still.
func (s *Server) Advance(d time.Duration) {
	if err := s.rdb.Do(context.Background(), "RL.CLOCK", "ADVANCE", fmt.Sprintf("%dns", d)).Err(); err != nil {
		s.fatal(fmt.Errorf("sluicetest: advance by %s: %w", d, err))
	}
}

// Down ends the server as if its process had died: connections break and nobody
// listens. What it holds is kept, as its journal would.
func (s *Server) Down() {
	if !s.down {
		s.down = true
		s.server.Close()
	}
}

// Up starts the server again, at the same address, after Down.
func (s *Server) Up() {
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.fatal(fmt.Errorf("sluicetest: %w", err))
		return
	}
	s.down = false
	s.serve(l)
}

// Close ends the server. It may be called again.
func (s *Server) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.rdb.Close()
	s.Down()
	s.set.Close()
}

func (s *Server) fatal(err error) {
	if s.tb == nil {
		panic(err)
	}
	s.tb.Helper()
	s.tb.Fatal(err)
}

package bench

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// startConstantLoop serves the constant reply until the test ends.
func startConstantLoop(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- ServeConstant(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// Every request is answered once and counted once, in both kinds of loop and in odd numbers.
func TestLoadCounts(t *testing.T) {
	addr := startConstantLoop(t)
	for _, row := range []struct {
		connections, pipeline int
		rate                  float64
		requests              uint64
	}{
		{1, 1, 0, 1}, {1, 1, 0, 1000}, {3, 7, 0, 1000}, {50, 100, 0, 50_001}, {2, 10_000, 0, 30_000}, {7, 1, 50_000, 5_001},
	} {
		load := Load{
			Addr: addr, Request: requestOf(CountFirst, 1, "RL.ALLOW {key} token_bucket 100 1s 1"), Keys: Keys{Kind: "uniform", Count: 100},
			Connections: row.connections, Pipeline: row.pipeline, Rate: row.rate, Requests: row.requests,
		}
		out, err := load.Run(t.Context())
		if err != nil {
			t.Fatalf("%+v: %v", row, err)
		}
		if out.Requests != row.requests || out.Admitted != row.requests || out.Errors != 0 || uint64(out.Latency.TotalCount()) != row.requests {
			t.Errorf("%+v: %d requests, %d admitted, %d errors, %d waits", row, out.Requests, out.Admitted, out.Errors, out.Latency.TotalCount())
		}
	}
}

// stalling is a connection that stalls once, when the first request has arrived.
type stalling struct {
	net.Conn
	once  sync.Once
	stall time.Duration
}

func (s *stalling) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.once.Do(func() {
		time.Sleep(s.stall) // reason: the stall of a server is what is measured
	})
	return n, err
}

// A server that stalls is charged with all requests that were meant to leave meanwhile.
func TestOpenLoopOmitsNothing(t *testing.T) {
	const stall, perSecond = 200 * time.Millisecond, 5_000
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		constant(&stalling{Conn: c, stall: stall})
	}()
	load := Load{
		Addr: l.Addr().String(), Request: requestOf(CountFirst, 1, "RL.PEEK {key}"), Keys: Keys{Kind: "hot", Count: 1},
		Connections: 1, Pipeline: 1, Rate: perSecond, Requests: perSecond,
	}
	out, err := load.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Of the requests that were meant to leave in the stall half waited for more than half of it.
	slow := int64(0)
	for _, bar := range out.Latency.Distribution() {
		if bar.From > int64(stall)/2 {
			slow += bar.Count
		}
	}
	if least := int64(perSecond * stall.Seconds() / 2 * 0.9); slow < least {
		t.Errorf("%d requests waited long, at least %d must have", slow, least)
	}
}

// Over connections that others make, with a descriptor or without one, all requests are answered, and all that was opened
// is closed; a server that goes away is noticed.
func TestLoadDials(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup // ends when the generator has closed its connections
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { constant(c) })
		}
	})
	for what, wrap := range map[string]func(net.Conn) net.Conn{
		"a descriptor":  func(c net.Conn) net.Conn { return c },
		"no descriptor": func(c net.Conn) net.Conn { return struct{ net.Conn }{c} },
	} {
		load := Load{
			Addr: "nowhere", Request: requestOf(CountFirst, 1, "RL.ALLOW {key} token_bucket 100 1s 1"), Keys: Keys{Kind: "uniform", Count: 100},
			Connections: 5, Pipeline: 1000, Requests: 50_001,
		}
		dialed, most := 0, load.Connections
		load.Dial = func(context.Context) (net.Conn, error) {
			if dialed++; dialed > most {
				return nil, errors.New("enough")
			}
			c, err := net.Dial("tcp", l.Addr().String())
			return wrap(c), err
		}
		out, err := load.Run(t.Context())
		if err != nil || out.Requests != load.Requests || out.Admitted != load.Requests {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
		dialed, most = 0, 2
		if _, err := load.Run(t.Context()); err == nil || err.Error() != "load on nowhere: connection 3 of 5: enough" {
			t.Errorf("%s: %v", what, err)
		}
		load.Dial = func(context.Context) (net.Conn, error) {
			c, other := net.Pipe()
			return c, other.Close()
		}
		if _, err := load.Run(t.Context()); err == nil {
			t.Errorf("%s: a server that goes away is not noticed", what)
		}
		ctx, cancel := context.WithCancel(t.Context())
		load.Requests, load.Duration = 0, time.Minute
		load.Dial = func(context.Context) (net.Conn, error) {
			c, _ := net.Pipe() // nobody reads from it
			cancel()
			return c, nil
		}
		if _, err := load.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: called off, it says %v", what, err)
		}
	}
	l.Close()
	served.Wait()
}

func TestLoadErrors(t *testing.T) {
	addr := startConstantLoop(t)
	good := Load{Addr: addr, Request: requestOf(CountNothing, 1, "PING"), Keys: Keys{Kind: "hot", Count: 1}, Connections: 1, Pipeline: 1, Requests: 1}
	if _, err := good.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Load){
		"connections":  func(l *Load) { l.Connections = 0 },
		"pipeline":     func(l *Load) { l.Pipeline = PipelineMax + 1 },
		"must end":     func(l *Load) { l.Requests = 0 },
		"at most 1h":   func(l *Load) { l.Duration = 2 * time.Hour },
		"rate":         func(l *Load) { l.Rate = -1 },
		"keys are":     func(l *Load) { l.Keys.Kind = "gauss" },
		"refused":      func(l *Load) { l.Addr = "127.0.0.1:1" },
		"missing port": func(l *Load) { l.Addr = "127.0.0.1" },
	} {
		bad := good
		change(&bad)
		if _, err := bad.Run(t.Context()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for addr, fine := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, "10.0.0.1:1": false, "example.org:1": false} {
		if err := Loopback(addr, false); (err == nil) != fine {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if err := Loopback("10.0.0.1:1", true); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless := good
	endless.Requests, endless.Duration = 0, time.Minute
	if _, err := endless.Run(ctx); err == nil {
		t.Error("a run that was called off says nothing")
	}
}

package client_test

// A server that cannot be reached is told through the client's own logger, once, and not
// through go-redis's, which writes to standard error for the whole program.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"sluice/client"
)

// lines collects what is logged, from any number of goroutines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) Printf(_ context.Context, format string, args ...any) {
	fmt.Fprintf(l, format+"\n", args...)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestUnreachedIsToldOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there from now on
	var ours, theirs lines
	redis.SetLogger(&theirs)
	t.Cleanup(logging.Enable)
	c, err := client.New(l.Addr().String(), client.Timeout(10*time.Second), client.Logger(slog.New(slog.NewTextHandler(&ours, nil))))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * client.BreakerFailures {
		d, err := c.Allow(ctx, "k", client.TokenBucket(1000, time.Minute), 1)
		if err != nil || d.Source != client.SourceDegraded {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if err := c.SetPlan(ctx, "p", "{}"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("it says %v", err)
	}
	c.Close()
	if told := ours.String(); strings.Count(told, "the server is away") != 1 || !strings.Contains(told, "connection refused") {
		t.Errorf("our log says %q", told)
	}
	if told := theirs.String(); told != "" {
		t.Errorf("go-redis's log says %q", told)
	}
}

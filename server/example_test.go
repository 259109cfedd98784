package server_test

// The example of the README, as a program would have it.

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/clock"
	"sluice/server"
	"sluice/shard"
)

// start runs a server under the test clock and returns its address.
func start() (addr string, stop func()) {
	still := clock.NewTest()
	set := shard.NewSet(2, still)
	s := server.New(server.Options{
		Shards: set, Clock: still, TestClock: still,
		Random: rand.NewPCG(1, 2), Logger: slog.New(slog.DiscardHandler),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go s.Serve(l)
	return l.Addr().String(), func() { s.Close(); set.Close() }
}

func Example() {
	addr, stop := start()
	defer stop()
	ctx := context.Background()

	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	for range 3 {
		d, err := rdb.Do(ctx, "RL.ALLOW", "user:42", "token_bucket", 2, "1s", 1).Int64Slice()
		if err != nil {
			fmt.Println(err) // the limiter cannot be reached, or the arguments are wrong
			return
		}
		allowed, remaining, retryAfter := d[0] == 1, d[2], time.Duration(d[3])*time.Millisecond
		fmt.Println(allowed, remaining, retryAfter)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 500ms
}

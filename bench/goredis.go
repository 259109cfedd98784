package bench

// The same calls through go-redis, as most Go programs make them: a goroutine a connection, one call at a time.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
)

// runClient runs a closed loop of single calls through go-redis.
func (l *Load) runClient(ctx context.Context) (*Outcome, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: l.Addr, PoolSize: l.Connections, MinIdleConns: l.Connections})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, err
	}
	parts := make([]Outcome, l.Connections)
	errs := make([]error, l.Connections)
	begin := time.Now()
	var group sync.WaitGroup
	for i := range l.Connections {
		parts[i].Latency = newLatency()
		group.Go(func() { errs[i] = l.caller(ctx, client, begin, l.Keys.next(l.Seed+uint64(i)), &parts[i]) })
	}
	group.Wait()
	all := &Outcome{Elapsed: time.Since(begin), Latency: newLatency()}
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		all.Requests += parts[i].Requests
		all.Admitted += parts[i].Admitted
		all.Latency.Merge(parts[i].Latency)
	}
	return all, ctx.Err()
}

// caller makes one call after the other.
func (l *Load) caller(ctx context.Context, client *redis.Client, begin time.Time, next func() uint64, out *Outcome) error {
	words := make([]any, len(l.Request.Words))
	for time.Since(begin) < l.Duration && ctx.Err() == nil {
		key := fmt.Sprintf("%0*d", keyDigits, next())
		for i, w := range l.Request.Words {
			words[i] = strings.Replace(w, "{key}", key, 1)
		}
		sent := time.Now()
		decision, err := client.Do(ctx, words...).Int64Slice()
		if err != nil {
			return err
		}
		out.Latency.RecordValue(int64(min(max(time.Since(sent), latencyMin), latencyMax)))
		out.Requests++
		out.Admitted += uint64(decision[0])
	}
	return nil
}

// newLatency returns a histogram of nanoseconds with three digits.
func newLatency() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(latencyMin), int64(latencyMax), latencyDigits)
}

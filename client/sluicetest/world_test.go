package sluicetest

// A world: one server, twenty gateways, traffic, and somebody who counts. Everything
// runs in virtual time from a seed, and what the gateways admitted is held against what
// the limit permits.

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sluice/client"
	"sluice/server"
	"sluice/shard"
)

// gateways is how many processes there are.
const gateways = 20

// How many seeds are tried, and which one first: go test ./client/sluicetest -args -seeds
// 50 -seed 7.
var (
	seedsFlag = flag.Int("seeds", 1, "number of seeds")
	seedFlag  = flag.Uint64("seed", 1, "the first seed")
)

// bubbleClock is the server's clock: the bubble's time, and what was added to it.
type bubbleClock struct {
	mu   sync.Mutex
	jump time.Duration
}

func (c *bubbleClock) Now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(time.Now().Add(c.jump).UnixNano())
}

func (c *bubbleClock) Offset() int64 { return 0 }

// world is everything.
type world struct {
	t       *testing.T
	seed    uint64
	net     *network
	clock   *bubbleClock
	set     *shard.Set
	server  *server.Server
	clients []*client.Client
	ways    []*way
	dead    []*client.Client
	opts    []client.Option
	pools   []*redis.Client

	began time.Time

	mu       sync.Mutex
	admitted map[int64]int64 // by window of the counting, its number
	asked    map[int64]int64
	window   time.Duration // of the counting
	waits    []time.Duration
	degraded int64
	total    int64
	seconds  map[int]*second // since it began
}

// second is what happened in one second.
type second struct{ asked, admitted int64 }

// simulate runs a test in a world, for each seed.
func simulate(t *testing.T, window time.Duration, run func(w *world), opts ...client.Option) {
	for i := range *seedsFlag {
		seed := *seedFlag + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, window, opts...)
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			defer w.end()
			run(w)
		})
	}
}

func newWorld(t *testing.T, seed uint64, window time.Duration, opts ...client.Option) *world {
	w := &world{
		t: t, seed: seed, net: newNetwork(seed), clock: &bubbleClock{},
		admitted: map[int64]int64{}, asked: map[int64]int64{}, window: window, seconds: map[int]*second{},
	}
	w.set = shard.NewSet(shards, w.clock)
	w.start()
	w.opts = opts
	for range gateways {
		w.join()
	}
	return w
}

// join adds a gateway.
func (w *world) join() {
	way := &way{network: w.net}
	rdb := redis.NewClient(&redis.Options{
		Dialer: way.dial, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialerRetries: 1, DialTimeout: 50 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c, err := client.NewFrom(rdb, w.opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pools = append(w.pools, rdb)
	w.clients, w.ways = append(w.clients, c), append(w.ways, way)
}

// crash has a gateway die with all that it holds. Another one starts in its place.
func (w *world) crash(i int) {
	w.ways[i].dead.Store(true)
	w.dead = append(w.dead, w.clients[i])
	w.join()
	last := len(w.clients) - 1
	w.clients[i], w.ways[i] = w.clients[last], w.ways[last]
	w.clients, w.ways = w.clients[:last], w.ways[:last]
}

// start starts the server, or starts it again on the state that it had.
func (w *world) start() {
	w.server = server.New(server.Options{
		Version: "test", Shards: w.set, Clock: w.clock, Random: rand.NewPCG(w.seed, 2), Logger: slog.New(slog.DiscardHandler),
	})
	go w.server.Serve(w.net.listen())
	synctest.Wait()
}

// end closes everything.
func (w *world) end() {
	w.closeClients()
	for _, pool := range w.pools {
		pool.Close()
	}
	if w.net.isUp() {
		w.server.Close()
	}
	w.set.Close()
	time.Sleep(5 * time.Second) // reason: the bubble's time; go-redis looks that rarely whether it was closed
}

// closeClients has every gateway give back and report.
func (w *world) closeClients() {
	var group sync.WaitGroup
	for _, c := range append(w.clients, w.dead...) {
		group.Go(func() { c.Close() })
	}
	group.Wait()
	w.clients, w.dead = nil, nil
}

// traffic has gateways call for a while: each of the rates is a gateway's calls a second
// of a key, spread by chance.
func (w *world) traffic(key string, l client.Limit, rates []float64, d time.Duration) {
	w.bursts(key, l, rates, d, 0, 0)
}

// bursts is traffic of which the calls of some seconds, on each gateway, come together after
// them, within a second. Without on, they come as they come.
func (w *world) bursts(key string, l client.Limit, rates []float64, d, idle, on time.Duration) {
	var group sync.WaitGroup
	for i, pace := range rates {
		if pace == 0 {
			continue
		}
		if on > 0 {
			pace *= float64(idle+on) / float64(on)
		}
		random := rand.New(rand.NewPCG(w.seed, uint64(i+100)))
		group.Go(func() {
			end := time.Now().Add(d)
			for {
				time.Sleep(time.Duration(random.ExpFloat64() / pace * float64(time.Second))) // reason: the bubble's time
				if on > 0 {
					rest := idle - time.Since(w.began)%(idle+on)
					time.Sleep(min(rest, time.Until(end))) // reason: the bubble's time
				}
				if !time.Now().Before(end) {
					return
				}
				w.call(w.clients[i], key, l)
			}
		})
	}
	group.Wait()
}

// call makes a call and counts it.
func (w *world) call(c *client.Client, key string, l client.Limit) client.Decision {
	began := time.Now()
	d, err := c.Allow(context.Background(), key, l, 1)
	if err != nil {
		w.t.Error(err)
	}
	n := int64(w.clock.Now()) / int64(w.window)
	w.mu.Lock()
	defer w.mu.Unlock()
	sec := w.second(int(began.Sub(w.began) / time.Second))
	w.asked[n]++
	sec.asked++
	w.waits = append(w.waits, time.Since(began))
	if d.Allowed {
		w.admitted[n]++
		sec.admitted++
		w.total++
	}
	if d.Source == client.SourceDegraded {
		w.degraded++
	}
	return d
}

// second is what happened in a second since the world began.
func (w *world) second(n int) *second {
	if w.seconds[n] == nil {
		w.seconds[n] = &second{}
	}
	return w.seconds[n]
}

// p99 is the wait that 99 of 100 calls did not pass.
func (w *world) p99() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	sort.Slice(w.waits, func(i, j int) bool { return w.waits[i] < w.waits[j] })
	return w.waits[len(w.waits)*99/100]
}

// forget begins to count anew.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.admitted, w.asked, w.waits, w.degraded, w.total = map[int64]int64{}, map[int64]int64{}, nil, 0, 0
}

// even is the same rate for all gateways, together so many calls a second.
func even(all float64) (rates []float64) {
	for range gateways {
		rates = append(rates, all/gateways)
	}
	return rates
}

// toWindow waits for a window of the counting to begin.
func (w *world) toWindow() {
	time.Sleep(w.window - time.Duration(w.clock.Now())%w.window) // reason: the bubble's time
	w.began = time.Now()
}

// trips is how often all gateways asked the server for decisions.
func (w *world) trips() (n uint64) {
	for _, c := range w.clients {
		for _, count := range c.Stats().Calls.Counts {
			n += count
		}
	}
	return n
}

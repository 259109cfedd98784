package bench

// A race: contenders are measured in turns, round after round, each for the same time with the same keys. The first turn of
// each is not counted: it makes the keys and warms the caches.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// warmUp is the part of a turn's time that the turn that is not counted takes.
const warmUp = 4

// contender is somebody in a race.
type contender struct {
	name    string // in tables
	id      string // in names of figures
	server  *server
	request *Request
	keys    *Keys // instead of the race's
	// bound, if not nil, is how many calls may pass at most: a server that lets one more pass fails the run.
	bound  func(keys uint64, t time.Duration) uint64
	client bool // asks through go-redis
	// meanwhile, if not nil, is called again and again while a turn lasts.
	meanwhile func(*server)
}

// sample is what one turn gave.
type sample struct {
	PerSecond  float64 `json:"per_second"`
	CPUMicros  float64 `json:"cpu_micros,omitempty"` // of the server, a request; 0: not known
	P50Micros  float64 `json:"p50_micros"`
	P90Micros  float64 `json:"p90_micros"`
	P99Micros  float64 `json:"p99_micros"`
	P999Micros float64 `json:"p999_micros"`
	MaxMicros  float64 `json:"max_micros"`
	Admitted   uint64  `json:"admitted"`
}

// samples are one contender's turns.
type samples []sample

// race runs the rounds and returns the samples of each contender, by id. They are kept in the report under name/id.
func (r *runner) race(name string, load Load, contenders []contender) (map[string]samples, error) {
	return r.rounds(r.Rounds, name, load, contenders)
}

// rounds is a race of so many rounds.
func (r *runner) rounds(rounds int, name string, load Load, contenders []contender) (map[string]samples, error) {
	results := map[string]samples{}
	for round := -1; round < rounds; round++ {
		for _, c := range contenders {
			turn := load
			turn.Seed = r.Seed + uint64(round+1)
			if round < 0 {
				turn.Duration = max(load.Duration/warmUp, 100*time.Millisecond)
			}
			s, err := r.turn(turn, c, round)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, c.name, err)
			}
			if round >= 0 {
				results[c.id] = append(results[c.id], s)
			}
			r.progress("%s · round %d of %d · %s · %s requests/s", name, round+1, rounds, c.name, Whole(s.PerSecond))
		}
	}
	for _, c := range contenders {
		r.report.Samples[name+"/"+c.id] = results[c.id]
	}
	return results, nil
}

// turn measures one contender once.
func (r *runner) turn(load Load, c contender, round int) (sample, error) {
	load.Addr, load.Request = c.server.addr, c.request
	if c.keys != nil {
		load.Keys = *c.keys
	}
	if load.Keys.Kind == "new" {
		load.Keys.First = r.fresh
		r.fresh += 1 << 32
	}
	before, _ := cpuTime(c.server.pid)
	out, err := c.run(r.ctx, load)
	if err != nil {
		return sample{}, err
	}
	after, _ := cpuTime(c.server.pid)
	if out.Errors > 0 {
		return sample{}, fmt.Errorf("%d of %d requests failed: %s", out.Errors, out.Requests, out.FirstError)
	}
	if c.bound != nil {
		if most := c.bound(load.Keys.Count, out.Elapsed); out.Admitted > most {
			return sample{}, fmt.Errorf("%d calls passed in %v, at most %d may", out.Admitted, out.Elapsed, most)
		}
	}
	micros := func(q float64) float64 { return float64(out.Quantile(q)) / float64(time.Microsecond) }
	return sample{
		PerSecond: out.PerSecond(), CPUMicros: float64((after - before).Microseconds()) / float64(out.Requests), Admitted: out.Admitted,
		P50Micros: micros(50), P90Micros: micros(90), P99Micros: micros(99), P999Micros: micros(99.9), MaxMicros: micros(100),
	}, nil
}

// meanwhilePause is the time between two calls of contender.meanwhile.
const meanwhilePause = 20 * time.Millisecond

// run puts the load on.
func (c *contender) run(ctx context.Context, load Load) (*Outcome, error) {
	if c.client {
		return load.runClient(ctx)
	}
	if c.meanwhile != nil {
		stop := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			for {
				c.meanwhile(c.server)
				select {
				case <-stop:
					return
				case <-time.After(meanwhilePause):
				}
			}
		})
		defer group.Wait()
		defer close(stop)
	}
	return load.Run(ctx)
}

// of takes one value out of each sample.
func (s samples) of(value func(sample) float64) spread {
	var all spread
	for _, one := range s {
		all = append(all, value(one))
	}
	return all
}

func rate(s sample) float64 { return s.PerSecond }
func cpu(s sample) float64  { return s.CPUMicros }
func p50(s sample) float64  { return s.P50Micros }
func p99(s sample) float64  { return s.P99Micros }
func p999(s sample) float64 { return s.P999Micros }

// spread is one value from each round.
type spread []float64

func (s spread) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

func (s spread) min() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Min(s)
}

func (s spread) max() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Max(s)
}

// over is the ratio to another spread, round by round.
func (s spread) over(other spread) spread {
	var ratio spread
	for i := range min(len(s), len(other)) {
		ratio = append(ratio, s[i]/other[i])
	}
	return ratio
}

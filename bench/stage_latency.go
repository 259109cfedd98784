package bench

// How long callers wait: open loops at fixed rates, and what a snapshot and the expiry of millions of keys do to them.

import (
	"fmt"
	"math"
	"os"
	"time"
)

// latencyConnections is how many connections an open loop has.
const latencyConnections = 50

// openLoad is an open loop at a rate.
func (r *runner) openLoad(perSecond float64, keys uint64) Load {
	return Load{Keys: Keys{Kind: "uniform", Count: keys}, Connections: latencyConnections, Pipeline: 1, Rate: perSecond, Duration: r.Turn}
}

// peak is what a contender does at most with one call at a time.
func (r *runner) peak(c contender, keys uint64) (float64, error) {
	load := r.load(1)
	load.Keys.Count = keys
	load.Duration = r.Turn / 2
	s, err := r.turn(load, c, 0)
	return s.PerSecond, err
}

// openRates are the rates that waits are measured at, requests a second.
var openRates = []float64{5_000, 20_000, 40_000}

func openRace(perSecond float64) string { return fmt.Sprintf("open%.0f", perSecond) }

func (r *runner) latency() error {
	all, err := r.contenders()
	if err != nil {
		return err
	}
	sec := r.section("latency", "Waits at fixed rates", fmt.Sprintf(
		"An open loop over %d connections: requests leave at the rate whatever the server does, and a wait counts from the instant at which its "+
			"request was meant to leave.", latencyConnections),
		"requests a second", "what", "p50 µs", "p99 µs", "p99.9 µs", "server CPU µs a request")
	lines := make([]Line, len(all))
	for _, perSecond := range openRates {
		got, err := r.race(openRace(perSecond), r.openLoad(perSecond, keysLive), all)
		if err != nil {
			return err
		}
		for i, c := range all {
			s := got[c.id]
			sec.row(Whole(perSecond), c.name, s.of(p50).whole(), s.of(p99).whole(), s.of(p999).whole(), s.of(cpu).micros())
			lines[i].Name = c.name
			lines[i].add(perSecond, s.of(p99).median())
		}
	}
	r.chart(Chart{File: "latency.svg", Title: "p99 at fixed rates", X: "requests a second", Y: "µs", LogY: true, Lines: lines})
	return nil
}

const (
	snapshotKeys = 1_000_000
	// expiryWindow is the window whose end makes millions of keys due at one instant.
	expiryWindow = 20 * time.Second
	// expiryLead is how long before that instant the load begins, and expiryTail how long it goes on.
	expiryLead = time.Second
	expiryTail = 7 * time.Second
)

// pauses measures waits at half of what the slower of Sluice and Redis can do.
func (r *runner) pauses() error {
	sec := r.section("pauses", "Waits while much is going on", "An open loop, one call at a time, at half of the peak rate of the slower one. BGSAVE runs "+
		"again and again meanwhile: in Sluice a snapshot while serving, in Redis a fork.",
		"what", "requests a second", "p50 µs", "p99 µs", "p99.9 µs", "longest ms")
	if err := r.snapshotPause(sec); err != nil {
		return err
	}
	if r.Lean {
		r.lack("keys that expire at one instant: it takes too long for this run")
		return nil
	}
	r.stopAll()
	return r.expiryPause(sec)
}

func (r *runner) snapshotPause(sec *section) error {
	dir, err := os.MkdirTemp(r.dir, "data")
	if err != nil {
		return err
	}
	sluice, err := r.startSluice("--dir", dir, "--snapshot-every", "0")
	if err != nil {
		return err
	}
	all := []contender{{name: "Sluice RL.ALLOW, 1 M keys, snapshots running", id: "sluice", server: sluice, request: requestOf(CountFirst, 1, lastingLine)}}
	if r.Redis != "" {
		redis, err := r.startRedis("--appendonly", "no")
		if err != nil {
			return err
		}
		all = append(all, contender{name: "Redis INCR, 1 M keys, BGSAVE running", id: "incr", server: redis, request: requestOf(CountNothing, 1, "INCR user:{key}")})
	}
	half := math.Inf(1)
	for _, c := range all {
		r.progress("pauses · %s makes its keys", c.name)
		if err := r.fill(c.server, c.request, snapshotKeys); err != nil {
			return err
		}
		most, err := r.peak(c, snapshotKeys)
		if err != nil {
			return err
		}
		half = min(half, most/2)
	}
	for i := range all {
		all[i].meanwhile = func(s *server) { s.admin.BgSave(r.ctx) } // while one is under way the next is refused
	}
	got, err := r.race("snapshot", r.openLoad(half, snapshotKeys), all)
	if err != nil {
		return err
	}
	for _, c := range all {
		sec.waits(c.name, half, got[c.id])
	}
	return nil
}

// expiryPause has KeysMax keys fall due at one instant and looks at the waits around it.
func (r *runner) expiryPause(sec *section) error {
	sluice, err := r.startSluice("--dir", "")
	if err != nil {
		return err
	}
	now, err := sluice.admin.Time(r.ctx).Result()
	if err != nil {
		return err
	}
	due := now.Truncate(expiryWindow).Add(expiryWindow)
	if wait := due.Sub(now); wait < expiryWindow*3/4 {
		r.progress("pauses · waits %v for a window to begin", wait.Round(time.Second))
		if err := r.sleep(wait); err != nil {
			return err
		}
		due = due.Add(expiryWindow)
	}
	c := contender{name: fmt.Sprintf("Sluice RL.ALLOW, %s keys due at one instant", Whole(float64(r.KeysMax))), id: "sluice", server: sluice,
		request: requestOf(CountFirst, 1, bucketLine)}
	if err := r.fill(sluice, requestOf(CountFirst, 1, fmt.Sprintf("RL.ALLOW due:{key} fixed_window 100 %ds 1", int(expiryWindow.Seconds()))), r.KeysMax); err != nil {
		return err
	}
	most, err := r.peak(c, keysLive)
	if err != nil {
		return err
	}
	if now, err = sluice.admin.Time(r.ctx).Result(); err != nil {
		return err
	}
	lead := due.Sub(now) - expiryLead
	if lead < 0 {
		r.lack("%s keys that fall due at one instant: making them took longer than %v", Whole(float64(r.KeysMax)), expiryWindow)
		return nil
	}
	if err := r.sleep(lead); err != nil {
		return err
	}
	load := r.openLoad(most/2, keysLive)
	load.Duration = expiryLead + expiryTail
	s, err := r.turn(load, c, 0)
	if err != nil {
		return err
	}
	if left, err := sluice.admin.DBSize(r.ctx).Result(); err != nil || left > keysLive {
		return fmt.Errorf("%d keys are left after their window (%v)", left, err)
	}
	r.report.Samples["expiry/sluice"] = samples{s}
	sec.waits(c.name, most/2, samples{s})
	return nil
}

func (r *runner) sleep(d time.Duration) error {
	select {
	case <-r.ctx.Done():
		return r.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// waits is a row of a table of waits.
func (sec *section) waits(name string, perSecond float64, s samples) {
	longest := s.of(func(s sample) float64 { return s.MaxMicros / 1000 })
	sec.row(name, Whole(perSecond), s.of(p50).whole(), s.of(p99).whole(), s.of(p999).whole(), fmt.Sprintf("%.1f", longest.max()))
}

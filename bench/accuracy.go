package bench

// Speed with wrong answers is worth nothing: every run asks first, with many connections at once, for more than may pass,
// and counts. Limits in windows of a year cannot move on meanwhile, so the number is known to the unit; limits that do move
// on are held to bounds that the time from the first request to the last reply gives.

import (
	"fmt"
	"time"
)

const (
	exactKeys  = 64
	exactLimit = 1_000
	exactCalls = 1_600 // on each key
	movingUnit = 5_000 // the limit, a second
)

// exact is a call that is made exactCalls times on each of exactKeys keys, and what may pass of it on each.
type exact struct {
	name   string
	counts Counting
	line   string
	passes uint64
}

// exacts are the calls whose number is known.
func exacts() []exact {
	var all []exact
	for _, a := range []string{"token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"} {
		all = append(all, exact{"RL.ALLOW " + a, CountFirst, fmt.Sprintf("RL.ALLOW %s:{key} %s %d 52w 1", a, a, exactLimit), exactLimit})
	}
	near, far := tagOn(0, 2), tagOn(1, 2)
	return append(all,
		exact{"RL.ALLOW budget", CountFirst, "RL.ALLOW budget:{key} budget 10.00 52w 0.01", exactLimit},
		exact{"RL.MALLOW, 2 groups", CountEach, "RL.MALLOW m1:{key} token_bucket 1000 52w 1 m2:{same} fixed_window 700 52w 1", exactLimit + 700},
		exact{"RL.ALLOWALL in one shard", CountFirst, "RL.ALLOWALL {{key}}:a token_bucket 1000 52w 1 {{same}}:b fixed_window 700 52w 1", 700},
		exact{"RL.ALLOWALL in two shards", CountFirst,
			"RL.ALLOWALL {" + near + "}:{key} token_bucket 1000 52w 1 {" + far + "}:{same} fixed_window 700 52w 1", 700},
		exact{"RL.LEASE of 7 units, units", CountFirst, "RL.LEASE lease:{key} fixed_window 1000 52w 7 HOLDER h", exactLimit},
		exact{"RL.ALLOW @plan, 3 limits", CountFirst, "RL.ALLOW plan:{key} @exact 1", 700},
	)
}

// moving is a limit of movingUnit a second on one hot key, and the most that may pass within some time.
type moving struct {
	algorithm string
	most      func(t time.Duration) uint64
}

func movings() []moving {
	windows := func(t time.Duration) uint64 { return uint64(t / time.Second) }
	bucket := func(t time.Duration) uint64 { return movingUnit + uint64(movingUnit*t.Seconds()) }
	return []moving{
		{"token_bucket", bucket},
		{"leaky_bucket", bucket},
		{"fixed_window", func(t time.Duration) uint64 { return movingUnit * (windows(t) + 2) }},
		{"sliding_log", func(t time.Duration) uint64 { return movingUnit * (windows(t) + 1) }},
		{"sliding_counter", func(t time.Duration) uint64 { return movingUnit * (windows(t) + 2) }},
	}
}

func (r *runner) accuracy() error {
	sluice, err := r.startPlanned()
	if err != nil {
		return err
	}
	sec := r.section("accuracy", "How many calls pass", fmt.Sprintf(
		"%d connections at once ask %s times for each of %d keys; windows of 52 weeks do not move on meanwhile, so what may pass is known to the unit. "+
			"Below, one hot key is asked as fast as it goes with %s a second; what may pass there depends on the time between first request and last reply.",
		r.Connections, Whole(exactCalls), exactKeys, Whole(movingUnit)),
		"call", "asked", "passed", "may pass")
	for _, e := range exacts() {
		load := Load{
			Addr: sluice.addr, Request: requestOf(e.counts, 1, e.line), Keys: Keys{Kind: "each", Count: exactKeys},
			Connections: r.Connections, Pipeline: 16, Requests: exactKeys * exactCalls, Seed: r.Seed,
		}
		out, err := r.accurate(load, e.name)
		if err != nil {
			return err
		}
		want := exactKeys * e.passes
		if out.Admitted != want {
			return fmt.Errorf("%s: %d of %d calls passed, exactly %d may", e.name, out.Admitted, out.Requests, want)
		}
		sec.row(e.name, Whole(float64(out.Requests)), Whole(float64(out.Admitted)), "= "+Whole(float64(want)))
	}
	for _, m := range movings() {
		load := Load{
			Addr: sluice.addr, Request: requestOf(CountFirst, 1, fmt.Sprintf("RL.ALLOW hot:%s:{key} %s %d 1s 1", m.algorithm, m.algorithm, movingUnit)),
			Keys: Keys{Kind: "hot", Count: 1}, Connections: r.Connections, Pipeline: 16, Duration: r.Turn, Seed: r.Seed,
		}
		out, err := r.accurate(load, m.algorithm)
		if err != nil {
			return err
		}
		if most := m.most(out.Elapsed); out.Admitted > most {
			return fmt.Errorf("%s: %d calls passed in %v, at most %d may", m.algorithm, out.Admitted, out.Elapsed, most)
		}
		sec.row("RL.ALLOW "+m.algorithm+", one hot key", Whole(float64(out.Requests)), Whole(float64(out.Admitted)), "≤ "+Whole(float64(m.most(out.Elapsed))))
	}
	return nil
}

func (r *runner) accurate(load Load, name string) (*Outcome, error) {
	r.progress("accuracy · %s", name)
	out, err := load.Run(r.ctx)
	if err == nil && out.Errors > 0 {
		err = fmt.Errorf("%s: %d of %d calls failed: %s", name, out.Errors, out.Requests, out.FirstError)
	}
	return out, err
}

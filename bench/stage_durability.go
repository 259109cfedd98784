package bench

// What the journal costs: each setting against none, --journal always beside Redis with appendfsync always, and how fast a
// snapshot is loaded.

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// durableLine changes its key with every call, so that every call is journalled.
const durableLine = "RL.ALLOW user:{key} fixed_window 1000000000 52w 1"

func (r *runner) durability() error {
	sec := r.section("durability", "Durability", "Every call changes its key. The settings take turns, each on a fresh directory.",
		"pipeline", "keys", "what", "requests a second", "server CPU µs a request", "against")
	type ground struct {
		depth int
		keys  uint64
	}
	grounds := []ground{{1, keysLive}, {100, keysLive}, {100, 1_000_000}}
	modes := []string{"off", "everysec", "os"}
	got := map[string]samples{}
	for round := range r.Rounds {
		for _, mode := range modes {
			s, err := r.durable(mode)
			if err != nil {
				return err
			}
			for _, g := range grounds {
				if err := r.journalled(got, fmt.Sprintf("journal/%s/p%d/%d", mode, g.depth, g.keys), round, g.depth, g.keys, s, durableLine); err != nil {
					return err
				}
			}
			r.stopAll()
		}
		if err := r.always(got, round); err != nil {
			return err
		}
	}
	for _, g := range grounds {
		base := got[fmt.Sprintf("journal/off/p%d/%d", g.depth, g.keys)]
		for _, mode := range modes {
			s := got[fmt.Sprintf("journal/%s/p%d/%d", mode, g.depth, g.keys)]
			sec.row(fmt.Sprint(g.depth), Whole(float64(g.keys)), "Sluice --journal "+mode, s.of(rate).whole(), s.of(cpu).micros(),
				times(s.of(rate).over(base.of(rate)))+" × --journal off")
		}
	}
	for _, who := range []struct{ name, id string }{{"Sluice --journal always", "journal/always"}, {"Redis INCR, appendfsync always", "journal/redis"}} {
		if s := got[who.id]; s != nil {
			sec.row("16", Whole(keysLive), who.name, s.of(rate).whole(), s.of(cpu).micros(), times(s.of(rate).over(got["journal/redis"].of(rate)))+" × Redis")
		}
	}
	for name, s := range got {
		r.report.Samples[name] = s
	}
	return r.recovery(sec)
}

// durable starts Sluice on a fresh directory.
func (r *runner) durable(mode string) (*server, error) {
	dir, err := os.MkdirTemp(r.dir, "data")
	if err != nil {
		return nil, err
	}
	return r.startSluice("--dir", dir, "--journal", mode)
}

// journalled makes the keys and takes one turn.
func (r *runner) journalled(got map[string]samples, name string, round, depth int, keys uint64, s *server, text string) error {
	c := contender{name: name, server: s, request: requestOf(CountFirst, 1, text)}
	if err := r.fill(s, c.request, keys); err != nil {
		return err
	}
	load := r.load(depth)
	load.Keys.Count = keys
	load.Seed = r.Seed + uint64(round)
	one, err := r.turn(load, c, round)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.progress("durability · round %d of %d · %s · %s requests/s", round+1, r.Rounds, name, Whole(one.PerSecond))
	got[name] = append(got[name], one)
	return nil
}

func (r *runner) always(got map[string]samples, round int) error {
	s, err := r.durable("always")
	if err != nil {
		return err
	}
	if err := r.journalled(got, "journal/always", round, 16, keysLive, s, durableLine); err != nil {
		return err
	}
	r.stopAll()
	if r.Redis == "" {
		return nil
	}
	dir, err := os.MkdirTemp(r.dir, "redis")
	if err != nil {
		return err
	}
	redis, err := r.startRedis("--dir", dir, "--appendonly", "yes", "--appendfsync", "always")
	if err != nil {
		return err
	}
	defer r.stopAll()
	return r.journalled(got, "journal/redis", round, 16, keysLive, redis, "INCR user:{key}")
}

// recovery saves a million keys and starts again.
func (r *runner) recovery(sec *section) error {
	dir, err := os.MkdirTemp(r.dir, "data")
	if err != nil {
		return err
	}
	s, err := r.startSluice("--dir", dir, "--journal", "off")
	if err != nil {
		return err
	}
	if err := r.fill(s, requestOf(CountFirst, 1, lastingLine), memoryKeys); err != nil {
		return err
	}
	if err := s.do(r.ctx, "SAVE"); err != nil {
		return err
	}
	r.stopAll()
	bytes := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "snapshot-*"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			bytes = max(bytes, info.Size())
		}
	}
	if s, err = r.startSluice("--dir", dir, "--journal", "off"); err != nil {
		return err
	}
	if n, err := s.admin.DBSize(r.ctx).Result(); err != nil || n != memoryKeys {
		return fmt.Errorf("%d of %d keys were loaded (%v)", n, memoryKeys, err)
	}
	r.report.Values["recovery/seconds"] = spread{s.took.Seconds()}
	sec.Text += fmt.Sprintf(" A snapshot of %s token buckets with keys of 20 bytes takes %.0f bytes a key, the key among them; a server that starts on it answers after %v.",
		Whole(memoryKeys), float64(bytes)/memoryKeys, s.took.Round(time.Millisecond))
	return nil
}

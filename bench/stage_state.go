package bench

// What grows with the number of keys: the cost of a call, and memory.

import (
	"fmt"
)

// lastingLine makes keys that nothing frees while they are measured, and never denies.
const lastingLine = "RL.ALLOW user:{key} token_bucket 1000000 3000000000s 1"

const lastingSeconds = 1_000_000

// fill asks for each of the first n keys once.
func (r *runner) fill(s *server, request *Request, n uint64) error {
	load := Load{
		Addr: s.addr, Request: request, Keys: Keys{Kind: "each", Count: n}, Connections: 4, Pipeline: 500, Requests: n, Seed: r.Seed,
	}
	out, err := load.Run(r.ctx)
	if err == nil && out.Errors > 0 {
		err = fmt.Errorf("%d of %d keys could not be made: %s", out.Errors, n, out.FirstError)
	}
	return err
}

func (r *runner) growth() error {
	const depth = 100
	sec := r.section("growth", "By live keys", fmt.Sprintf("Pipelines of %d over uniform keys that are all there.", depth),
		"keys", "what", "requests a second", "server CPU µs a request", "against 100,000 keys")
	sluice, err := r.startSluice("--dir", "")
	if err != nil {
		return err
	}
	all := []contender{{name: "Sluice RL.ALLOW token_bucket", id: "sluice", server: sluice, request: requestOf(CountFirst, 1, lastingLine)}}
	if r.Redis != "" && !r.Lean {
		redis, err := r.startRedis()
		if err != nil {
			return err
		}
		all = append(all, contender{name: "Redis INCR", id: "incr", server: redis, request: requestOf(CountNothing, 1, "INCR user:{key}")})
	}
	lines := make([]Line, len(all))
	var rows []func() // written when the one that they are compared with is known
	for n := uint64(1_000); n <= r.KeysMax; n *= 10 {
		if r.Lean && n != keysLive && n != r.KeysMax {
			continue
		}
		for _, c := range all {
			r.progress("growth · %s makes %s keys", c.name, Whole(float64(n)))
			if err := r.fill(c.server, c.request, n); err != nil {
				return err
			}
		}
		load := r.load(depth)
		load.Keys.Count = n
		got, err := r.race(fmt.Sprintf("keys%d", n), load, all)
		if err != nil {
			return err
		}
		for i, c := range all {
			s := got[c.id]
			lines[i].Name = c.name
			lines[i].add(float64(n), s.of(rate).median())
			rows = append(rows, func() {
				base := r.report.Samples[fmt.Sprintf("keys%d/%s", keysLive, c.id)]
				sec.row(Whole(float64(n)), c.name, s.of(rate).whole(), s.of(cpu).micros(), times(s.of(rate).over(base.of(rate))))
			})
		}
	}
	for _, row := range rows {
		row()
	}
	r.chart(Chart{File: "growth.svg", Title: "Requests a second by live keys, pipelines of 100", X: "live keys", Y: "requests a second", LogX: true, Lines: lines})
	return nil
}

// memoryKeys is how many keys memory is measured with.
const memoryKeys = 1_000_000

func (r *runner) memory() error {
	sec := r.section("memory", "Memory", fmt.Sprintf("%s token buckets with keys of 20 bytes: resident memory over the empty server.", Whole(memoryKeys)),
		"what", "bytes a key", "against Lua")
	type filled struct {
		id, name string
		server   *server
		request  *Request
	}
	sluice, err := r.startSluice("--dir", "")
	if err != nil {
		return err
	}
	all := []filled{}
	if r.Redis != "" {
		redis, err := r.startRedis()
		if err != nil {
			return err
		}
		lua, err := redis.lua(r.ctx, "token_bucket", "user", lastingSeconds)
		if err != nil {
			return err
		}
		all = append(all, filled{"lua", "Redis, token bucket in Lua", redis, lua})
	}
	all = append(all, filled{"sluice", "Sluice, token_bucket", sluice, requestOf(CountFirst, 1, lastingLine)})
	bytes := map[string]spread{}
	for _, f := range all {
		r.progress("memory · %s", f.name)
		before, err := residentBytes(f.server.pid)
		if err != nil {
			return err
		}
		if err := r.fill(f.server, f.request, memoryKeys); err != nil {
			return err
		}
		if n, err := f.server.admin.DBSize(r.ctx).Result(); err != nil || n != memoryKeys {
			return fmt.Errorf("%s has %d of %d keys (%v)", f.name, n, memoryKeys, err)
		}
		after, err := residentBytes(f.server.pid)
		if err != nil {
			return err
		}
		bytes[f.id] = spread{float64(after-before) / memoryKeys}
		r.report.Values["memory/"+f.id] = bytes[f.id]
	}
	for _, f := range all {
		sec.row(f.name, fmt.Sprintf("%.0f", bytes[f.id].median()), times(bytes[f.id].over(bytes["lua"])))
	}
	return nil
}

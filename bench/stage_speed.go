package bench

// How much a server can do: a closed loop, by depth of the pipeline, by what is asked, by which keys, by connections and
// by shards.

import (
	"context"
	"fmt"
	"time"
)

const (
	keysLive = 100_000 // keys that most races are about
	// bucketLine is the call that most races make: no key of keysLive is asked so often that it would be denied.
	bucketLine  = "RL.ALLOW user:{key} token_bucket 100 1s 1"
	bucketLimit = 100
)

// bucketBound is how many calls may pass a token bucket of bucketLimit a second on each of some keys.
func bucketBound(keys uint64, t time.Duration) uint64 {
	return keys * (bucketLimit + uint64(bucketLimit*t.Seconds()) + 1)
}

// load is the load that most races put on.
func (r *runner) load(depth int) Load {
	return Load{Keys: Keys{Kind: "uniform", Count: keysLive}, Connections: r.Connections, Pipeline: depth, Duration: r.Turn}
}

// contenders starts Sluice, the constant-reply loop and Redis, and returns them with the calls that are compared
// everywhere, and the reader's peers.
func (r *runner) contenders() ([]contender, error) {
	sluice, err := r.startSluice("--dir", "")
	if err != nil {
		return nil, err
	}
	ceiling, err := r.startConstant()
	if err != nil {
		return nil, err
	}
	all := []contender{
		{name: "Sluice RL.ALLOW token_bucket", id: "sluice", server: sluice, request: requestOf(CountFirst, 1, bucketLine), bound: bucketBound},
		{name: "constant reply", id: "constant", server: ceiling, request: requestOf(CountNothing, 1, bucketLine)},
	}
	if r.Redis == "" {
		return append(all, r.others...), nil
	}
	redis, err := r.startRedis()
	if err != nil {
		return nil, err
	}
	lua, err := redis.lua(r.ctx, "token_bucket", "user", 1)
	if err != nil {
		return nil, err
	}
	return append(append(all,
		contender{name: "Redis, token bucket in Lua", id: "lua", server: redis, request: lua},
		contender{name: "Redis INCR", id: "incr", server: redis, request: requestOf(CountNothing, 1, "INCR counter:{key}")},
		contender{name: "Redis PING", id: "ping", server: redis, request: requestOf(CountNothing, 1, "PING")},
	), r.others...), nil
}

// lua is the request of one of the scripts: bucketLimit in so many seconds, on keys that begin as said.
func (s *server) lua(ctx context.Context, name, keys string, seconds int) (*Request, error) {
	sha, err := s.script(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s.lua: %w", name, err)
	}
	return requestOf(CountFirst, 1, fmt.Sprintf("EVALSHA %s 1 %s:{key} %d %d 1", sha, keys, bucketLimit, seconds)), nil
}

// depths are the pipelines that are measured; the targets need the first, the third and the last.
var depths = []int{1, 4, 16, 50, 100}

func (r *runner) pipelines() error {
	all, err := r.contenders()
	if err != nil {
		return err
	}
	sec := r.section("pipelines", "By depth of the pipeline", fmt.Sprintf(
		"%d connections, %s uniform keys, a closed loop.", r.Connections, Whole(keysLive)),
		"pipeline", "what", "requests a second", "server CPU µs a request", "p50 µs", "p99 µs", "requests against Lua", "CPU against Lua", "CPU against INCR")
	var rates, cpus []Line
	for _, c := range all {
		rates, cpus = append(rates, Line{Name: c.name}), append(cpus, Line{Name: c.name})
	}
	for _, depth := range depths {
		if r.Lean && depth != 1 && depth != 16 && depth != 100 {
			continue
		}
		got, err := r.race(fmt.Sprintf("p%d", depth), r.load(depth), all)
		if err != nil {
			return err
		}
		for i, c := range all {
			s := got[c.id]
			sec.row(fmt.Sprint(depth), c.name, s.of(rate).whole(), s.of(cpu).micros(), s.of(p50).wholeMedian(), s.of(p99).wholeMedian(),
				times(s.of(rate).over(got["lua"].of(rate))), part(s.of(cpu).over(got["lua"].of(cpu))), times(s.of(cpu).over(got["incr"].of(cpu))))
			rates[i].add(float64(depth), s.of(rate).median())
			cpus[i].add(float64(depth), s.of(cpu).median())
		}
	}
	r.chart(Chart{File: "pipelines.svg", Title: "Requests a second by depth of the pipeline", X: "pipeline", Y: "requests a second", LogX: true, LogY: true, Lines: rates})
	r.chart(Chart{File: "cpu.svg", Title: "Server CPU by depth of the pipeline", X: "pipeline", Y: "µs a request", LogX: true, LogY: true, Lines: cpus})
	return nil
}

// call is a kind of call that is measured for itself.
type call struct {
	name   string
	calls  int // decisions in one request
	counts Counting
	line   string
	keys   *Keys // instead of the race's
}

// plans are the plans that some of the calls name.
var plans = []struct{ name, text string }{
	{"one", "{limits: {a: {algorithm: token_bucket, limit: 100, window: 1s}}}"},
	{"three", "{limits: {a: {algorithm: token_bucket, limit: 100, window: 1s}, b: {algorithm: sliding_counter, limit: 6000, window: 1m}, " +
		"c: {algorithm: fixed_window, limit: 100000, window: day}}}"},
	{"exact", "{limits: {a: {algorithm: token_bucket, limit: 1000, window: 52w}, b: {algorithm: sliding_counter, limit: 900, window: 52w}, " +
		"c: {algorithm: fixed_window, limit: 700, window: 52w}}}"},
}

// startPlanned starts Sluice with two shards and the plans.
func (r *runner) startPlanned() (*server, error) {
	s, err := r.startSluice("--dir", "", "--shards", "2")
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		if err := s.do(r.ctx, "RL.PLAN", "SET", p.name, p.text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// idLine is a call with an id, which is remembered for a second.
const idLine = "RL.ALLOW id:{key} token_bucket 100 1s 1 IDEMPOTENT {same} TTL 1s"

// callsOf returns the kinds of calls, for a server of two shards.
func callsOf() []call {
	all := []call{}
	for _, a := range []string{"token_bucket", "gcra", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter", "budget"} {
		all = append(all, call{"RL.ALLOW " + a, 1, CountFirst, "RL.ALLOW " + a + ":{key} " + a + " 100 1s 1", nil})
	}
	groups := ""
	for range 10 {
		groups += " token_bucket:{key} token_bucket 100 1s 1"
	}
	near, far := tagOn(0, 2), tagOn(1, 2)
	return append(all,
		call{"RL.PEEK token_bucket", 1, CountFirst, "RL.PEEK token_bucket:{key} token_bucket 100 1s 1", nil},
		call{"RL.MALLOW, 10 groups", 10, CountEach, "RL.MALLOW" + groups, nil},
		call{"RL.ALLOWALL, 2 limits in one shard", 2, CountFirst, "RL.ALLOWALL {{key}}:m token_bucket 100 1s 1 {{same}}:d token_bucket 10000 1m 1", nil},
		call{"RL.ALLOWALL, 2 limits in two shards", 2, CountFirst,
			"RL.ALLOWALL {" + near + "}:{key} token_bucket 100 1s 1 {" + far + "}:{same} token_bucket 10000 1m 1", nil},
		call{"RL.ALLOW @plan, 1 limit", 1, CountFirst, "RL.ALLOW plan:{key} @one 1", nil},
		call{"RL.ALLOW @plan, 3 limits", 3, CountFirst, "RL.ALLOW plan:{key} @three 1", nil},
		call{"RL.LEASE of 100 units", 1, CountFirst, "RL.LEASE lease:{key} token_bucket 100000 1s 100 HOLDER h TTL 1s", nil},
		call{"RL.ALLOW with an id, all new", 1, CountFirst, idLine, &Keys{Kind: "new", Count: 1}},
		call{"RL.ALLOW with an id, most sent again", 1, CountFirst, idLine, nil},
		call{"RL.ACQUIRE", 1, CountFirst, "RL.ACQUIRE permits:{key} 1000 10ms", nil},
	)
}

func (r *runner) algorithms() error {
	sluice, err := r.startPlanned()
	if err != nil {
		return err
	}
	const depth = 100
	sec := r.section("algorithms", "By algorithm and kind of call", fmt.Sprintf(
		"%d connections, pipelines of %d, %s uniform keys, two shards. A request of several limits makes as many decisions. The last rows are the same "+
			"limiters in Lua, and go-redis as the client with one call at a time, which shows the client's cost more than the server's.",
		r.Connections, depth, Whole(keysLive)),
		"call", "requests a second", "decisions a second", "server CPU µs a decision")
	load := r.load(depth)
	load.Duration = r.Turn / 2
	var all []contender
	for _, c := range callsOf() {
		all = append(all, contender{name: c.name, id: c.name, server: sluice, request: requestOf(c.counts, c.calls, c.line), keys: c.keys})
	}
	if r.Redis != "" {
		redis, err := r.startRedis()
		if err != nil {
			return err
		}
		for _, script := range []string{"token_bucket", "fixed_window", "sliding_log"} {
			request, err := redis.lua(r.ctx, script, script, 1)
			if err != nil {
				return err
			}
			all = append(all, contender{name: "Redis, " + script + " in Lua", id: "lua " + script, server: redis, request: request})
		}
	}
	all = append(all, contender{name: "go-redis, RL.ALLOW token_bucket", id: "go-redis", server: sluice, request: requestOf(CountFirst, 1, bucketLine), client: true})
	got, err := r.race("algorithms", load, all)
	if err != nil {
		return err
	}
	for _, c := range all {
		s, n := got[c.id], float64(c.request.Calls)
		sec.row(c.name, s.of(rate).whole(),
			s.of(func(s sample) float64 { return s.PerSecond * n }).whole(),
			s.of(func(s sample) float64 { return s.CPUMicros / n }).micros())
	}
	return nil
}

func (r *runner) distributions() error {
	sluice, err := r.startSluice("--dir", "")
	if err != nil {
		return err
	}
	const depth = 100
	sec := r.section("keys", "By which keys are asked", fmt.Sprintf("Pipelines of %d. zipf has the exponent %v; new asks each key once.", depth, zipfExponent),
		"keys", "requests a second", "server CPU µs a request")
	var all []contender
	for _, k := range []Keys{{Kind: "uniform", Count: keysLive}, {Kind: "zipf", Count: keysLive}, {Kind: "hot", Count: 1}, {Kind: "new", Count: 1}} {
		c := contender{name: k.Kind, id: k.Kind, server: sluice, request: requestOf(CountFirst, 1, bucketLine), bound: bucketBound, keys: &k}
		if k.Kind == "new" {
			c.bound = nil
		}
		all = append(all, c)
	}
	got, err := r.race("keys", r.load(depth), all)
	if err != nil {
		return err
	}
	for _, c := range all {
		sec.row(c.name, got[c.id].of(rate).whole(), got[c.id].of(cpu).micros())
	}
	return nil
}

// filesSpare is how many files besides connections this process needs.
const filesSpare = 100

func (r *runner) connections() error {
	all, err := r.contenders()
	if err != nil {
		return err
	}
	sec := r.section("connections", "By connections", "One call at a time on each, a closed loop: with many connections latency is what waits in line.",
		"connections", "what", "requests a second", "server CPU µs a request", "p99 ms")
	var lines []Line
	for _, c := range all {
		lines = append(lines, Line{Name: c.name})
	}
	for _, n := range []int{1, 10, 50, 200, 1_000, 10_000} {
		if n+filesSpare > filesMax() {
			r.lack("%s connections: this process may open %d files (ulimit -n)", Whole(float64(n)), filesMax())
			continue
		}
		load := r.load(1)
		load.Connections = n
		load.Duration = r.Turn / 2
		got, err := r.race(fmt.Sprintf("c%d", n), load, all)
		if err != nil {
			return err
		}
		for i, c := range all {
			s := got[c.id]
			sec.row(Whole(float64(n)), c.name, s.of(rate).whole(), s.of(cpu).micros(), fmt.Sprintf("%.2f", s.of(p99).median()/1000))
			lines[i].add(float64(n), s.of(rate).median())
		}
	}
	r.chart(Chart{File: "connections.svg", Title: "One call at a time on each connection", X: "connections", Y: "requests a second", LogX: true, Lines: lines})
	return nil
}

func (r *runner) shards() error {
	sec := r.section("shards", "By shards", "Pipelines of 100. The generator needs a core, so that on two cores a second shard shows in CPU more than in rate; "+
		"`go test ./shard -bench SetRun` has no generator beside it.",
		"shards", "requests a second", "server CPU µs a request")
	for _, n := range []int{1, 2, 4} {
		sluice, err := r.startSluice("--dir", "", "--shards", fmt.Sprint(n))
		if err != nil {
			return err
		}
		c := contender{name: fmt.Sprintf("%d shards", n), id: "sluice", server: sluice, request: requestOf(CountFirst, 1, bucketLine), bound: bucketBound}
		got, err := r.race(fmt.Sprintf("shards%d", n), r.load(100), []contender{c})
		if err != nil {
			return err
		}
		sec.row(fmt.Sprint(n), got["sluice"].of(rate).whole(), got["sluice"].of(cpu).micros())
		r.stopAll()
	}
	return nil
}

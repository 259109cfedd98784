package bench

// What can be chosen, and the order of the stages. Each stage starts the servers that it needs, measures, writes a section
// of the report and ends them.

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

//go:embed lua
var scripts embed.FS

// Options say what is measured and how long.
type Options struct {
	Binary      string // the sluice that is measured
	Version     string // of it
	Unmeasured  string // the same built with -tags unmeasured; empty: what metrics cost is left out
	Redis       string // redis-server; empty: the one in PATH, if there is one
	Port        int    // the first of three ports on loopback
	Turn        time.Duration
	Rounds      int
	Connections int
	KeysMax     uint64   // of the largest table
	Stages      []string // empty: all of StageNames
	Lean        bool     // of each stage only what the targets need, and of those not what takes long
	Peers       []string // other limiters: name=HOST:PORT,command…
	AllowRemote bool     // peers need not be on this machine
	ProfileDir  string   // where the servers leave profiles; empty: none
	GoBench     string   // the output of go test -bench, for the report
	Seed        uint64
	Progress    func(line string) // is told what is going on; may be nil
}

// These bound Options.
const (
	TurnMin   = 100 * time.Millisecond
	TurnMax   = time.Minute
	RoundsMax = 100
)

// stage is one thing that is measured.
type stage struct {
	name string
	what string
	run  func(*runner) error
}

var stages = []stage{
	{"accuracy", "how many calls pass, against how many may", (*runner).accuracy},
	{"pipelines", "requests a second and CPU by depth of the pipeline, beside the others", (*runner).pipelines},
	{"algorithms", "every algorithm and every kind of call", (*runner).algorithms},
	{"keys", "which keys are asked, from one hot key to ever new ones", (*runner).distributions},
	{"connections", "from one connection to ten thousand", (*runner).connections},
	{"shards", "one, two and four shards", (*runner).shards},
	{"growth", "from a thousand keys to ten million", (*runner).growth},
	{"memory", "bytes a key", (*runner).memory},
	{"latency", "how long callers wait at fixed rates", (*runner).latency},
	{"pauses", "how long callers wait while a snapshot is written and while millions of keys expire", (*runner).pauses},
	{"durability", "what the journal costs", (*runner).durability},
	{"gateways", "what twenty gateways with the Go client cost the server", (*runner).gateways},
	{"metrics", "what metrics cost, beside a server without them (--unmeasured)", (*runner).metrics},
	{"redis-benchmark", "the same with redis-benchmark as the generator", (*runner).redisBenchmark},
}

// StageNames are what Options.Stages may hold, with a line about each.
func StageNames() (names, lines []string) {
	for _, s := range stages {
		names = append(names, s.name)
		lines = append(lines, fmt.Sprintf("%-16s %s", s.name, s.what))
	}
	return names, lines
}

// runner is a benchmark under way.
type runner struct {
	Options
	ctx     context.Context
	dir     string // scratch, removed at the end
	report  *Report
	running []*server
	others  []contender // the reader's peers
	fresh   uint64      // the first key that no turn has used
}

// Run measures. An error means that nothing can be said: a server that could not be started, wrong answers, one call too
// many that passed. Targets that are missed are no error; see Report.Missed.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &runner{Options: o, ctx: ctx, dir: dir, fresh: 1 << 40}
	defer r.stopAll()
	if r.report, err = r.newReport(); err != nil {
		return nil, err
	}
	r.report.GoBench = o.GoBench
	if err := r.findPeers(); err != nil {
		return nil, err
	}
	for _, s := range stages {
		if len(o.Stages) > 0 && !slices.Contains(o.Stages, s.name) {
			continue
		}
		began := time.Now()
		if err := s.run(r); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		r.stopAll()
		r.progress("%s took %v", s.name, time.Since(began).Round(time.Second))
	}
	r.report.judge()
	return r.report, nil
}

// Check says what is wrong with the options, and finds redis-server where it is not given.
func (o *Options) Check() error {
	names, _ := StageNames()
	for _, s := range o.Stages {
		if !slices.Contains(names, s) {
			return fmt.Errorf("no stage is called %q; there are %s", s, strings.Join(names, ", "))
		}
	}
	switch {
	case o.Turn < TurnMin || o.Turn > TurnMax:
		return fmt.Errorf("a turn must take from %v to %v, got %v", TurnMin, TurnMax, o.Turn)
	case o.Rounds < 1 || o.Rounds > RoundsMax:
		return fmt.Errorf("rounds must be from 1 to %d, got %d", RoundsMax, o.Rounds)
	case o.Connections < 1 || o.Connections > ConnectionsMax:
		return fmt.Errorf("connections must be from 1 to %d, got %d", ConnectionsMax, o.Connections)
	case o.KeysMax < 1000 || o.KeysMax > KeysMax:
		return fmt.Errorf("the largest table must have from 1000 to %d keys, got %d", KeysMax, o.KeysMax)
	case o.Port < 1 || o.Port > 65_000:
		return fmt.Errorf("the first port must be from 1 to 65000, got %d", o.Port)
	}
	if o.Redis == "" {
		o.Redis, _ = exec.LookPath("redis-server")
	}
	if o.Redis == "" && o.Lean {
		return errNoRedis
	}
	_, err := o.peers()
	return err
}

// errNoRedis is why something that needs Redis was not measured.
var errNoRedis = errors.New("redis-server was not found in PATH; on Debian apt-get install redis-server brings it")

func (r *runner) progress(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// stopAll ends the servers of a stage.
func (r *runner) stopAll() {
	for _, s := range r.running {
		s.stop()
	}
	r.running = nil
}

// peers reads Options.Peers.
func (o *Options) peers() (all []contender, err error) {
	for _, text := range o.Peers {
		name, rest, ok := strings.Cut(text, "=")
		addr, command, ok2 := strings.Cut(rest, ",")
		if !ok || !ok2 || name == "" || len(strings.Fields(command)) == 0 {
			return nil, fmt.Errorf("a peer is name=HOST:PORT,command with {key} in it, such as cell=127.0.0.1:6379,CL.THROTTLE {key} 99 100 1, got %q", text)
		}
		if err := Loopback(addr, o.AllowRemote); err != nil {
			return nil, fmt.Errorf("peer %s: %w", name, err)
		}
		all = append(all, contender{name: name, id: name, server: &server{addr: addr}, request: requestOf(CountNothing, 1, command)})
	}
	return all, nil
}

// findPeers sees whether the peers are there, and finds out the process of each, where it tells one.
func (r *runner) findPeers() (err error) {
	if r.others, err = r.peers(); err != nil {
		return err
	}
	for _, c := range r.others {
		s := connectTo(c.server.addr)
		defer s.admin.Close()
		if err := s.admin.Ping(r.ctx).Err(); err != nil {
			return fmt.Errorf("peer %s at %s: %w", c.name, s.addr, err)
		}
		if pid, err := s.info(r.ctx, "server", "process_id"); err == nil {
			fmt.Sscan(pid, &c.server.pid)
			if _, err := cpuTime(c.server.pid); err != nil {
				c.server.pid = 0
			}
		}
	}
	return nil
}

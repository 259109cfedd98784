package bench

// redis-benchmark as the generator: a second opinion. It needs a core for itself, so above about a million requests a second
// it is the brake, and CPU tells more than the rate.

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// redisBenchmarkWarm is how many requests find out how many fill a turn.
const redisBenchmarkWarm = 30_000

func (r *runner) redisBenchmark() error {
	program, err := exec.LookPath("redis-benchmark")
	if err != nil || r.Redis == "" {
		r.lack("redis-benchmark: it was not found in PATH, or redis-server was not")
		return nil
	}
	all, err := r.contenders()
	if err != nil {
		return err
	}
	sec := r.section("redis-benchmark", "With redis-benchmark", "The same calls with redis-benchmark, which draws uniform keys of 17 bytes. It is the brake above about a million "+
		"requests a second.",
		"pipeline", "what", "requests a second", "server CPU µs a request", "requests against Lua", "CPU against Lua", "CPU against INCR")
	for _, depth := range []int{1, 16, 100} {
		got := map[string]samples{}
		compared := []contender{}
		for _, c := range all {
			if c.id == "sluice" || c.id == "lua" || c.id == "incr" {
				compared = append(compared, c)
			}
		}
		count := map[string]int{}
		for round := -1; round < r.Rounds; round++ {
			for _, c := range compared {
				n := max(count[c.id], redisBenchmarkWarm)
				s, err := r.redisBenchmarkTurn(program, depth, n, c)
				if err != nil {
					return err
				}
				count[c.id] = int(s.PerSecond * r.Turn.Seconds())
				if round >= 0 {
					got[c.id] = append(got[c.id], s)
				}
				r.progress("redis-benchmark · -P %d · round %d of %d · %s · %s requests/s", depth, round+1, r.Rounds, c.name, Whole(s.PerSecond))
			}
		}
		for _, c := range compared {
			s := got[c.id]
			r.report.Samples[fmt.Sprintf("redis-benchmark/p%d/%s", depth, c.id)] = s
			sec.row(fmt.Sprint(depth), c.name, s.of(rate).whole(), s.of(cpu).micros(),
				times(s.of(rate).over(got["lua"].of(rate))), part(s.of(cpu).over(got["lua"].of(cpu))), times(s.of(cpu).over(got["incr"].of(cpu))))
		}
	}
	return nil
}

// redisBenchmarkTurn has it make n requests.
func (r *runner) redisBenchmarkTurn(program string, depth, n int, c contender) (sample, error) {
	_, port, err := net.SplitHostPort(c.server.addr)
	if err != nil {
		return sample{}, err
	}
	args := []string{"-p", port, "-c", strconv.Itoa(r.Connections), "-P", strconv.Itoa(depth), "-n", strconv.Itoa(n), "-r", strconv.Itoa(keysLive), "--csv"}
	for _, w := range c.request.Words {
		args = append(args, strings.ReplaceAll(w, "{key}", "__rand_int__"))
	}
	before, _ := cpuTime(c.server.pid)
	text, err := exec.CommandContext(r.ctx, program, args...).Output()
	after, _ := cpuTime(c.server.pid)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return sample{}, fmt.Errorf("redis-benchmark, %s: %w: %s", c.name, err, failed.Stderr)
	}
	if err != nil {
		return sample{}, err
	}
	// "name","rps",… — the name may hold anything.
	fields := strings.Split(strings.TrimSpace(string(text[strings.LastIndex(strings.TrimSpace(string(text)), "\n")+1:])), `","`)
	if len(fields) < 2 {
		return sample{}, fmt.Errorf("redis-benchmark said %q", text)
	}
	perSecond, err := strconv.ParseFloat(strings.Trim(fields[1], `"`), 64)
	if err != nil {
		return sample{}, fmt.Errorf("redis-benchmark said %q: %w", text, err)
	}
	return sample{PerSecond: perSecond, CPUMicros: float64(after-before) / float64(time.Microsecond) / float64(n)}, nil
}

package main

// sluice bench: measures this binary beside redis-server on this machine. What is measured is in package bench; here are
// its flags, and where the report goes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sluice/bench"
)

// benchFlags are the flags as they were given.
type benchFlags struct {
	options bench.Options
	quick   bool
	smoke   bool
	goBench string
	docs    string
	json    string
}

// What --smoke measures: the stages that the targets need, in under two minutes.
var smokeStages = []string{"accuracy", "pipelines", "growth", "memory", "pauses", "durability"}

const (
	smokeTurn = 400 * time.Millisecond
	quickTurn = 300 * time.Millisecond
)

func benchCommand() *cobra.Command {
	f := &benchFlags{}
	names, lines := bench.StageNames()
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure this server beside redis-server on this machine",
		Long: "Measure this server beside redis-server on this machine, with a load generator on the same cores. It takes about ten minutes;\n" +
			"nothing else should run meanwhile. All servers are started, on loopback, and ended.\n\nStages:\n  " + strings.Join(lines, "\n  "),
		Example: "  sluice bench --quick\n" +
			"  sluice bench --only pipelines,latency --rounds 5 --json report.json\n" +
			"  sluice bench --only pipelines --peer 'cell=127.0.0.1:6379,CL.THROTTLE {key} 99 100 1'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags, o := c.Flags(), &f.options
	flags.StringSliceVar(&o.Stages, "only", nil, "`stages` to measure: "+strings.Join(names, ", "))
	flags.DurationVar(&o.Turn, "turn", 1500*time.Millisecond, "`time` that a server is measured at once")
	flags.IntVar(&o.Rounds, "rounds", 3, "`number` of rounds")
	flags.BoolVar(&f.quick, "quick", false, "one short round of each and a million keys at most: to see that it works")
	flags.BoolVar(&f.smoke, "smoke", false, "short rounds of what the targets need; fail if one is missed by more than 15 %")
	flags.IntVar(&o.Connections, "connections", 50, "`number` of connections where the stage does not say otherwise")
	flags.Uint64Var(&o.KeysMax, "keys-max", 10_000_000, "`number` of keys in the largest table")
	flags.IntVar(&o.Port, "port", 26380, "first of three `ports` on loopback that servers get")
	flags.StringVar(&o.Redis, "redis", "", "`file` of redis-server; empty for the one in PATH")
	flags.StringArrayVar(&o.Peers, "peer", nil, "another limiter that is running, `name=HOST:PORT,command` with {key} in the command; may be given again")
	flags.BoolVar(&o.AllowRemote, "allow-remote", false, "let load go to peers on other machines")
	flags.Uint64Var(&o.Seed, "seed", 1, "`seed` of the keys")
	flags.StringVar(&o.Unmeasured, "unmeasured", "", "`file` of this server built with -tags unmeasured, for the stage metrics")
	flags.StringVar(&o.ProfileDir, "profile", "", "`directory` for CPU and allocation profiles of the server")
	flags.StringVar(&f.goBench, "go-bench", "", "`file` with the output of go test -bench, for the report")
	flags.StringVar(&f.docs, "docs", "", "`directory` of the project, whose docs/performance.md, docs/images and README.md get the figures")
	flags.StringVar(&f.json, "json", "", "`file` for the report with all samples, as JSON")
	c.AddCommand(loadCommand(), ceilingCommand())
	return c
}

func (f *benchFlags) run(c *cobra.Command) (err error) {
	o := &f.options
	switch {
	case f.quick && f.smoke:
		return errors.New("--quick and --smoke are different runs: give one of them")
	case f.quick:
		o.Turn, o.Rounds, o.KeysMax = quickTurn, 1, min(o.KeysMax, 1_000_000)
	case f.smoke:
		o.Turn, o.Stages, o.Lean = smokeTurn, smokeStages, true
	}
	if f.goBench != "" {
		text, err := os.ReadFile(f.goBench)
		if err != nil {
			return fmt.Errorf("--go-bench: %w", err)
		}
		o.GoBench = string(text)
	}
	if o.ProfileDir != "" {
		if o.ProfileDir, err = filepath.Abs(o.ProfileDir); err == nil {
			err = os.MkdirAll(o.ProfileDir, 0o755)
		}
		if err != nil {
			return faultError{err}
		}
	}
	if o.Unmeasured != "" {
		if o.Unmeasured, err = filepath.Abs(o.Unmeasured); err != nil {
			return faultError{err}
		}
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.Binary, err = os.Executable(); err != nil {
		return faultError{err}
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.Version, err = bench.VersionOf(ctx, o.Binary); err != nil {
		return faultError{err}
	}
	o.Progress = progressTo(c.ErrOrStderr())
	report, err := bench.Run(ctx, *o)
	if err != nil {
		return faultError{err}
	}
	return f.write(c.OutOrStdout(), report)
}

// write puts the report where it was asked for.
func (f *benchFlags) write(w io.Writer, report *bench.Report) error {
	if err := report.Text(w); err != nil {
		return faultError{err}
	}
	if f.json != "" {
		var text strings.Builder
		if err := errors.Join(report.JSON(&text), os.WriteFile(f.json, []byte(text.String()), 0o644)); err != nil {
			return faultError{err}
		}
	}
	if f.docs != "" {
		if err := report.Docs(f.docs); err != nil {
			return faultError{err}
		}
	}
	if !f.smoke {
		return nil
	}
	if missed := report.Missed(bench.SmokeMargin); len(missed) > 0 {
		return faultError{fmt.Errorf("%d targets are missed by more than %.0f %%, the first is: %s", len(missed), 100*bench.SmokeMargin, missed[0].What)}
	}
	return nil
}

// progressTo writes what is going on: on a terminal one line that changes, else a line each.
func progressTo(w io.Writer) func(string) {
	if file, ok := w.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return func(line string) { fmt.Fprintf(w, "\r\x1b[K%s", line) }
		}
	}
	return func(line string) { fmt.Fprintln(w, line) }
}

// loadCommand puts one load on a server that is running.
func loadCommand() *cobra.Command {
	load, to := bench.Load{}, &peer{}
	var keys string
	var remote bool
	c := &cobra.Command{
		Use:   "load [flags] -- COMMAND…",
		Short: "Put load on a running server; {key} in the command is the next key",
		Long: "Puts load on a server that is running, and tells how long calls waited. {key} in the command is the next key. Over TLS the\n" +
			"load takes more of this machine than it does over TCP or a socket.",
		Example: "  sluice bench load --pipeline 16 -- RL.ALLOW user:{key} token_bucket 100 1s\n" +
			"  sluice bench load --rate 20000 --keys zipf:1000000 -- RL.ALLOW user:{key} gcra 100 1s\n" +
			"  sluice bench load --server rediss://localhost:6390 --cacert ca.crt --password-file password -- RL.ALLOW user:{key} gcra 100 1s",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, words []string) error {
			var err error
			if load.Keys, err = bench.ParseKeys(keys); err != nil {
				return fmt.Errorf("--keys: %w", err)
			}
			o, err := to.options()
			if err != nil {
				return err
			}
			if o.Network != "unix" {
				if err := bench.Loopback(o.Addr, remote); err != nil {
					return fmt.Errorf("--server: %w", err)
				}
			}
			load.Addr = o.Addr
			load.Dial = func(ctx context.Context) (net.Conn, error) { return connect(ctx, o) }
			load.Request = bench.NewRequest(bench.CountFirst, 1, words...)
			if err := load.Check(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			out, err := load.Run(ctx)
			if err != nil {
				return faultError{err}
			}
			fmt.Fprintln(c.OutOrStdout(), out)
			return nil
		},
	}
	flags := c.Flags()
	flags.IntVar(&load.Connections, "connections", 50, "`number` of connections")
	flags.IntVar(&load.Pipeline, "pipeline", 1, "`number` of requests that a connection has under way")
	flags.Float64Var(&load.Rate, "rate", 0, "requests a second in all, sent whatever the server does; 0 for as fast as it goes")
	flags.DurationVar(&load.Duration, "for", 5*time.Second, "`time` that it lasts")
	flags.Uint64Var(&load.Requests, "requests", 0, "`number` of requests at most; 0 for no bound")
	flags.StringVar(&keys, "keys", "uniform:100000", "`kind:number` of keys: uniform, zipf, hot, new or each")
	flags.Uint64Var(&load.Seed, "seed", 1, "`seed` of the keys")
	flags.BoolVar(&remote, "allow-remote", false, "let load go to another machine")
	to.addFlags(c)
	return c
}

// ceilingCommand is what the benchmark starts as the physical limit.
func ceilingCommand() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:    "ceiling",
		Short:  "Answer the same to every request: what the machine allows at most",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return faultError{err}
			}
			if err := bench.ServeConstant(ctx, l); err != nil {
				return faultError{err}
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:26382", "`address` to listen on")
	return c
}

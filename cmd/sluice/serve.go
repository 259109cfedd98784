package main

// sluice serve: its flags, and what is wrong with them. run.go starts and ends
// the server that they describe.

import (
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sluice/algorithms"
	"sluice/internal/clock"
	"sluice/persistence"
	"sluice/shard"
)

const (
	// ShardsMax is how many shards a server can have.
	ShardsMax = 256
	// MemoryMinBytes is the least that --max-memory may be.
	MemoryMinBytes = 16 << 20
)

// serveFlags are the flags as they were given.
type serveFlags struct {
	listen     string
	shards     int
	testClock  bool
	behind     bool
	logLevel   string
	logMax     uint64
	dir        string
	journal    string
	every      time.Duration
	journalMax string
	onError    string
	maxMemory  string
	maxKeys    int
	onFull     string

	// What check makes of them.
	level        slog.Level
	mode         persistence.Mode
	journalBytes int64
	memoryBytes  int64
}

func serveCommand() *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Example: "  sluice serve\n" +
			"  sluice serve --listen 127.0.0.1:6380 --dir /var/lib/sluice --journal always",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.run()
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:6380", "`address` to listen on, HOST:PORT")
	flags.IntVar(&f.shards, "shards", runtime.GOMAXPROCS(0), "`number` of shards")
	flags.StringVar(&f.dir, "dir", "./sluice-data", "`directory` that state is kept in; \"\" keeps nothing")
	flags.StringVar(&f.journal, "journal", "everysec", "when changes are durable: always (before the reply), everysec, os, or off (snapshots only)")
	flags.DurationVar(&f.every, "snapshot-every", 5*time.Minute, "`time` between snapshots while there are changes; 0 for none")
	flags.StringVar(&f.journalMax, "snapshot-journal-bytes", "256MiB", "`size` of the journal that makes a snapshot due, once it is as long as the last snapshot; 0 for none")
	flags.StringVar(&f.onError, "on-disk-error", "serve", "what spending commands get while the journal cannot be written: serve or refuse; under --journal always it is refuse")
	flags.StringVar(&f.maxMemory, "max-memory", "75%", "`size` of memory to keep to, or a share of the machine's or its cgroup's; keys may take nine tenths of it")
	flags.IntVar(&f.maxKeys, "max-keys", 0, "`number` of keys there may be; 0 for no bound")
	flags.StringVar(&f.onFull, "on-full", "refuse", "what happens to a new key without room: refuse, or evict-soonest (of the others)")
	flags.Uint64Var(&f.logMax, "sliding-log-max", algorithms.LogLimitMaxDefault, "largest `limit` of a sliding_log, which keeps every call")
	flags.BoolVar(&f.behind, clock.AllowBehindFlag, false, "start although the clock is more than a day behind what is on disk")
	flags.BoolVar(&f.testClock, "test-clock", false, "a clock that stands still at 2027-01-15T08:00:00Z until RL.CLOCK sets it; for tests and examples")
	flags.StringVar(&f.logLevel, "log-level", "info", "what is logged at least: debug, info, warn or error")
	return c
}

// check reads the flags, and says what is wrong with them and what would be
// right.
func (f *serveFlags) check() (err error) {
	if err := f.level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return fmt.Errorf("--log-level must be debug, info, warn or error, got %q", f.logLevel)
	}
	if f.shards < 1 || f.shards > ShardsMax {
		return fmt.Errorf("--shards must be from 1 to %d, got %d", ShardsMax, f.shards)
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return fmt.Errorf("--listen must be HOST:PORT such as 127.0.0.1:6380, got %q", f.listen)
	}
	if f.mode, err = persistence.ParseMode(f.journal); err != nil {
		return fmt.Errorf("--journal: %w", err)
	}
	if f.every < 0 {
		return fmt.Errorf("--snapshot-every must be 0 or a duration such as 5m, got %v", f.every)
	}
	if f.onError != "serve" && f.onError != "refuse" {
		return fmt.Errorf("--on-disk-error must be serve or refuse, got %q", f.onError)
	}
	if f.onFull != "refuse" && f.onFull != "evict-soonest" {
		return fmt.Errorf("--on-full must be refuse or evict-soonest, got %q", f.onFull)
	}
	if f.maxKeys != 0 && f.maxKeys < f.shards {
		return fmt.Errorf("--max-keys must be 0, or at least the number of shards (%d), got %d", f.shards, f.maxKeys)
	}
	if f.logMax < 1 || f.logMax > shard.LogLimitMax {
		return fmt.Errorf("--sliding-log-max must be from 1 to %d, got %d", shard.LogLimitMax, f.logMax)
	}
	if f.journalBytes, err = size(f.journalMax); err != nil {
		return fmt.Errorf("--snapshot-journal-bytes must be a size such as 256MiB, got %q", f.journalMax)
	}
	f.memoryBytes, err = memory(f.maxMemory)
	return err
}

// size reads a number of bytes with a unit: 256MiB, 1GB, 4096.
func size(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<62 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return int64(n), nil
}

// settings are what CONFIG GET tells of the flags, under the names that Redis has for
// them.
func (f *serveFlags) settings() map[string]string {
	s := map[string]string{
		"maxmemory":        strconv.FormatInt(f.memoryBytes, 10),
		"maxmemory-policy": "noeviction",
		"appendonly":       "no",
		"appendfsync":      map[persistence.Mode]string{persistence.Always: "always", persistence.EverySec: "everysec"}[f.mode],
		"dir":              f.dir,
		"save":             "",
	}
	if f.onFull == "evict-soonest" {
		s["maxmemory-policy"] = "volatile-ttl"
	}
	if s["appendfsync"] == "" {
		s["appendfsync"] = "no"
	}
	if f.dir == "" {
		return s
	}
	if f.mode != persistence.Off {
		s["appendonly"] = "yes"
	}
	if f.every > 0 {
		s["save"] = fmt.Sprintf("%d 1", int64(f.every/time.Second))
	}
	return s
}

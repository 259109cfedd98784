package main

// sluice serve: the server, from its flags to its end.

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"sluice/internal/clock"
	"sluice/server"
	"sluice/shard"
)

// ShardsMax is how many shards a server can have.
const ShardsMax = 256

type serveFlags struct {
	listen    string
	shards    int
	testClock bool
	logLevel  string
	dir       string
}

func serveCommand() *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:     "serve",
		Short:   "Run the server",
		Example: "  sluice serve --listen 127.0.0.1:6380",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return f.run() },
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:6380", "address to listen on, HOST:PORT")
	c.Flags().IntVar(&f.shards, "shards", runtime.GOMAXPROCS(0), "number of shards")
	c.Flags().BoolVar(&f.testClock, "test-clock", false, "a clock that stands still at 2027-01-15T08:00:00Z until RL.CLOCK sets it; for tests and examples")
	c.Flags().StringVar(&f.logLevel, "log-level", "info", "what is logged at least: debug, info, warn or error")
	c.Flags().StringVar(&f.dir, "dir", "", `where state is kept; only "" (nowhere) so far`)
	return c
}

// check says what is wrong with the flags, and what would be right.
func (f *serveFlags) check() (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return level, fmt.Errorf("--log-level must be debug, info, warn or error, got %q", f.logLevel)
	}
	if f.shards < 1 || f.shards > ShardsMax {
		return level, fmt.Errorf("--shards must be from 1 to %d, got %d", ShardsMax, f.shards)
	}
	if f.dir != "" {
		return level, fmt.Errorf(`--dir must be "" because state is only kept in memory so far, got %q`, f.dir)
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return level, fmt.Errorf("--listen must be HOST:PORT such as 127.0.0.1:6380, got %q", f.listen)
	}
	return level, nil
}

func (f *serveFlags) run() error {
	level, err := f.check()
	if err != nil {
		return usageError{err}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	options := server.Options{
		Version: version,
		Random:  rand.NewPCG(rand.Uint64(), rand.Uint64()),
		Logger:  log,
	}
	if f.testClock {
		still := clock.NewTest()
		options.Clock, options.TestClock = still, still
	} else {
		source, err := clock.NewOS()
		if err != nil {
			return faultError{err}
		}
		if options.Clock, err = clock.NewServer(source, 0); err != nil {
			return faultError{err}
		}
	}
	listener, err := listen(f.listen)
	if err != nil {
		return faultError{err}
	}
	options.Shards = shard.NewSet(f.shards, options.Clock)
	defer options.Shards.Close()
	return serveUntilSignal(server.New(options), listener, log, f.shards)
}

// listen opens the port, and says what to do where it cannot.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop the program that listens there, or choose another address with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", address, err)
	}
	return l, nil
}

// serveUntilSignal serves until SIGINT or SIGTERM, then ends in order.
func serveUntilSignal(s *server.Server, l net.Listener, log *slog.Logger, shards int) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	log.Info("ready", "version", version, "listen", l.Addr().String(), "shards", shards, "pid", os.Getpid())
	fmt.Printf("Sluice is ready. Try:  redis-cli -p %s RL.ALLOW user:42 token_bucket 10 1s 1\n", port(l))
	select {
	case err := <-failed:
		return faultError{err}
	case sig := <-signals:
		log.Info("ending", "signal", sig.String())
	}
	s.Close()
	log.Info("ended")
	return nil
}

func port(l net.Listener) string {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return strconv.Itoa(a.Port)
	}
	return l.Addr().String()
}

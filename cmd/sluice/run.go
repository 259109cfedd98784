package main

// A server from its start to its end: the parts are made in the order in which
// they need each other, and ended in the opposite one.
//
//	clock ─ directory ─ port ─ shards ─ server, answering LOADING ─ load ─ journal ─ ready
//
// SIGTERM, SIGINT and SHUTDOWN end it: connections finish what they have sent,
// the journal is handed what it is owed, and the directory is let go. A second
// signal ends the process at once. SIGHUP has the file read again (reload.go).

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sluice/internal/clock"
	"sluice/internal/keeper"
	"sluice/internal/settings"
	"sluice/persistence"
	"sluice/server"
	"sluice/shard"
)

// timekeeper is the server's clock, or the test clock.
type timekeeper struct {
	server.Clock
	elapsed  func() time.Duration
	recorded func(last uint64) error
	correct  func() // server time, where it follows the wall clock
	test     server.TestClock
}

// service is one run of a server.
type service struct {
	configuration
	flags   settingFlags
	environ []string

	live   *settings.Live
	server *server.Server
	level  slog.LevelVar
	log    *slog.Logger

	certificates *certificates // nil: no TLS

	decides string // what systemd is told while calls are decided
}

func (f *service) clock() (*timekeeper, error) {
	source, err := clock.NewOS()
	if err != nil {
		return nil, err
	}
	t := &timekeeper{elapsed: clock.NewStopwatch().Elapsed}
	if f.TestClock {
		still := clock.NewTest()
		t.Clock, t.test, t.correct = still, still, func() {}
		t.recorded = func(last uint64) error {
			return still.Advance(time.Duration(max(last, still.Now()) - still.Now()))
		}
		return t, nil
	}
	var options []clock.Option
	if f.AllowClockBehind {
		options = append(options, clock.AllowBehind())
	}
	if f.Slew {
		options = append(options, clock.SlewToWall())
	}
	real, err := clock.NewServer(source, 0, options...)
	if err != nil {
		return nil, err
	}
	t.Clock, t.recorded, t.correct = real, real.Recorded, real.Correct
	return t, nil
}

// open locks the directory, if there is to be one.
func (f *service) open(t *timekeeper, log *slog.Logger) (*keeper.Keeper, error) {
	if f.Dir == "" {
		return nil, nil
	}
	k, err := keeper.Open(keeper.Options{
		FS: persistence.OS{}, Dir: f.Dir, Mode: f.Journal, Address: strings.Join(f.Listen, ","),
		SnapshotEvery: f.SnapshotEvery, SnapshotJournalBytes: f.SnapshotJournal,
		HeldBytesMax: heldBytes(f.MaxMemory), Refuse: f.OnDiskError == "refuse",
		Elapsed: t.elapsed, TagHash: server.TagHash, Log: log,
	})
	if advised := advised(err, f.Dir); advised != err {
		return nil, advised
	}
	if err != nil {
		return nil, fmt.Errorf("%w; choose another directory with --dir", err)
	}
	return k, nil
}

// garbagePercent is how much the heap may grow between collections. The table holds
// no pointers, so a collection takes milliseconds at millions of keys, and memory is
// worth more. GOGC, where it is set, has the last word.
const garbagePercent = 25

// begin makes what is there before all else: the settings as they hold, the log.
func (f *service) begin() *slog.Logger {
	f.live = settings.NewLive(f.Config)
	f.live.Watch(func(c *settings.Config) { f.level.Set(c.LogLevel) })
	f.log = slog.New(handler(os.Stderr, f.LogFormat, &f.level))
	for _, stray := range settings.Stray(f.environ) {
		f.log.Warn("a variable of the environment is no setting", "variable", stray[0], "meant", stray[1])
	}
	for _, b := range f.Beaten() {
		f.log.Warn("a setting of the file does not hold", "setting", b.Name, "file", b.From.Place, "beaten by", b.By.Place)
	}
	if _, err := os.Stat(f.ACLFile); f.ACLFile != "" && errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("the file of users is not there, so there is the user default alone; ACL SAVE makes it", "file", f.ACLFile)
	}
	return f.log
}

// endPatience is what systemd is asked to wait for a server that ends, on top of the drain.
const endPatience = 90 * time.Second

func (f *service) run() error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	// Who reads the log may go away. The server goes on, and writes to nobody.
	signal.Ignore(syscall.SIGPIPE)
	log := f.begin()
	t, err := f.clock()
	if err != nil {
		return faultError{err}
	}
	kept, err := f.open(t, log)
	if err != nil {
		return faultError{err}
	}
	listeners, admin, err := f.listen(t)
	if err != nil {
		var wrong *settings.Error
		if err = errors.Join(err, closeUnused(kept)); errors.As(err, &wrong) {
			return blamed(err)
		}
		return faultError{err}
	}
	f.decides = "Decides calls on " + listeners[0].Addr().String()
	set := shard.NewSet(f.Shards, t)
	defer set.Close()
	set.Bound(shard.Bounds{KeysMax: f.MaxKeys, BytesMax: int(tableBytes(f.MaxMemory)), EvictSoonest: f.OnFull == "evict-soonest"})
	limitMemory(f.MaxMemory)

	end := make(chan struct{}, 1)
	options := server.Options{
		Version: version, Shards: set, Clock: t, TestClock: t.test,
		Random: randomSource(), Logger: log, Settings: f.live, Reload: f.reload, Elapsed: t.elapsed, Users: f.users, FilesMax: filesMax(),
		Shutdown: func() {
			select {
			case end <- struct{}{}:
			default:
			}
		},
	}
	if kept != nil {
		options.Keeper, options.Loading = kept, &server.Loading{Since: t.Now()}
	}
	s := server.New(options)
	f.server = s
	if err := f.takeFile(f.file); err != nil {
		s.Close()
		return configError{errors.Join(err, closeUnused(kept))}
	}
	if admin != nil {
		log.Info("admin listener", "admin", admin.Addr().String())
		go func() {
			if err := s.ServeAdmin(admin); !errors.Is(err, server.ErrClosed) {
				log.Error("the admin listener has failed; all else goes on", "error", err)
			}
		}()
	}
	return f.serve(s, listeners, t, kept, set, end, log)
}

// randomSource is a source that nobody can guess; nothing depends on its seed.
func randomSource() rand.Source {
	seed := rand.Uint64()
	return rand.NewPCG(seed, seed>>32)
}

func closeUnused(k *keeper.Keeper) error {
	if k == nil {
		return nil
	}
	return k.Close(false)
}

// serve loads, serves until there is a reason to end, and ends in order.
func (f *service) serve(s *server.Server, listeners []net.Listener, t *timekeeper, kept *keeper.Keeper, set *shard.Set, end chan struct{}, log *slog.Logger) error {
	r := reasons{failed: make(chan error, len(listeners)), signals: make(chan os.Signal, 2), command: end, log: log}
	signal.Notify(r.signals, syscall.SIGINT, syscall.SIGTERM)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // one that comes while loading is kept
	defer signal.Stop(hangups)
	for _, l := range listeners {
		log.Info("listening", "listen", l.Addr().String(), "pid", os.Getpid())
		go func() { r.failed <- s.Serve(l) }()
	}
	if ready, err := load(s, t, kept, set, r); !ready {
		s.Close()
		if err = errors.Join(advised(err, f.Dir), closeUnused(kept)); err != nil {
			return faultError{err}
		}
		return nil
	}
	if most := s.ClientsMax(); most < f.MaxClients {
		log.Warn("fewer connections are taken than max-clients: the process may not open so many files (ulimit -n, or LimitNOFILE of the unit)",
			"max-clients", f.MaxClients, "taken", most)
	}
	f.tellHidden()
	journal := f.Journal.String()
	if kept == nil {
		journal = "none: nothing is kept"
	}
	log.Info("ready", "version", version, "listen", listeners[0].Addr().String(), "shards", f.Shards, "dir", f.Dir, "journal", journal, "pid", os.Getpid())
	invite(os.Stdout, listeners[0])
	f.notify("READY=1\nSTATUS=" + f.decides)
	quit := make(chan struct{})
	defer close(quit)
	go f.look(t, quit)
	go f.reloadOn(hangups, quit)

	why, err := r.wait(nil)
	// A command has written a snapshot, or was told not to.
	snapshot := kept != nil && f.Journal == persistence.Off && why != commanded
	written := make(chan struct{})
	go func() {
		select {
		case <-r.signals:
			log.Error("ended by a second signal before everything was written")
			os.Exit(exitFault)
		case <-written:
		}
	}()
	f.notify(fmt.Sprintf("STOPPING=1\nSTATUS=Ending\nEXTEND_TIMEOUT_USEC=%d", (f.Drain + endPatience).Microseconds()))
	s.Drain()
	if f.Drain > 0 && why == signalled {
		log.Info("not ready any more; ending after the drain", "drain", f.Drain)
		time.Sleep(f.Drain)
	}
	s.Close()
	if kept != nil {
		err = errors.Join(err, kept.Close(snapshot))
	}
	close(written)
	if err != nil {
		return faultError{err}
	}
	log.Info("ended")
	return nil
}

// reasons are what may end a server, or a wait.
type reasons struct {
	failed  chan error
	signals chan os.Signal
	command chan struct{}
	log     *slog.Logger
}

type reason int

const (
	loaded reason = iota
	failed
	signalled
	commanded
)

// wait returns when there is a reason to end, or when loading has ended.
func (r reasons) wait(loading <-chan error) (reason, error) {
	select {
	case err := <-loading:
		return loaded, err
	case err := <-r.failed:
		return failed, err
	case sig := <-r.signals:
		r.log.Info("ending", "signal", sig.String())
		return signalled, nil
	case <-r.command:
		r.log.Info("ending", "command", "SHUTDOWN")
		return commanded, nil
	}
}

// load brings back what is on disk, and begins to keep what changes. The server is
// not ready after an error, or if there was a reason to end meanwhile.
func load(s *server.Server, t *timekeeper, kept *keeper.Keeper, set *shard.Set, r reasons) (ready bool, err error) {
	if kept == nil {
		return true, nil
	}
	loading := make(chan error, 1)
	go func() { loading <- restore(s, t, kept, set, r.log) }()
	why, err := r.wait(loading)
	if why != loaded {
		kept.Stop()
		<-loading // it gives up at the next record
		r.log.Info("ended while loading; nothing on disk was changed")
		return false, err
	}
	if err != nil {
		return false, err
	}
	kept.Start()
	s.SetLoading(nil)
	return true, nil
}

// restore reads what is on disk.
func restore(s *server.Server, t *timekeeper, kept *keeper.Keeper, set *shard.Set, log *slog.Logger) error {
	began, since := t.elapsed(), t.Now()
	told := began
	recovery, err := kept.Load(set, t, func(done, total int64) {
		s.SetLoading(&server.Loading{Done: done, Total: total, Since: since})
		if now := t.elapsed(); now-told > time.Second {
			told = now
			log.Info("loading", "bytes", done, "of", total)
		}
	})
	if err != nil {
		return err
	}
	if err := s.RestoreBook(); err != nil {
		return err
	}
	if err := t.recorded(recovery.LastTime); err != nil {
		return err
	}
	log.Info("loaded", "records", recovery.SnapshotRecords+recovery.JournalRecords, "snapshot", recovery.Snapshot,
		"generations", recovery.Generations, "took", (t.elapsed() - began).Round(time.Microsecond))
	return nil
}

// invite tells a person what to type.
func invite(w io.Writer, l net.Listener) {
	how := "-s " + l.Addr().String()
	switch a := l.Addr().(type) {
	case *net.TCPAddr:
		how = "-p " + strconv.Itoa(a.Port)
	case tlsAddr:
		how = fmt.Sprintf("-p %d --tls --cacert …", a.TCPAddr.Port)
	}
	fmt.Fprintf(w, "Sluice is ready. Try:  redis-cli %s RL.ALLOW user:42 token_bucket 10 1s 1\n", how)
}

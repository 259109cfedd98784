package server

// A Server accepts connections and gives each a goroutine with a session. What
// all sessions share is here and is not changed while they work, but for the
// list of connections, which is locked and never touched by a command's way.

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/access"
	"sluice/internal/settings"
	"sluice/plans"
	"sluice/shard"
)

// These turn the instants of the shards into what replies tell.
const (
	nanosPerMicro  = 1_000
	nanosPerMilli  = 1_000_000
	nanosPerSecond = 1_000_000_000
)

const (
	// CloseGrace is how long Close waits for peers to take their replies.
	CloseGrace = 5 * time.Second

	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// Clock is the server's time, in nanoseconds since 1970, and by how many
// nanoseconds the wall clock is ahead of it.
type Clock interface {
	Now() uint64
	Offset() int64
}

// TestClock is a clock that commands may set.
type TestClock interface {
	Clock
	Set(unixMillis uint64) error
	Advance(time.Duration) error
}

// Options are what a Server is made of.
type Options struct {
	Version   string
	Shards    *shard.Set
	Clock     Clock
	TestClock TestClock   // the same as Clock where RL.CLOCK may set it, else nil
	Random    rand.Source // for RANDOMKEY and ids
	Logger    *slog.Logger
	Settings  *settings.Live       // nil: the defaults
	Reload    func() error         // reads the configuration again; nil: CONFIG RELOAD is refused
	Keeper    Keeper               // nil: nothing is kept
	Elapsed   func() time.Duration // of a clock that nobody sets; nil: no canary
	Loading   *Loading             // the state to begin in, before SetLoading; nil: the data are there
	Shutdown  func()               // ends the server and does not wait for it; nil: SHUTDOWN is refused
	FilesMax  int                  // how many files the process may have open; 0: any number
	Users     *access.Users        // who may do what; nil: everybody everything
}

// Server is a running server. Serve it on one or more listeners, then Close it.
type Server struct {
	version     string
	shards      *shard.Set
	clock       Clock
	testClock   TestClock
	logLimitMax uint64
	log         *slog.Logger
	settings    *settings.Live
	reload      func() error
	startedAt   uint64
	runID       string
	keeper      Keeper
	shutdown    func()
	loading     atomic.Pointer[Loading]
	book        atomic.Pointer[plans.Book]
	bookSerial  atomic.Uint64 // changes whenever the book does
	bookMu      sync.Mutex    // held by whoever makes the next book
	filesMax    int
	users       *access.Users
	denials     denials
	denialLog   denialLog
	slow        slowLog
	monitors    monitors
	paused      atomic.Pointer[stop]
	guesses     guesses
	wait        func(time.Duration) // for a while, or until the server ends
	series      series

	works   *sync.Pool // of *work
	buffers *sync.Pool // of *[ReadBytesMax]byte
	stats   stats
	blocks  []measures
	canary  canary
	elapsed func() time.Duration // of a clock that nobody sets; nil: there is none
	ending  atomic.Bool
	drains  atomic.Bool   // told to end soon
	quit    chan struct{} // closed when the server ends
	ids     atomic.Int64
	seconds atomic.Int64 // since the start, as tend counts them
	tending sync.Once

	mu        sync.Mutex // guards what follows
	random    *rand.Rand
	listeners map[net.Listener]struct{}
	sessions  map[*session]struct{}
	admins    []*http.Server
	group     sync.WaitGroup
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	if o.Settings == nil {
		o.Settings = settings.NewLive(nil)
	}
	s := &Server{
		version: o.Version, shards: o.Shards, clock: o.Clock, testClock: o.TestClock,
		logLimitMax: o.Settings.Config().SlidingLogMax, log: o.Logger, settings: o.Settings, reload: o.Reload,
		keeper: o.Keeper, shutdown: o.Shutdown,
		users: o.Users, filesMax: o.FilesMax,
		startedAt: o.Clock.Now(),
		works:     newWorkPool(o.Shards.Len()),
		blocks:    newMeasures(),
		buffers:   &sync.Pool{New: func() any { return new([ReadBytesMax]byte) }},
		random:    rand.New(o.Random),
		listeners: make(map[net.Listener]struct{}),
		sessions:  make(map[*session]struct{}),
		quit:      make(chan struct{}),
	}
	s.book.Store(newBook())
	s.wait = s.pause
	if s.users == nil {
		s.users = access.NewUsers(catalog)
	}
	s.watchPassword()
	s.series.forget()
	for range 5 {
		s.runID += fmt.Sprintf("%08x", s.random.Uint32())
	}
	s.loading.Store(o.Loading)
	s.denialLog.begin(s)
	if s.elapsed, s.canary.elapsed = o.Elapsed, o.Elapsed; o.Elapsed != nil {
		s.canary.last.Store(int64(o.Elapsed()))
		s.group.Go(s.canaryLoop)
	}
	return s
}

// settleInterval is how often it is looked for reservations whose time has come.
const settleInterval = 100 * time.Millisecond

// every calls do again and again until the server is closed.
func (s *Server) every(interval time.Duration, do func()) {
	s.group.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
				do()
			}
		}
	})
}

// ErrClosed is what Serve returns after Close.
var ErrClosed = errors.New("server closed")

// Serve accepts connections until the server is closed or the listener fails.
// When the process has no file descriptor left for a connection, it waits a
// moment instead of trying again at once.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listeners[l] = struct{}{}
	if s.ending.Load() {
		l.Close()
	} else { // Close waits for the group, and nothing joins it from then on
		s.tending.Do(func() {
			s.every(tendInterval, s.tend)
			s.every(denialLogInterval, s.logDenials)
			s.every(settleInterval, func() {
				if _, held := s.restrained(); !held {
					s.SettleDue()
				}
			})
		})
	}
	s.mu.Unlock()
	pause := acceptPauseMin
	for {
		conn, err := l.Accept()
		if s.ending.Load() {
			if err == nil {
				conn.Close()
			}
			return ErrClosed
		}
		var refused net.Error
		switch {
		case err == nil:
			pause = acceptPauseMin
			s.open(conn)
		case errors.As(err, &refused) && !errors.Is(err, net.ErrClosed):
			s.log.Warn("a connection could not be accepted", "error", err, "pause", pause)
			time.Sleep(pause)
			pause = min(2*pause, acceptPauseMax)
		default:
			return fmt.Errorf("accept %s: %w", l.Addr(), err)
		}
	}
}

// newSession makes the session of a connection.
func (s *Server) newSession(conn net.Conn) *session {
	id := s.ids.Add(1)
	c := &session{server: s, conn: conn, id: id, proto: resp2, measures: &s.blocks[id%MeasureBlocks]}
	c.sink = &patient{c}
	c.about.Store(&client{proto: resp2})
	c.watched.opened = s.seconds.Load()
	c.watched.heard.Store(s.seconds.Load())
	c.account.Store(s.users.Initial())
	return c
}

// open starts a session on a connection.
func (s *Server) open(conn net.Conn) {
	if s.refuseStranger(conn) {
		return
	}
	c := s.newSession(conn)
	s.mu.Lock()
	if len(s.sessions) >= s.ClientsMax() && !s.ending.Load() {
		s.mu.Unlock()
		s.refuse(conn, errTooMany)
		return
	}
	defer s.mu.Unlock()
	if s.ending.Load() {
		conn.Close()
		return
	}
	s.stats.connections.Add(1)
	s.sessions[c] = struct{}{}
	s.group.Go(func() {
		c.serve()
		c.leaveModes()
		conn.Close()
		s.mu.Lock()
		delete(s.sessions, c)
		s.mu.Unlock()
	})
}

// Close ends the server: no new connections, and every session ends after the
// commands that it has read. A peer that does not take its replies is waited for
// no longer than CloseGrace. Close returns when all sessions are gone.
func (s *Server) Close() {
	past := time.Unix(1, 0)
	s.mu.Lock()
	s.ending.Store(true)
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.sessions {
		c.conn.SetReadDeadline(past)
	}
	admins := s.admins
	s.mu.Unlock()
	for _, h := range admins {
		h.Close()
	}
	close(s.quit)
	impatient := time.AfterFunc(CloseGrace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.sessions {
			c.conn.SetDeadline(past)
		}
	})
	defer impatient.Stop()
	s.group.Wait()
	s.logDenials()
}

// pause waits for a while, or until the server ends.
func (s *Server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.quit:
	}
}

// kill ends the sessions that are meant, as if their peers had gone, and returns how
// many there were.
func (s *Server) kill(meant func(*session) bool) (n int) {
	past := time.Unix(1, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sessions {
		if meant(c) {
			n++
			c.killed.Store(true)
			c.conn.SetReadDeadline(past)
			hangUp(c.conn)
		}
	}
	return n
}

// hangUp closes a connection at once, without a farewell that would have to wait for
// the peer.
func hangUp(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	conn.Close()
}

// port is the first TCP port that is listened on, 0 if there is none.
func (s *Server) port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return a.Port
		}
	}
	return 0
}

// connected is the number of sessions.
func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// roll returns a random number.
func (s *Server) roll() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Uint64()
}

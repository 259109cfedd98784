package server

// MONITOR and SLOWLOG: what is done, as it is done, and what took long. Both are
// bounded: a monitor that does not keep up misses commands, and is told how many.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
)

const (
	// MonitorsMax is how many connections may be in MONITOR at once.
	MonitorsMax = 16
	// MonitorLinesMax is how many lines wait for a monitor that is behind.
	MonitorLinesMax = 1024
	// ShownArgsMax and ShownArgBytesMax bound what MONITOR and SLOWLOG show of a command.
	ShownArgsMax     = 32
	ShownArgBytesMax = 128
	// SlowLogMax is how many slow commands are remembered, the newest.
	SlowLogMax = 128
)

// monitor is a connection that is told what others do.
type monitor struct {
	session *session
	lines   chan []byte
	missed  atomic.Int64
	over    chan struct{}
}

type monitors struct {
	any  atomic.Bool
	mu   sync.Mutex
	list []*monitor
}

func (m *monitors) add(n *monitor) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) >= MonitorsMax {
		return false
	}
	m.list = append(m.list, n)
	m.any.Store(true)
	return true
}

func (m *monitors) remove(n *monitor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.list, n); i >= 0 {
		m.list = slices.Delete(m.list, i, i+1)
		close(n.over)
	}
	m.any.Store(len(m.list) > 0)
}

// show tells the monitors of a command, but of none that may have a password in it.
func (m *monitors) show(s *session, c *Command, args [][]byte) {
	if !m.any.Load() || c.Flags&(FlagAdmin|FlagNoAuth) != 0 {
		return
	}
	now := s.server.clock.Now()
	line := fmt.Appendf(nil, "+%d.%06d [0 %s]", now/nanosPerSecond, now%nanosPerSecond/nanosPerMicro, s.peer())
	for _, a := range shownArgs(args) {
		line = append(append(line, ' '), quote(a)...)
	}
	line = append(line, "\r\n"...)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.list {
		if n.session == s {
			continue
		}
		select {
		case n.lines <- line:
		default:
			n.missed.Add(1)
		}
	}
}

// shownArgs are arguments, cut short.
func shownArgs(args [][]byte) [][]byte {
	list := make([][]byte, 0, min(len(args), ShownArgsMax))
	for i, a := range args {
		if i == ShownArgsMax-1 && len(args) > ShownArgsMax {
			return append(list, fmt.Appendf(nil, "... (%d more arguments)", len(args)-i))
		}
		if len(a) > ShownArgBytesMax {
			a = fmt.Appendf(nil, "%s... (%d more bytes)", a[:ShownArgBytesMax], len(a)-ShownArgBytesMax)
		}
		list = append(list, bytes.Clone(a))
	}
	return list
}

// quote writes bytes as a word that redis-cli would read, in plain ASCII.
func quote(b []byte) []byte {
	out := []byte{'"'}
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c > '~':
			out = fmt.Appendf(out, "\\x%02x", c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func runMonitor(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.modes != nil && s.modes.monitor != nil {
		return redcon.AppendOK(out), nil
	}
	n := &monitor{session: s, lines: make(chan []byte, MonitorLinesMax), over: make(chan struct{})}
	if !s.server.monitors.add(n) {
		return out, fmt.Errorf("ERR there are %d monitors already, as many as there may be", MonitorsMax)
	}
	// From now on two write to the connection, so the long way is taken: it has a lock.
	s.sink = s.conn
	s.mode().monitor = n
	s.out = redcon.AppendOK(out)
	s.closing = !s.write()
	s.server.group.Go(func() { n.tell(s) })
	return s.out, nil
}

// tell writes lines until the monitor leaves. A peer that takes none holds up nobody
// else, and is cut off as others are.
func (n *monitor) tell(s *session) {
	to := patient{s}
	for {
		select {
		case <-n.over:
			return
		case line := <-n.lines:
			if missed := n.missed.Swap(0); missed > 0 {
				line = fmt.Appendf(line, "+(%d commands are not shown: this monitor is behind)\r\n", missed)
			}
			if _, err := to.Write(line); err != nil {
				return
			}
		}
	}
}

// slowCommand is an entry of SLOWLOG.
type slowCommand struct {
	id, at, took uint64 // took in microseconds, at in seconds since 1970
	args         [][]byte
	peer, name   string
}

// slowLog remembers the newest first.
type slowLog struct {
	mu     sync.Mutex
	list   []slowCommand
	nextID uint64
}

// add notes a command, if it took long. Those that may have a password in them are
// noted by their names.
func (l *slowLog) add(s *session, c *Command, args [][]byte, tookNanos uint64) {
	least := s.server.config().SlowLog
	if least == 0 || tookNanos < uint64(least) {
		return
	}
	if c.Flags&(FlagAdmin|FlagNoAuth) != 0 {
		args = args[:min(len(args), 2)]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := slowCommand{l.nextID, s.server.clock.Now() / nanosPerSecond, tookNanos / nanosPerMicro, shownArgs(args), s.peer(), s.about.Load().name}
	l.nextID++
	l.list = slices.Insert(l.list, 0, entry)
	l.list = l.list[:min(len(l.list), SlowLogMax)]
}

func runSlowLogGet(s *session, out []byte, args [][]byte) ([]byte, error) {
	n := uint64(10)
	if len(args) > 2 && string(args[2]) == "-1" {
		n = math.MaxUint64
	} else if len(args) > 2 {
		var err error
		if n, err = algorithms.ParseWhole("count", args[2], 0, math.MaxInt32); err != nil {
			return out, errors.New("ERR count should be greater than or equal to -1")
		}
	}
	l := &s.server.slow
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list[:min(n, uint64(len(l.list)))]
	out = redcon.AppendArray(out, len(list))
	for _, e := range list {
		out = redcon.AppendArray(out, 6)
		out = redcon.AppendInt(redcon.AppendInt(redcon.AppendInt(out, int64(e.id)), int64(e.at)), int64(e.took))
		out = redcon.AppendArray(out, len(e.args))
		for _, a := range e.args {
			out = redcon.AppendBulk(out, a)
		}
		out = redcon.AppendBulkString(redcon.AppendBulkString(out, e.peer), e.name)
	}
	return out, nil
}

func runSlowLogLen(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.server.slow.mu.Lock()
	defer s.server.slow.mu.Unlock()
	return redcon.AppendInt(out, int64(len(s.server.slow.list))), nil
}

func runSlowLogReset(s *session, out []byte, _ [][]byte) ([]byte, error) {
	s.server.slow.mu.Lock()
	defer s.server.slow.mu.Unlock()
	s.server.slow.list = nil
	return redcon.AppendOK(out), nil
}

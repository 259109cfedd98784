package server

// Connections that are looked after: once a second the server looks at each and closes
// those that have gone quiet in the middle of a request, that take no replies, or that
// have been idle for too long. A session only notes the second in which something
// happened, once for all that it read at once, and sets no timers.

import (
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"
)

const (
	// HalfSentSecondsMax is how long a request, or a TLS handshake, may take to arrive.
	HalfSentSecondsMax = 30
	// OutPieceBytes is how much a peer must take for it to count as taking something.
	OutPieceBytes = 16 << 10
	// FilesReserved is how many files the server keeps for itself of those that the
	// process may have open.
	FilesReserved = 64

	tendInterval = time.Second
	errTooMany   = "ERR max number of clients reached"
)

// watched is what the server sees of a session from outside. Seconds are those of
// Server.seconds; where 0 means none they are one more.
type watched struct {
	opened int64                     // the second of the beginning
	last   atomic.Int32              // the number of the last command; one more, 0: there was none
	heard  atomic.Int64              // the second of the last read
	half   atomic.Int64              // since when a request has been incomplete; 0: none is
	isHalf bool                      // half is not 0; for the session alone
	rest   atomic.Int64              // bytes of an incomplete request
	held   atomic.Int64              // bytes of the buffer that is read into, between reads
	modes  atomic.Pointer[toldModes] // nil: none

	writing atomic.Int64 // since when replies have been waiting; 0: none do
	moved   atomic.Int64 // when the peer last took some
	waiting atomic.Int64 // bytes
}

// watch notes what a read has brought: that something came, and whether the rest of a
// request is still to come.
func (s *session) watch() {
	now := s.server.seconds.Load()
	s.watched.heard.Store(now)
	if s.last != nil {
		s.watched.last.Store(int32(s.last.number + 1))
	}
	if s.modes != nil {
		s.watched.modes.Store(s.modes.told())
	} else if s.watched.modes.Load() != nil {
		s.watched.modes.Store(nil)
	}
	rest := s.from < s.to
	if rest || s.watched.isHalf {
		s.watched.rest.Store(int64(s.to - s.from))
	}
	switch {
	case rest && (s.from > 0 || !s.watched.isHalf):
		s.watched.half.Store(now + 1)
	case !rest && s.watched.isHalf:
		s.watched.half.Store(0)
	}
	s.watched.isHalf = rest
}

// holds notes how long the buffer is that is read into, between reads.
func (w *watched) holds(bytes int) {
	if w.held.Load() != int64(bytes) {
		w.held.Store(int64(bytes))
	}
}

// greet does the handshake of a TLS connection. It returns false if there is none.
func (s *session) greet() bool {
	conn, ok := s.conn.(*tls.Conn)
	if !ok {
		return true
	}
	s.watched.half.Store(s.server.seconds.Load() + 1)
	if err := conn.HandshakeContext(context.Background()); err != nil {
		s.server.stats.handshakesFailed.Add(1)
		s.server.log.Info("a TLS handshake failed", "peer", s.peer(), "error", err)
		return false
	}
	s.watched.half.Store(0)
	return true
}

// patient writes what a peer does not take at once. Nothing is read from the peer
// meanwhile.
type patient struct{ *session }

// Write writes all of b.
func (p patient) Write(b []byte) (n int, err error) {
	w, seconds := &p.watched, &p.server.seconds
	w.waiting.Store(int64(len(b)))
	w.moved.Store(seconds.Load())
	w.writing.Store(seconds.Load() + 1)
	defer w.writing.Store(0)
	for n < len(b) && err == nil {
		var m int
		m, err = p.conn.Write(b[n:min(n+OutPieceBytes, len(b))])
		n += m
		w.moved.Store(seconds.Load())
		w.waiting.Store(int64(len(b) - n))
	}
	return n, err
}

// tend is one look at all connections, a second after the last.
func (s *Server) tend() {
	now := s.seconds.Add(1)
	commands := s.stats.commands.Load()
	s.stats.lastSecond.Store(max(commands-s.stats.counted, 0)) // CONFIG RESETSTAT takes them back
	s.stats.counted = commands
	config := s.config()
	soft, idle := int64(config.OutputSoftTime/time.Second), int64(config.IdleTimeout/time.Second)
	s.kill(func(c *session) bool {
		w := &c.watched
		why := ""
		half, writing := w.half.Load(), w.writing.Load()
		switch {
		case writing > 0:
			if waiting := w.waiting.Load(); soft > 0 && (now-w.moved.Load() > soft || now-writing+1 > soft && waiting > config.OutputSoft) {
				why = "it takes its replies too slowly (output-soft, output-soft-time)"
				s.stats.cutOff.Add(1)
			}
		case half > 0 && now-half+1 > HalfSentSecondsMax:
			why = "a request did not arrive whole"
		case half == 0 && idle > 0 && now-w.heard.Load() > idle:
			why = "it sends nothing (idle-timeout)"
		}
		if why != "" {
			s.log.Info("a connection is closed", "peer", c.peer(), "because", why)
		}
		return why != ""
	})
}

// ClientsMax is how many connections there may be: max-clients, or fewer where the
// process may not open so many files.
func (s *Server) ClientsMax() int {
	most := s.config().MaxClients
	if s.filesMax > 0 {
		most = min(most, max(s.filesMax-FilesReserved, 1))
	}
	return most
}

package server

// Peers: their addresses, those who are not let in while no password is set, and those
// who guess passwords.

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// GuessDelayMin is how long the answer to a first wrong password waits. Each
	// further one from the same host waits twice as long, to GuessDelayMax.
	GuessDelayMin = 100 * time.Millisecond
	// GuessDelayMax is the longest that such an answer waits.
	GuessDelayMax = 3200 * time.Millisecond
	// GuessHostsMax is how many hosts are remembered. While there are more, every
	// other host's wrong passwords wait the longest.
	GuessHostsMax = 4096

	// guessMemoryNanos is how long after its last wrong password a host is forgotten.
	guessMemoryNanos = 60 * nanosPerSecond
	// loggedGuessesMax is how many wrong passwords in a row are logged one by one;
	// after that each such many are.
	loggedGuessesMax = 10
)

// errProtected is what a stranger gets while no password is set.
const errProtected = "ERR no password is set, so only peers on this machine are served. Set one with CONFIG SET requirepass or --requirepass-file, or users with --acl-file; CONFIG SET protected-mode false serves everybody all the same"

// peer is the address at the other end of a session.
func (s *session) peer() string { return addressText(s.conn.RemoteAddr()) }

// host is the peer's address without its port.
func (s *session) host() string {
	if a, ok := s.conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return "local"
}

// addressText writes an address as CLIENT LIST has it.
func addressText(a net.Addr) string {
	if _, ok := a.(*net.UnixAddr); ok {
		return a.String() + ":0"
	}
	return a.String()
}

// isLocal says whether a peer is on this machine.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return true // a socket in the file system
	}
	address, _ := netip.AddrFromSlice(tcp.IP)
	return address.Unmap().IsLoopback()
}

// refuseStranger closes a connection from elsewhere while everybody could do
// everything, unless that is meant to be so.
func (s *Server) refuseStranger(conn net.Conn) bool {
	if !s.config().ProtectedMode || isLocal(conn.RemoteAddr()) || s.users.Initial() == nil {
		return false
	}
	s.log.Warn("a peer was refused: no password is set", "peer", conn.RemoteAddr().String())
	s.refuse(conn, errProtected)
	return true
}

// refuse closes a connection that gets an error and no session.
func (s *Server) refuse(conn net.Conn, text string) {
	s.stats.refused.Add(1)
	if _, plain := conn.(*net.TCPConn); plain {
		conn.Write(appendError(nil, text)) // a few bytes into an empty socket
	}
	conn.Close()
}

// guesses remembers who sent wrong passwords lately.
type guesses struct {
	mu     sync.Mutex
	byHost map[string]guess
}

type guess struct {
	failures int
	last     uint64 // when, in ns since 1970
}

// add counts a wrong password from a host, and says how many there were lately and how
// long the answer is to wait.
func (g *guesses) add(host string, now uint64) (failures int, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byHost == nil {
		g.byHost = map[string]guess{}
	}
	known, found := g.byHost[host]
	if !found && len(g.byHost) >= GuessHostsMax {
		for other, of := range g.byHost {
			if forgotten(of, now) {
				delete(g.byHost, other)
			}
		}
		if len(g.byHost) >= GuessHostsMax {
			return GuessHostsMax, GuessDelayMax
		}
	}
	if forgotten(known, now) {
		known.failures = 0
	}
	known = guess{known.failures + 1, now}
	g.byHost[host] = known
	delay = GuessDelayMax
	if known.failures < 10 {
		delay = min(GuessDelayMin<<(known.failures-1), GuessDelayMax)
	}
	return known.failures, delay
}

func forgotten(g guess, now uint64) bool { return now > g.last+guessMemoryNanos }

package sluicetest

// A network in memory, in the bubble's time: connections with a delay, which can be
// refused, cut, held up and made to lose replies, for all gateways or for one.

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// trouble is what is wrong with a way to the server.
type trouble int

const (
	fine  trouble = iota
	hung          // requests arrive, replies do not
	black         // nothing arrives
	lossy         // a part of the replies is lost, with the connection
)

// lossyPart is one in so many replies that a lossy network loses.
const lossyPart = 20

// network is what the server listens on.
type network struct {
	mu      sync.Mutex
	accept  chan net.Conn
	up      bool // the server listens
	trouble trouble
	delay   time.Duration // one way
	changed chan struct{} // closed when something of these is changed
	random  *rand.Rand
}

func newNetwork(seed uint64) *network {
	return &network{
		accept: make(chan net.Conn), delay: 200 * time.Microsecond,
		changed: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 1)),
	}
}

// set changes the network.
func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	close(n.changed)
	n.changed = make(chan struct{})
}

// now is what is wrong at the moment, and what tells when that changes.
func (n *network) now() (trouble, time.Duration, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trouble, n.delay, n.changed
}

func (n *network) isUp() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up
}

// loses says whether the next reply is lost.
func (n *network) loses() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trouble == lossy && n.random.IntN(lossyPart) == 0
}

var errRefused = errors.New("connection refused")

// way is a gateway's way to the network.
type way struct {
	*network
	dead atomic.Bool // so is the gateway
}

// dial connects to the server.
func (n *way) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	up, trouble, accept := n.up, n.trouble, n.accept
	n.mu.Unlock()
	if !up || n.dead.Load() {
		return nil, errRefused
	}
	if trouble == black {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	here, there := net.Pipe()
	select {
	case accept <- there:
		return &conn{Conn: here, network: n, closed: make(chan struct{})}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener is the server's side of the network.
type listener struct {
	*network
	quit chan struct{}
	once sync.Once
}

// listen opens the network for a server.
func (n *network) listen() *listener {
	n.set(func() { n.up = true })
	return &listener{network: n, quit: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.quit:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.set(func() { l.up = false })
		close(l.quit)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "simulated"} }

// conn is a gateway's side of a connection.
type conn struct {
	net.Conn
	network *way
	once    sync.Once
	closed  chan struct{}
	mu      sync.Mutex
	end     time.Time // of reading; zero: none
}

func (c *conn) Write(b []byte) (int, error) {
	trouble, delay, _ := c.network.now()
	if c.network.dead.Load() {
		return 0, net.ErrClosed
	}
	if trouble == black {
		return len(b), nil
	}
	time.Sleep(delay) // reason: the bubble's time
	return c.Conn.Write(b)
}

// Read reads a reply once the network lets it through.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	for {
		trouble, delay, changed := c.network.now()
		if c.network.loses() || c.network.dead.Load() {
			c.Close()
			return 0, net.ErrClosed
		}
		if trouble != hung && trouble != black {
			time.Sleep(delay) // reason: the bubble's time
			return n, nil
		}
		c.mu.Lock()
		end := c.end
		c.mu.Unlock()
		var late <-chan time.Time
		if !end.IsZero() {
			timer := time.NewTimer(time.Until(end))
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-late:
			return 0, os.ErrDeadlineExceeded
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.end = t
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.Conn.SetDeadline(t)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

package bench

// The generator: one goroutine on a thread of its own, one epoll set, many connections. It shares the cores with what it
// measures, so it is made to cost little: requests are filled in place, replies are only counted, and there is one reading
// of the clock for all that one read brings.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

const (
	// OutstandingMax is how many requests of an open loop may be unanswered: beyond it the server has lost the race.
	OutstandingMax = 1_000_000

	eventsMax = 256
	readBytes = 256 << 10
	idleNanos = int64(50 * time.Millisecond)
	// sysEpollPwait2 waits with nanoseconds; the number is the same on all architectures.
	sysEpollPwait2 = 441
)

type generator struct {
	load    *Load
	done    <-chan struct{}
	epoll   int
	conns   []conn
	next    func() uint64
	batch   *batch
	replies replies
	latency *hdrhistogram.Histogram
	in      []byte
	relayed []net.Conn     // connections that have no descriptor
	relays  sync.WaitGroup // what brings bytes to them and from them
	begin   time.Time
	sent    uint64 // requests
	back    uint64 // requests answered
}

// conn is one connection.
type conn struct {
	fd      int
	rest    []byte  // of a reply that has not ended
	unsent  []byte  // of requests that did not fit into the socket
	waiting int     // closed loop: requests unanswered
	sentAt  int64   // closed loop: when they were sent
	due     []int64 // open loop: when the unanswered ones were meant to be sent
	watched bool    // for room to write
}

// Run runs the load against the server.
func (l *Load) Run(ctx context.Context) (*Outcome, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Waits end on time, not fifty microseconds later.
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	g := &generator{
		load: l, done: ctx.Done(), next: l.Keys.next(l.Seed), in: make([]byte, readBytes),
		replies: replies{counts: l.Request.Counts},
		latency: newLatency(),
	}
	defer g.close()
	err := g.connect(ctx)
	if err == nil && l.Rate > 0 {
		err = g.open()
	} else if err == nil {
		err = g.closed()
	}
	if err != nil {
		return nil, fmt.Errorf("load on %s: %w", l.Addr, err)
	}
	return &Outcome{
		Requests: g.back, Admitted: g.replies.admitted, Errors: g.replies.errors, FirstError: g.replies.firstError,
		Elapsed: time.Since(g.begin), Latency: g.latency,
	}, ctx.Err()
}

func (g *generator) connect(ctx context.Context) error {
	dial, err := g.dialer(ctx)
	if err != nil {
		return err
	}
	if g.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	g.conns = make([]conn, 0, g.load.Connections)
	for i := range g.load.Connections {
		fd, err := dial()
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, g.load.Connections, err)
		}
		g.conns = append(g.conns, conn{fd: fd})
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if err := unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			return fmt.Errorf("epoll_ctl: %w", err)
		}
	}
	g.begin = time.Now()
	return nil
}

func (g *generator) close() {
	for i := range g.conns {
		unix.Close(g.conns[i].fd)
	}
	if g.epoll > 0 {
		unix.Close(g.epoll)
	}
	for _, c := range g.relayed {
		c.Close() // a relay may be waiting for it to take something
	}
	g.relays.Wait()
}

// now is the time since the run began, in nanoseconds.
func (g *generator) now() int64 { return int64(time.Since(g.begin)) }

// closed keeps every connection busy until the run ends.
func (g *generator) closed() error {
	g.batch = g.load.Request.batch(g.load.Pipeline)
	for i := range g.conns {
		if err := g.send(&g.conns[i], i, 0); err != nil {
			return err
		}
	}
	return g.drain()
}

// drain polls until all replies are there. In a closed loop replies lead to new requests until the run ends.
func (g *generator) drain() error {
	for g.back < g.sent {
		if err := g.poll(idleNanos); err != nil {
			return err
		}
		if g.now() > int64(g.load.Duration+drainMax) && g.load.Duration > 0 {
			return fmt.Errorf("%d of %d requests were not answered within %v", g.sent-g.back, g.sent, drainMax)
		}
	}
	return nil
}

// send sends the next requests of a connection in a closed loop.
func (g *generator) send(c *conn, i int, now int64) error {
	n := g.load.Pipeline
	if g.load.Requests > 0 {
		n = min(n, int(g.load.Requests-g.sent))
	}
	if g.load.Duration > 0 && now >= int64(g.load.Duration) || n == 0 {
		return nil
	}
	c.waiting, c.sentAt = n, now
	g.sent += uint64(n)
	return g.write(c, i, g.batch.fill(n, g.next))
}

// open sends at the rate of the load, connection after connection.
func (g *generator) open() error {
	g.batch = g.load.Request.batch(1)
	gap := float64(time.Second) / g.load.Rate
	end := int64(g.load.Duration)
	for {
		now := g.now()
		for {
			at := int64(float64(g.sent) * gap)
			if at > now || end > 0 && at >= end || g.load.Requests > 0 && g.sent == g.load.Requests {
				break
			}
			i := int(g.sent % uint64(len(g.conns)))
			g.conns[i].due = append(g.conns[i].due, at)
			g.sent++
			if err := g.write(&g.conns[i], i, g.batch.fill(1, g.next)); err != nil {
				return err
			}
		}
		at := int64(float64(g.sent) * gap)
		if end > 0 && at >= end || g.load.Requests > 0 && g.sent == g.load.Requests {
			return g.drain()
		}
		if g.sent-g.back > OutstandingMax {
			return fmt.Errorf("%d requests are unanswered at %.0f a second: that is more than the server can do", g.sent-g.back, g.load.Rate)
		}
		if err := g.poll(max(at-g.now(), 0)); err != nil {
			return err
		}
	}
}

// write sends bytes, or keeps what does not fit.
func (g *generator) write(c *conn, i int, b []byte) error {
	if len(c.unsent) == 0 && len(b) > 0 {
		n, err := transfer(unix.SYS_WRITE, c.fd, b)
		if err != 0 && err != unix.EAGAIN && err != unix.EINTR {
			return fmt.Errorf("write: %w", err)
		}
		b = b[n:]
	}
	c.unsent = append(c.unsent, b...)
	if watch := len(c.unsent) > 0; watch != c.watched {
		c.watched = watch
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if watch {
			event.Events |= unix.EPOLLOUT
		}
		return unix.EpollCtl(g.epoll, unix.EPOLL_CTL_MOD, c.fd, &event)
	}
	return nil
}

// poll waits at most so many nanoseconds and does what there is to do.
func (g *generator) poll(nanos int64) error {
	select {
	case <-g.done:
		return context.Canceled
	default:
	}
	var events [eventsMax]unix.EpollEvent
	timeout := unix.NsecToTimespec(nanos)
	n, _, errno := unix.Syscall6(sysEpollPwait2, uintptr(g.epoll), uintptr(unsafe.Pointer(&events)), eventsMax,
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0, unix.EINTR:
	case unix.ENOSYS:
		return errors.New("the kernel has no epoll_pwait2: Linux 5.11 or later is needed")
	default:
		return fmt.Errorf("epoll_pwait2: %w", errno)
	}
	if errno != 0 {
		return nil
	}
	for _, e := range events[:n] {
		i := int(e.Fd)
		c := &g.conns[i]
		if e.Events&unix.EPOLLOUT != 0 {
			unsent := c.unsent
			c.unsent = c.unsent[len(unsent):]
			if err := g.write(c, i, unsent); err != nil {
				return err
			}
		}
		if e.Events&^unix.EPOLLOUT != 0 {
			if err := g.read(c, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes the replies that have arrived.
func (g *generator) read(c *conn, i int) error {
	had := copy(g.in, c.rest)
	if had == len(g.in) {
		return fmt.Errorf("a reply is longer than %d bytes", had)
	}
	n, errno := transfer(unix.SYS_READ, c.fd, g.in[had:])
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil
	case errno != 0:
		return fmt.Errorf("read: %w", errno)
	case n == 0:
		return errors.New("the server closed a connection")
	}
	b := g.in[:had+n]
	answered := 0
	for {
		length, err := g.replies.next(b)
		if err != nil {
			return err
		}
		if length == 0 {
			break
		}
		answered++
		if g.load.Seen != nil {
			g.load.Seen(b[:length])
		}
		b = b[length:]
	}
	c.rest = append(c.rest[:0], b...)
	return g.answered(c, i, answered)
}

// answered notes that the first n requests of a connection have been answered.
func (g *generator) answered(c *conn, i, n int) error {
	if n == 0 {
		return nil
	}
	now := g.now()
	g.back += uint64(n)
	if g.load.Rate > 0 {
		for _, due := range c.due[:n] {
			g.record(now-due, 1)
		}
		c.due = append(c.due[:0], c.due[n:]...)
		return nil
	}
	g.record(now-c.sentAt, n)
	if c.waiting -= n; c.waiting > 0 {
		return nil
	}
	return g.send(c, i, now)
}

func (g *generator) record(nanos int64, n int) {
	g.latency.RecordValues(min(max(nanos, int64(latencyMin)), int64(latencyMax)), int64(n))
}

// transfer reads into or writes from b without telling Go's scheduler: the descriptor never blocks.
func transfer(call uintptr, fd int, b []byte) (n int, err unix.Errno) {
	r, _, err := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if err != 0 {
		return 0, err
	}
	return int(r), 0
}

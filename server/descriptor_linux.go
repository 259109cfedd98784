package server

// The short way between a session and its socket. A session reads until nothing
// is left, and holds no buffer while it waits. It cannot stop at a read that did
// not fill the buffer: the poller tells of changes, and of data and the peer's end
// that arrive together it tells once.
//
// Reading and writing do not tell Go's scheduler that they go into the kernel. The
// descriptor never blocks, so there is nothing for the scheduler to do; telling it
// has its monitor look after threads that are only waiting for a core, and wake
// others in their place.
//
// The whole session runs inside one call of RawConn.Read: between two such calls
// the poller forgets what has arrived.

import (
	"io"
	"syscall"
	"unsafe"
)

// serveDescriptor serves a connection that is a plain socket; it returns false
// at once for one that is not.
func (s *session) serveDescriptor() bool {
	c, ok := s.conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	direct := &socket{rest: patient{s}}
	s.sink = direct
	raw.Read(func(fd uintptr) (done bool) {
		direct.fd = int(fd)
		return !s.ready(int(fd))
	})
	return true
}

// ready reads until nothing is left to read. It returns false when the
// connection is to end.
func (s *session) ready(fd int) bool {
	for {
		if s.in == nil {
			s.in = s.server.buffers.Get().(*[ReadBytesMax]byte)[:]
		}
		n, err := transfer(syscall.SYS_READ, fd, s.in[s.to:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			s.putBuffer()
			s.watched.holds(len(s.in))
			return true
		case n <= 0:
			return false
		}
		if !s.received(n) {
			return false
		}
	}
}

// putBuffer gives the buffer back if nothing in it waits for the rest of a
// request; a short rest moves to a buffer of its own.
func (s *session) putBuffer() {
	if len(s.in) != ReadBytesMax || s.to > restBytesMax {
		return
	}
	in := s.in
	s.in = nil
	if s.to > 0 {
		s.in = make([]byte, 2*restBytesMax)
		copy(s.in, in[:s.to])
	}
	s.server.buffers.Put((*[ReadBytesMax]byte)(in))
}

// restBytesMax is how long an incomplete request may be to be moved.
const restBytesMax = 2 << 10

// socket writes to a descriptor, and through the connection what does not go at
// once.
type socket struct {
	fd   int
	rest patient
}

var _ io.Writer = (*socket)(nil)

// Write writes all of b.
func (w *socket) Write(b []byte) (int, error) {
	n, err := transfer(syscall.SYS_WRITE, w.fd, b)
	if n == len(b) {
		return n, nil
	}
	if err != 0 && err != syscall.EAGAIN && err != syscall.EINTR {
		return n, err
	}
	m, failed := w.rest.Write(b[n:])
	return n + m, failed
}

// transfer reads into or writes from b, which is not empty, and returns how many
// bytes went.
func transfer(call uintptr, fd int, b []byte) (n int, err syscall.Errno) {
	r, _, err := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if err != 0 {
		return 0, err
	}
	return int(r), 0
}

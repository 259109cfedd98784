package server

// The short way between a session and its socket. A session reads until nothing is
// left, and holds no buffer while it waits.
//
// That nothing is left costs no read of its own: TCP tells with what it hands over
// (TCP_INQ, since Linux 4.18) how much more there is, and of a peer's end as if it were
// a byte. A read that does not fill the buffer is no such sign, for the poller tells
// only once of data and an end that arrive together. A reset is not told of either;
// but then the reply cannot be written, so a session reads on where there was none.
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

	"golang.org/x/sys/unix"
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
	direct := &socket{session: s, fd: -1}
	s.sink = direct
	raw.Read(func(fd uintptr) (done bool) {
		if direct.fd < 0 {
			direct.fd = int(fd)
			direct.tells = unix.SetsockoptInt(direct.fd, unix.IPPROTO_TCP, unix.TCP_INQ, 1) == nil
		}
		return !direct.ready()
	})
	return true
}

// socket is the descriptor of a session.
type socket struct {
	*session
	fd    int
	tells bool // of what is left to read
	wrote bool // since the last read
}

// ready reads until nothing is left to read. It returns false when the
// connection is to end.
func (w *socket) ready() bool {
	s := w.session
	for {
		if s.in == nil {
			s.in = s.server.buffers.Get().(*[ReadBytesMax]byte)[:]
		}
		w.wrote = false
		n, more, err := w.read(s.in[s.to:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			s.idle()
			return true
		case n <= 0:
			return false
		}
		if !s.received(n) {
			return false
		}
		if !more && w.wrote {
			s.idle()
			return true
		}
	}
}

// idle makes a session ready to wait for long.
func (s *session) idle() {
	s.putBuffer()
	s.watched.holds(len(s.in))
}

// read reads into b, which is not empty, and tells whether there may be more.
func (w *socket) read(b []byte) (n int, more bool, err syscall.Errno) {
	if !w.tells {
		n, err = transfer(syscall.SYS_READ, w.fd, b)
		return n, true, err
	}
	var told struct {
		head unix.Cmsghdr
		left int32
		_    int32
	}
	part := unix.Iovec{Base: unsafe.SliceData(b)}
	part.SetLen(len(b))
	message := unix.Msghdr{Iov: &part, Control: (*byte)(unsafe.Pointer(&told))}
	message.SetIovlen(1)
	message.SetControllen(int(unsafe.Sizeof(told)))
	r, _, err := syscall.RawSyscall(syscall.SYS_RECVMSG, uintptr(w.fd), uintptr(unsafe.Pointer(&message)), 0)
	if err != 0 {
		return 0, false, err
	}
	is := told.head.Level == unix.IPPROTO_TCP && told.head.Type == unix.TCP_CM_INQ
	return int(r), !is || told.left > 0, 0
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

var _ io.Writer = (*socket)(nil)

// Write writes all of b, through the connection what does not go at once.
func (w *socket) Write(b []byte) (int, error) {
	w.wrote = true
	n, err := transfer(syscall.SYS_WRITE, w.fd, b)
	if n == len(b) {
		return n, nil
	}
	if err != 0 && err != syscall.EAGAIN && err != syscall.EINTR {
		return n, err
	}
	m, failed := patient{w.session}.Write(b[n:])
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

package bench

// How the generator gets its descriptors. A connection over TCP or a socket is taken from Go's runtime, which would
// otherwise wake for everything that arrives. One that is none of the system's, as TLS, is brought by a relay: two
// goroutines between it and a pair of sockets. That costs more of the machine, and of each request some time; to compare
// servers, compare both over TLS.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dialer makes descriptors that are connected, ready for requests, and never block.
func (g *generator) dialer(ctx context.Context) (dial func() (fd int, err error), err error) {
	if g.load.Dial == nil {
		addr, err := net.ResolveTCPAddr("tcp", g.load.Addr)
		return func() (int, error) { return dialTCP(addr) }, err
	}
	return func() (int, error) {
		conn, err := g.load.Dial(ctx)
		if err != nil {
			return 0, err
		}
		if of, ok := conn.(syscall.Conn); ok {
			return takeDescriptor(conn, of)
		}
		return g.relay(conn)
	}, nil
}

func dialTCP(addr *net.TCPAddr) (fd int, err error) {
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())})
	if ip := addr.IP.To4(); ip != nil {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	}
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	if err = unix.Connect(fd, to); err == nil {
		err = errors.Join(unix.SetNonblock(fd, true), unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("connect: %w", err)
	}
	return fd, nil
}

// takeDescriptor copies the descriptor of a connection and closes the connection, so that only the copy is left.
func takeDescriptor(conn net.Conn, of syscall.Conn) (fd int, err error) {
	defer conn.Close()
	raw, err := of.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(its uintptr) { fd, err = unix.FcntlInt(its, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(failed, err); err != nil {
		return 0, fmt.Errorf("the descriptor of a connection: %w", err)
	}
	return fd, nil
}

// relay is a descriptor for a connection that has none. When either end is closed, so is the other.
func (g *generator) relay(conn net.Conn) (fd int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		conn.Close()
		return 0, fmt.Errorf("socketpair: %w", err)
	}
	file := os.NewFile(uintptr(pair[1]), "relay")
	inner, err := net.FileConn(file)
	file.Close()
	if err != nil {
		conn.Close()
		unix.Close(pair[0])
		return 0, err
	}
	g.relayed = append(g.relayed, conn)
	for _, way := range [][2]net.Conn{{conn, inner}, {inner, conn}} {
		g.relays.Go(func() {
			io.Copy(way[0], way[1])
			way[0].Close()
			way[1].Close()
		})
	}
	return pair[0], nil
}

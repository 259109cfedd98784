package client

// Connections of a client that New has made. go-redis logs each dial that fails through a
// logger that all of the program shares, to standard error unless the program says
// otherwise; while a server is away that would be ten lines a second. A library may not
// take that logger away from the program, so here a dial does not fail: it makes a
// connection that fails at once, with the dial's error, and the client tells that the
// server is away, once, through its own Logger.
//
// It also spares what go-redis does after many failed dials, to dial once a second only: a
// server that is back is found by the next probe.

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// quietly makes connections as options say.
func quietly(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := redis.NewDialer(o)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return unreached{err}, nil
		}
		return conn, nil
	}
}

// unreached is a connection that there is not.
type unreached struct{ err error }

func (u unreached) Read([]byte) (int, error)       { return 0, u.err }
func (u unreached) Write([]byte) (int, error)      { return 0, u.err }
func (unreached) Close() error                     { return nil }
func (unreached) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (unreached) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (unreached) SetDeadline(time.Time) error      { return nil }
func (unreached) SetReadDeadline(time.Time) error  { return nil }
func (unreached) SetWriteDeadline(time.Time) error { return nil }

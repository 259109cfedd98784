//go:build !unix

package server

// Where sockets are not file descriptors, every connection is served through
// net.Conn.

func (s *session) serveDescriptor() bool { return false }

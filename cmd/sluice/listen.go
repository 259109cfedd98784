package main

// Where a server listens: TCP, TLS and a socket in the file system, and the
// certificates that TLS shows, which may change while the server runs.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"sluice/internal/settings"
)

// certificateLookEvery is how often, at most, the files of certificates are looked at
// for changes; a handshake must come for it.
const certificateLookEvery = 10 * time.Second

// listen opens every place to listen, or none; admin is nil where there is to be none.
func (f *service) listen(t *timekeeper) (list []net.Listener, admin net.Listener, err error) {
	if list, err = f.listenForClients(t); err == nil && f.Admin != "" {
		admin, err = listenTCP("admin", f.Admin, f.TCPKeepAlive)
	}
	if err != nil {
		for _, l := range list {
			l.Close()
		}
		return nil, nil, err
	}
	return list, admin, nil
}

func (f *service) listenForClients(t *timekeeper) (list []net.Listener, err error) {
	for _, address := range f.Listen {
		l, err := listenTCP("listen", address, f.TCPKeepAlive)
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	if len(f.TLSListen) > 0 {
		f.certificates = &certificates{config: f.Config, elapsed: t.elapsed, log: f.log}
		if err := f.certificates.load(); err != nil {
			return list, err
		}
	}
	for _, address := range f.TLSListen {
		l, err := listenTCP("tls-listen", address, f.TCPKeepAlive)
		if err != nil {
			return list, err
		}
		list = append(list, tlsListener{tls.NewListener(l, &tls.Config{GetConfigForClient: f.certificates.current})})
	}
	if f.UnixSocket != "" {
		l, err := listenUnix(f.UnixSocket, fs.FileMode(f.UnixSocketMode))
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
}

// listenTCP opens a port, and says what to do where it cannot.
func listenTCP(setting, address string, keepAlive time.Duration) (net.Listener, error) {
	alive := net.KeepAliveConfig{Enable: keepAlive > 0, Idle: keepAlive, Interval: max(keepAlive/3, time.Second), Count: 3}
	config := net.ListenConfig{KeepAlive: -1, KeepAliveConfig: alive}
	l, err := config.Listen(context.Background(), "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop the program that listens there, or choose another address with --%s", address, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --%s", address, err, setting)
	}
	return l, nil
}

// listenUnix makes a socket in the file system. One that a server left behind is taken
// away; one that somebody listens on, and what is no socket, is not.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and no socket; choose another path with --unix-socket", path)
		}
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return nil, fmt.Errorf("%s is in use; stop the program that listens there, or choose another path with --unix-socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("the socket that was left behind cannot be taken away: %w", err)
		}
	}
	// It is made for nobody else, whatever mode it gets then.
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another path with --unix-socket", path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, fmt.Errorf("the socket cannot be opened for others: %w", err)
	}
	return l, nil
}

// filesMax is how many files the process may have open; Go has raised it as far as it
// goes.
func filesMax() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<30))
}

// tlsListener is a listener that says of its address that it is for TLS.
type tlsListener struct{ net.Listener }

type tlsAddr struct{ *net.TCPAddr }

func (l tlsListener) Addr() net.Addr { return tlsAddr{l.Listener.Addr().(*net.TCPAddr)} }

// certificates are what TLS shows and asks for. Changed files are taken at the next
// handshake, and on a reload; where they are wrong the last good ones go on.
type certificates struct {
	config  *settings.Config
	elapsed func() time.Duration
	log     *slog.Logger

	mu     sync.Mutex
	tls    *tls.Config
	looked time.Duration
	marks  [3]fileMark
}

// fileMark tells whether a file may have changed.
type fileMark struct {
	modified time.Time
	size     int64
}

// files are the files that certificates come from.
func (c *certificates) files() [3]string {
	return [3]string{c.config.TLSCert, c.config.TLSKey, c.config.TLSClientCA}
}

func (c *certificates) look() (marks [3]fileMark) {
	for i, path := range c.files() {
		if info, err := os.Stat(path); path != "" && err == nil {
			marks[i] = fileMark{info.ModTime(), info.Size()}
		}
	}
	return marks
}

// current is what the next handshake goes by.
func (c *certificates) current(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	now := c.elapsed()
	due := now-c.looked >= certificateLookEvery
	if due {
		c.looked = now
		due = c.look() != c.marks
	}
	c.mu.Unlock()
	if due {
		if err := c.load(); err != nil {
			c.log.Error("changed certificates cannot be used; the old ones go on", "error", err)
		} else {
			c.log.Info("certificates read again", "file", c.config.TLSCert)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls, nil
}

// load reads the files. After an error, which is a settings.Error, everything is as it
// was.
func (c *certificates) load() error {
	marks := c.look()
	wrong := func(name, format string, args ...any) error {
		return &settings.Error{Name: name, Origin: c.config.Origin(name), Message: fmt.Sprintf(format, args...)}
	}
	pair, err := tls.LoadX509KeyPair(c.config.TLSCert, c.config.TLSKey)
	if err != nil {
		return wrong("tls-cert", "and tls-key must be files of a certificate and its key, PEM: %v", err)
	}
	next := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if path := c.config.TLSClientCA; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return wrong("tls-client-ca", "must be a file that can be read: %v", err)
		}
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(text) {
			return wrong("tls-client-ca", "must be a file of certificates, PEM, and %s has none", path)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tls, c.marks = next, marks
	return nil
}

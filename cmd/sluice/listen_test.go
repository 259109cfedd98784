package main

// Where a server listens: several addresses, TLS with and without certificates of
// clients, certificates that change, and sockets in the file system.

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	serial "math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// authority signs certificates, in files of a directory.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB, dir, name string) *authority {
	a := &authority{t: t, dir: dir, pool: x509.NewCertPool()}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.sign(name, template)
	a.pool.AddCert(a.cert)
	return a
}

// sign makes name.crt and name.key.
func (a *authority) sign(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = serial.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	write(a.t, a.path(name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(a.t, a.path(name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	return cert, key
}

func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }

// server makes a certificate for this machine.
func (a *authority) server(name string) *x509.Certificate {
	cert, _ := a.sign(name, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return cert
}

// addresses are those that a server has logged that it listens on, all of them.
func (p *process) addresses() (list []string) {
	p.told("msg=ready")
	for _, line := range p.logs("msg=listening") {
		_, rest, _ := strings.Cut(line, "listen=")
		address, _, _ := strings.Cut(rest, " ")
		list = append(list, address)
	}
	return list
}

// over makes a client of any connection.
func over(t testing.TB, conn net.Conn, err error) *client {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * patience))
	return &client{t, conn, bufio.NewReader(conn)}
}

func TestListensOnSeveral(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	p := start(t, "--test-clock", "--dir", "", "--listen", "127.0.0.1:0,[::1]:0", "--unix-socket", socket, "--unix-socket-mode", "770")
	list := p.addresses()
	if len(list) != 3 || list[2] != socket {
		t.Fatalf("it listens on %q", list)
	}
	for i, network := range []string{"tcp", "tcp", "unix"} {
		conn, err := net.Dial(network, list[i])
		over(t, conn, err).want("RL.ALLOW k fixed_window 10 1h 1 ALIGN FIRST", "[1 10 "+string(rune('9'-i))+" 0 3600000 0]")
	}
	if info, err := os.Stat(socket); err != nil || info.Mode() != os.ModeSocket|0o770 {
		t.Errorf("the socket is %v (%v)", info.Mode(), err)
	}
	_, err, status := run(t, "serve", "--listen", "127.0.0.1:0", "--dir", "", "--unix-socket", socket)
	if want := "sluice: " + socket + " is in use; stop the program that listens there, or choose another path with --unix-socket\n"; status != 1 || err != want {
		t.Errorf("a second server: exit %d, %q", status, err)
	}
	p.kill() // the socket stays behind
	p = start(t, "--dir", "", "--unix-socket", socket)
	p.terminate()
	if _, err := os.Stat(socket); err == nil {
		t.Error("an orderly end leaves the socket behind")
	}
	write(t, socket, "a file")
	if _, err, status := run(t, "serve", "--listen", "127.0.0.1:0", "--dir", "", "--unix-socket", socket); status != 1 || !strings.Contains(err, "is there and no socket") {
		t.Errorf("a file in its place: exit %d, %q", status, err)
	}
}

func TestTLS(t *testing.T) {
	ca := newAuthority(t, t.TempDir(), "ca")
	first := ca.server("server")
	path := inFile(t, "sluice.yaml", "plans: {}\n")
	p := start(t, "--config", path, "--dir", "", "--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0",
		"--tls-cert", ca.path("server.crt"), "--tls-key", ca.path("server.key"))
	address := p.addresses()[1]
	dial := func(config *tls.Config) (*tls.Conn, error) {
		config.RootCAs = ca.pool
		return tls.Dial("tcp", address, config)
	}
	conn, err := dial(&tls.Config{})
	c := over(t, conn, err)
	c.want("RL.ALLOW k gcra 10 1h", "[1 10 9 0 360000 0]")
	if _, err := dial(&tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	plain, err := net.Dial("tcp", address)
	if _, err := over(t, plain, err).conn.Write(request(nil, "PING")); err != nil {
		t.Error(err)
	}
	p.told("a TLS handshake failed")

	// Another certificate, without a restart; who is connected stays.
	second := ca.server("server")
	p.command.Process.Signal(syscall.SIGHUP)
	p.told("configuration read again")
	conn, err = dial(&tls.Config{})
	over(t, conn, err).want("PING", "+PONG")
	if shown := conn.ConnectionState().PeerCertificates[0]; !shown.Equal(second) || shown.Equal(first) {
		t.Errorf("it shows %v", shown.SerialNumber)
	}
	c.want("PING", "+PONG")

	// One that is wrong changes nothing, nor does what else is new then.
	write(t, ca.path("server.crt"), "nothing")
	rewrite(t, path, "plans: {pro: {limits: {rps: {algorithm: gcra, limit: 10, window: 1s}}}}\n")
	p.command.Process.Signal(syscall.SIGHUP)
	p.told("tls: failed to find any PEM data")
	conn, err = dial(&tls.Config{})
	over(t, conn, err).want("RL.PLAN LIST", "[]")
}

func TestMutualTLS(t *testing.T) {
	ca, other := newAuthority(t, t.TempDir(), "ca"), newAuthority(t, t.TempDir(), "ca")
	ca.server("server")
	for _, a := range []*authority{ca, other} {
		a.sign("client", &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	p := start(t, "--dir", "", "--listen", "", "--tls-listen", "127.0.0.1:0", "--tls-cert", ca.path("server.crt"),
		"--tls-key", ca.path("server.key"), "--tls-client-ca", ca.path("ca.crt"))
	for _, row := range []struct {
		by *authority
		in bool
	}{{ca, true}, {other, false}, {nil, false}} {
		config := &tls.Config{RootCAs: ca.pool}
		if row.by != nil {
			pair, err := tls.LoadX509KeyPair(row.by.path("client.crt"), row.by.path("client.key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		conn, err := tls.Dial("tcp", p.addresses()[0], config)
		reply := ""
		if err == nil {
			c := over(t, conn, nil)
			if _, err = conn.Write(request(nil, "PING")); err == nil {
				reply, err = c.reply()
			}
		}
		if in := reply == "+PONG"; in != row.in {
			t.Errorf("by the server's authority %v: %q (%v)", row.by == ca, reply, err)
		}
	}
}

package main

// The server that a command of ours talks to, over TCP, TLS or a socket in the file
// system. It is talked to as any Redis client would, so what these commands do,
// redis-cli can do; flags have redis-cli's names.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/spf13/cobra"

	"sluice/internal/settings"
)

// peer is where a server is, and how to be let in.
type peer struct {
	server       string
	user         string
	passwordFile string
	timeout      time.Duration

	given             func(flag string) bool
	tls               bool
	ca, cert, key, is string
}

// PeerTimeout is how long a server may take to answer where nothing else is said.
const PeerTimeout = 5 * time.Second

// passwordEnv is the variable that holds the password. There is no flag for it, which
// every user of the machine could read.
const passwordEnv = "SLUICE_PASSWORD"

func (p *peer) addFlags(c *cobra.Command) {
	listen := settings.ByName("listen")
	standard := listen.Default
	if at, _, _ := strings.Cut(os.Getenv(listen.Env()), ","); at != "" {
		standard = at
	}
	flags := c.Flags()
	p.given = flags.Changed
	flags.StringVar(&p.server, "server", standard, "`address` of the server: HOST:PORT, the path of a socket, or a URL such as rediss://user@host:6390")
	flags.StringVar(&p.user, "user", "", "`name` of the user; the password is taken from "+passwordEnv+" or --password-file")
	flags.StringVar(&p.passwordFile, "password-file", "", "`file` whose first line is the password")
	flags.DurationVar(&p.timeout, "timeout", PeerTimeout, "`time` that the server may take")
	flags.BoolVar(&p.tls, "tls", false, "speak TLS")
	flags.StringVar(&p.ca, "cacert", "", "`file` of certificates, PEM, one of which must vouch for the server's; empty for those of this machine")
	flags.StringVar(&p.cert, "cert", "", "`file` of a certificate to show, PEM")
	flags.StringVar(&p.key, "key", "", "`file` of that certificate's key, PEM")
	flags.StringVar(&p.is, "sni", "", "`name` that the server's certificate must be for, where it is not the address")
}

// options are what was given, checked.
func (p *peer) options() (*redis.Options, error) {
	o := &redis.Options{
		Username: p.user, Protocol: 2, PoolSize: 1, MaxRetries: -1,
		DialTimeout: p.timeout, ReadTimeout: p.timeout, WriteTimeout: p.timeout, DisableIdentity: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	secured := p.tls
	if err := p.place(o, &secured); err != nil {
		return nil, err
	}
	if err := p.takePassword(o); err != nil {
		return nil, err
	}
	switch {
	case !secured && p.ca+p.cert+p.key+p.is != "":
		return nil, errors.New("--cacert, --cert, --key and --sni are about TLS: give --tls too, or a rediss:// URL")
	case secured && o.Network == "unix":
		return nil, errors.New("a socket in the file system is not spoken TLS on: leave --tls away")
	case secured:
		var err error
		o.TLSConfig, err = p.tlsConfig(o.Addr)
		return o, err
	}
	return o, nil
}

// place reads --server into options. What is wrong in a URL is not repeated: there may
// be a password in it.
func (p *peer) place(o *redis.Options, secured *bool) error {
	scheme, rest, isURL := strings.Cut(p.server, "://")
	switch {
	case strings.HasPrefix(p.server, "/"):
		o.Network, o.Addr = "unix", p.server
		return nil
	case !isURL:
		o.Addr = p.server
		if _, port, err := net.SplitHostPort(p.server); err != nil || port == "" {
			return fmt.Errorf("--server must be HOST:PORT such as 127.0.0.1:6380, the path of a socket or a URL, got %q", p.server)
		}
		return nil
	case scheme == "unix":
		o.Network, o.Addr = "unix", rest
		return nil
	case scheme != "redis" && scheme != "rediss":
		return fmt.Errorf("--server must be a redis://, rediss:// or unix:// URL, got %q", scheme+"://…")
	}
	u, err := url.Parse(p.server)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fmt.Errorf("--server must be a URL such as %s://user@host:6380, with nothing after the port", scheme)
	}
	if _, given := u.User.Password(); given {
		return errors.New("--server has a password in it, which every user of this machine can read: use " + passwordEnv + " or --password-file")
	}
	if named := u.User.Username(); named != "" {
		if p.user != "" && p.user != named {
			return fmt.Errorf("--user %s and the user of --server, %s, are two: give one of them", p.user, named)
		}
		o.Username = named
	}
	port := u.Port()
	if port == "" {
		_, port, _ = net.SplitHostPort(settings.ByName("listen").Default)
	}
	o.Addr = net.JoinHostPort(u.Hostname(), port)
	*secured = *secured || scheme == "rediss"
	return nil
}

// takePassword reads the password from where it is. The server that the environment
// tells of, as in a container, has its own there.
func (p *peer) takePassword(o *redis.Options) error {
	flag, path := "--password-file", p.passwordFile
	if o.Password = os.Getenv(passwordEnv); path == "" && o.Password == "" && !p.given("server") {
		of := settings.ByName("requirepass-file")
		flag, path = of.Env(), os.Getenv(of.Env())
		o.Password = os.Getenv(settings.ByName("requirepass").Env())
	}
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s must be a file that can be read: %w", flag, err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if o.Password = strings.TrimSuffix(line, "\r"); o.Password == "" {
		return fmt.Errorf("%s must be a file with the password on its first line, and %s has none there", flag, path)
	}
	return nil
}

// tlsConfig reads the certificates.
func (p *peer) tlsConfig(address string) (*tls.Config, error) {
	host, _, _ := net.SplitHostPort(address)
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if p.is != "" {
		c.ServerName = p.is
	}
	if p.ca != "" {
		text, err := os.ReadFile(p.ca)
		if err != nil {
			return nil, fmt.Errorf("--cacert must be a file that can be read: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--cacert must be a file of certificates, PEM, and %s has none", p.ca)
		}
	}
	switch {
	case p.cert == "" && p.key == "":
		return c, nil
	case p.cert == "" || p.key == "":
		return nil, errors.New("--cert and --key belong together: give both")
	}
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("--cert and --key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// dial makes a client. Close it. What it would log, its errors say.
func (p *peer) dial() (*redis.Client, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	logging.Disable()
	return redis.NewClient(o), nil
}

// connect makes a connection that is logged in, for those who then speak on it themselves.
func connect(ctx context.Context, o *redis.Options) (net.Conn, error) {
	logging.Disable()
	var conn net.Conn
	once := *o
	once.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := redis.NewDialer(o)(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn = made
		return lent{conn}, nil
	}
	client := redis.NewClient(&once)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, said(client, err)
	}
	return conn, conn.SetDeadline(time.Time{})
}

// lent is a connection that who uses it does not close.
type lent struct{ net.Conn }

func (lent) Close() error { return nil }

// ask sends one command. An error of the server is a faultError; one that the server
// replied with is a refusal in it.
func (p *peer) ask(ctx context.Context, words ...any) (any, error) {
	client, err := p.dial()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	reply, err := client.Do(ctx, words...).Result()
	return reply, said(client, err)
}

// said turns what a client returns into what is told.
func said(client *redis.Client, err error) error {
	var refused redis.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		text := refused.Error()
		if strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS") {
			text += " (the password is taken from --password-file or " + passwordEnv + ")"
		}
		return faultError{refusal{text}}
	}
	return faultError{fmt.Errorf("%s does not answer: %w; %s", client.Options().Addr, err, remedy(err))}
}

// remedy says what may help where a server does not answer.
func remedy(err error) string {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var plain tls.RecordHeaderError
	var alert *net.OpError // of the peer: the type of the alert in it has no name
	switch {
	case errors.As(err, &unknown):
		return "--cacert names the file of those who vouch for it"
	case errors.As(err, &other):
		return "--sni says which name its certificate is for"
	case errors.As(err, &plain):
		return "it does not speak TLS there: leave --tls away, or see its tls-listen"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return "it may want a certificate that it knows: --cert and --key"
	}
	return "--server says where it is, --tls that it speaks TLS there"
}

// refusal is an error reply.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// asRefusal returns the error reply that an error is.
func asRefusal(err error) (refusal, bool) {
	var r refusal
	return r, errors.As(err, &r)
}

package main

// The server that a command of ours talks to. It is talked to as any Redis client
// would, so what these commands do, redis-cli can do.

import (
	"context"
	"errors"
	"fmt"
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
	server  string
	user    string
	timeout time.Duration
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
	c.Flags().StringVar(&p.server, "server", standard, "`address` of the server, HOST:PORT")
	c.Flags().StringVar(&p.user, "user", "", "`name` of the user; the password is taken from "+passwordEnv)
	c.Flags().DurationVar(&p.timeout, "timeout", PeerTimeout, "`time` that the server may take")
}

// dial makes a client. Close it. What it would log, its errors say.
func (p *peer) dial() *redis.Client {
	logging.Disable()
	return redis.NewClient(&redis.Options{
		Addr: p.server, Username: p.user, Password: os.Getenv(passwordEnv), Protocol: 2, PoolSize: 1, MaxRetries: -1,
		DialTimeout: p.timeout, ReadTimeout: p.timeout, WriteTimeout: p.timeout, DisableIdentity: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// ask sends one command. An error is a faultError; one that the server replied with
// is a refusal in it.
func (p *peer) ask(ctx context.Context, words ...any) (any, error) {
	client := p.dial()
	defer client.Close()
	reply, err := client.Do(ctx, words...).Result()
	var refused redis.Error
	switch {
	case err == nil:
		return reply, nil
	case errors.As(err, &refused):
		return nil, faultError{refusal{refused.Error()}}
	}
	return nil, faultError{fmt.Errorf("%s does not answer: %w; --server says where it is", p.server, err)}
}

// refusal is an error reply.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// asRefusal returns the error reply that an error is.
func asRefusal(err error) (refusal, bool) {
	var r refusal
	return r, errors.As(err, &r)
}

// Command clienttest talks to a server through Go's Redis clients, each as its own
// quick start has it, and makes the certificates that the other clients are tested with.
// run.sh runs it; it is a module of its own so that the server's needs none of them.
//
//	clienttest go-redis|rueidis|redigo      with HOST, PORT, PASSWORD, PROTO, CA, KEY in the environment
//	clienttest certificates DIR             ca.crt, server.crt, server.key
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// calls is how many are sent at once. The limit is as large, so one more is denied.
const calls = 1000

// target is where the server is and how to be let in.
type target struct {
	address, password, key string
	proto                  string
	tls                    *tls.Config // nil: none
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clienttest:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && args[0] == "certificates" {
		return makeCertificates(args[1])
	}
	clients := map[string]func(target) error{"go-redis": throughGoRedis, "rueidis": throughRueidis, "redigo": throughRedigo}
	modules := map[string]string{"go-redis": "github.com/redis/go-redis/v9", "rueidis": "github.com/redis/rueidis", "redigo": "github.com/gomodule/redigo"}
	if len(args) != 1 || clients[args[0]] == nil {
		return errors.New("it wants go-redis, rueidis, redigo, or certificates DIR")
	}
	t := target{address: os.Getenv("HOST") + ":" + os.Getenv("PORT"), password: os.Getenv("PASSWORD"), proto: os.Getenv("PROTO"), key: os.Getenv("KEY")}
	if path := os.Getenv("CA"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.tls = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
		t.tls.RootCAs.AppendCertsFromPEM(text)
	}
	if err := clients[args[0]](t); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == modules[args[0]] {
			fmt.Println(m.Version)
		}
	}
	return nil
}

// checkDecision holds the i-th answer against what it must be.
func checkDecision(i int, d []int64) error {
	allowed, remaining := int64(1), int64(calls-1-i)
	if i == calls {
		allowed, remaining = 0, 0
	}
	if len(d) != 6 || d[0] != allowed || d[1] != calls || d[2] != remaining {
		return fmt.Errorf("call %d is answered %v", i+1, d)
	}
	return nil
}

// checkError holds an error answer against what it must be.
func checkError(err error) error {
	if err == nil || !strings.Contains(err.Error(), "unknown algorithm 'nosuch'") {
		return fmt.Errorf("a wrong call is answered %v", err)
	}
	return nil
}

func throughGoRedis(t target) error {
	ctx := context.Background()
	proto := 3
	if t.proto == "2" {
		proto = 2
	}
	client := goredis.NewClient(&goredis.Options{Addr: t.address, Password: t.password, Protocol: proto, TLSConfig: t.tls})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return err
	}
	pipe := client.Pipeline()
	var answers []*goredis.Cmd
	for range calls + 1 {
		answers = append(answers, pipe.Do(ctx, "RL.ALLOW", t.key, "fixed_window", calls, "52w"))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i, answer := range answers {
		d, err := answer.Int64Slice()
		if err == nil {
			err = checkDecision(i, d)
		}
		if err != nil {
			return err
		}
	}
	if err := checkError(client.Do(ctx, "RL.ALLOW", t.key, "nosuch", 1, "1s").Err()); err != nil {
		return err
	}
	return client.Close()
}

func throughRueidis(t target) error {
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{t.address}, Password: t.password, TLSConfig: t.tls,
		AlwaysRESP2: t.proto == "2", DisableCache: t.proto == "2"})
	if err != nil {
		return err
	}
	defer client.Close()
	var commands rueidis.Commands
	for range calls + 1 {
		commands = append(commands, client.B().Arbitrary("RL.ALLOW").Keys(t.key).Args("fixed_window", fmt.Sprint(calls), "52w").Build())
	}
	for i, answer := range client.DoMulti(ctx, commands...) {
		d, err := answer.AsIntSlice()
		if err == nil {
			err = checkDecision(i, d)
		}
		if err != nil {
			return err
		}
	}
	if err := checkError(client.Do(ctx, client.B().Arbitrary("RL.ALLOW").Keys(t.key).Args("nosuch", "1", "1s").Build()).Error()); err != nil {
		return err
	}
	if t.proto == "2" {
		return nil
	}
	return cachesNothingStale(ctx, client, t.key+":cached")
}

// cachesNothingStale reads through the client's cache what changes in between.
func cachesNothingStale(ctx context.Context, client rueidis.Client, key string) error {
	steps := []struct {
		change []string
		kind   string
	}{{nil, "none"}, {[]string{"RL.ALLOW", key, "sliding_log", "10", "1h"}, "sliding_log"}, {[]string{"RL.RESET", key}, "none"}}
	for _, step := range steps {
		if step.change != nil {
			if err := client.Do(ctx, client.B().Arbitrary(step.change...).Build()).Error(); err != nil {
				return err
			}
		}
		got, err := client.DoCache(ctx, client.B().Type().Key(key).Cache(), cacheTTL).ToString()
		if err != nil || got != step.kind {
			return fmt.Errorf("after %q TYPE through the cache is %q (%v)", step.change, got, err)
		}
	}
	return nil
}

func throughRedigo(t target) error {
	options := []redis.DialOption{}
	if t.password != "" {
		options = append(options, redis.DialPassword(t.password))
	}
	if t.tls != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(t.tls))
	}
	conn, err := redis.Dial("tcp", t.address, options...)
	if err != nil {
		return err
	}
	defer conn.Close()
	for range calls + 1 {
		if err := conn.Send("RL.ALLOW", t.key, "fixed_window", calls, "52w"); err != nil {
			return err
		}
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	for i := range calls + 1 {
		d, err := redis.Int64s(conn.Receive())
		if err == nil {
			err = checkDecision(i, d)
		}
		if err != nil {
			return err
		}
	}
	_, err = conn.Do("RL.ALLOW", t.key, "nosuch", 1, "1s")
	return errors.Join(checkError(err), conn.Close())
}

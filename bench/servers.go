package bench

// The servers that are measured. Each is a process of its own on a port of its own on loopback, with nothing kept on disk
// unless that is what is measured, and ends with the benchmark.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// startMax is how long a server may take until it answers; loading ten million keys is the longest.
	startMax  = 2 * time.Minute
	stopMax   = 10 * time.Second
	readyPoll = 5 * time.Millisecond
)

// server is a running server.
type server struct {
	addr    string
	pid     int // 0: not known, its CPU time is not told
	admin   *redis.Client
	command *exec.Cmd
	log     *os.File
	took    time.Duration // from start until it was ready
}

// connectTo returns a server that somebody else has started.
func connectTo(addr string) *server {
	s := &server{addr: addr, admin: redis.NewClient(&redis.Options{
		Addr: addr, DisableIdentity: true, Protocol: 2, MaxRetries: -1, ReadTimeout: startMax, ContextTimeoutEnabled: true,
	})}
	return s
}

// start starts a server and waits until it answers PING.
func (r *runner) start(port int, program string, args ...string) (*server, error) {
	s := connectTo(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if c, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
		c.Close()
		return nil, fmt.Errorf("%s is in use; --port chooses other ports", s.addr)
	}
	log, err := os.CreateTemp(r.dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	s.log = log
	s.command = exec.Command(program, args...)
	s.command.Dir = r.dir
	s.command.Stdout, s.command.Stderr = log, log
	dieWithUs(s.command)
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	s.pid = s.command.Process.Pid
	if err := s.ready(r.ctx); err != nil {
		err = fmt.Errorf("%s %s: %w%s", program, strings.Join(args, " "), err, s.lastWords())
		s.stop()
		return nil, err
	}
	s.took = time.Since(began)
	r.running = append(r.running, s)
	return s, nil
}

// ready waits until the server answers PING and has loaded what is on its disk.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for {
		err := s.admin.Ping(ctx).Err()
		if err == nil {
			if loading, _ := s.info(ctx, "persistence", "loading"); loading != "1" {
				return nil
			}
			err = errors.New("it is loading")
		}
		if s.command.Process.Signal(syscall.Signal(0)) != nil || ended(s.pid) {
			return errors.New("it ended at once")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not answer: %w", err)
		case <-time.After(readyPoll):
		}
	}
}

// ended says whether a child of ours has ended and waits to be looked at.
func ended(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// lastWords is what the server said, shortened.
func (s *server) lastWords() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil || len(text) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(text[max(0, len(text)-500):]))
}

// stop ends the server, at last by force.
func (s *server) stop() {
	s.admin.Close()
	if s.command == nil {
		return
	}
	s.command.Process.Signal(syscall.SIGTERM)
	force := time.AfterFunc(stopMax, func() { s.command.Process.Kill() })
	s.command.Wait()
	force.Stop()
	s.log.Close()
	s.command = nil
}

// do has the server do a command, whose reply is not wanted.
func (s *server) do(ctx context.Context, words ...any) error {
	if err := s.admin.Do(ctx, words...).Err(); err != nil {
		return fmt.Errorf("%v: %w", words[0], err)
	}
	return nil
}

// info reads a field of INFO.
func (s *server) info(ctx context.Context, section, field string) (string, error) {
	text, err := s.admin.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name == field {
			return value, nil
		}
	}
	return "", fmt.Errorf("INFO %s has no %s", section, field)
}

// The ports that servers get, counted from Options.Port.
const (
	portSluice = iota
	portRedis
	portConstant
)

// startSluice starts Sluice with nothing kept, but for what the flags say.
func (r *runner) startSluice(flags ...string) (*server, error) {
	port := r.Port + portSluice
	args := []string{"serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--log-level", "warn", "--max-clients", strconv.Itoa(ConnectionsMax)}
	if r.ProfileDir != "" {
		args = append(args, "--profile", r.ProfileDir)
	}
	return r.start(port, r.Binary, append(args, flags...)...)
}

func (r *runner) startRedis(flags ...string) (*server, error) {
	port := r.Port + portRedis
	args := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--maxclients", strconv.Itoa(ConnectionsMax), "--dir", r.dir}
	return r.start(port, r.Redis, append(args, flags...)...)
}

func (r *runner) startConstant() (*server, error) {
	port := r.Port + portConstant
	return r.start(port, r.Binary, "bench", "ceiling", "--listen", fmt.Sprintf("127.0.0.1:%d", port))
}

// script loads one of the scripts into Redis and returns its hash.
func (s *server) script(ctx context.Context, name string) (string, error) {
	text, err := scripts.ReadFile("lua/" + name + ".lua")
	if err != nil {
		return "", err
	}
	return s.admin.ScriptLoad(ctx, string(text)).Result()
}

package main

// kill -9 under load (C117, C118, G1, G2, G7): clients count what was acknowledged to
// them; after the restart each of their keys must have been charged that often, and no
// more often than calls were sent.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// killsMax is how often servers are killed: 200 times, or as often as is asked for.
func killsMax(t testing.TB) int {
	text := os.Getenv("SLUICE_CRASH_KILLS")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SLUICE_CRASH_KILLS: %v", err)
	}
	return n
}

// loadDepth is how many calls each client has under way.
const loadDepth = 16

// crowd is clients that call until their server is gone. Each has a key of its own.
type crowd struct {
	clients []*caller
	group   sync.WaitGroup
}

// caller is one client. Its counts go on from server to server.
type caller struct {
	t     testing.TB
	key   string
	sent  atomic.Int64
	acked atomic.Int64
	times []time.Time // of acknowledgements, if they are wanted
}

func newCrowd(p *process, clients int) *crowd {
	l := &crowd{}
	for n := range clients {
		l.clients = append(l.clients, &caller{t: p.t, key: fmt.Sprint("caller:", n)})
	}
	l.run(p)
	return l
}

// run has the clients call a server.
func (l *crowd) run(p *process) {
	for _, c := range l.clients {
		conn := p.dial()
		l.group.Go(func() { c.call(conn) })
	}
}

// call keeps loadDepth calls under way until the connection breaks.
func (c *caller) call(conn *client) {
	defer conn.conn.Close()
	one := request(nil, "RL.ALLOW", c.key, "fixed_window", "9000000000000000", "800000h", "1")
	var batch []byte
	for range loadDepth {
		batch = append(batch, one...)
	}
	for {
		c.sent.Add(loadDepth)
		if _, err := conn.conn.Write(batch); err != nil {
			return
		}
		for range loadDepth {
			reply, err := conn.reply()
			if err != nil {
				return
			}
			if reply[:2] != "[1" {
				c.t.Errorf("%s: %s", c.key, reply)
				return
			}
			c.acked.Add(1)
			if c.times != nil {
				c.times = append(c.times, time.Now())
			}
		}
	}
}

// acknowledged is how many calls have been, of all clients.
func (l *crowd) acknowledged() (n int64) {
	for _, c := range l.clients {
		n += c.acked.Load()
	}
	return n
}

// wait returns when all connections have broken.
func (l *crowd) wait() { l.group.Wait() }

// check compares what a server says with what the clients know, and has them go on from
// there.
func (l *crowd) check(p *process) {
	p.t.Helper()
	conn := p.dial()
	for _, c := range l.clients {
		n := charged(conn, c.key)
		if acked, sent := c.acked.Load(), c.sent.Load(); n < acked || n > sent {
			p.t.Errorf("%s was charged %d times; %d were acknowledged, %d sent", c.key, n, acked, sent)
		}
		c.acked.Store(n)
		c.sent.Store(n)
	}
	conn.conn.Close()
}

// charged is how often a key was charged.
func charged(conn *client, key string) (n int64) {
	var allowed, limit, remaining int64
	reply := conn.ask("RL.PEEK " + key + " fixed_window 9000000000000000 800000h 1")
	if _, err := fmt.Sscanf(reply, "[%d %d %d", &allowed, &limit, &remaining); err != nil {
		conn.t.Fatalf("%s: %s", key, reply)
	}
	return limit - remaining
}

// TestCrashKills kills servers under --journal always, over and over in the same few
// directories, at any moment: just started, under load, while a snapshot is written.
func TestCrashKills(t *testing.T) {
	const directories = 4
	kills := killsMax(t)
	for n := range directories {
		t.Run(fmt.Sprint("directory ", n), func(t *testing.T) {
			t.Parallel()
			killOver(t, uint64(n), (kills+n)/directories)
		})
	}
}

// killOver kills a server in one directory again and again.
func killOver(t *testing.T, seed uint64, kills int) {
	r, dir := rand.New(rand.NewPCG(seed, 12)), t.TempDir()
	flags := []string{"--dir", dir, "--journal", "always", "--snapshot-journal-bytes", "0", "--snapshot-every", "0"}
	p := start(t, flags...)
	load, acked := newCrowd(p, 3), int64(0)
	for n := range kills {
		if n > 0 {
			load.run(p)
		}
		before := load.acknowledged()
		goal := before + int64(1+r.IntN(3000))
		saving := r.IntN(3) == 0
		p.until("there were some calls", func() bool { return load.acknowledged() >= goal })
		if saving {
			conn := p.dial()
			conn.conn.Write(request(nil, "BGSAVE"))
			p.until("there were some calls more", func() bool { return load.acknowledged() >= goal+int64(r.IntN(500)) })
		}
		p.kill()
		load.wait()
		acked += load.acknowledged() - before
		p = start(t, append(flags, "--shards", strconv.Itoa(1+r.IntN(4)))...)
		load.check(p)
		if t.Failed() {
			t.Fatalf("seed %d, kill %d", seed, n)
		}
	}
	p.terminate()
	snapshots := 0
	for name, data := range files(t, dir) {
		if data == "" || name == "snapshot.tmp" {
			t.Errorf("%s is left with %d bytes", name, len(data))
		}
		if name[:4] == "snap" {
			snapshots++
		}
	}
	if snapshots > 1 {
		t.Errorf("%d snapshots", snapshots)
	}
	t.Logf("%d kills, %d calls acknowledged, none lost", kills, acked)
}

// TestCrashEverySec kills servers under --journal everysec: a call that is lost was
// acknowledged within the last second.
func TestCrashEverySec(t *testing.T) {
	for n := range max(killsMax(t)/50, 2) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			killEverySec(t, time.Second+time.Duration(n%4)*100*time.Millisecond)
		})
	}
}

// killEverySec kills a server that has been called for a while.
func killEverySec(t *testing.T, after time.Duration) {
	dir := t.TempDir()
	p := start(t, "--dir", dir)
	c := &caller{t: t, key: "caller:0", times: make([]time.Time, 0, 1<<20)}
	load := &crowd{clients: []*caller{c}}
	load.run(p)
	begun := time.Now()
	p.until("it has been called for a while", func() bool { return time.Since(begun) > after })
	killed := time.Now() // no sooner than this; how long it takes to be gone is not counted
	p.kill()
	load.wait()
	p = start(t, "--dir", dir)
	if lost := c.acked.Load() - charged(p.dial(), c.key); lost > 0 {
		age := killed.Sub(c.times[len(c.times)-int(lost)])
		if age > time.Second {
			t.Errorf("%d of %d calls are lost, the oldest %v old", lost, c.acked.Load(), age)
		}
		t.Logf("%d of %d calls are lost, the oldest %v old", lost, c.acked.Load(), age)
	}
	p.terminate()
}

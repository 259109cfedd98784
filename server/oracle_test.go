package server

// Counting what passes. A client of our own, over real sockets, sends a fixed
// sequence of keys; how many calls must pass is worked out here in whole
// numbers, without the server's algorithms.

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/internal/clock"
)

// listen serves on a loopback port and returns its address.
func (r *rig) listen() string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.tending.Do(func() {}) // the test counts the seconds, if anybody does
	served := make(chan error, 1)
	go func() { served <- r.Serve(l) }()
	for r.port() == 0 {
		runtime.Gosched()
	}
	r.t.Cleanup(func() {
		r.end()
		if err := <-served; err != ErrClosed {
			r.t.Error(err)
		}
	})
	return l.Addr().String()
}

// bucket is a token bucket in tokens × window nanoseconds.
type bucket struct{ free, at uint64 }

const (
	oracleLimit  = 100
	oracleWindow = uint64(time.Second)
)

func (b *bucket) take(now uint64) bool {
	b.free = min(b.free+(now-b.at)*oracleLimit, oracleLimit*oracleWindow)
	b.at = now
	if b.free < oracleWindow {
		return false
	}
	b.free -= oracleWindow
	return true
}

// TestCountsAgainstOracle is the benchmark's workload, RL.ALLOW on random keys in
// pipelines of 100, from eight connections at once. Between rounds the clock moves.
func TestCountsAgainstOracle(t *testing.T) {
	const connections, depth, seed = 8, 100, 99
	rounds, perRound := 10, fewer(5000)
	keys := perRound / 17 // so that about half of the calls pass
	r := newRig(t, 2)
	address := r.listen()
	conns := make([]net.Conn, connections)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	buckets := make([]bucket, keys)
	for i := range buckets {
		buckets[i] = bucket{oracleLimit * oracleWindow, clock.T0Ns}
	}
	got, want := 0, 0
	for round := range rounds {
		counts := make([]int, connections)
		var group sync.WaitGroup
		for i, conn := range conns {
			rng := rand.New(rand.NewPCG(seed, uint64(round*connections+i)))
			sequence := make([]int, perRound)
			for j := range sequence {
				sequence[j] = rng.IntN(keys)
				if buckets[sequence[j]].take(r.clock.Now()) {
					want++
				}
			}
			group.Go(func() { counts[i] = countPassed(t, conn, sequence, depth) })
		}
		group.Wait()
		got += sum(counts)
		if got != want {
			t.Fatalf("after round %d %d calls have passed, want %d", round, got, want)
		}
		r.clock.Advance(time.Duration(1+round) * 77_777_777)
	}
	if total := rounds * perRound * connections; want == 0 || want == total {
		t.Errorf("%d of %d pass: this shows nothing", want, total)
	}
}

// countPassed sends calls for a sequence of keys in pipelines and counts the
// replies that let them pass.
func countPassed(t *testing.T, conn net.Conn, sequence []int, depth int) (passed int) {
	in := bufio.NewReader(conn)
	for part := range slices.Chunk(sequence, depth) {
		var b []byte
		for _, key := range part {
			b = append(b, request("RL.ALLOW", "user:"+strconv.Itoa(key), "token_bucket", strconv.Itoa(oracleLimit), "1s", "1")...)
		}
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
			return passed
		}
		for range part {
			for line := range 7 {
				text, err := in.ReadBytes('\n')
				if err != nil {
					t.Error(err)
					return passed
				}
				if line == 1 && bytes.Equal(text, []byte(":1\r\n")) {
					passed++
				}
			}
		}
	}
	return passed
}

package shard

// What the tests share: random numbers that a failure can repeat, limits, keys,
// and a way to ask a core one question.

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/algorithms"
)

var testSeed = flag.Uint64("shard.seed", 1, "seed of all random histories, 0 draws one")

const (
	second = uint64(time.Second)
	year   = 365 * 24 * 3600 * second
	start  = 1_800_000_000 * second // T0
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRand returns the random numbers of a test. Stream tells the tests' rows apart.
func newRand(t testing.TB, stream uint64) *rand.Rand {
	t.Helper()
	seed := *testSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("-shard.seed=%d, stream %d", seed, stream)
		}
	})
	return rand.New(rand.NewPCG(seed, stream))
}

// pick is one of a few.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// scaled is n, or a tenth of it under the race detector.
func scaled(n int) int {
	if raceEnabled {
		return n / 10
	}
	return n
}

// newLimit is a legal limit, or a panic.
func newLimit(id algorithms.ID, units uint64, window time.Duration) *algorithms.Limit {
	return limitOf(algorithms.Spec{Algorithm: id, Units: units, Window: uint64(window)})
}

func limitOf(s algorithms.Spec) *algorithms.Limit {
	l, err := algorithms.NewLimit(s, algorithms.LogLimitMaxDefault)
	if err != nil {
		panic(fmt.Sprintf("%+v: %v", s, err))
	}
	return &l
}

// key20 writes the n-th key of 20 bytes to b.
func key20(b []byte, n int) []byte {
	b = append(b[:0], "user:000000000000000"...)
	for i := len(b) - 1; n > 0; i, n = i-1, n/10 {
		b[i] = '0' + byte(n%10)
	}
	return b
}

// asker asks a core one question at a time.
type asker struct {
	*Core
	ops [1]Op
}

var first = []uint32{0}

func (a *asker) ask(now uint64, kind Kind, key []byte, l *algorithms.Limit, cost uint64) *Op {
	op := &a.ops[0]
	op.Kind, op.Key, op.Call.Limit, op.Call.Cost, op.Full = kind, key, l, cost, false
	op.Call.KeyHash = keyHash(key)
	a.Step(now, a.ops[:], first)
	return op
}

// allow asks and says whether the call passed.
func (a *asker) allow(now uint64, key string, l *algorithms.Limit, cost uint64) bool {
	op := a.ask(now, Allow, []byte(key), l, cost)
	return !op.Full && op.Decision.Allowed
}

// remaining looks at a key under a limit.
func (a *asker) remaining(now uint64, key string, l *algorithms.Limit) uint64 {
	return a.ask(now, Peek, []byte(key), l, 0).Decision.Remaining
}

func (a *asker) found(now uint64, kind Kind, key string) bool {
	return a.ask(now, kind, []byte(key), nil, 0).Found
}

// keyHash stands for the xxhash64 that a server computes: FNV-1a.
func keyHash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// must fails the test if what must hold of a core does not.
func must(t testing.TB, c *Core) {
	t.Helper()
	if err := c.verify(); err != nil {
		t.Fatal(err)
	}
}

// tape is a source of random numbers that someone else has written, for fuzzing.
// The tape's own counting keeps the numbers from being one for ever behind its end.
type tape struct {
	left []byte
	read uint64
}

func (t *tape) Uint64() uint64 {
	var b [8]byte
	t.left = t.left[copy(b[:], t.left):]
	t.read += 0x9e3779b97f4a7c15
	return binary.LittleEndian.Uint64(b[:]) ^ t.read
}

package keeper_test

// A rig is a keeper and its shards, all of it as it runs in a server, on a disk in
// memory, in a bubble of synctest: time stands still until everyone waits, so a disk
// is slow to the millisecond and nothing here takes real time.

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/algorithms"
	"sluice/internal/clock"
	"sluice/internal/keeper"
	"sluice/persistence"
	"sluice/persistence/faultfs"
	"sluice/shard"
)

const dir = "/data"

// begun is when the clock of a bubble begins.
var begun = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func elapsed() time.Duration { return time.Since(begun) }

// bubbleClock is a server's clock in a bubble.
type bubbleClock struct{}

func (bubbleClock) Now() uint64 { return clock.T0Ns + uint64(elapsed()) }

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) // reason: it is the bubble's time
	synctest.Wait()
}

// journal is a log that a test can read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines are those that contain a text.
func (j *journal) lines(text string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

type rig struct {
	*keeper.Keeper
	t    testing.TB
	disk *faultfs.FS
	set  *shard.Set
	log  *journal
	mode persistence.Mode
}

// open starts a keeper on a disk, and fails the test if that cannot be done.
func open(t testing.TB, disk *faultfs.FS, mode persistence.Mode, change func(*keeper.Options)) *rig {
	t.Helper()
	r, err := tryOpen(t, disk, mode, change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryOpen(t testing.TB, disk *faultfs.FS, mode persistence.Mode, change func(*keeper.Options)) (*rig, error) {
	r := &rig{t: t, disk: disk, log: &journal{}, mode: mode}
	o := keeper.Options{
		FS: disk, Dir: dir, Mode: mode, Address: "127.0.0.1:6380",
		Elapsed: elapsed, TagHash: tagHash, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	k, err := keeper.Open(o)
	if err != nil {
		return nil, err
	}
	r.Keeper, r.set = k, shard.NewSet(3, bubbleClock{})
	if _, err := k.Load(r.set, bubbleClock{}, nil); err != nil {
		k.Close(false)
		r.set.Close()
		return nil, err
	}
	k.Start()
	return r, nil
}

// close ends a rig that works.
func (r *rig) close() {
	r.t.Helper()
	if err := r.Close(false); err != nil {
		r.t.Error(err)
	}
	r.set.Close()
}

// abandon ends a rig whose disk may be dead.
func (r *rig) abandon() {
	r.Close(false)
	r.set.Close()
}

func tagHash(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(shard.Tag(key))
	return h.Sum64()
}

// hourly is the limit of every key here: a count that nobody reaches.
var hourly = func() *algorithms.Limit {
	l, err := algorithms.NewLimit(algorithms.Spec{
		Algorithm: algorithms.FixedWindow, Units: algorithms.UnitsMax, Window: uint64(24 * time.Hour),
	}, 1)
	if err != nil {
		panic(err)
	}
	return &l
}()

// spend charges a key once and says whether that was acknowledged.
func (r *rig) spend(key string) bool {
	b := shard.NewBatch(r.set.Len())
	op := b.Add(tagHash([]byte(key)))
	op.Kind, op.Key, op.Call.Limit, op.Call.Cost = shard.Allow, []byte(key), hourly, 1
	r.set.Run(b)
	return !b.Ops[0].Unsaved
}

// used is how often a key was charged.
func (r *rig) used(key string) uint64 {
	b := shard.NewBatch(r.set.Len())
	op := b.Add(tagHash([]byte(key)))
	var v shard.View
	op.Kind, op.Key, op.View = shard.Look, []byte(key), &v
	r.set.Run(b)
	return v.Used
}

// want compares how often some keys were charged.
func (r *rig) want(counts map[string]uint64) {
	r.t.Helper()
	for key, n := range counts {
		if got := r.used(key); got != n {
			r.t.Errorf("%s was charged %d times, want %d", key, got, n)
		}
	}
}

// fill charges n keys once each.
func (r *rig) fill(prefix string, n int) {
	b := shard.NewBatch(r.set.Len())
	for i := range n {
		key := fmt.Appendf(nil, "%s%d", prefix, i)
		op := b.Add(tagHash(key))
		op.Kind, op.Key, op.Call.Limit, op.Call.Cost = shard.Allow, key, hourly, 1
		if len(b.Ops) == shard.BatchOpsMax || i == n-1 {
			r.set.Run(b)
			b.Clear()
		}
	}
}

// keys is how many there are.
func (r *rig) keys() (n int) {
	r.set.Each(func(_ int, c *shard.Core, _ uint64) { n += c.Len() })
	return n
}

// slow makes calls of one kind take a while.
func slow(disk *faultfs.FS, op faultfs.Op, path string, takes time.Duration) {
	disk.SetHook(func(o faultfs.Op, p string) {
		if o == op && strings.Contains(p, path) {
			time.Sleep(takes) // reason: it is the bubble's time
		}
	})
}

// A rig drives the real queue and store on a failing disk, in one goroutine, with a model beside it. The model is a list
// of batches; the state after the first p of them is what a recovery may find, for a p that is not smaller than what was
// promised. Every batch writes its number under the key "seq", so that a recovered state says which p it claims to be.

package persistence_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

type rig struct {
	r     *rand.Rand
	mode  persistence.Mode
	disk  *faultfs.FS
	store *persistence.Store
	queue persistence.Queue

	now      time.Duration
	log      []string // batches, in order
	durable  int      // so many of them may not be lost to a power failure
	written  int      // so many of them may not be lost to a kill
	covering int      // batches that the running sync makes durable
	ticket   persistence.SyncTicket
	needed   int // how often a snapshot was asked for

	snapshot *persistence.SnapshotWriter
	exported int // halves of the keys
}

const rigKeys = 24

// start opens the directory on the rig's disk; what it holds must be a state of the model. It returns how many batches.
func (g *rig) start(atLeast int) error {
	store, s, _, err := load(g.disk, dir)
	if err != nil {
		return err
	}
	p, _ := strconv.Atoi(s["seq"])
	if p < atLeast || p > len(g.log) {
		return fmt.Errorf("recovered %d batches of %d, promised were %d", p, len(g.log), atLeast)
	}
	if want := g.state(p); !maps.Equal(s, want) {
		return fmt.Errorf("recovered %v, want the state after batch %d: %v", s, p, want)
	}
	if list := names(g.disk); strings.Contains(list, "tmp") || strings.Count(list, "snapshot") > 1 {
		return fmt.Errorf("files after the start: %s", list)
	}
	g.log, g.durable, g.written = slices.Clip(g.log[:p]), p, p
	g.store, g.snapshot = store, nil
	g.queue = persistence.NewQueue(store, g.mode, 1<<20, func() { g.needed++ })
	return nil
}

// state is that after the first p batches.
func (g *rig) state(p int) state {
	s := state{}
	for _, line := range g.log[:p] {
		for rest := batch(line); len(rest) > 0; {
			var r persistence.Record
			r, rest, _ = persistence.CutRecord(rest)
			s.apply(r)
		}
	}
	return s
}

// step does one random thing.
func (g *rig) step() {
	g.now += time.Duration(g.r.IntN(120)) * time.Millisecond
	switch n := g.r.IntN(20); {
	case n < 9:
		g.submit()
	case n < 12:
		g.queue.Tick(g.now)
	case n < 14:
		g.sync()
	default:
		g.save()
	}
	g.settled()
}

// submit sends a batch of a few keys, long now and then, and seldom an order to forget everything.
func (g *rig) submit() {
	var line strings.Builder
	if g.r.IntN(30) == 0 {
		line.WriteString("CLEAR ")
	}
	for range g.r.IntN(4) {
		value := ""
		if g.r.IntN(4) > 0 {
			value = strings.Repeat(strconv.Itoa(g.r.IntN(1000)), 1+g.r.IntN(3)*g.r.IntN(80))
		}
		fmt.Fprintf(&line, "k%d=%s ", g.r.IntN(rigKeys), value)
	}
	number := len(g.log) + 1
	fmt.Fprintf(&line, "seq=%d", number)
	g.log = append(g.log, line.String())
	answers := 0
	g.queue.Submit(g.now, uint64(number), batch(line.String()), func(err error) {
		if answers++; err != nil {
			return
		}
		g.written = max(g.written, number)
		if g.mode == persistence.Always {
			g.durable = max(g.durable, number)
		}
	})
	if answers != 1 {
		panic(fmt.Sprintf("a batch was answered %d times", answers))
	}
}

// sync moves a sync of EverySec on by one half.
func (g *rig) sync() {
	if g.queue.Syncing() {
		err := g.ticket.Run()
		g.queue.FinishSync(g.now, err)
		if err == nil {
			g.durable = max(g.durable, g.covering)
		}
	} else if ticket, ok := g.queue.StartSync(g.now); ok {
		g.ticket, g.covering = ticket, g.written
	}
}

// settled notes what the queue promises without a word: with nothing to do and no failure everything is durable. Under
// Always that is so whenever there is no failure.
func (g *rig) settled() {
	idle := g.store.Durable() == g.store.Appended() && !g.queue.Waiting()
	if g.mode == persistence.Always && g.queue.Fault() == nil && (!idle || g.queue.Held() > 0) {
		panic("not everything is durable although there is no failure")
	}
	if g.queue.Fault() == nil && idle {
		g.durable, g.written = len(g.log), len(g.log)
	}
}

// save moves a snapshot on by one step.
func (g *rig) save() {
	if g.queue.Syncing() {
		g.sync()
	}
	switch {
	case g.snapshot == nil:
		g.snapshot, _ = g.queue.Begin(g.now, uint64(len(g.log)))
		g.exported = 0
	case g.exported < 2:
		part := state{}
		for key, value := range g.state(len(g.log)) {
			n, _ := strconv.Atoi(strings.TrimPrefix(key, "k"))
			if n%2 == g.exported {
				part[key] = value
			}
		}
		g.snapshot.Append(uint64(len(g.log)), part.encode())
		g.exported++
	case g.r.IntN(5) == 0:
		g.snapshot.Abort()
		g.snapshot = nil
	default:
		if g.queue.Commit(g.now, g.snapshot) == nil {
			g.snapshot.Sweep()
		}
		g.snapshot = nil
	}
}

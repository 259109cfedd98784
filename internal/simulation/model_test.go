package simulation

// The model: every state that each key has had, decided by package algorithms on
// plain values, and what was promised about them.

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	milli  = uint64(time.Millisecond)
	second = uint64(time.Second)
)

// version is a state that a key has had. A nil limit is the fresh state.
type version struct {
	algorithms.Stored
	at   uint64 // server time
	cost uint64 // units that made it, 0 for a reset
}

// history is the life of a key.
type history struct {
	name []byte
	// versions begin with the fresh state. The indices that follow name the latest
	// version that is promised to be there after a power loss, and after a kill.
	versions []version
	durable  int
	written  int
}

func (h *history) now() *version { return &h.versions[len(h.versions)-1] }

// model is all keys.
type model struct {
	keys   []*history
	limits []*algorithms.Limit
}

func newModel(r *rand.Rand) *model {
	m := &model{}
	long := r.IntN(10) == 0
	for n := range 24 {
		name := fmt.Appendf(nil, "key:%d", n)
		switch {
		case n%8 == 6:
			name = fmt.Appendf(nil, "{tag}:%d", n)
		case n%3 == 0 && long: // a few of them are more than is taken at once
			name = append(name, make([]byte, 60_000)...)
		}
		m.keys = append(m.keys, &history{name: name, versions: []version{{}}})
	}
	for range 10 {
		m.limits = append(m.limits, newLimit(r))
	}
	return m
}

// newLimit is one of any algorithm, small enough to be used up.
func newLimit(r *rand.Rand) *algorithms.Limit {
	a := algorithms.Rates()[r.IntN(len(algorithms.Rates()))]
	windows := []uint64{50 * milli, 300 * milli, 2 * second, 60 * second, 3600 * second}
	s := algorithms.Spec{Algorithm: a.ID, Units: 1 + r.Uint64N(12), Window: windows[r.IntN(len(windows))]}
	if a.Options&algorithms.OptionBurst != 0 && r.IntN(3) == 0 {
		s.Burst = 1 + r.Uint64N(20)
	}
	if a.Options&algorithms.OptionAlign != 0 {
		s.Align = algorithms.Align(r.IntN(3))
	}
	if a.ID == algorithms.FixedWindow && r.IntN(3) == 0 {
		zone, _ := algorithms.ParseZone("Asia/Shanghai")
		s.Align, s.Window, s.Zone, s.ZoneSet = algorithms.AlignDay+algorithms.Align(r.IntN(4)), 0, zone, true
	}
	l, err := algorithms.NewLimit(s, algorithms.LogLimitMaxDefault)
	if err != nil {
		panic(err)
	}
	return &l
}

// allow decides as the core must, and notes the new version of a call that passes.
func (h *history) allow(now uint64, l *algorithms.Limit, cost uint64) algorithms.Decision {
	k := h.stored(now)
	call := algorithms.Call{Limit: l, Cost: cost, Now: now, KeyHash: hashOf(h.name)}
	var d algorithms.Decision
	algorithms.Allow(&call, &k, &d)
	if d.Allowed {
		if k.Limit.Algorithm != algorithms.SlidingLog {
			k.Log = nil
		}
		h.versions = append(h.versions, version{Stored: k, at: now, cost: cost})
	}
	return d
}

// stored is a copy of what the key stores, to be charged.
func (h *history) stored(now uint64) algorithms.Stored {
	v := h.now()
	if v.Limit == nil || v.FreshAt <= now {
		return algorithms.Stored{Log: new(algorithms.Log)}
	}
	k := v.Stored
	k.Log = new(algorithms.Log)
	if v.Log != nil {
		v.Log.Each(k.Log.Append)
	}
	return k
}

// reset notes that the key was made fresh.
func (h *history) reset(now uint64) {
	h.versions = append(h.versions, version{at: now})
}

// is says whether what is seen of the key at an instant is this version. What was not
// found is fresh.
func (v *version) is(now uint64, found bool, view *shard.View) bool {
	fresh := v.Limit == nil || v.FreshAt <= now
	if fresh || !found {
		return fresh && !found
	}
	state := view.State
	if v.Limit.Algorithm == algorithms.SlidingLog {
		state.C = v.State.C // the keeper's own
		if view.Runs != v.Log.Len() {
			return false
		}
	}
	return view.Limit == *v.Limit && state == v.State && view.FreshAt == v.FreshAt && view.Used == algorithms.Used(&v.Stored, now)
}

// recovered finds which version came back, the latest that it can be, and makes the
// history end with it. It must not be older than least.
func (h *history) recovered(now uint64, found bool, view *shard.View, least int) error {
	for n := len(h.versions) - 1; n >= 0; n-- {
		if !h.versions[n].is(now, found, view) {
			continue
		}
		if n < least {
			return fmt.Errorf("%.10q is back at version %d of %d, %d was promised", h.name, n, len(h.versions)-1, least)
		}
		// What is before can never come back, unless a later promise is broken.
		h.versions = append([]version{}, h.versions[n:n+1]...)
		h.durable, h.written = 0, 0
		return nil
	}
	return fmt.Errorf("%.10q is back with a state that it never had: %+v (of %d versions, the last %+v)", h.name, *view, len(h.versions), h.now().Stored)
}

// clone is a copy that can go on by itself. Versions never change.
func (m *model) clone() *model {
	c := &model{limits: m.limits}
	for _, h := range m.keys {
		copied := *h
		copied.versions = h.versions[:len(h.versions):len(h.versions)]
		c.keys = append(c.keys, &copied)
	}
	return c
}

// hashOf stands for the hash by which a server spreads jittered windows.
func hashOf(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(key)
	return h.Sum64()
}

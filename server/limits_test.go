package server

// The limiter commands beyond what transcripts show: their bounds, and where keys
// live.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/shard"
)

// TestManyGroups: a thousand groups are taken, one more is refused as a whole.
func TestManyGroups(t *testing.T) {
	w := newRig(t, 3).dial()
	group := []string{"k", "gcra", "2000", "1h", "1"}
	args := []string{"RL.MALLOW"}
	for range GroupsMax {
		args = append(args, group...)
	}
	if v := w.ask(t, args...); len(v.list) != GroupsMax || v.list[GroupsMax-1].String() != "[1 2000 1000 0 1800000 0]" {
		t.Errorf("%d replies, the last %s", len(v.list), v.list[len(v.list)-1])
	}
	if v := w.ask(t, append(args, group...)...); v.String() != "-ERR at most 1000 groups in one RL.MALLOW" {
		t.Error(v)
	}
	w.want(t, "RL.PEEK k gcra 2000 1h 0", "[1 2000 1000 0 1800000 0]")
}

// TestTagsKeepKeysTogether: keys with one hash tag live on one shard, whatever
// else is in them, and keys without are spread.
func TestTagsKeepKeysTogether(t *testing.T) {
	const shards = 4
	r := newRig(t, shards)
	w := r.dial()
	for i := range 200 {
		w.line(t, fmt.Sprintf("RL.ALLOW a:%d:{tenant}:b gcra 1 1h", i))
		w.line(t, fmt.Sprintf("RL.ALLOW plain:%d gcra 1 1h", i))
		w.line(t, fmt.Sprintf("RL.ALLOW {}%d gcra 1 1h", i))
	}
	where := map[string]map[int]int{}
	r.shards.Each(func(n int, c *shard.Core, now uint64) {
		c.Scan(now, 0, 1<<20, func(key []byte, _ shard.View) {
			kind := string(key[:2])
			if where[kind] == nil {
				where[kind] = map[int]int{}
			}
			where[kind][n]++
		})
	})
	if len(where["a:"]) != 1 || len(where["pl"]) != shards || len(where["{}"]) != shards {
		t.Errorf("keys by shard: %v", where)
	}
}

// TestClockFreesEverythingDue: when RL.CLOCK answers, nothing due is left, also
// within the same millisecond, and also where the clock goes back.
func TestClockFreesEverythingDue(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	entries := func() (n int) {
		r.shards.Each(func(_ int, c *shard.Core, _ uint64) { n += c.Len() })
		return n
	}
	w.want(t, "RL.ALLOW k fixed_window 1 1ms", "[1 1 0 0 1 0]")
	w.want(t, "RL.CLOCK ADVANCE 999us", "+OK")
	if n := entries(); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
	w.want(t, "RL.CLOCK ADVANCE 1us", "+OK")
	if n := entries(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	w.want(t, "RL.CLOCK SET 1900000000000", "+OK")
	w.want(t, "RL.ALLOW late gcra 1 1s", "[1 1 0 0 1000 0]")
	w.want(t, "RL.CLOCK SET 1800000000000", "+OK")
	for i := range 100 {
		w.line(t, fmt.Sprintf("RL.ALLOW k:%d gcra 1 1s", i))
	}
	w.want(t, "RL.CLOCK ADVANCE 1s", "+OK")
	if n := entries(); n != 1 {
		t.Errorf("%d entries, want the one of the future", n)
	}
	// The sweeper too goes by the time that was set.
	w.want(t, "RL.ALLOW k gcra 1 1s", "[1 1 0 0 1000 0]")
	r.clock.Advance(2 * time.Second)
	r.shards.Each(func(_ int, c *shard.Core, now uint64) { c.Tick(now, 1000) })
	if n := entries(); n != 1 {
		t.Errorf("%d entries are left by the sweeper, want 1", n)
	}
	w.want(t, "RL.CLOCK SET 1900000001000", "+OK")
	if n := entries(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

// TestNamesOfAlgorithms: every name in any case, with - or _, means its row.
func TestNamesOfAlgorithms(t *testing.T) {
	w := newRig(t, 1).dial()
	rng := rand.New(rand.NewPCG(3, 0))
	for _, a := range algorithms.Rates() {
		for _, name := range append(a.Short, a.Name) {
			for range 10 {
				b := []byte(name)
				for i, c := range b {
					switch {
					case c == '_' && rng.IntN(2) == 0:
						b[i] = '-'
					case rng.IntN(2) == 0:
						b[i] = strings.ToUpper(name)[i]
					}
				}
				w.line(t, "FLUSHALL")
				if v := w.line(t, "RL.ALLOW k "+string(b)+" 10 1m"); v.kind != '*' || !v.allowed() {
					t.Errorf("%s: %s", b, v)
				}
				w.want(t, "TYPE k", "+"+a.Name)
			}
		}
	}
}

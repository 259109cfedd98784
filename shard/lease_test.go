package shard

// Leases where the twin does not look: in parts of a flush, in snapshots of a set, in
// memory, at the bounds, and on records that nobody can have written.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// Four clients with leases of 20 on `token 100 10s` for a minute: the burst and what a
// minute earns, no more; and what one returns the others can spend.
func TestC122LeasesDoNotOverAdmit(t *testing.T) {
	r, a := newRand(t, 9900), newAsker()
	l := newLimit(algorithms.TokenBucket, 100, 10*time.Second)
	held := make([]uint64, 4)
	spent, returned := uint64(0), uint64(0)
	for now := start; now < start+60*second; now += second / 50 {
		i := r.IntN(len(held))
		holder := fmt.Sprint("client", i)
		switch {
		case held[i] > 0 && r.IntN(50) == 0:
			before := a.remaining(now, "k", l)
			n := a.giveLease(now, "k", holder, held[i])
			if after := a.remaining(now, "k", l); after-before != n {
				t.Fatalf("%d came back, %d more remain", n, after-before)
			}
			returned += held[i]
			held[i] = 0
		case held[i] > 0:
			held[i]--
			spent++
		default:
			held[i] = a.lease(now, "k", l, 20, 1, 60*second, holder).Granted
		}
	}
	if spent > 100+600 || returned == 0 {
		t.Errorf("%d spent, at most 700 may be; %d were returned", spent, returned)
	}
	must(t, a.Core)
}

// Ten thousand clients crash with leases, return late or twice: used and leased are
// never above the limit together, and every lease is gone a second after its time.
func TestG28CrashedHolders(t *testing.T) {
	r, a := newRand(t, 9901), newAsker()
	l := newLimit(algorithms.FixedWindow, 1000, time.Hour)
	now, used := start, uint64(0)
	for n := range scaled(10_000) {
		key, holder := fmt.Sprint("key", r.IntN(10)), fmt.Sprint("client", n)
		got := a.lease(now, key, l, 1+r.Uint64N(20), 1, 1+r.Uint64N(uint64(time.Minute)), holder).Granted
		switch r.IntN(4) {
		case 0: // crashes
		case 1: // late: the key may be full again meanwhile
			now += uint64(time.Minute)
			if back := a.giveLease(now, key, holder, got+1); back != 0 {
				t.Fatalf("%d came back after the lease had ended", back)
			}
		case 2: // twice
			first := a.giveLease(now, key, holder, got)
			if again := a.giveLease(now, key, holder, got); first != got || again != 0 {
				t.Fatalf("%d of %d came back, and then %d", first, got, again)
			}
		}
		if used = l.Burst - a.remaining(now, key, l); used > l.Burst {
			t.Fatalf("%d used of %d", used, l.Burst)
		}
		now += uint64(time.Millisecond)
	}
	for now += uint64(time.Minute) + second; a.Tick(now, 100); {
	}
	if n := a.Leases(); n != 0 {
		t.Errorf("%d leases are left a second after their time", n)
	}
	must(t, a.Core)
}

// After a crash at any moment no more is out than was charged: what can be given back
// of a window is at most what is used of it.
func TestLeasesAndChargesStayTogether(t *testing.T) {
	for round := range scaled(10) {
		r, a := newRand(t, 9910+uint64(round)), newAsker()
		a.Core.Journal(0, 1)
		l := newLimit(algorithms.FixedWindow, 100, time.Hour)
		// Long names make deletions, accounts and entries go into frames of their own.
		names := []string{string(make([]byte, 60_000)), string(make([]byte, 60_001)), string(make([]byte, 60_002)), "short"}
		var frames [][]byte
		for n := range 200 {
			key, holder := pick(r, names...), fmt.Sprint(r.IntN(5))
			switch r.IntN(6) {
			case 0, 1:
				a.lease(start, key, l, 1+r.Uint64N(30), 1, 60*second, holder)
			case 2, 3:
				a.giveLease(start, key, holder, 1+r.Uint64N(40))
			case 4:
				if r.IntN(3) == 0 {
					a.found(start, Reset, key)
				}
			case 5:
				records, _ := a.TakeRecords(start, nil, RecordsBytesMax)
				frames = append(frames, records)
			}
			if n%10 != 0 {
				continue
			}
			d := disk{journal: slices.Concat(frames[:r.IntN(len(frames)+1)]...)}
			c, err := d.restored(start)
			if err != nil {
				t.Fatal(err)
			}
			if err := outAtMostUsed(c, names, l); err != nil {
				t.Fatalf("round %d, step %d: %v", round, n, err)
			}
		}
	}
}

// outAtMostUsed compares what can be given back of keys with what is used of them.
func outAtMostUsed(c *Core, names []string, l *algorithms.Limit) error {
	a := asker{Core: c}
	for _, key := range names {
		var v View
		a.ops[0] = Op{Kind: Look, Key: []byte(key), View: &v}
		a.Step(start, a.ops[:], first)
		out := uint64(0)
		if account := c.leases.byKey[key]; account != nil {
			for _, lease := range account.out {
				mark := algorithms.Mark(&algorithms.Stored{Limit: l, State: v.State})
				if ch := lease.charges[0]; ch.mark == mark && c.lives([]byte(key), ch.life) {
					out += lease.units
				}
			}
		}
		if out > v.Used {
			return fmt.Errorf("%d units can be given back, %d are used", out, v.Used)
		}
	}
	return nil
}

// A snapshot of a set and what is exported meanwhile bring back leases, usage and the
// lives of charged keys.
func TestSnapshotHasLeases(t *testing.T) {
	overSets(t, func(t *testing.T, set *Set) {
		l := newLimit(algorithms.FixedWindow, 10, time.Hour)
		keys := make([]string, 3000)
		for i := range keys {
			keys[i] = fmt.Sprint("key", i)
		}
		on := func(set *Set, key string, f func(a *asker, now uint64)) {
			set.On(Route(keyHash([]byte(key)), set.Len()), func(c *Core, now uint64) { f(&asker{Core: c}, now) })
		}
		for i, key := range keys {
			on(set, key, func(a *asker, now uint64) {
				a.lease(now, key, l, 3, 1, 60*second, "h")
				if i%3 == 0 {
					a.found(now, Reset, key)
					a.lease(now, key, l, 2, 1, 60*second, "h")
				}
				a.tell(now, Report, key, Leasing{Holder: []byte("g"), Seq: 1, Start: start / nanosPerMilli, Spent: algorithms.Amount{Whole: uint64(i)}})
			})
		}
		again := newTestSet(t, set.Len(), 1, newStanding())
		restoration := again.Restore(keyHash)
		err := set.Export(func(_ uint64, records []byte) error {
			for len(records) > 0 {
				record, rest, ok := persistence.CutRecord(records)
				if records = rest; !ok {
					return fmt.Errorf("no record")
				}
				if err := restoration.Do([]persistence.Record{record}); err != nil {
					return err
				}
			}
			return nil
		})
		restoration.End()
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			on(again, key, func(a *asker, now uint64) {
				want := uint64(3)
				if i%3 == 0 {
					want = 2 // what was leased before the reset does not come back
				}
				if got := a.giveLease(now, key, "h", 100); got != want {
					t.Fatalf("%s: %d came back, want %d", key, got, want)
				}
				usage := a.tell(now, Tell, key, Leasing{Count: 9}).Leasing.Usage
				if len(usage) != 1 || usage[0] != (Usage{Start: start / nanosPerMilli, Authorised: 0, Spent: uint64(i), Holders: 2}) {
					t.Fatalf("%s: %+v", key, usage)
				}
			})
		}
		again.Each(func(_ int, c *Core, _ uint64) { must(t, c) })
	})
}

// What leases are said to take is about what they take.
func TestMemoryOfLeases(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, shape := range []struct{ keys, holders int }{{20_000, 1}, {1000, 20}, {10, 1000}} {
		a, before := newAsker(), heap()
		l := newLimit(algorithms.FixedWindow, algorithms.UnitsMax, time.Hour)
		table := a.Bytes()
		for k := range shape.keys {
			for h := range shape.holders {
				a.lease(start, fmt.Sprintf("user:%015d", k), l, 1, 1, 60*second, fmt.Sprintf("gateway-%04d", h))
			}
		}
		took, told := heap()-before-(a.Bytes()-a.leases.bytes-table), a.leases.bytes
		t.Logf("%d keys of %d holders: %d bytes a lease, told %d", shape.keys, shape.holders, took/shape.keys/shape.holders, told/shape.keys/shape.holders)
		if !raceEnabled && (told < took*2/3 || told > took*2) {
			t.Errorf("%d keys of %d holders take %d bytes, told %d", shape.keys, shape.holders, took, told)
		}
		a.Settle(start + 2*3600*second)
		if a.leases.bytes != 0 {
			t.Errorf("%d bytes are left when everything has ended", a.leases.bytes)
		}
		runtime.KeepAlive(a.Core)
	}
}

package shard

// Leases against a naive twin: lists of charges, of leases and of reports, searched
// from end to end. It knows windows and logs, whose charges count for a time that is
// known when they are made.

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/algorithms"
)

type naiveCharge struct{ units, until uint64 }

type naiveLease struct {
	holder        string
	units, end    uint64
	charge        *naiveCharge
	window, grant uint64
}

type naiveParty struct {
	reported             bool
	seq, spent, degraded uint64
}

type naiveWindow struct {
	start, closes, authorised uint64
	parties                   map[string]*naiveParty
}

type naiveKey struct {
	limit   *algorithms.Limit
	charges []*naiveCharge
	leases  []*naiveLease
	windows []*naiveWindow
}

// naive is the twin.
type naive struct {
	*rand.Rand
	core    asker
	now     uint64
	keys    map[string]*naiveKey
	journal []byte
	grants  uint64
}

func newNaive(r *rand.Rand) *naive {
	w := &naive{Rand: r, core: *newAsker(), now: start, keys: make(map[string]*naiveKey)}
	w.core.Core.Journal(0, 1)
	for n := range 4 {
		s := algorithms.Spec{Algorithm: pick(r, algorithms.FixedWindow, algorithms.SlidingLog), Units: 1 + r.Uint64N(60), Window: pick(r, second, 10*second, 600*second)}
		if s.Algorithm == algorithms.FixedWindow && n%2 == 0 {
			s.Align = algorithms.AlignFirst
		}
		name := fmt.Sprint("key", n)
		if n == 3 {
			name += string(make([]byte, pick(r, 0, 60_000)))
		}
		w.keys[name] = &naiveKey{limit: limitOf(s)}
	}
	return w
}

// lease asks the core for a lease.
func (a *asker) lease(now uint64, key string, l *algorithms.Limit, want, least, ttl uint64, holder string) *Leasing {
	op := &a.ops[0]
	*op = Op{Kind: Lease, Key: []byte(key), Join: 1, Leasing: &Leasing{Key: []byte(key), Holder: []byte(holder), Want: want, Min: least, TTL: ttl}}
	op.Call.Limit, op.Call.KeyHash = l, keyHash(op.Key)
	a.Step(now, a.ops[:], first)
	op.Join = 0
	return op.Leasing
}

// tell asks the core one of the questions that have no limit.
func (a *asker) tell(now uint64, kind Kind, key string, l Leasing) *Op {
	op := &a.ops[0]
	*op = Op{Kind: kind, Key: []byte(key), Leasing: &l}
	a.Step(now, a.ops[:], first)
	return op
}

func (a *asker) giveLease(now uint64, key, holder string, n uint64) uint64 {
	return a.tell(now, Return, key, Leasing{Holder: []byte(holder), Spent: algorithms.Amount{Whole: n}}).Leasing.Taken
}

// used is what counts now.
func (k *naiveKey) used(now uint64) (n uint64) {
	for _, c := range k.charges {
		if now < c.until {
			n += c.units
		}
	}
	return n
}

// charge counts units until their window or run ends.
func (k *naiveKey) charge(now, units uint64) *naiveCharge {
	c := &naiveCharge{units, now + k.limit.Window}
	if k.limit.Algorithm == algorithms.FixedWindow {
		if k.limit.Align == algorithms.AlignEpoch {
			c.until -= now % k.limit.Window
		} else {
			for _, other := range k.charges {
				if other.units > 0 && now < other.until {
					c.until = other.until
				}
			}
		}
	}
	k.charges = append(k.charges, c)
	return c
}

// window is the window that a charge is accounted in, a new one if need be.
func (k *naiveKey) window(now uint64, c *naiveCharge) *naiveWindow {
	start := now - now%k.limit.Window
	if k.limit.Align == algorithms.AlignFirst {
		start = c.until - k.limit.Window
	}
	for _, u := range k.windows {
		if u.start == start/nanosPerMilli {
			return u
		}
	}
	u := &naiveWindow{start: start / nanosPerMilli, closes: start + 2*k.limit.Window, parties: make(map[string]*naiveParty)}
	u.closes = max(u.closes, start+k.limit.Window+UsageKeptNanosMin)
	k.windows = append(k.windows, u)
	return u
}

// expire forgets what has ended.
func (k *naiveKey) expire(now uint64) {
	k.leases = slices.DeleteFunc(k.leases, func(l *naiveLease) bool { return l.end <= now })
	k.windows = slices.DeleteFunc(k.windows, func(u *naiveWindow) bool { return u.closes <= now })
}

// of are the leases of a holder, the oldest first.
func (k *naiveKey) of(holder string) (list []*naiveLease) {
	for _, l := range k.leases {
		if l.holder == holder {
			list = append(list, l)
		}
	}
	return list
}

func (k *naiveKey) drop(l *naiveLease) {
	k.leases = slices.DeleteFunc(k.leases, func(o *naiveLease) bool { return o == l })
}

func (k *naiveKey) holders() int {
	seen := map[string]bool{}
	for _, l := range k.leases {
		seen[l.holder] = true
	}
	return len(seen)
}

// step does one random thing to both, and says where they differ.
func (w *naive) step() error {
	names := make([]string, 0, len(w.keys))
	for name := range w.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	name := pick(w.Rand, names...)
	k, holder := w.keys[name], pick(w.Rand, "", "a", "b", "c")
	k.expire(w.now)
	switch w.IntN(12) {
	case 0, 1, 2:
		return w.lease(name, k, holder)
	case 3, 4:
		return w.giveBack(name, k, holder)
	case 5:
		cost := 1 + w.Uint64N(k.limit.Units)
		passes := k.used(w.now)+cost <= k.limit.Units
		if got := w.core.allow(w.now, name, k.limit, cost); got != passes {
			return fmt.Errorf("allow %d of %d, used %d: %v", cost, k.limit.Units, k.used(w.now), got)
		}
		if passes {
			k.charge(w.now, cost)
		}
	case 6:
		return w.report(name, k, holder)
	case 7:
		if w.IntN(4) == 0 {
			w.core.found(w.now, Reset, name)
			for _, c := range k.charges {
				c.units = 0
			}
			k.charges = nil
		}
	case 8:
		w.now += pick(w.Rand, 1, second/3, second, 5*second, 70*second)
	case 9:
		w.core.Tick(w.now, w.IntN(4))
	case 10:
		records, _ := w.core.TakeRecords(w.now, nil, RecordsBytesMax)
		w.journal = append(w.journal, records...)
	case 11:
		if w.IntN(5) == 0 {
			return w.crash()
		}
	}
	return nil
}

func (w *naive) lease(name string, k *naiveKey, holder string) error {
	want := 1 + w.Uint64N(k.limit.Units+3)
	least := 1 + w.Uint64N(want)
	ttl := pick(w.Rand, second/2, 3*second, 60*second, 4000*second)
	there := k.limit.Units - k.used(w.now)
	grant := min(want, there)
	if grant < least {
		grant = 0
	}
	got := w.core.lease(w.now, name, k.limit, want, least, ttl, holder)
	if got.Granted != grant {
		return fmt.Errorf("lease %d to %d of %d: %d granted, want %d", least, want, there, got.Granted, grant)
	}
	if grant == 0 {
		return nil
	}
	c := k.charge(w.now, grant)
	u := k.window(w.now, c)
	u.authorised += grant
	if holder != "" {
		if old := k.of(holder); len(old) >= LeasesPerHolderMax {
			k.drop(old[0])
		}
		w.grants++
		k.leases = append(k.leases, &naiveLease{holder: holder, units: grant, end: w.now + ttl, charge: c, window: u.start, grant: w.grants})
		if u.parties[holder] == nil {
			u.parties[holder] = &naiveParty{}
		}
	}
	end := u.start*nanosPerMilli + k.limit.Window
	if k.limit.Align == algorithms.AlignFirst {
		end = c.until
	}
	want4 := []uint64{u.start, min(ttl, end-w.now), uint64(k.holders()), u.authorised}
	if is := []uint64{got.Start, got.Valid, uint64(got.Holders), got.Total}; !slices.Equal(is, want4) {
		return fmt.Errorf("lease: window, validity, holders and total %v, want %v", is, want4)
	}
	return nil
}

func (w *naive) giveBack(name string, k *naiveKey, holder string) error {
	if holder == "" {
		holder = "nobody"
	}
	n := 1 + w.Uint64N(k.limit.Units+1)
	got := w.core.giveLease(w.now, name, holder, n)
	taken := uint64(0)
	list := k.of(holder)
	for i := len(list) - 1; i >= 0 && n > 0; i-- {
		l := list[i]
		back := min(n, l.units)
		n -= back
		l.units -= back
		for _, u := range k.windows {
			if u.start == l.window {
				u.authorised -= back
			}
		}
		if w.now < l.charge.until && l.charge.units >= back {
			l.charge.units -= back
			taken += back
		}
		if l.units == 0 {
			k.drop(l)
		}
	}
	if got != taken {
		return fmt.Errorf("return of %s: %d taken back, want %d", holder, got, taken)
	}
	return nil
}

func (w *naive) report(name string, k *naiveKey, holder string) error {
	if holder == "" || len(k.windows) == 0 {
		return nil
	}
	u := pick(w.Rand, k.windows...)
	r := Leasing{Holder: []byte(holder), Seq: w.Uint64N(20), Start: u.start, Spent: algorithms.Amount{Whole: w.Uint64N(99)}, Degraded: algorithms.Amount{Whole: w.Uint64N(9)}}
	op := w.core.tell(w.now, Report, name, r)
	p := u.parties[holder]
	if p == nil {
		p = &naiveParty{}
		u.parties[holder] = p
	}
	counts := !p.reported || r.Seq > p.seq
	if counts {
		*p = naiveParty{true, r.Seq, r.Spent.Whole, r.Degraded.Whole}
	}
	if op.Found != counts || op.Leasing.Trouble != 0 {
		return fmt.Errorf("report %d of %s: counts %v, want %v, trouble %d", r.Seq, holder, op.Found, counts, op.Leasing.Trouble)
	}
	return nil
}

// crash goes on with what the journal says, all of it.
func (w *naive) crash() error {
	for w.core.Owes() {
		w.journal = flush(w.core.Core, w.now, w.journal)
	}
	d := disk{journal: w.journal}
	c, err := d.restored(w.now)
	if err != nil {
		return err
	}
	c.Journal(0, 1)
	w.core = asker{Core: c}
	return nil
}

// same compares everything that can be seen.
func (w *naive) same() error {
	if err := w.core.verify(); err != nil {
		return err
	}
	for name, k := range w.keys {
		k.expire(w.now)
		var v View
		op := &w.core.ops[0]
		*op = Op{Kind: Look, Key: []byte(name), View: &v}
		w.core.Step(w.now, w.core.ops[:], first)
		if v.Used != k.used(w.now) {
			return fmt.Errorf("%.5s: %d used, want %d", name, v.Used, k.used(w.now))
		}
		if v.Used > k.limit.Units {
			return fmt.Errorf("%.5s: %d used of %d", name, v.Used, k.limit.Units)
		}
		usage := w.core.tell(w.now, Tell, name, Leasing{Count: UsageWindowsMax}).Leasing.Usage
		slices.SortFunc(k.windows, func(a, b *naiveWindow) int { return int(b.start) - int(a.start) })
		if len(usage) != len(k.windows) {
			return fmt.Errorf("%.5s: %d windows, want %d", name, len(usage), len(k.windows))
		}
		for i, u := range k.windows {
			want := Usage{Start: u.start, Authorised: u.authorised, Holders: len(u.parties)}
			for _, p := range u.parties {
				want.Spent += p.spent
				want.Degraded += p.degraded
			}
			if usage[i] != want {
				return fmt.Errorf("%.5s: window %+v, want %+v", name, usage[i], want)
			}
		}
	}
	return nil
}

func TestLeaseTwin(t *testing.T) {
	for round := range scaled(30) {
		w := newNaive(newRand(t, 9000+uint64(round)))
		for n := range 250 {
			err := w.step()
			if err == nil {
				err = w.same()
			}
			if err != nil {
				t.Fatalf("round %d, step %d: %v", round, n, err)
			}
		}
		// Nobody asks any more, and what was leased is gone within a second of its time.
		last := uint64(0)
		for _, k := range w.keys {
			for _, l := range k.leases {
				last = max(last, l.end)
			}
		}
		for w.now = max(w.now, last) + second; w.core.Tick(w.now, 16); {
		}
		if n := w.core.Leases(); n != 0 {
			t.Fatalf("round %d: %d leases are left", round, n)
		}
	}
}

// What is returned never mints. Where charges count for a time that is known, no less
// is used than if what the holders kept had been charged alone, and the rest never. A
// meter gives back the level that was charged, so the bound is that of all meters: what
// was spent is at most the burst and what the time has earned.
func TestReturnsMintNothing(t *testing.T) {
	for _, row := range algorithms.Rates() {
		t.Run(row.Name, func(t *testing.T) {
			for round := range scaled(25) {
				r := newRand(t, 9500+uint64(round)*100+uint64(row.ID))
				m := &minter{Rand: r, leased: newAsker(), kept: newAsker(), now: start, unspent: map[string]uint64{}}
				m.limit = newLimit(row.ID, 1+r.Uint64N(30), time.Duration(pick(r, 1, 10, 100))*time.Second)
				m.leased.Core.Journal(0, 1)
				for n := range 200 {
					if err := m.step(n); err != nil {
						t.Fatalf("round %d, step %d, %v: %v", round, n, *m.limit, err)
					}
				}
			}
		})
	}
}

// minter leases and returns, and keeps account of what was spent.
type minter struct {
	*rand.Rand
	limit        *algorithms.Limit
	leased, kept *asker
	now, spent   uint64
	unspent      map[string]uint64 // by holder
	journal      []byte
}

func (m *minter) step(n int) error {
	switch m.IntN(6) {
	case 0, 1:
		holder := fmt.Sprint(n)
		if got := m.leased.lease(m.now, "k", m.limit, 1+m.Uint64N(m.limit.Units), 1, pick(m.Rand, second, 60*second), holder).Granted; got > 0 {
			m.unspent[holder] = m.Uint64N(got + 1)
			m.spend(got - m.unspent[holder])
		}
	case 2:
		if len(m.unspent) == 0 {
			break
		}
		holder := slices.Min(slices.Collect(maps.Keys(m.unspent)))
		if n := m.unspent[holder]; n > 0 && m.leased.giveLease(m.now, "k", holder, n) > n {
			return fmt.Errorf("more than %d came back", n)
		}
		delete(m.unspent, holder)
	case 3:
		if m.leased.allow(m.now, "k", m.limit, 1) {
			m.spend(1)
		}
	case 4:
		m.now += pick(m.Rand, second/7, second, 11*second)
	case 5:
		m.journal = flush(m.leased.Core, m.now, m.journal)
		d := disk{journal: m.journal}
		c, err := d.restored(m.now)
		if err != nil {
			return err
		}
		c.Journal(0, 1)
		m.leased = &asker{Core: c}
	}
	switch m.limit.Algorithm {
	case algorithms.TokenBucket, algorithms.GCRA, algorithms.LeakyBucket:
		if bound := m.limit.Burst*m.limit.Window + (m.now-start)*m.limit.Units; m.spent*m.limit.Window > bound {
			return fmt.Errorf("%d spent after %d ns", m.spent, m.now-start)
		}
		return nil
	}
	if a, b := m.leased.remaining(m.now, "k", m.limit), m.kept.remaining(m.now, "k", m.limit); a > b {
		return fmt.Errorf("%d remain, but only %d can", a, b)
	}
	return nil
}

func (m *minter) spend(units uint64) {
	if m.spent += units; units > 0 {
		m.kept.ask(m.now, Debit, []byte("k"), m.limit, units)
	}
}

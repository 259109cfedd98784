package shard

// Accounts: which leases of a key are out, and what its windows add up to. An account
// lives on its key's shard. It is made by the first lease or report and goes when its
// last lease has ended and its last window is closed. Accounts stand in a heap by the
// instant at which something of them ends next.
//
//	account ─┬─ leases that are out, by holder ── what each has charged
//	         └─ windows ── who holds or has reported, and what they spent
//
// Names of holders are kept once a shard; everything else names them by a number.

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
)

const (
	// HolderBytesMax is the longest name of a holder.
	HolderBytesMax = 256
	// LeasesPerShardMax is how many leases can be out on one shard.
	LeasesPerShardMax = 1 << 22
	// HoldersPerKeyMax is how many holders can have leases of one key out.
	HoldersPerKeyMax = 1024
	// LeasesPerHolderMax is how many leases of one key a holder can have out. With
	// one more, what is left of its oldest counts as spent.
	LeasesPerHolderMax = 16
	// HoldersPerWindowMax is how many holders a window of a key can have.
	HoldersPerWindowMax = 16 << 10
	// UsageWindowsMax is how many windows of a key are kept.
	UsageWindowsMax = 1024
	// UsageKeptNanosMin is how long a window is kept after its end; one that lasted
	// longer is kept for as long as it lasted.
	UsageKeptNanosMin = 3600 * 1_000_000_000
	// statesPerAccountMax is how many states the leases of one key can have charged.
	statesPerAccountMax = 64
)

// account is what is known about the leases of one key.
type account struct {
	key     []byte
	states  [][]byte // what its leases have charged
	money   bool     // units are millionths
	out     []lease  // by holder, and a holder's as they were granted
	holders int      // that have leases out
	windows []*usage // by their start
	period  uint64   // length of the window that was granted from last, nanoseconds
	due     uint64   // not after the instant at which something ends, nanoseconds
	at      int      // in the agenda
	owed    bool     // to the journal: what is out, and the windows that say so too
}

// lease is units that a holder may spend on its own.
type lease struct {
	holder  holderRef
	units   uint64 // not given back
	end     uint64 // when they count as spent, nanoseconds
	window  uint64 // in which they were granted, its start in milliseconds
	charges []charge
	untold  bool // the journal does not have it yet, nor what it was charged
}

// charge is what a lease took from one limit.
type charge struct {
	state int    // in the account's states
	mark  uint64 // of the charge
	life  uint64 // of the state, see reserved.go
}

// usage is what one window of a key adds up to.
type usage struct {
	start      uint64 // milliseconds since 1970
	closes     uint64 // when it is forgotten, nanoseconds
	authorised uint64
	parties    []party // by holder
	owed       bool    // to the journal
}

// party is a holder in a window. What it reported are totals.
type party struct {
	holder          holderRef
	seq             uint64 // 1 + the number of the report that counts; 0: none
	spent, degraded uint64
}

// About what things take, with the room that slices have beyond their length.
const (
	accountBytes = 340
	leaseBytes   = 128
	usageBytes   = 112
	partyBytes   = 40
	holderBytes  = 128
)

// leases are the accounts of one core.
type leases struct {
	byKey   map[string]*account
	queue   agenda[*account]
	holders holders
	out     int // leases
	bytes   int
}

func (a *account) dueAt() uint64 { return a.due }
func (a *account) seat() *int    { return &a.at }

// open returns the account of a key, a new one if there is none.
func (t *leases) open(key []byte) *account {
	if a := t.byKey[string(key)]; a != nil {
		return a
	}
	if t.byKey == nil {
		t.byKey = make(map[string]*account)
	}
	a := &account{key: bytes.Clone(key), due: math.MaxUint64}
	t.byKey[string(key)] = a
	t.queue.enter(a)
	t.bytes += accountBytes + 2*len(key)
	return a
}

// close forgets an account that is empty.
func (t *leases) close(a *account) {
	delete(t.byKey, string(a.key))
	t.queue.leave(a)
	t.bytes -= accountBytes + 2*len(a.key)
}

// endsAt sees to it that an account is looked at when something of it ends.
func (t *leases) endsAt(a *account, instant uint64) {
	if instant < a.due {
		a.due = instant
		t.queue.moved(a)
	}
}

// state returns the number of a state that leases of the account charge.
func (a *account) state(key []byte) int {
	for i, s := range a.states {
		if bytes.Equal(s, key) {
			return i
		}
	}
	if bytes.Equal(key, a.key) {
		key = a.key
	} else {
		key = bytes.Clone(key)
	}
	a.states = append(a.states, key)
	return len(a.states) - 1
}

// of returns where a holder's leases begin and end.
func (a *account) of(h holderRef) (from, to int) {
	from = sort.Search(len(a.out), func(i int) bool { return a.out[i].holder >= h })
	for to = from; to < len(a.out) && a.out[to].holder == h; to++ {
	}
	return from, to
}

// add puts a lease to its holder's others.
func (t *leases) add(a *account, l lease) {
	from, to := a.of(l.holder)
	if from == to {
		a.holders++
	}
	a.out = slices.Insert(a.out, to, l)
	t.out++
	t.bytes += leaseBytes
	t.endsAt(a, l.end)
}

// window finds the window that began at an instant, nil if it is not known.
func (a *account) window(start uint64) *usage {
	if i, known := a.findWindow(start); known {
		return a.windows[i]
	}
	return nil
}

func (a *account) findWindow(start uint64) (i int, known bool) {
	if n := len(a.windows); n > 0 && a.windows[n-1].start == start {
		return n - 1, true
	}
	return slices.BinarySearchFunc(a.windows, start, func(u *usage, start uint64) int { return cmp.Compare(u.start, start) })
}

// openWindow returns the window that began at an instant. A new one is open until
// closes. Where there are too many already the oldest other goes.
func (t *leases) openWindow(a *account, start, closes uint64) *usage {
	i, known := a.findWindow(start)
	if known {
		return a.windows[i]
	}
	if len(a.windows) >= UsageWindowsMax {
		t.closeWindow(a.windows[0])
		a.windows = slices.Delete(a.windows, 0, 1)
		i = max(i, 1) - 1
	}
	u := &usage{start: start, closes: closes}
	a.windows = slices.Insert(a.windows, i, u)
	t.bytes += usageBytes
	t.endsAt(a, closes)
	return u
}

// closeWindow lets go of what a window holds that is taken out of its account.
func (t *leases) closeWindow(u *usage) {
	for i := range u.parties {
		t.drop(u.parties[i].holder)
	}
	t.bytes -= usageBytes + partyBytes*len(u.parties)
}

// party returns a holder's part of a window, and whether it had none before.
func (t *leases) party(u *usage, h holderRef) (p *party, isNew bool) {
	i, known := u.findParty(h)
	if !known {
		u.parties = slices.Insert(u.parties, i, party{holder: h})
		t.holders.rows[h].uses++
		t.bytes += partyBytes
	}
	return &u.parties[i], !known
}

func (u *usage) findParty(h holderRef) (i int, known bool) {
	return slices.BinarySearchFunc(u.parties, h, func(p party, h holderRef) int { return cmp.Compare(p.holder, h) })
}

// holderRef is the number of a holder's name. 0 is none.
type holderRef uint32

// holders are the names of holders, those that something names.
type holders struct {
	byName map[string]holderRef
	rows   []holderRow // the first is not used
	free   []holderRef
}

type holderRow struct {
	name string
	uses int
}

// use returns the number of a holder and counts one use more.
func (t *leases) use(name []byte) holderRef {
	g := &t.holders
	h := g.byName[string(name)]
	if h == 0 {
		if g.byName == nil {
			g.byName, g.rows = make(map[string]holderRef), make([]holderRow, 1)
		}
		if n := len(g.free); n > 0 {
			h, g.free = g.free[n-1], g.free[:n-1]
		} else {
			h = holderRef(len(g.rows))
			g.rows = append(g.rows, holderRow{})
		}
		g.rows[h] = holderRow{name: string(name)}
		g.byName[g.rows[h].name] = h
		t.bytes += holderBytes + len(name)
	}
	g.rows[h].uses++
	return h
}

// drop counts one use less.
func (t *leases) drop(h holderRef) {
	g := &t.holders
	row := &g.rows[h]
	if row.uses--; row.uses > 0 {
		return
	}
	t.bytes -= holderBytes + len(row.name)
	delete(g.byName, row.name)
	*row = holderRow{}
	g.free = append(g.free, h)
}

// name is the name of a holder.
func (t *leases) name(h holderRef) string { return t.holders.rows[h].name }

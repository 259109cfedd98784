package client

// What is known of keys: a bounded table in parts, each with a lock of its own, so
// that callers on different keys do not meet. A part's entries stand in the order of
// their last use; the one that has not been used for longest makes room. Under the
// lock there is only arithmetic; whoever has to wait lets go of it first.

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"time"
)

const (
	// partKeysMin is how many keys a part has room for at least, if the table has: with
	// fewer, one would be full while others are empty.
	partKeysMin = 64
	// partBitsMax says how many parts there are at most: 2^partBitsMax, so many that two
	// processors rarely meet in one by chance, which costs more than a decision.
	partBitsMax = 10
)

// table is all parts.
type table struct {
	seed    maphash.Seed
	partMax int // entries a part
	shift   int // of a hash, so that it says which part
	parts   []part
}

// part is some of the entries. It fills whole cache lines, so that two parts' locks
// never share one.
type part struct {
	mu      sync.Mutex
	entries map[uint64]*entry // by hash; those that share one are linked
	newest  *entry
	oldest  *entry
	keys    int
	closed  bool
	tally   counts
	_       [64]byte
}

// counts are decisions, by source and by whether they allowed.
type counts [SourceDegraded + 1][2]uint64

// entry is what is known of a key under a limit.
type entry struct {
	key          string
	limit        Limit
	hash         uint64
	chain        *entry // of the same hash
	newer, older *entry

	cur, ahead lease
	size       int64         // units of the next lease
	most       int64         // units that a lease may have; 0: not known yet
	used       time.Duration // when a call was made last
	flight     *flight       // the one request that is under way
	calls      int64         // since the last answer about a lease
	askFrom    time.Duration // when the server is asked again, after it had less than was wanted
	waiting    int64         // units that callers wait for
	holder     string        // by which the server knows what this entry holds
	unleasable bool          // the server would not lease

	known  known
	denial denial
	share  share
	local  local
	tally  tally
}

// known is what the server said last.
type known struct {
	ever      bool          // it said something
	at        time.Duration // when, by this process's clock
	limit     int64
	remaining int64
	resetAt   time.Duration
	name      string
	money     bool
}

// denial is a call that the server denied: the same call is denied here until it
// would pass, but not for longer than RecheckInterval, because what others give back
// may let it pass sooner.
type denial struct {
	cost     int64 // 0: none
	passesAt time.Duration
	recheck  time.Duration
	never    bool
}

func newTable(keysMax int) *table {
	partBits := min(max(bits.Len(uint(keysMax/partKeysMin)), 1)-1, partBitsMax)
	t := &table{
		seed: maphash.MakeSeed(), partMax: keysMax >> partBits, shift: 64 - partBits,
		parts: make([]part, 1<<partBits),
	}
	for i := range t.parts {
		t.parts[i].entries = make(map[uint64]*entry)
	}
	return t
}

// part is the part that a key belongs to, and the key's hash.
func (t *table) part(key string) (*part, uint64) {
	h := maphash.String(t.seed, key)
	return &t.parts[h>>t.shift], h
}

// find returns the entry of a key under a limit and makes it the newest; nil if there
// is none.
func (p *part) find(h uint64, key string, l *Limit) *entry {
	for e := p.entries[h]; e != nil; e = e.chain {
		if e.key == key && e.limit == *l {
			if p.newest != e {
				p.unlink(e)
				p.push(e)
			}
			return e
		}
	}
	return nil
}

// add makes an entry.
func (p *part) add(h uint64, key string, l Limit) *entry {
	e := &entry{key: key, limit: l, hash: h, chain: p.entries[h], size: 1}
	p.entries[h] = e
	p.push(e)
	p.keys++
	return e
}

// remove takes an entry out.
func (p *part) remove(e *entry) {
	if first := p.entries[e.hash]; first != e {
		for first.chain != e {
			first = first.chain
		}
		first.chain = e.chain
	} else if e.chain != nil {
		p.entries[e.hash] = e.chain
	} else {
		delete(p.entries, e.hash)
	}
	p.unlink(e)
	p.keys--
}

func (p *part) push(e *entry) {
	e.older = p.newest
	if p.newest != nil {
		p.newest.newer = e
	} else {
		p.oldest = e
	}
	p.newest = e
}

func (p *part) unlink(e *entry) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		p.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		p.oldest = e.newer
	}
	e.newer, e.older = nil, nil
}

// spare is the entry that has to go, the oldest that nobody waits for; nil if the
// part has room.
func (p *part) spare(most int) *entry {
	if p.keys < most {
		return nil
	}
	e := p.oldest
	for e != nil && e.flight != nil {
		e = e.newer
	}
	return e
}

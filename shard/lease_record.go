package shard

// How leases and usage are written to disk. The key of each record is that of the
// account; a text is its uvarint length and its bytes.
//
//	RecordLeases  the leases that are out:
//	              money (1 B), number of states, each a text, number of leases, and of each
//	              holder (text), units, end (8 B LE), window, number of charges, and of each
//	              state (its number), mark (8 B LE), life
//	RecordUsage   a window: money (1 B), start, closes (8 B LE), authorised, period
//	RecordParty   a holder in a window: money (1 B), start, closes (8 B LE),
//	              holder (text), 1 + the number of its last report, spent, degraded
//
// Everything else is a uvarint. What has ended by the time it is read is left out.
//
// What is out and the state that it was charged to must not come apart in a crash, or
// units could be given back that were not charged. So an account is written together
// with the entries that its leases have charged (takeAccounts), in one frame.

import (
	"encoding/binary"
	"math"
	"slices"

	"sluice/algorithms"
	"sluice/persistence"
)

// The kinds of records about leases. The numbers are on disk.
const (
	RecordLeases uint8 = 5
	RecordUsage  uint8 = 6
	RecordParty  uint8 = 7
)

// pairedBytesMax bounds how much is written together with an account: there is no
// frame for more. A plan would need many full logs for it.
const pairedBytesMax = 8 << 20

// owe notes that an account has changed.
func (c *Core) owe(a *account) {
	if g := &c.ledger; g.on && !a.owed {
		a.owed = true
		g.accounts = append(g.accounts, a)
	}
}

// takeAccounts takes the records of the accounts that have changed and of what their
// leases have charged, as TakeRecords does.
func (c *Core) takeAccounts(now uint64, dst []byte, most int) (records []byte, more bool) {
	g := &c.ledger
	for len(g.accounts) > 0 {
		a := g.accounts[0]
		if len(dst) >= most {
			return dst, true
		}
		if a.owed {
			a.owed = false
			for i := range a.out {
				a.out[i].untold = false
			}
			dst = c.appendOut(dst, a)
			for _, state := range a.states {
				dst = c.appendDirty(now, dst, state)
			}
		}
		for _, u := range a.windows {
			if !u.owed {
				continue
			}
			if len(dst) >= most {
				return dst, true
			}
			u.owed = false
			dst = c.appendUsage(dst, a, u)
		}
		g.accounts[0] = nil
		g.accounts = g.accounts[1:]
	}
	g.accounts = nil
	return dst, false
}

// appendDirty writes the record of a state's entry if it is owed.
func (c *Core) appendDirty(now uint64, dst, state []byte) []byte {
	op := &c.asking
	op.Key = state
	c.prepare(op)
	if i := c.find(op); i != 0 && len(dst) < pairedBytesMax {
		if e := c.slab.at(i); e.limit&flagDirty != 0 {
			e.limit &^= flagDirty
			dst = c.appendEntry(now, dst, e)
		}
	}
	return dst
}

// tellOut writes at once which leases are out. One that the journal does not have yet
// is left out: it may not be there before what it was charged.
func (c *Core) tellOut(a *account) {
	if c.ledger.on {
		c.ledger.records = c.appendOut(c.ledger.records, a)
	}
}

// tellParty writes at once what is known of a holder in a window.
func (c *Core) tellParty(a *account, u *usage, p *party) {
	if c.ledger.on {
		c.ledger.records = c.appendParty(c.ledger.records, a, u, p)
	}
}

func (c *Core) appendOut(dst []byte, a *account) []byte {
	v := append(c.ledger.value[:0], bit(a.money))
	v = binary.AppendUvarint(v, uint64(len(a.states)))
	for _, state := range a.states {
		v = appendText(v, string(state))
	}
	told := 0
	for i := range a.out {
		if !a.out[i].untold {
			told++
		}
	}
	v = binary.AppendUvarint(v, uint64(told))
	for i := range a.out {
		out := &a.out[i]
		if out.untold {
			continue
		}
		v = appendText(v, c.leases.name(out.holder))
		v = binary.AppendUvarint(v, out.units)
		v = binary.LittleEndian.AppendUint64(v, out.end)
		v = binary.AppendUvarint(v, out.window)
		v = binary.AppendUvarint(v, uint64(len(out.charges)))
		for _, ch := range out.charges {
			v = binary.AppendUvarint(v, uint64(ch.state))
			v = binary.LittleEndian.AppendUint64(v, ch.mark)
			v = binary.AppendUvarint(v, ch.life)
		}
	}
	c.ledger.value = v
	return persistence.AppendRecord(dst, RecordLeases, a.key, v)
}

// appendWindow begins the value of a record about a window.
func (c *Core) appendWindow(a *account, u *usage) []byte {
	v := append(c.ledger.value[:0], bit(a.money))
	v = binary.AppendUvarint(v, u.start)
	return binary.LittleEndian.AppendUint64(v, u.closes)
}

func (c *Core) appendUsage(dst []byte, a *account, u *usage) []byte {
	v := binary.AppendUvarint(c.appendWindow(a, u), u.authorised)
	c.ledger.value = binary.AppendUvarint(v, a.period)
	return persistence.AppendRecord(dst, RecordUsage, a.key, c.ledger.value)
}

func (c *Core) appendParty(dst []byte, a *account, u *usage, p *party) []byte {
	v := appendText(c.appendWindow(a, u), c.leases.name(p.holder))
	v = binary.AppendUvarint(v, p.seq)
	v = binary.AppendUvarint(v, p.spent)
	c.ledger.value = binary.AppendUvarint(v, p.degraded)
	return persistence.AppendRecord(dst, RecordParty, a.key, c.ledger.value)
}

// restoreOut assigns what a RecordLeases says.
func (c *Core) restoreOut(now uint64, key, value []byte) error {
	in := cursor{rest: value}
	money, states, out, err := in.parseOut()
	if err != nil {
		return err
	}
	t := &c.leases
	a := t.open(key)
	out = slices.DeleteFunc(out, func(l heldLease) bool { return l.end <= now })
	// Before what was is let go of: a life that is charged no more is forgotten.
	for i := range out {
		for _, ch := range out[i].charges {
			c.reserveAgain(states[ch.state], ch.life)
		}
	}
	for i := range a.out {
		c.letGo(a, &a.out[i])
	}
	a.money, a.states, a.out, a.holders = money, states, nil, 0
	for i := range out {
		out[i].lease.holder = t.use(out[i].holder)
		t.add(a, out[i].lease)
	}
	a.tidy()
	c.expireLeases(now, a)
	return nil
}

// heldLease is a lease whose holder has no number yet.
type heldLease struct {
	lease
	holder []byte
}

// parseOut reads the value of a RecordLeases. It keeps nothing of it but the names of
// holders.
func (in *cursor) parseOut() (money bool, states [][]byte, out []heldLease, err error) {
	money = in.byte() == 1
	n := in.uvarint()
	if n > statesPerAccountMax {
		return false, nil, nil, errRecord
	}
	for range n {
		states = append(states, append([]byte(nil), in.bytes(in.uvarint())...))
	}
	n = in.uvarint()
	if in.bad || n > HoldersPerKeyMax*LeasesPerHolderMax {
		return false, nil, nil, errRecord
	}
	for range n {
		l := heldLease{holder: in.bytes(in.uvarint())}
		l.units, l.end, l.window = in.uvarint(), in.fixed(), in.uvarint()
		charges := in.uvarint()
		if in.bad || len(l.holder) == 0 || len(l.holder) > HolderBytesMax || l.units > algorithms.UnitsMax ||
			charges > uint64(len(states)) {
			return false, nil, nil, errRecord
		}
		for range charges {
			ch := charge{state: int(in.uvarint()), mark: in.fixed(), life: in.uvarint()}
			if uint(ch.state) >= uint(len(states)) {
				return false, nil, nil, errRecord
			}
			l.charges = append(l.charges, ch)
		}
		out = append(out, l)
	}
	if in.bad || len(in.rest) > 0 {
		return false, nil, nil, errRecord
	}
	return money, states, out, nil
}

// restoreUsage assigns what a RecordUsage or a RecordParty says.
func (c *Core) restoreUsage(now uint64, kind uint8, key, value []byte) error {
	in := cursor{rest: value}
	money, start, closes := in.byte() == 1, in.uvarint(), in.fixed()
	var holder []byte
	var n [3]uint64 // authorised and period, or seq, spent and degraded
	numbers := n[:2]
	if kind == RecordParty {
		holder, numbers = in.bytes(in.uvarint()), n[:]
		if len(holder) == 0 || len(holder) > HolderBytesMax {
			return errRecord
		}
	}
	for i := range numbers {
		numbers[i] = in.uvarint()
	}
	if in.bad || len(in.rest) > 0 || start > instantMax/nanosPerMilli || slices.Max(n[:]) > math.MaxInt64 {
		return errRecord
	}
	if closes <= now {
		return nil
	}
	t := &c.leases
	a := t.open(key)
	a.money = money
	u := t.openWindow(a, start, closes)
	if kind == RecordUsage {
		u.authorised, a.period = n[0], n[1]
		return nil
	}
	h := t.use(holder)
	p, _ := t.party(u, h)
	t.drop(h)
	p.seq, p.spent, p.degraded = n[0], n[1], n[2]
	return nil
}

// exportCursor is how far the lives and the accounts of a core have been exported.
type exportCursor struct {
	lives  keyCursor
	keys   keyCursor // of the accounts; the one it stands at may be begun
	begun  bool
	window uint64 // of that one: the start of the window that is next
	party  int    // of the window: which party is next
}

func (at *exportCursor) nextAccount() {
	at.keys.advance()
	at.begun, at.window, at.party = false, 0, 0
}

// exportLives appends the lives of charged keys, about RecordsBytesMax of them.
func (c *Core) exportLives(at *exportCursor, dst []byte) []byte {
	for looked := 0; at.lives.more && looked < SnapshotSlotsPerTick && len(dst) < RecordsBytesMax; looked++ {
		if r := c.reserved[at.lives.key]; r != nil && r.life > 0 {
			dst = appendLife(dst, at.lives.key, r.life)
		}
		at.lives.advance()
	}
	return dst
}

// exportAccounts appends the records of accounts, about RecordsBytesMax of them.
func (c *Core) exportAccounts(at *exportCursor, dst []byte) []byte {
	for looked := 0; looked < SnapshotSlotsPerTick && at.keys.more; at.nextAccount() {
		looked++
		a := c.leases.byKey[at.keys.key]
		if a == nil {
			continue
		}
		if len(dst) >= RecordsBytesMax {
			return dst
		}
		if !at.begun {
			dst, at.begun = c.appendOut(dst, a), true
		}
		for i, _ := a.findWindow(at.window); i < len(a.windows); i++ {
			u := a.windows[i]
			if at.window != u.start {
				at.window, at.party = u.start, 0
			}
			if len(dst) >= RecordsBytesMax {
				return dst
			}
			if at.party == 0 {
				dst = c.appendUsage(dst, a, u)
			}
			for ; at.party < len(u.parties); at.party++ {
				if len(dst) >= RecordsBytesMax {
					return dst
				}
				dst = c.appendParty(dst, a, u, &u.parties[at.party])
			}
			at.window, at.party = u.start+1, 0
		}
	}
	return dst
}

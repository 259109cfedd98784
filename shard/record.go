package shard

// What a shard writes to the journal and to snapshots: absolute assignments of a
// state to a key. The value of a RecordKey holds the limit that the key was last
// charged under and its state; when it is fresh follows from the two.
//
//	┌───────────┬───────┬────────┬───────────┬────────┬─────────┬─────────────────┐
//	│ algorithm │ align │ limit  │ window ms │ burst  │ at      │ state           │
//	│ 1 B       │ 1 B   │ uvar.  │ uvarint   │ uvar.  │ 8 B LE  │ see below       │
//	└───────────┴───────┴────────┴───────────┴────────┴─────────┴─────────────────┘
//
// burst is 0 where it equals the limit. With a calendar alignment window is 0, and
// after burst stand the anchor day (1 B) and the name of the zone (uvarint length,
// bytes): zones have numbers only within a process. The state is the words A, B and C of
// algorithms.State as uvarints; of a sliding log it is the number of runs and for
// each run its end, less the end before it (of the first: less at), and its units.
// A permit of a concurrency limit is a run that is followed by its id (uvarint
// length, bytes) and by how many units were left when it was granted (uvarint).
// Behind the last of them stands for each the milliseconds that it was granted for
// (uvarint); where they are missing, as in files of before there were any, it is the
// limit's window.
//
// A RecordClear has no key. Its value, two uvarints n and of, says that all keys
// of shard n were made fresh at once, when there were of shards.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"sluice/algorithms"
	"sluice/persistence"
)

// The kinds of records. The numbers are on disk; those from 16 on belong to
// others.
const (
	RecordKey   uint8 = 1
	RecordClear uint8 = 2
)

// nanosPerMilli: windows are whole milliseconds.
const nanosPerMilli = 1_000_000

var errRecord = errors.New("a record that holds no legal state")

// instantMax bounds the instants in records at which something was done: beyond it sums
// could overflow. When something ends may lie beyond it: that is only compared.
const instantMax = math.MaxUint64 / 2

// appendLimit encodes a limit.
func appendLimit(dst []byte, l *algorithms.Limit) []byte {
	dst = append(dst, byte(l.Algorithm), byte(l.Align))
	dst = binary.AppendUvarint(dst, l.Units)
	window, burst := l.Window/nanosPerMilli, l.Burst
	if l.Align.IsCalendar() {
		window = 0
	}
	if burst == l.Units {
		burst = 0
	}
	dst = binary.AppendUvarint(dst, window)
	dst = binary.AppendUvarint(dst, burst)
	if l.Align.IsCalendar() {
		dst = append(dst, l.Anchor)
		dst = appendText(dst, l.Zone.String())
	}
	return dst
}

// appendValue encodes what a key stores.
func appendValue(dst []byte, l *algorithms.Limit, s *algorithms.State, log *algorithms.Log) []byte {
	return appendState(appendLimit(dst, l), l, s, log)
}

// appendState encodes the state, which follows the limit.
func appendState(dst []byte, l *algorithms.Limit, s *algorithms.State, log *algorithms.Log) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, s.At)
	if log == nil {
		dst = binary.AppendUvarint(dst, s.A)
		dst = binary.AppendUvarint(dst, s.B)
		return binary.AppendUvarint(dst, s.C)
	}
	dst = binary.AppendUvarint(dst, uint64(log.Len()))
	before := s.At
	if l.Algorithm == algorithms.Concurrency {
		log.Permits(s.At, func(p algorithms.Permit) {
			dst = binary.AppendUvarint(dst, p.End-before)
			dst = binary.AppendUvarint(dst, p.Units)
			dst = appendText(dst, p.ID)
			dst = binary.AppendUvarint(dst, p.Left)
			before = p.End
		})
		log.Permits(s.At, func(p algorithms.Permit) { dst = binary.AppendUvarint(dst, p.TTL/nanosPerMilli) })
		return dst
	}
	log.Each(func(end, units uint64) {
		dst = binary.AppendUvarint(dst, end-before)
		dst = binary.AppendUvarint(dst, units)
		before = end
	})
	return dst
}

// cursor reads a value front to back; after a short read it is bad for good.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) byte() byte {
	if len(c.rest) < 1 {
		c.bad = true
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) fixed() uint64 {
	if len(c.rest) < 8 {
		c.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint64(c.rest)
	c.rest = c.rest[8:]
	return v
}

func (c *cursor) bytes(n uint64) []byte {
	if uint64(len(c.rest)) < n {
		c.bad = true
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// parseLimit decodes the limit.
func (c *cursor) parseLimit() (l algorithms.Limit, err error) {
	spec := algorithms.Spec{Algorithm: algorithms.ID(c.byte()), Align: algorithms.Align(c.byte())}
	spec.Units = c.uvarint()
	window := c.uvarint()
	spec.Burst = c.uvarint()
	if spec.Align.IsCalendar() {
		spec.Anchor = c.byte()
		if spec.Zone, err = algorithms.ParseZone(string(c.bytes(c.uvarint()))); err != nil {
			return l, errRecord
		}
	} else if spec.Align > algorithms.AlignJitter {
		return l, errRecord
	}
	if c.bad || window > algorithms.WindowMaxNanos/nanosPerMilli || algorithms.Of(spec.Algorithm) == nil {
		return l, errRecord
	}
	spec.Window = window * nanosPerMilli
	// A budget's plain window begins with its first charge; nobody can ask for that.
	implied := spec.Algorithm == algorithms.Budget && spec.Align == algorithms.AlignFirst
	spec.AlignSet = !implied && (spec.Align == algorithms.AlignFirst || spec.Align == algorithms.AlignJitter)
	if l, err = algorithms.NewLimit(spec, algorithms.UnitsMax); err != nil || l.Align != spec.Align {
		return algorithms.Limit{}, errRecord
	}
	return l, nil
}

// appendText writes a text as its length and its bytes.
func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// limitHead is the part of a value that says the limit, as it was read last, and
// what it said. Most keys share a few limits, and a limit that was checked once
// need not be checked again.
type limitHead struct {
	bytes []byte
	limit algorithms.Limit
}

// parse reads the head of a value and returns what is left of it.
func (h *limitHead) parse(value []byte) (rest cursor, err error) {
	if len(h.bytes) > 0 && bytes.HasPrefix(value, h.bytes) {
		return cursor{rest: value[len(h.bytes):]}, nil
	}
	c := cursor{rest: value}
	l, err := c.parseLimit()
	if err != nil {
		return c, err
	}
	h.bytes, h.limit = append(h.bytes[:0], value[:len(value)-len(c.rest)]...), l
	return c, nil
}

// parseValue decodes what appendValue wrote into k, whose limit is h's from then on,
// and refuses what no decision can have stored. The runs of a log go into log, which
// must be empty; what is in it after an error is void.
func parseValue(value []byte, h *limitHead, k *algorithms.Stored, log *algorithms.Log) error {
	c, err := h.parse(value)
	if err != nil {
		return err
	}
	k.Limit, k.State = &h.limit, algorithms.State{At: c.fixed()}
	if c.bad || k.State.At > instantMax {
		return errRecord
	}
	switch s := &k.State; h.limit.Algorithm {
	case algorithms.SlidingLog, algorithms.Concurrency:
		s.A, err = parseRuns(&c, s.At, log, &h.limit)
	default:
		s.A, s.B, s.C = c.uvarint(), c.uvarint(), c.uvarint()
		if !algorithms.Legal(*s, &h.limit) {
			err = errRecord
		}
	}
	if c.bad || len(c.rest) > 0 {
		err = errRecord
	}
	if err == nil {
		k.FreshAt = algorithms.FreshAt(k.State, k.Limit)
	}
	return err
}

// parseRuns decodes the runs of a log, or the permits, and returns the last end.
func parseRuns(c *cursor, at uint64, log *algorithms.Log, l *algorithms.Limit) (end uint64, err error) {
	permits := l.Algorithm == algorithms.Concurrency
	var list []algorithms.Permit
	n := c.uvarint()
	if n == 0 || n > uint64(len(c.rest)) {
		return 0, errRecord
	}
	end = at
	for i := range n {
		step, units := c.uvarint(), c.uvarint()
		if c.bad || step == 0 && (i == 0 || !permits) || step > algorithms.WindowMaxNanos || end+step > at+algorithms.WindowMaxNanos || units == 0 || units > math.MaxInt64 {
			return 0, errRecord
		}
		end += step
		if !permits {
			log.Append(end, units)
			continue
		}
		p := algorithms.Permit{ID: string(c.bytes(c.uvarint())), Left: c.uvarint(), Units: units, End: end, TTL: l.Window}
		if c.bad || p.ID == "" || len(p.ID) > IDBytesMax {
			return 0, errRecord
		}
		list = append(list, p)
	}
	old := len(c.rest) == 0
	for _, p := range list {
		if !old {
			ttl := c.uvarint()
			if ttl == 0 || ttl > algorithms.WindowMaxNanos/nanosPerMilli {
				return 0, errRecord
			}
			p.TTL = ttl * nanosPerMilli
		}
		log.AppendPermit(p)
	}
	return end, nil
}

// appendClear encodes that all keys of shard n of a number of shards are fresh.
func appendClear(dst []byte, n, of int) []byte {
	var value [2 * binary.MaxVarintLen64]byte
	v := binary.AppendUvarint(value[:0], uint64(n))
	v = binary.AppendUvarint(v, uint64(of))
	return persistence.AppendRecord(dst, RecordClear, nil, v)
}

// parseClear decodes the value of a RecordClear.
func parseClear(value []byte) (n, of int, err error) {
	c := cursor{rest: value}
	a, b := c.uvarint(), c.uvarint()
	if c.bad || len(c.rest) > 0 || b == 0 || b > math.MaxInt32 || a >= b {
		return 0, 0, errRecord
	}
	return int(a), int(b), nil
}

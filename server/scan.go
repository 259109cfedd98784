package server

// Going over all keys: SCAN, KEYS, RANDOMKEY, DBSIZE, FLUSHALL. A shard is held
// for a bounded number of slots at a time and let go in between, so decisions
// never wait for a walk.
//
// A cursor names the next slot to look at:
//
//	63        40        32                     0
//	┌──────────┬─────────┬─────────────────────┐
//	│ 0        │ shard   │ slot                │     0: the start, and the end
//	└──────────┴─────────┴─────────────────────┘
//
// Keys never move between slots, so a key that lives from the first SCAN of an
// iteration to the last is met exactly once. One that comes, goes or comes again
// in between may be met or not, and may be met twice. No cursor ever expires.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	// ScanSlotsPerTurn is how many slots are looked at before a shard is let go.
	ScanSlotsPerTurn = 1024
	// ScanSlotsPerKey is how many slots one SCAN looks at, at most, for each key
	// that it was asked for: where most slots are empty, it would otherwise come
	// back with nothing again and again.
	ScanSlotsPerKey = 100

	scanCountDefault = 10
	// randomProbes is how many slots RANDOMKEY tries by chance before it walks.
	randomProbes = 32
)

// position is a cursor taken apart.
type position struct {
	shard int
	slot  uint32
}

func positionOf(cursor uint64) position {
	return position{int(min(cursor>>32, math.MaxInt32)), uint32(cursor)}
}

func (p position) cursor() uint64 { return uint64(p.shard)<<32 | uint64(p.slot) }

// visit calls f for the keys in the next n slots of a shard. It returns false
// when there are no more shards.
func (s *Server) visit(p *position, n int, f func(key []byte, v shard.View)) bool {
	if p.shard >= s.shards.Len() {
		return false
	}
	s.shards.On(p.shard, func(c *shard.Core, now uint64) {
		p.slot = c.Scan(now, p.slot, n, f)
	})
	if p.slot == 0 {
		p.shard++
	}
	return true
}

// scanQuery is what SCAN was asked.
type scanQuery struct {
	pattern   []byte // nil: all
	algorithm algorithms.ID
	count     int
}

func (q *scanQuery) wants(key []byte, v *shard.View) bool {
	return (q.pattern == nil || glob(q.pattern, key)) && (q.algorithm == 0 || q.algorithm == v.Limit.Algorithm)
}

func runScan(s *session, out []byte, args [][]byte) ([]byte, error) {
	cursor, err := algorithms.ParseWhole("cursor", args[1], 0, math.MaxUint64-1)
	if err != nil {
		return out, errors.New("ERR invalid cursor")
	}
	q := scanQuery{count: scanCountDefault}
	if err := q.options(args[2:]); err != nil {
		return out, err
	}
	var found []byte
	n, met, slots := 0, 0, q.count*ScanSlotsPerKey
	p := positionOf(cursor)
	for met < q.count && slots > 0 {
		turn := min(q.count-met, ScanSlotsPerTurn)
		slots -= turn
		if !s.server.visit(&p, turn, func(key []byte, v shard.View) {
			met++
			if q.wants(key, &v) {
				n++
				found = redcon.AppendBulk(found, key)
			}
		}) {
			break
		}
	}
	if p.shard >= s.server.shards.Len() {
		p = position{}
	}
	out = redcon.AppendArray(out, 2)
	out = redcon.AppendBulkString(out, strconv.FormatUint(p.cursor(), 10))
	return append(redcon.AppendArray(out, n), found...), nil
}

// options reads MATCH, COUNT and TYPE.
func (q *scanQuery) options(rest [][]byte) error {
	for ; len(rest) > 0; rest = rest[2:] {
		word := strings.ToUpper(string(rest[0]))
		if word != "MATCH" && word != "COUNT" && word != "TYPE" {
			return fmt.Errorf("ERR syntax error, the options of SCAN are MATCH, COUNT and TYPE, got '%s'", show(rest[0]))
		}
		if len(rest) < 2 {
			return fmt.Errorf("ERR syntax error, %s wants a value after it", word)
		}
		switch word {
		case "MATCH":
			q.pattern = rest[1]
		case "COUNT":
			n, err := algorithms.ParseWhole("count", rest[1], 1, math.MaxInt32)
			if err != nil {
				return fmt.Errorf("ERR %w", err)
			}
			q.count = int(n)
		case "TYPE":
			id, ok := algorithms.Lookup(rest[1])
			if !ok {
				return unknownAlgorithm(rest[1])
			}
			q.algorithm = id
		}
	}
	return nil
}

func runKeys(s *session, out []byte, args [][]byte) ([]byte, error) {
	var found []byte
	n, p := 0, position{}
	for s.server.visit(&p, ScanSlotsPerTurn, func(key []byte, _ shard.View) {
		if glob(args[1], key) {
			n++
			found = redcon.AppendBulk(found, key)
		}
	}) {
	}
	return append(redcon.AppendArray(out, n), found...), nil
}

func runRandomKey(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if key := s.server.randomKey(); key != nil {
		return redcon.AppendBulk(out, key), nil
	}
	return appendNil(out, s.proto), nil
}

// randomKey returns a key, nil if there is none. While a fair part of the slots
// is in use every key is as likely as any other.
func (s *Server) randomKey() (found []byte) {
	slots := make([]uint64, s.shards.Len())
	total := uint64(0)
	s.shards.Each(func(n int, c *shard.Core, _ uint64) {
		slots[n] = uint64(c.Slots())
		total += slots[n]
	})
	if total == 0 {
		return nil
	}
	take := func(key []byte, _ shard.View) {
		if found == nil {
			found = append([]byte{}, key...)
		}
	}
	p := randomPosition(slots, s.roll()%total)
	for range randomProbes {
		s.visit(&p, 1, take)
		if found != nil {
			return found
		}
		p = randomPosition(slots, s.roll()%total)
	}
	for found == nil && s.visit(&p, ScanSlotsPerTurn, take) {
	}
	for p = (position{}); found == nil && s.visit(&p, ScanSlotsPerTurn, take); {
	}
	return found
}

// randomPosition finds the slot with a number below the sum of slots, which are
// those of each shard.
func randomPosition(slots []uint64, number uint64) (p position) {
	for ; number >= slots[p.shard]; p.shard++ {
		number -= slots[p.shard]
	}
	p.slot = uint32(number) + 1 // a shard counts them from 1
	return p
}

func runDBSize(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendInt(out, int64(s.server.keys())), nil
}

// keys is the number of keys on all shards. What has become fresh is freed
// first, some at a time. In a shard with many keys, those whose time came within
// this very tick of the wheel, about a millisecond, may be counted still.
func (s *Server) keys() (n int) {
	for i := range s.shards.Len() {
		for more := true; more; {
			s.shards.On(i, func(c *shard.Core, now uint64) {
				if more = c.Sweep(now, shard.SweepEntriesMax); more {
					return
				}
				if c.Len() <= shard.SweepEntriesMax {
					c.Settle(now)
				}
				n += c.Len()
			})
		}
	}
	return n
}

// runFlush makes every key fresh. ASYNC and SYNC are the same: a shard's table is
// thrown away as a whole, which takes no time worth to be put off.
func runFlush(s *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args) > 1 && !strings.EqualFold(string(args[1]), "ASYNC") && !strings.EqualFold(string(args[1]), "SYNC") {
		return out, fmt.Errorf("ERR syntax error, it must be ASYNC or SYNC, got '%s'", show(args[1]))
	}
	if len(args) > 2 {
		return out, fmt.Errorf("ERR syntax error, it must be either ASYNC or SYNC, got '%s' too", show(args[2]))
	}
	if err := s.server.shards.Each(func(_ int, c *shard.Core, _ uint64) { c.Clear() }); err != nil {
		return out, errUnsaved(err)
	}
	return redcon.AppendOK(out), nil
}

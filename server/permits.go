package server

// Permits: RL.ACQUIRE, RL.RENEW, RL.RELEASE, RL.HOLDERS. A permit is a lease that
// frees itself at its time to live, so a holder that crashed leaks nothing; it has
// an id, so releasing it late or twice frees nobody else's.

import (
	"fmt"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// parseAcquire parses RL.ACQUIRE key limit ttl [n] [ID id].
func parseAcquire(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	spec := algorithms.Spec{Algorithm: algorithms.Concurrency}
	var err error
	if spec.Units, err = algorithms.ParseWhole("limit", args[2], 1, algorithms.UnitsMax); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if spec.Window, err = algorithms.ParseDuration("ttl", args[3], algorithms.WindowMaxNanos); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	n, rest := uint64(1), args[4:]
	if len(rest) > 0 && !isWord(rest[0]) {
		if n, err = algorithms.ParseWhole("n", rest[0], 1, algorithms.UnitsMax); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		rest = rest[1:]
	}
	id := ""
	if len(rest) > 0 {
		if len(rest) != 2 || !strings.EqualFold(string(rest[0]), "ID") {
			return fmt.Errorf("ERR RL.ACQUIRE takes ID id after the number of permits, got '%s'", show(rest[0]))
		}
		if id, err = parseID(rest[1]); err != nil {
			return err
		}
	}
	if err := s.ask(shard.Allow, args[1], spec, n); err != nil {
		return err
	}
	s.server.namePermits(s.batch.Ops[len(s.batch.Ops)-1:], id)
	return nil
}

// writeAcquire is granted, limit, available, retry_after_ms, id.
func writeAcquire(s *session, out []byte, ops []shard.Op) []byte {
	op := &ops[0]
	if op.Refused() || op.Unsaved {
		return s.appendOutcome(out, op)
	}
	d := &op.Decision
	granted := int64(0)
	if d.Allowed {
		granted = 1
	}
	out = redcon.AppendInt(redcon.AppendArray(out, 5), granted)
	out = redcon.AppendInt(out, int64(d.Limit))
	out = redcon.AppendInt(out, int64(d.Remaining))
	out = redcon.AppendInt(out, d.RetryAfter)
	if !d.Allowed {
		return appendNil(out, s.proto)
	}
	return redcon.AppendBulkString(out, op.ID)
}

// parsePermit parses RL.RELEASE key id and RL.RENEW key id [ttl].
func parsePermit(kind shard.Kind) func(*session, [][]byte) error {
	return func(s *session, args [][]byte) error {
		if err := checkKey(args[1]); err != nil {
			return err
		}
		if isPlan(args[2]) {
			return s.parsePlanPermit(kind, args)
		}
		id, err := parseID(args[2])
		if err != nil {
			return err
		}
		ttl := uint64(0)
		if len(args) > 4 || kind == shard.Release && len(args) > 3 {
			return fmt.Errorf("ERR nothing may follow, got '%s'", show(args[len(args)-1]))
		}
		if len(args) > 3 {
			if ttl, err = algorithms.ParseDuration("ttl", args[3], algorithms.WindowMaxNanos); err != nil {
				return fmt.Errorf("ERR %w", err)
			}
		}
		op := s.add(args[1])
		op.Kind, op.ID, op.Call.Cost = kind, id, ttl
		return nil
	}
}

// writePermit is 1, or 0 for a permit that is not held.
func writePermit(s *session, out []byte, ops []shard.Op) []byte {
	found := int64(0)
	for i := range ops {
		switch op := &ops[i]; {
		case op.WrongType:
			return s.appendFailure(out, errWrongType)
		case op.Unsaved:
			return s.appendFailure(out, s.unsaved())
		case op.Found:
			found = 1
		}
	}
	return redcon.AppendInt(out, found)
}

// writeHolders is an array of [id, n, expires_in_ms].
func writeHolders(s *session, out []byte, ops []shard.Op) []byte {
	op := &ops[0]
	if !op.Found {
		return redcon.AppendArray(out, 0)
	}
	v := op.View
	if v.Limit.Algorithm != algorithms.Concurrency {
		return s.appendFailure(out, errWrongType)
	}
	out = redcon.AppendArray(out, len(v.Permits))
	for _, p := range v.Permits {
		out = redcon.AppendBulkString(redcon.AppendArray(out, 3), p.ID)
		out = redcon.AppendInt(out, int64(p.Units))
		out = redcon.AppendInt(out, algorithms.Millis(p.End-v.Now))
	}
	return out
}

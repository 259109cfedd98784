package server

// RL.ALLOWALL: several limits, all charged or none, wherever their keys live. The
// groups become operations that are joined in the batch; nothing else is special
// about them.

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// JoinedGroupsMax is how many groups RL.ALLOWALL takes.
const JoinedGroupsMax = 64

// parseTogether parses RL.ALLOWALL: groups, which are joined in the batch, and options.
func parseTogether(s *session, args [][]byte) error {
	rest := args[1:]
	first := len(s.batch.Ops)
	for group := 1; len(rest) > 0 && beginsGroup(rest); group++ {
		if group > JoinedGroupsMax {
			return fmt.Errorf("ERR at most %d groups in one RL.ALLOWALL", JoinedGroupsMax)
		}
		size := groupSize(rest)
		if len(rest) < size {
			return fmt.Errorf("ERR group %d is short: a group is key algorithm limit window cost, or key @plan cost", group)
		}
		if err := parseGroup(s, rest[:size], true); err != nil {
			return inGroup(group, err)
		}
		if len(s.batch.Ops)-first > LimitsPerCallMax {
			return errManyLimits()
		}
		rest = rest[size:]
	}
	ops := s.batch.Ops[first:]
	if len(ops) == 0 {
		return errors.New("ERR RL.ALLOWALL wants at least one group: key algorithm limit window cost, or key @plan cost")
	}
	if err := distinct(ops); err != nil {
		return err
	}
	s.again = remembering{}
	permit, err := s.again.joined(rest)
	if err != nil {
		return err
	}
	s.server.namePermits(ops, permit)
	s.batch.Join(len(ops))
	if s.again.name != nil {
		s.remember(first, &s.again, ops[0].Key, s.questionOf(withoutID(args, s.again.name)), asTogether)
	}
	return nil
}

// beginsGroup says whether a group begins here, and not the options.
func beginsGroup(rest [][]byte) bool {
	if len(rest) < 2 {
		return !isJoinedOption(rest[0])
	}
	if isPlan(rest[1]) {
		return true
	}
	_, ok := algorithms.Lookup(rest[1])
	return ok || !isJoinedOption(rest[0])
}

func isJoinedOption(word []byte) bool {
	return is(word, "ID") || is(word, idempotentWord)
}

// distinctPairsMax is how many operations are compared each with each; of more, a
// map is made.
const distinctPairsMax = 64

// distinct refuses two operations on one state: what the first leaves would not be
// what the second was judged on.
func distinct(ops []shard.Op) error {
	if len(ops) > distinctPairsMax {
		seen := make(map[string]int, len(ops))
		for i := range ops {
			if j, twice := seen[string(ops[i].Key)]; twice {
				return errTwice(ops, j, i)
			}
			seen[string(ops[i].Key)] = i
		}
		return nil
	}
	for i := range ops {
		for j := range ops[:i] {
			if bytes.Equal(ops[i].Key, ops[j].Key) {
				return errTwice(ops, j, i)
			}
		}
	}
	return nil
}

// errTwice names the groups that two operations on one state are of.
func errTwice(ops []shard.Op, j, i int) error {
	number := func(op int) (group int) {
		for at := 0; at <= op; at += groupOf(ops[at:]) {
			group++
		}
		return group
	}
	return fmt.Errorf("ERR groups %d and %d name the same key '%s'", number(j), number(i), show(ops[i].Key))
}

// joined reads ID id and IDEMPOTENT id [TTL d].
func (r *remembering) joined(rest [][]byte) (permit string, err error) {
	var spec algorithms.Spec
	err = parseOptions(&spec, rest, options{again: r, words: []string{"ID"}, parse: func(_ string, rest [][]byte) (took int, err error) {
		permit, err = parseID(rest[1])
		return 2, err
	}})
	if err == nil && spec != (algorithms.Spec{}) {
		err = errors.New("ERR the groups of RL.ALLOWALL take no options")
	}
	return permit, err
}

// namePermits gives the operations that take permits an id.
func (s *Server) namePermits(ops []shard.Op, id string) {
	for i := range ops {
		if op := &ops[i]; op.Call.Limit.Algorithm == algorithms.Concurrency {
			if id == "" {
				id = s.makeID(op.Shard())
			}
			op.ID = id
		}
	}
}

// writeTogether is the reply of RL.ALLOWALL.
func writeTogether(s *session, out []byte, ops []shard.Op) []byte {
	if a := ops[0].Again; a != nil {
		if out, done := s.appendAgain(out, a); done {
			return out
		}
	}
	return s.appendTogether(out, ops)
}

// appendTogether writes the decisions of RL.ALLOWALL, flat: allowed, retry_after_ms, a
// decision for each group and, where permits were asked for, their id.
func (s *session) appendTogether(out []byte, ops []shard.Op) []byte {
	allowed, retry, groups := int64(1), int64(0), 0
	for i := 0; i < len(ops); groups++ {
		n := groupOf(ops[i:])
		if op := binding(ops[i : i+n]); op != nil {
			if op.Refused() || op.Unsaved {
				return s.appendOutcome(out, op)
			}
			if !op.Decision.Allowed {
				allowed = 0
				retry = int64(max(uint64(retry), uint64(op.Decision.RetryAfter))) // Never is the longest
			}
		}
		i += n
	}
	permit, asked := permitOf(ops)
	n := 2 + groups
	if asked {
		n++
	}
	out = redcon.AppendArray(out, n)
	out = redcon.AppendInt(redcon.AppendInt(out, allowed), retry)
	for rest := ops; len(rest) > 0; rest = rest[groupOf(rest):] {
		if rest[0].Group == 0 {
			out = appendDecisionOf(out, &rest[0])
		} else {
			out = s.appendPlan(out, rest[:rest[0].Group])
		}
	}
	switch {
	case !asked:
	case allowed == 0 || permit == "":
		out = appendNil(out, s.proto)
	default:
		out = redcon.AppendBulkString(out, permit)
	}
	return out
}

// withoutID leaves IDEMPOTENT id [TTL d] out of a request: what is left, before and
// after it, is what the id is asked for.
func withoutID(args [][]byte, name []byte) (before, after [][]byte) {
	for i := len(args) - 1; i > 0; i-- {
		if !is(args[i-1], idempotentWord) || !bytes.Equal(args[i], name) {
			continue
		}
		after = args[i+1:]
		if len(after) > 1 && is(after[0], "TTL") {
			after = after[2:]
		}
		return args[:i-1], after
	}
	return args, nil
}

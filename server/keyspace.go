package server

// The commands that Redis users know for keys, on limiter keys. A key that has
// become fresh does not exist for any of them, swept or not.

import (
	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// parseKeys makes an operation of one kind for each key in args[1:].
func parseKeys(kind shard.Kind) func(*session, [][]byte) error {
	return func(s *session, args [][]byte) error {
		for _, key := range args[1:] {
			if err := checkKey(key); err != nil {
				return err
			}
			s.add(key).Kind = kind
		}
		return nil
	}
}

// parseView looks at one key and keeps what is seen.
func parseView(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	op := s.add(args[1])
	op.Kind, op.View = shard.Look, new(shard.View)
	return nil
}

// parseReset is parseKeys for RL.RESET key [key ...], or key @plan.
func parseReset(s *session, args [][]byte) error {
	if len(args) == 3 && isPlan(args[2]) {
		plan, err := planOf(s.server.Book(), args[2])
		if err == nil {
			err = checkKey(args[1])
		}
		if err == nil {
			s.addPlan(args[1], &planCall{plan: plan, kind: shard.Reset})
		}
		return err
	}
	return parseKeys(shard.Reset)(s, args)
}

// resetKeys are the keys of RL.RESET: all words, but the name of a plan.
func resetKeys(args [][]byte) [][]byte {
	if len(args) == 3 && isPlan(args[2]) {
		return args[1:2]
	}
	return args[1:]
}

// writeFound is the number of keys that were found.
func writeFound(s *session, out []byte, ops []shard.Op) []byte {
	n := int64(0)
	for i := range ops {
		if ops[i].Unsaved {
			return s.appendFailure(out, s.unsaved())
		}
		if ops[i].Found {
			n++
		}
	}
	return redcon.AppendInt(out, n)
}

// writeType is the name of the algorithm that the key was last charged under.
func writeType(_ *session, out []byte, ops []shard.Op) []byte {
	if !ops[0].Found {
		return redcon.AppendString(out, "none")
	}
	return redcon.AppendString(out, ops[0].View.Limit.Algorithm.String())
}

// keyGone is what TTL and its kin answer for a key that does not exist. There is
// no key without an expiry, so -1 is never an answer.
const keyGone = -2

// writeTime answers TTL and its kin with a number made from the key's view.
func writeTime(of func(v *shard.View) int64) func(*session, []byte, []shard.Op) []byte {
	return func(_ *session, out []byte, ops []shard.Op) []byte {
		if !ops[0].Found {
			return redcon.AppendInt(out, keyGone)
		}
		return redcon.AppendInt(out, of(ops[0].View))
	}
}

func ttlMillis(v *shard.View) int64    { return v.ResetAfter }
func ttlSeconds(v *shard.View) int64   { return secondsUp(v.ResetAfter) }
func expiryMillis(v *shard.View) int64 { return algorithms.Millis(v.FreshAt) }
func expirySeconds(v *shard.View) int64 {
	return secondsUp(algorithms.Millis(v.FreshAt))
}

// secondsUp rounds milliseconds up to whole seconds.
func secondsUp(ms int64) int64 { return (ms + 999) / 1000 }

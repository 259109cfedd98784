package server

// The names that other limiters use: CL.THROTTLE as redis-cell has it, RL.THROTTLE,
// and GCRA. They are a token bucket of max_burst + 1 with redis-cell's reply, where
// redis-cell is sane; its faults are not copied.

import (
	"fmt"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// parseThrottle parses key max_burst count period [quantity].
func parseThrottle(s *session, args [][]byte) error {
	n := uint64(1)
	if len(args) > 5 {
		var err error
		if n, err = algorithms.ParseWhole("quantity", args[5], 0, algorithms.UnitsMax); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
	}
	return s.throttle(args[1:5], "count", n)
}

// parseGCRA parses key max_burst tokens_per_period period [TOKENS n].
func parseGCRA(s *session, args [][]byte) error {
	n := uint64(1)
	if len(args) > 5 {
		if len(args) != 7 || !strings.EqualFold(string(args[5]), "TOKENS") {
			return fmt.Errorf("ERR GCRA takes TOKENS n after the period, got '%s'", show(args[5]))
		}
		var err error
		if n, err = algorithms.ParseWhole("tokens", args[6], 0, algorithms.UnitsMax); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
	}
	return s.throttle(args[1:5], "tokens_per_period", n)
}

// throttle adds the operation: 0 units are a look.
func (s *session) throttle(args [][]byte, rate string, n uint64) error {
	if err := checkKey(args[0]); err != nil {
		return err
	}
	spec := algorithms.Spec{Algorithm: algorithms.GCRA}
	burst, err := algorithms.ParseWhole("max_burst", args[1], 0, algorithms.UnitsMax-1)
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	spec.Burst = burst + 1
	if spec.Units, err = algorithms.ParseWhole(rate, args[2], 1, algorithms.UnitsMax); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if spec.Window, err = algorithms.ParseDuration("period", args[3], algorithms.WindowMaxNanos); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	kind := shard.Allow
	if n == 0 {
		kind = shard.Peek
	}
	return s.ask(kind, args[0], spec, n)
}

// writeThrottle is limited, max_burst + 1, remaining, retry_after s (−1 when allowed
// or never), reset_after s.
func writeThrottle(s *session, out []byte, ops []shard.Op) []byte {
	op := &ops[0]
	if op.Refused() || op.Unsaved {
		return s.appendOutcome(out, op)
	}
	d := &op.Decision
	limited, retry := int64(0), int64(-1)
	if !d.Allowed {
		limited = 1
		if d.RetryAfter != algorithms.Never {
			retry = secondsUp(d.RetryAfter)
		}
	}
	out = redcon.AppendInt(redcon.AppendArray(out, 5), limited)
	out = redcon.AppendInt(out, int64(d.Limit))
	out = redcon.AppendInt(out, int64(d.Remaining))
	out = redcon.AppendInt(out, retry)
	return redcon.AppendInt(out, secondsUp(d.ResetAfter))
}

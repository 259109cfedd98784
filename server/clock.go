package server

// The clock's commands: TIME, and RL.CLOCK, which tells the server's time and
// moves the hands of a test clock.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const errNoTestClock = "ERR the clock follows the machine; only a server started with --test-clock lets it be set"

func runTime(s *session, out []byte, _ [][]byte) ([]byte, error) {
	now := s.server.clock.Now()
	out = redcon.AppendArray(out, 2)
	out = redcon.AppendBulkString(out, strconv.FormatUint(now/nanosPerSecond, 10))
	return redcon.AppendBulkString(out, strconv.FormatUint(now%nanosPerSecond/nanosPerMicro, 10)), nil
}

func runClockGet(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendInt(out, int64(s.server.clock.Now()/nanosPerMilli)), nil
}

func runClockSet(s *session, out []byte, args [][]byte) ([]byte, error) {
	ms, err := algorithms.ParseWhole("unix-ms", args[2], 0, math.MaxInt64/nanosPerMilli)
	if err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	return s.server.turn(out, func(c TestClock) error { return c.Set(ms) })
}

func runClockAdvance(s *session, out []byte, args [][]byte) ([]byte, error) {
	ns, err := algorithms.ParseFineDuration("duration", args[2])
	if err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	return s.server.turn(out, func(c TestClock) error { return c.Advance(time.Duration(ns)) })
}

// turn moves the test clock, frees and settles everything that is due then, and
// answers OK.
func (s *Server) turn(out []byte, move func(TestClock) error) ([]byte, error) {
	if s.testClock == nil {
		return out, errors.New(errNoTestClock)
	}
	before := s.clock.Now()
	if err := move(s.testClock); err != nil {
		// Durations print a unit that is not ASCII.
		return out, fmt.Errorf("ERR %s", strings.ReplaceAll(err.Error(), "µ", "u"))
	}
	if err := s.shards.Each(func(_ int, c *shard.Core, now uint64) {
		if now < before {
			c.Rewind(now)
		}
		c.Settle(now)
	}); err != nil {
		return out, errUnsaved(err)
	}
	s.SettleDue()
	return redcon.AppendOK(out), nil
}

package server

// RL.CLOCK: the server's time, and the test clock's hands.

import (
	"math"
	"time"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const errNoTestClock = "ERR the clock follows the machine; only a server started with --test-clock lets it be set"

func runClockGet(s *session, out []byte, _ [][]byte) []byte {
	return redcon.AppendInt(out, int64(s.server.clock.Now()/nanosPerMilli))
}

func runClockSet(s *session, out []byte, args [][]byte) []byte {
	if s.server.testClock == nil {
		return redcon.AppendError(out, errNoTestClock)
	}
	ms, err := algorithms.ParseWhole("unix-ms", args[2], 0, math.MaxInt64/nanosPerMilli)
	if err == nil {
		err = s.server.turn(func(c TestClock) error { return c.Set(ms) })
	}
	return appendDone(out, err)
}

func runClockAdvance(s *session, out []byte, args [][]byte) []byte {
	if s.server.testClock == nil {
		return redcon.AppendError(out, errNoTestClock)
	}
	ns, err := algorithms.ParseFineDuration("duration", args[2])
	if err == nil {
		err = s.server.turn(func(c TestClock) error { return c.Advance(time.Duration(ns)) })
	}
	return appendDone(out, err)
}

// appendDone writes OK, or the error.
func appendDone(out []byte, err error) []byte {
	if err != nil {
		return redcon.AppendError(out, "ERR "+err.Error())
	}
	return redcon.AppendOK(out)
}

// turn moves the test clock and frees everything that is due then.
func (s *Server) turn(move func(TestClock) error) error {
	before := s.clock.Now()
	if err := move(s.testClock); err != nil {
		return err
	}
	s.shards.Each(func(_ int, c *shard.Core, now uint64) {
		if now < before {
			c.Rewind(now)
		}
		c.Settle(now)
	})
	return nil
}

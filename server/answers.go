package server

// What tools ask a Redis server, answered for what this one is: alone, without
// replicas, without a cluster, without functions of its users.

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	// DebugSleepMax is how long DEBUG SLEEP takes at most.
	DebugSleepMax = time.Minute

	entryBytes = 64 // of a key in the table
	indexBytes = 8  // that find it
	runBytes   = 16 // of a sliding log, for each instant
)

func runCluster(*session, []byte, [][]byte) ([]byte, error) {
	return nil, errors.New("ERR This instance has cluster support disabled")
}

func runRole(_ *session, out []byte, _ [][]byte) ([]byte, error) {
	out = redcon.AppendBulkString(redcon.AppendArray(out, 3), "master")
	return redcon.AppendArray(redcon.AppendInt(out, 0), 0), nil
}

func runWait(_ *session, out []byte, args [][]byte) ([]byte, error) {
	for i, name := range []string{"numreplicas", "timeout"} {
		if _, err := algorithms.ParseWhole(name, args[1+i], 0, math.MaxInt64); err != nil {
			return out, fmt.Errorf("ERR %w", err)
		}
	}
	return redcon.AppendInt(out, 0), nil
}

// writeView answers with something of the view of one key, nil where it is fresh.
func writeView(of func(out []byte, op *shard.Op) []byte) func(*session, []byte, []shard.Op) []byte {
	return func(s *session, out []byte, ops []shard.Op) []byte {
		if !ops[0].Found {
			return appendNil(out, s.proto)
		}
		return of(out, &ops[0])
	}
}

// parseSubView is parseView where the key follows a subcommand.
func parseSubView(s *session, args [][]byte) error { return parseView(s, args[1:]) }

func encoding(out []byte, op *shard.Op) []byte {
	name := "entry"
	switch op.View.Limit.Algorithm {
	case algorithms.SlidingLog:
		name = "log"
	case algorithms.Concurrency:
		name = "permits"
	}
	return redcon.AppendBulkString(out, name)
}

// frequency is how hot a key is: the logarithm of the units that are used of it.
func frequency(out []byte, op *shard.Op) []byte {
	return redcon.AppendInt(out, int64(bits.Len64(op.View.Used)))
}

func idleTime(out []byte, op *shard.Op) []byte {
	return redcon.AppendInt(out, int64((max(op.View.Now, op.View.State.At)-op.View.State.At)/nanosPerSecond))
}

func refCount(out []byte, _ *shard.Op) []byte { return redcon.AppendInt(out, 1) }

func keyBytes(out []byte, op *shard.Op) []byte {
	n := entryBytes + indexBytes + len(op.Key) + runBytes*op.View.Runs
	for _, p := range op.View.Permits {
		n += runBytes + len(p.ID)
	}
	return redcon.AppendInt(out, int64(n))
}

// parseMemoryUsage reads MEMORY USAGE key [SAMPLES n].
func parseMemoryUsage(s *session, args [][]byte) error {
	if len(args) > 3 {
		if len(args) != 5 || !strings.EqualFold(string(args[3]), "SAMPLES") {
			return errors.New("ERR syntax error, it must be MEMORY USAGE key [SAMPLES count]")
		}
		if _, err := algorithms.ParseWhole("count", args[4], 0, math.MaxInt32); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
	}
	return parseView(s, args[1:])
}

// nothing answers with an empty array: what is asked for is not kept.
func nothing(_ *session, out []byte, _ [][]byte) ([]byte, error) {
	return redcon.AppendArray(out, 0), nil
}

func ok(_ *session, out []byte, _ [][]byte) ([]byte, error) { return redcon.AppendOK(out), nil }

func runConfigResetStat(s *session, out []byte, _ [][]byte) ([]byte, error) {
	t := &s.server.stats
	t.connections.Store(0)
	t.commands.Store(0)
	t.errors.Store(0)
	t.protocolErrors.Store(0)
	t.loginsFailed.Store(0)
	t.refused.Store(0)
	t.cutOff.Store(0)
	t.handshakesFailed.Store(0)
	for i := range s.server.blocks {
		s.server.blocks[i].reset()
	}
	return redcon.AppendOK(out), nil
}

// runDebugSleep keeps this connection waiting, and no other.
func runDebugSleep(s *session, out []byte, args [][]byte) ([]byte, error) {
	if !s.server.config().EnableDebug {
		return out, errors.New("ERR DEBUG is switched off; start the server with --enable-debug")
	}
	ns, err := algorithms.ParseDuration("seconds", args[2], uint64(DebugSleepMax))
	if err != nil {
		return out, fmt.Errorf("ERR %w", err)
	}
	s.server.wait(time.Duration(ns))
	return redcon.AppendOK(out), nil
}

// rewriteCall makes of FCALL name numkeys key … arg … the request that it means: the
// keys come first, and of commands that take groups each key begins one.
func rewriteCall(args [][]byte) ([][]byte, error) {
	var buf [commandNameBytesMax]byte
	c := byCommand[string(capitals(&buf, args[1]))]
	if c == nil || c.Sub != nil || c.rewrite != nil || c.Group != "ratelimit" && c.Group != "plans" {
		return nil, fmt.Errorf("ERR Function not found: '%s'; the functions are the commands for rate limits, such as RL.ALLOW", show(args[1]))
	}
	n, err := algorithms.ParseWhole("numkeys", args[2], 0, ArgsMax)
	if err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	if int(n) > len(args)-3 {
		return nil, errors.New("ERR Number of keys can't be greater than number of args")
	}
	keys, rest := args[3:3+n], args[3+n:]
	made := [][]byte{args[1]}
	if c.keysOf == nil || n < 2 || c.Name == "RL.RESET" {
		return append(append(made, keys...), rest...), nil
	}
	for _, key := range keys {
		size := 4
		if len(rest) > 0 && isPlan(rest[0]) {
			size = 2
		}
		if len(rest) < size {
			return nil, fmt.Errorf("ERR each key of %s wants algorithm, limit, window and cost, or @plan and cost, in the order of the keys", c.Name)
		}
		made = append(append(made, key), rest[:size]...)
		rest = rest[size:]
	}
	return append(made, rest...), nil
}

// callKeys are the keys of FCALL.
func callKeys(args [][]byte) [][]byte {
	n, err := algorithms.ParseWhole("numkeys", args[2], 0, uint64(len(args)-3))
	if err != nil {
		return nil
	}
	return args[3 : 3+n]
}

// runCall is never reached: the request is rewritten.
func runCall(_ *session, out []byte, _ [][]byte) ([]byte, error) { return out, nil }

package server

// Transactions. Commands between MULTI and EXEC are kept, and then done one after the
// other at one instant, while all shards are owned: nobody else comes in between. What
// goes over all keys, or waits, cannot be part of one.

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	// TransactionCommandsMax is how many commands a transaction takes.
	TransactionCommandsMax = 10_000
	// TransactionBytesMax is how long they may be together.
	TransactionBytesMax = 1 << 20
	// WatchedKeysMax is how many keys a connection may watch.
	WatchedKeysMax = 1024
)

// transaction is what came after MULTI.
type transaction struct {
	commands []queued
	bytes    int
	broken   bool // a command was refused, so EXEC will be
}

type queued struct {
	command *Command
	args    [][]byte
}

// watchedKey is a key as it was seen by WATCH.
type watchedKey struct {
	key  []byte
	seen sight
}

// sight is what tells whether a key has changed.
type sight struct {
	found bool
	limit algorithms.Limit
	state algorithms.State
	fresh uint64
	used  uint64 // of kinds whose state lives elsewhere
}

func sightOf(op *shard.Op) sight {
	if !op.Found {
		return sight{}
	}
	v := op.View
	s := sight{found: true, limit: v.Limit, state: v.State, fresh: v.FreshAt}
	if v.Limit.Algorithm == algorithms.SlidingLog || v.Limit.Algorithm == algorithms.Concurrency {
		s.used = v.Used
	}
	return s
}

// queue keeps a command for EXEC.
func (s *session) queue(c *Command, args [][]byte) bool {
	t := s.modes.transaction
	size := 0
	for _, a := range args {
		size += len(a)
	}
	var refused error
	switch {
	case c.parse == nil && c.Flags&FlagMulti == 0:
		refused = fmt.Errorf("ERR %s cannot be part of a transaction", c.Name)
	case len(t.commands) >= TransactionCommandsMax:
		refused = fmt.Errorf("ERR a transaction has at most %d commands", TransactionCommandsMax)
	case t.bytes+size > TransactionBytesMax:
		refused = fmt.Errorf("ERR a transaction has at most %d bytes", TransactionBytesMax)
	}
	if refused != nil {
		t.broken = true
		s.measures.commands[c.number].rejected.Add(1)
		s.fail(refused.Error())
		return true
	}
	kept := make([][]byte, len(args))
	for i, a := range args {
		kept[i] = bytes.Clone(a)
	}
	t.commands = append(t.commands, queued{c, kept})
	t.bytes += size
	s.pending = append(s.pending, pending{reply: []byte("+QUEUED\r\n")})
	return true
}

func runMulti(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.mode().transaction != nil {
		return out, errors.New("ERR MULTI calls can not be nested")
	}
	s.modes.transaction = &transaction{}
	return redcon.AppendOK(out), nil
}

func runDiscard(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.modes == nil || s.modes.transaction == nil {
		return out, errors.New("ERR DISCARD without MULTI")
	}
	s.endTransaction()
	return redcon.AppendOK(out), nil
}

// endTransaction forgets it, and what was watched for it.
func (s *session) endTransaction() {
	s.modes.transaction, s.modes.watching = nil, nil
}

func runWatch(s *session, out []byte, args [][]byte) ([]byte, error) {
	m := s.mode()
	if m.transaction != nil {
		return out, errors.New("ERR WATCH inside MULTI is not allowed")
	}
	if len(m.watching)+len(args)-1 > WatchedKeysMax {
		return out, fmt.Errorf("ERR at most %d keys are watched", WatchedKeysMax)
	}
	for _, key := range args[1:] {
		if err := checkKey(key); err != nil {
			return out, err
		}
	}
	b := s.looks(args[1:])
	s.server.shards.Run(b)
	for i := range b.Ops {
		m.watching = append(m.watching, watchedKey{bytes.Clone(args[1+i]), sightOf(&b.Ops[i])})
	}
	return redcon.AppendOK(out), nil
}

// looks is a batch that looks at keys.
func (s *session) looks(keys [][]byte) *shard.Batch {
	b := shard.NewBatch(s.server.shards.Len())
	for _, key := range keys {
		op := addTo(b, key)
		op.Kind, op.View = shard.Look, new(shard.View)
	}
	return b
}

func runUnwatch(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.modes != nil {
		s.modes.watching = nil
	}
	return redcon.AppendOK(out), nil
}

// hold owns shards for f, or uses those that a transaction owns already.
func (s *session) hold(numbers []int, f func(h *shard.Held)) error {
	if s.owned != nil {
		f(s.owned)
		return nil
	}
	return s.server.shards.Hold(numbers, f)
}

func runExec(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.modes == nil || s.modes.transaction == nil {
		return out, errors.New("ERR EXEC without MULTI")
	}
	t, watching, tracking := s.modes.transaction, s.modes.watching, s.modes.tracking
	s.endTransaction()
	if t.broken {
		return out, errors.New("EXECABORT Transaction discarded because of previous errors.")
	}
	all := make([]int, s.server.shards.Len())
	for i := range all {
		all[i] = i
	}
	changed, start := false, len(out)
	err := s.server.shards.Hold(all, func(h *shard.Held) {
		if changed = s.changed(h, watching); changed {
			return
		}
		s.owned = h
		out = redcon.AppendArray(out, len(t.commands))
		for _, q := range t.commands {
			out = s.execute(h, out, q)
		}
		s.owned = nil
	})
	if err != nil {
		return out[:start], errUnsaved(err)
	}
	if changed {
		return appendNilArray(out, s.proto), nil
	}
	if tracking {
		s.out = out
		for _, q := range t.commands {
			if keys := q.command.keysIn(q.args); len(keys) > 0 && q.command.Flags&FlagReadonly != 0 {
				s.invalidate(keys)
			}
		}
		out = s.out
	}
	return out, nil
}

// changed says whether a key is not as it was seen.
func (s *session) changed(h *shard.Held, watching []watchedKey) bool {
	if len(watching) == 0 {
		return false
	}
	keys := make([][]byte, len(watching))
	for i := range watching {
		keys[i] = watching[i].key
	}
	b := s.looks(keys)
	h.Do(b)
	for i := range b.Ops {
		if sightOf(&b.Ops[i]) != watching[i].seen {
			return true
		}
	}
	return false
}

// execute does one command of a transaction and appends its reply.
func (s *session) execute(h *shard.Held, out []byte, q queued) []byte {
	c := q.command
	s.server.stats.commands.Add(1)
	s.answered++
	measured := &s.measures.commands[c.number]
	err := s.check(c, q.args)
	if err != nil {
		measured.rejected.Add(1)
		return s.appendFailure(out, err.Error())
	}
	measured.calls.Add(1)
	before := s.failures
	defer func() {
		if s.failures != before {
			measured.failed.Add(1)
		}
	}()
	alone := c.parse == nil
	if err == nil && !alone {
		err = c.parse(s, q.args)
	}
	if err == nil && alone {
		if err = s.restraint.checkAlone(c); err == nil {
			var reply []byte
			if reply, err = c.run(s, nil, q.args); err == nil {
				return append(out, reply...)
			}
		}
	} else if err == nil {
		if err = s.restraint.tame(s.batch.Ops); err == nil {
			h.Do(s.batch)
			out = c.write(s, out, s.batch.Ops)
		}
	}
	s.batch.Clear()
	s.forget()
	s.memo.limit = nil
	if err != nil {
		return s.appendFailure(out, err.Error())
	}
	return out
}

package server

// A session is one connection: it reads what has arrived, finds all complete
// commands in it, sends their operations to the shards as one batch, and writes
// all replies at once, in the order of the commands.
//
// Commands that are about keys one by one only add to the batch. A command that
// must see what those before it have done (RL.CLOCK, DBSIZE, INFO, …) first has
// the batch done. Everything is bounded: what is read by the reader's limits, the
// batch by BatchOpsMax, what waits to be written by OutBytesMax.

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"sluice/algorithms"
	"sluice/internal/access"
	"sluice/plans"
	"sluice/shard"
)

const (
	// ReadBytesMin and ReadBytesMax bound the buffer that is read into; only a
	// single long request makes it longer for a while.
	ReadBytesMin = 4 << 10
	ReadBytesMax = 64 << 10
	// OutBytesMax is how much of replies is gathered before it is written.
	OutBytesMax = 64 << 10
)

// session is the state of one connection.
type session struct {
	server *Server
	conn   net.Conn
	sink   io.Writer // conn, or a shorter way to it
	id     int64
	proto  int
	about  atomic.Pointer[client] // what the peer says of itself; replaced, not changed
	modes  *modes                 // nil: none
	last   *Command
	owned  *shard.Held // while a transaction is done

	in     []byte // in[from:to] has been read and not parsed
	from   int
	to     int
	reader reader
	memo   memo
	again  remembering // of the request that is parsed, where it may have an id
	*work
	called    planCall  // the call with a plan that was parsed last
	restraint restraint // what holds commands back, as of the last look
	held      bool      // something may, so every command is checked
	account   atomic.Pointer[access.Account]
	user      *access.User // the account's, as of the last look; nil: not logged in
	killed    atomic.Bool
	watched   watched
	closing   bool

	measures *measures
	arrived  uint64 // when what is being answered was read
	answered int    // commands of that
	shared   uint64 // ns since then that commands have had their shares of
	failures int    // errors in replies, ever
}

// client is what a peer says about itself. It never changes: another takes its place.
type client struct {
	name, lib, version string
	proto, database    int
	noEvict, noTouch   bool
}

// say changes what the peer says about itself.
func (s *session) say(change func(c *client)) {
	next := *s.about.Load()
	change(&next)
	s.about.Store(&next)
}

// work is what a session needs only while there is something to do. It comes
// from a pool, so that idle connections hold no memory for it.
type work struct {
	batch   *shard.Batch
	out     []byte
	pending []pending
	// limits holds the limits of the batch's operations. It may move as it
	// grows: operations point into the array that was current for them.
	limits   []algorithms.Limit
	leasings []shard.Leasing // the same for what is said about leases
	agains   []shard.Again   // and about ids
	text     []byte          // scratch
	// names holds the names of states that operations of the batch are on. It may
	// move, as limits.
	names []byte
	// asked is what the batch's requests to rules matched; the first told of them
	// have been answered.
	asked   []asked
	told    int
	matched []*plans.Rule // scratch
	path    plans.Request // scratch
}

// pending is a command that waits for the batch, several times in a row where a
// connection asks the same of several keys, or a reply that is ready and waits for its
// turn.
type pending struct {
	command *Command
	times   int
	ops     int // how many operations of the batch are its own, each time
	reply   []byte
}

// wait adds a command to those that wait.
func (w *work) wait(c *Command, ops int) {
	if last := len(w.pending) - 1; last >= 0 && ops > 0 && w.pending[last].command == c && w.pending[last].ops == ops {
		w.pending[last].times++
		return
	}
	w.pending = append(w.pending, pending{command: c, times: 1, ops: ops})
}

func newWorkPool(shards int) *sync.Pool {
	return &sync.Pool{New: func() any { return &work{batch: shard.NewBatch(shards)} }}
}

// serve works until the connection ends or is to be ended.
func (s *session) serve() {
	if s.serveDescriptor() || !s.greet() {
		return
	}
	s.in = make([]byte, ReadBytesMin)
	for {
		s.watched.holds(len(s.in))
		n, err := s.conn.Read(s.in[s.to:])
		if n > 0 && !s.received(n) || err != nil {
			return
		}
	}
}

// received answers all complete commands that are there after n more bytes have
// been read. It returns false when the connection is to end.
func (s *session) received(n int) bool {
	s.to += n
	s.work = s.server.works.Get().(*work)
	if guarded {
		s.look()
	}
	s.arrived, s.answered, s.shared = s.server.measuredAt(), 0, 0
	s.batch.Client = uint32(s.id)
	ok := s.parse() && s.flush() && s.write()
	if measuring && s.answered > 0 {
		s.measures.answered.add(inSeconds, s.since(s.arrived), s.answered)
		s.measures.batch.add(inCommands, uint64(s.answered), 1)
	}
	s.release()
	if guarded {
		s.reader.forget()
		s.watch()
	}
	s.compact()
	return ok && !s.closing && !s.killed.Load() && !s.server.ending.Load()
}

// look finds out what holds this connection's commands back. It is asked once for what
// has been read at once, and after commands that may change it, so that a command
// costs one test where nothing does.
func (s *session) look() {
	s.restraint, s.held = s.server.restrained()
	s.user = nil
	if a := s.account.Load(); a != nil {
		s.user = a.User()
	}
	if s.modes != nil && s.modes.idle() {
		s.modes = nil
	}
	s.held = s.held || s.user == nil || !s.user.Free || s.special()
	s.reader.strict = s.user == nil
}

// check returns the error that a command gets which is not to be done now.
func (s *session) check(c *Command, args [][]byte) error {
	if err := s.permits(c, args); err != nil {
		return err
	}
	return s.restraint.check(c)
}

// release gives the work back to the pool, empty.
func (s *session) release() {
	w := s.work
	w.empty()
	s.work = nil
	s.memo.limit = nil
	s.server.works.Put(w)
}

// empty makes the work ready for whoever takes it next.
func (w *work) empty() {
	w.batch.Clear()
	w.batch.Client = 0
	w.out, w.pending = w.out[:0], w.pending[:0]
	w.forget()
}

// parse finds commands and starts them, flushing where it must. It returns false
// when the connection cannot be written to.
func (s *session) parse() bool {
	for s.from < s.to && !s.closing {
		if max(len(s.batch.Ops), len(s.pending)) >= shard.BatchOpsMax && !s.flush() {
			return false
		}
		if s.reader.at == 0 && !s.held && s.memo.repeat(s) {
			continue
		}
		n, args, err := s.reader.next(s.in[s.from:s.to])
		if err != nil {
			s.fail("ERR " + err.Error())
			s.closing = true
			s.server.stats.protocolErrors.Add(1)
			return true
		}
		if n == 0 {
			return true
		}
		if len(args) > 0 && !s.command(args, s.in[s.from:s.from+n]) {
			return false
		}
		s.from += n
	}
	return true
}

// command starts one command. It returns false when the connection cannot be
// written to.
func (s *session) command(args [][]byte, raw []byte) bool {
	s.server.stats.commands.Add(1)
	c, err := lookup(args)
	if err == nil && c.rewrite != nil {
		var meant [][]byte
		if meant, err = c.rewrite(args); err == nil {
			args, raw = meant, nil
			c, err = lookup(args)
		}
	}
	if err == nil && s.held {
		err = s.check(c, args)
	}
	if err != nil {
		if isHTTP(args[0]) {
			return s.refuseHTTP()
		}
		if c != nil {
			s.measures.commands[c.number].rejected.Add(1)
		}
		return s.refuseRequest(err)
	}
	s.last = c
	if s.held && s.special() {
		return s.inMode(c, args)
	}
	return s.start(c, args, raw)
}

// start starts a command that may be done.
func (s *session) start(c *Command, args [][]byte, raw []byte) bool {
	if c.parse == nil {
		return s.alone(c, args)
	}
	first := len(s.batch.Ops)
	err := c.parse(s, args)
	if err == nil && s.held {
		err = s.restraint.tame(s.batch.Ops[first:])
	}
	if err != nil {
		s.batch.Truncate(first)
		s.measures.commands[c.number].calls.Add(1)
		s.measures.commands[c.number].failed.Add(1)
		s.fail(err.Error())
		return true
	}
	s.wait(c, len(s.batch.Ops)-first)
	s.memo.learn(s, c, raw)
	return true
}

// alone does a command after everything before it has been answered. It returns
// false when the connection cannot be written to.
func (s *session) alone(c *Command, args [][]byte) bool {
	if !s.flush() {
		return false
	}
	s.answered++
	out, err := s.do(c, args)
	if err != nil {
		s.batch.Clear()
		s.fail(err.Error())
		return true
	}
	s.out = out
	return s.spill()
}

// do runs a command, measures it, and returns what is to be written with its reply.
func (s *session) do(c *Command, args [][]byte) (out []byte, err error) {
	m := &s.measures.commands[c.number]
	if err := s.restraint.checkAlone(c); err != nil {
		m.rejected.Add(1)
		return nil, err
	}
	if c.Flags&FlagFast == 0 {
		began := s.server.measuredAt()
		out, err = c.run(s, s.out, args)
		took := s.since(began)
		s.shared = began - min(began, s.arrived) + took
		m.timed(s.shared, took, 1)
		s.server.slow.add(s, c, args, took)
	} else {
		out, err = c.run(s, s.out, args)
	}
	m.calls.Add(1)
	if c.Flags&FlagSession != 0 {
		s.look()
	}
	if most := s.server.config().OutputMax; err == nil && most > 0 && int64(len(out)) > most {
		err = fmt.Errorf("ERR the reply would have %d bytes, and output-max is %d; ask for less at once, as SCAN does", len(out)-len(s.out), most)
	}
	if err != nil {
		m.failed.Add(1)
	}
	return out, err
}

// fail makes an error the reply of the command that is being parsed.
func (s *session) fail(text string) {
	s.pending = append(s.pending, pending{reply: s.appendFailure(nil, text)})
}

// appendFailure writes an error and counts it.
func (s *session) appendFailure(out []byte, text string) []byte {
	s.failures++
	s.server.stats.errors.Add(1)
	s.measures.countError(text)
	return appendError(out, text)
}

// flush has the batch done and appends the replies that wait for it. It writes
// when there is much to write, and returns false when that cannot be done.
func (s *session) flush() bool {
	if len(s.pending) == 0 {
		return true
	}
	if len(s.batch.Ops) > 0 {
		s.server.shards.Run(s.batch)
	}
	s.count()
	ops := s.batch.Ops
	for i := range s.pending {
		p := &s.pending[i]
		if p.command == nil {
			s.out = append(s.out, p.reply...)
			p.reply = nil
			if !s.spill() {
				return false
			}
		}
		for range p.times {
			before := s.failures
			s.out = p.command.write(s, s.out, ops[:p.ops])
			if s.failures != before {
				s.measures.commands[p.command.number].failed.Add(1)
			}
			ops = ops[p.ops:]
			if !s.spill() {
				return false
			}
		}
	}
	s.batch.Clear()
	s.pending = s.pending[:0]
	s.forget()
	s.memo.limit = nil
	return true
}

// forget gives up what the operations of a batch that has been cleared pointed to.
func (w *work) forget() {
	clear(w.asked)
	clear(w.leasings) // what was told of windows goes with them
	clear(w.agains)
	w.limits, w.leasings, w.agains, w.asked, w.told = w.limits[:0], w.leasings[:0], w.agains[:0], w.asked[:0], 0
	if w.names = w.names[:0]; cap(w.names) > OutBytesMax {
		w.names = nil
	}
}

// count counts the commands that wait, and shares out among them the time that they
// took until they were decided.
func (s *session) count() {
	if !measuring {
		return
	}
	var took, each uint64 // each: for an operation
	if n := len(s.batch.Ops); n > 0 {
		took = s.since(s.arrived)
		each = (took - min(took, s.shared)) / uint64(n)
		s.shared = took
	}
	for i := range s.pending {
		p := &s.pending[i]
		if p.command == nil {
			s.answered++
			continue
		}
		s.answered += p.times
		m := &s.measures.commands[p.command.number]
		m.calls.Add(uint64(p.times))
		if ops := p.times * p.ops; ops > 0 {
			m.timed(took, each*uint64(ops), p.times)
		}
	}
}

// spill writes if there is much to write. It returns false when that cannot be done.
func (s *session) spill() bool { return len(s.out) < OutBytesMax || s.write() }

// write sends the replies that are ready.
func (s *session) write() bool {
	if len(s.out) == 0 {
		return true
	}
	_, err := s.sink.Write(s.out)
	s.out = s.out[:0]
	if cap(s.out) > 4*OutBytesMax {
		s.out = nil
	}
	return err == nil
}

// compact makes room to read into: what is left of a request moves to the front,
// and the buffer grows where a request needs it or where reads fill it.
func (s *session) compact() {
	full := s.to == len(s.in)
	rest := s.in[s.from:s.to]
	size := len(s.in)
	switch {
	case full && size < ReadBytesMax, len(rest) == size:
		size *= 2
	case len(rest) == 0 && size > ReadBytesMax:
		size = ReadBytesMax
	}
	if size != len(s.in) {
		in := make([]byte, size)
		copy(in, rest)
		s.in = in
	} else if s.from > 0 {
		copy(s.in, rest)
	}
	s.from, s.to = 0, len(rest)
}

// limit keeps a limit for an operation of the batch.
func (s *session) limit(l algorithms.Limit) *algorithms.Limit {
	s.limits = append(s.limits, l)
	return &s.limits[len(s.limits)-1]
}

// stats are counted by all sessions.
type stats struct {
	connections    atomic.Int64 // ever accepted
	commands       atomic.Int64
	errors         atomic.Int64
	protocolErrors atomic.Int64
	loginsFailed   atomic.Int64
	refused        atomic.Int64 // connections that got no session
	cutOff         atomic.Int64 // connections that took no replies

	handshakesFailed atomic.Int64

	counted    int64        // of commands, when they were counted last; of tend alone
	lastSecond atomic.Int64 // commands from then on until they were counted again
}

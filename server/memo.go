package server

// The memo remembers the last RL.ALLOW or RL.PEEK of a connection byte for byte,
// but for the key. Most connections ask the same limit again and again; a
// request that repeats the memo is recognised by comparing bytes, without taking
// it apart, and costs neither look-up nor parsing.
//
//	*6\r\n$8\r\nRL.ALLOW\r\n$  7\r\nuser:42  \r\n$12\r\ntoken_bucket\r\n$3\r\n100\r\n…
//	└────────── head ───────┘  length, key  └──────────────── tail ───────────────
//
// Of a call with a plan it remembers what was asked, until the book changes; which limits
// that comes to is another question for each key.

import "sluice/algorithms"

// memoBytesMax is how long head and tail may be together.
const memoBytesMax = 256

type memo struct {
	command *Command
	head    []byte
	tail    []byte
	call    algorithms.Call // Limit points to own
	own     algorithms.Limit
	limit   *algorithms.Limit // the copy of own in the current batch, if any
	called  planCall          // without a plan: it is a call with own
}

// learn remembers a request that has just been parsed into one operation, or one
// group of a plan, with the key as first argument. Inline commands are not worth it,
// nor are calls that bring an id.
func (m *memo) learn(s *session, c *Command, raw []byte) {
	if !c.repeats || len(raw) == 0 || raw[0] != '*' || len(s.reader.spans) < 2 {
		return
	}
	key := s.reader.spans[1]
	if len(raw)-(key.to-key.from) > memoBytesMax {
		return
	}
	op := &s.batch.Ops[len(s.batch.Ops)-s.pending[len(s.pending)-1].ops]
	if op.Again != nil || op.Group > 0 && s.called.permit != "" {
		return
	}
	m.called = planCall{}
	if op.Group > 0 {
		m.called = s.called
	}
	m.command = c
	m.head = append(m.head[:0], raw[:s.reader.spans[0].to+len("\r\n$")]...)
	m.tail = append(m.tail[:0], raw[key.to:]...)
	m.call, m.own, m.limit = op.Call, *op.Call.Limit, op.Call.Limit
}

// repeat starts the next request if it repeats the memo and is complete.
func (m *memo) repeat(s *session) bool {
	if m.command == nil {
		return false
	}
	b := s.in[s.from:s.to]
	i := len(m.head)
	if len(b) < i || string(b[:i]) != string(m.head) {
		return false
	}
	length, from, ok := shortLength(b, i)
	to := from + length
	end := to + len(m.tail)
	if !ok || end > len(b) || string(b[to:end]) != string(m.tail) {
		return false
	}
	ops := 1
	if m.called.plan != nil {
		if m.called.serial != s.server.bookSerial.Load() {
			return false
		}
		ops = s.askPlan(b[from:to], &m.called)
	} else {
		if m.limit == nil {
			m.limit = s.limit(m.own)
		}
		op := s.add(b[from:to])
		op.Kind = m.command.kind
		op.Call.Limit, op.Call.Cost = m.limit, m.call.Cost
	}
	s.wait(m.command, ops)
	s.from += end
	s.server.stats.commands.Add(1)
	return true
}

// shortLength reads the rest of a header line of at most five digits: the
// longest key has 65,536 bytes.
func shortLength(b []byte, i int) (n, next int, ok bool) {
	first := i
	for ; i < len(b) && i < first+5; i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int(c)
	}
	if i == first || i+2 > len(b) || b[i] != '\r' || b[i+1] != '\n' || n > KeyBytesMax {
		return 0, 0, false
	}
	return n, i + 2, true
}

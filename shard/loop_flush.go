package shard

// What the journal is owed is handed over by the shard's goroutine, where nobody waits for
// it: a little at a time, with rests in between, so that no call waits behind all of it. What
// is owed when the next flush is due is not rested for.

import "time"

const (
	// FlushInterval is how long a change waits at most before it is handed to the journal,
	// where the journal does not ask for it at once, less the time of the work itself.
	FlushInterval = flushEvery + flushSpread

	flushEvery  = 200 * time.Millisecond // from the beginning of a flush to that of the next
	flushSpread = 50 * time.Millisecond  // about how long all rests of a flush are together

	// A flush is cut into pieces of flushPieceBytes, a twentieth of a millisecond of work,
	// or into flushPieces, if that makes larger ones.
	flushPieceBytes = 16 << 10
	flushPieces     = 64
)

// flushing is a flush that is under way. The shard's goroutine has it.
type flushing struct {
	piece int           // bytes that are handed over at once; 0: none is under way
	rest  time.Duration // between two pieces
}

// begin says how a flush goes that is owed so many bytes.
func (f *flushing) begin(owed int) {
	f.piece = min(max(owed/flushPieces, flushPieceBytes), RecordsBytesMax)
	f.rest = flushSpread / time.Duration(owed/f.piece+1)
}

// flush hands over a piece of what the journal is owed, the first if none is under way.
func (s *Shard) flush(f *flushing) {
	s.own()
	defer s.release()
	if s.journal == nil || s.journal.Behind() {
		f.piece = 0
		return
	}
	s.pieces.flush(s.journal)
	if f.piece == 0 {
		f.begin(s.core.owedBytes())
	}
	if !s.core.Owes() {
		f.piece = 0
		return
	}
	now := s.clock.Now()
	records, more := s.core.TakeRecords(now, s.journal.Buffer(), f.piece)
	s.journal.Submit(now, records, nil)
	if !more {
		f.piece = 0
	}
	s.drain()
}

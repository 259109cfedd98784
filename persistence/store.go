// The store: one directory, open. It is the synchronous core: no goroutine, no lock, no clock. One goroutine at a time
// uses it (the committer's, or a test's), and every call is finished when it returns; only a sync can be split in two, so
// that it may run elsewhere while frames go on being appended.
//
// Frames are numbered in the order in which they are appended, from 1 on, and Appended and Durable say how far things are.
// That is the whole contract about failures as well. After any error the caller looks at Appended: frames with a higher
// number are not in the journal and have to be appended again. A failed write takes back its own frame. A failed sync
// takes back every frame that was not durable.

package persistence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Options are what a store wants to know.
type Options struct {
	// Address is written into the lock file, so that a second server can say who holds the directory.
	Address string
}

// Store is a directory that this process holds.
type Store struct {
	fs   FS
	dir  string
	lock io.Closer

	replayed bool
	current  *generation // that frames go to; nil: the next frame begins one
	newest   uint64      // the number of the last generation, current or not
	last     seal        // of generation newest, once it is not current; zero if it does not exist
	litter   bool        // a file of the generation after newest may be left over from a failed attempt

	appended uint64 // frames
	durable  uint64
	syncing  bool

	base       uint64 // the generation of the current snapshot; 1 without one
	olderBytes int64  // of the generations from base on, without current
	snapshot   *SnapshotWriter
	saved      Saved // the current snapshot; zero without one
}

// Open makes dir if it is not there, and locks it. It reads no file and changes none; Replay comes next.
func Open(fs FS, dir string, options Options) (*Store, error) {
	s := &Store{fs: patientFS{fs}, dir: dir, base: 1}
	if err := s.fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	holder := fmt.Sprintf("pid %d", os.Getpid())
	if options.Address != "" {
		holder += ", " + options.Address
	}
	var err error
	s.lock, err = s.fs.Lock(filepath.Join(dir, lockName), holder)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Appended is the number of the last frame in the journal.
func (s *Store) Appended() uint64 { return s.appended }

// Durable is the number of the last frame that no power loss can take away.
func (s *Store) Durable() uint64 { return s.durable }

// Generation is the number of the newest generation, 0 before the first.
func (s *Store) Generation() uint64 { return s.newest }

// JournalBytes is the length of all generations that count.
func (s *Store) JournalBytes() int64 {
	if s.current == nil {
		return s.olderBytes
	}
	return s.olderBytes + s.current.end.length
}

// unsyncedBytes is how much of the current generation is not durable.
func (s *Store) unsyncedBytes() int64 {
	if s.current == nil {
		return 0
	}
	return s.current.end.length - s.current.synced.length
}

// Append adds one frame that holds the batches' records in order, none at all for a mark that carries only the time. The
// batches together are at most FramePayloadBytesMax long. time is server time in ns since 1970.
//
// It begins a generation if there is none to append to. After an error see Appended.
func (s *Store) Append(time uint64, batches ...[]byte) error {
	s.mustBeReplayed()
	if invariants {
		checkBatches(batches)
	}
	if s.current != nil && s.current.broken {
		// A write failed here. What is whole can be kept if it can be synced; either way the next frame goes elsewhere.
		if err := s.Sync(); err != nil {
			return err
		}
		s.retire()
	}
	if s.current == nil {
		if err := s.begin(time); err != nil {
			return err
		}
	}
	if err := s.current.append(time, batches); err != nil {
		return err
	}
	s.appended++
	return nil
}

// Sync makes every appended frame durable. If it fails, the frames behind Durable are out of the journal again.
func (s *Store) Sync() error {
	ticket, ok := s.SyncStart()
	if !ok {
		return nil
	}
	return s.SyncDone(ticket, ticket.Run())
}

// SyncTicket is one half-done sync.
type SyncTicket struct {
	generation *generation
	end        seal
	frame      uint64
}

// SyncStart begins a sync of what has been appended so far; ok is false if all of it is durable. Until SyncDone nothing
// but Append may be called.
func (s *Store) SyncStart() (ticket SyncTicket, ok bool) {
	if s.syncing {
		panic("persistence: a sync is running")
	}
	if s.durable == s.appended {
		return SyncTicket{}, false
	}
	s.syncing = true
	return SyncTicket{s.current, s.current.end, s.appended}, true
}

// Run does the work, on any goroutine.
func (t SyncTicket) Run() error { return t.generation.file.Sync() }

// SyncDone ends a sync with Run's result, and returns it.
func (s *Store) SyncDone(ticket SyncTicket, err error) error {
	s.syncing = false
	if err != nil {
		s.appended = s.durable
		s.retire()
		return err
	}
	ticket.generation.synced = ticket.end
	s.durable = ticket.frame
	return nil
}

// Rotate syncs the current generation and begins the next one. If it fails, the next Append tries to begin one again.
func (s *Store) Rotate(time uint64) error {
	s.mustBeReplayed()
	if err := s.Sync(); err != nil {
		return err
	}
	if s.current != nil {
		s.retire()
	}
	return s.begin(time)
}

// retire ends the current generation. Its frames are durable, or are taken back.
//
// Invariant: once the creation of the next generation may have been attempted, nothing is appended to this one. The next
// one's header may be on disk from then on, and what it does not seal is dead.
func (s *Store) retire() {
	g := s.current
	if invariants && s.appended != s.durable {
		panic("persistence: a generation is retired with frames that are not durable")
	}
	s.last, s.olderBytes, s.current = g.synced, s.olderBytes+g.end.length, nil
	g.file.Close() // everything that counts is synced already
}

// begin makes the generation after newest current.
func (s *Store) begin(time uint64) error {
	path := filepath.Join(s.dir, fileName(journalFile, s.newest+1))
	if s.litter {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.litter = false
	}
	head := header{kind: journalFile, generation: s.newest + 1, time: time, seal: s.last}
	g, err := createGeneration(s.fs, s.dir, path, head)
	if err != nil {
		if !errors.Is(err, fs.ErrExist) { // a full disk is not to fill up with empty files
			left := s.fs.Remove(path)
			s.litter = left != nil && !errors.Is(left, fs.ErrNotExist)
		}
		return err
	}
	s.current, s.newest = g, s.newest+1
	return nil
}

// Close ends the journal with a mark and frees the directory. The mark carries the time, and is a witness that all before
// it was durable, so that damage to a journal that was closed is never taken for a torn tail. The store is closed even if
// an error is returned.
func (s *Store) Close(time uint64) error {
	var err error
	if s.snapshot != nil {
		s.snapshot.Abort()
	}
	if s.current != nil {
		if err = s.Sync(); err == nil && !s.current.broken && s.current.end.length > headerBytes {
			if err = s.Append(time); err == nil {
				err = s.Sync()
			}
		}
		if s.current != nil {
			s.retire()
		}
	}
	s.replayed = false
	return errors.Join(err, s.lock.Close())
}

func (s *Store) mustBeReplayed() {
	if !s.replayed {
		panic("persistence: the store has not been replayed, or is closed")
	}
}

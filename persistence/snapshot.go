// Writing a snapshot while the journal goes on. It is fuzzy: each key is exported at a moment of its own. That is no fault,
// because records are absolute: the journal turns to a new generation before the first key is exported, and replaying that
// generation over the snapshot brings every key to its last state.
//
// The order of things, each durable before the next begins:
//
//	1  rotate: generation N−1 is synced, N begins
//	2  snapshot.tmp: header, frames, footer, sync
//	3  the journal is synced, so that the snapshot never knows more than the journal
//	4  snapshot.tmp is renamed to snapshot-N, the directory is synced: from here on N is the base
//	5  generations and snapshots before N are removed
//
// A crash before 4 leaves the old snapshot and all generations since, after 4 the new one. Nothing is removed that either
// needs. What 5 leaves is removed at the next start or after the next snapshot.

package persistence

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// SnapshotSyncBytes is how much is written between two syncs of a snapshot under way, so that the last sync does not push
// the whole of it through the disk at once, ahead of the journal.
const SnapshotSyncBytes = 1 << 20

// Saved describes a snapshot that has become the current one.
type Saved struct {
	File       string
	Generation uint64
	Time       uint64 // server time at which it was begun, ns since 1970
	Records    uint64
	Bytes      int64
	Leftover   error // why something that it supersedes is still there; it is removed next time
}

// SnapshotWriter writes one snapshot. Append and Finish touch nothing but the temporary file and may run on another
// goroutine than the store's; Commit and Abort may not.
type SnapshotWriter struct {
	store *Store
	fs    FS
	dir   string
	file  File
	temp  string

	saved    Saved
	seed     uint32
	unsynced int64
	before   int64  // bytes of the generations that it supersedes
	lost     uint64 // the committer's losses when it was begun, which it makes good
	buffer   []byte
	err      error // the first failure; nothing works after it
	finished bool
}

// BeginSnapshot rotates the journal and begins a snapshot. The caller exports every key after it has returned.
func (s *Store) BeginSnapshot(time uint64) (*SnapshotWriter, error) {
	if s.snapshot != nil {
		return nil, ErrSnapshotRunning
	}
	if err := s.Rotate(time); err != nil {
		return nil, err
	}
	return s.createSnapshot(time)
}

// createSnapshot begins a snapshot with the generation that has just begun.
func (s *Store) createSnapshot(time uint64) (*SnapshotWriter, error) {
	w, err := newSnapshotWriter(s.fs, s.dir, s.newest, time)
	if err != nil {
		return nil, err
	}
	w.store, w.before, s.snapshot = s, s.olderBytes, w
	return w, nil
}

// newSnapshotWriter begins a snapshot that replay continues with the given generation.
func newSnapshotWriter(disk FS, dir string, generation, time uint64) (*SnapshotWriter, error) {
	w := &SnapshotWriter{fs: disk, dir: dir, temp: filepath.Join(dir, tempName)}
	if err := disk.Remove(w.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // a failed attempt left it, and the disk still does not let go of it
	}
	file, err := disk.Create(w.temp)
	if err != nil {
		return nil, err
	}
	w.file = file
	head := header{kind: snapshotFile, generation: generation, time: time}
	w.write(head.encode())
	w.seed = head.sum
	w.saved = Saved{File: fileName(snapshotFile, generation), Generation: generation, Time: time, Bytes: headerBytes}
	if w.err != nil {
		w.discard()
		return nil, w.err
	}
	return w, nil
}

// Append adds encoded records, at most FramePayloadBytesMax bytes of them. time is the server time at which they were
// true. Frames of 64 KiB and more cost next to nothing. After an error the snapshot can only be aborted.
func (w *SnapshotWriter) Append(time uint64, records []byte) error {
	count, ok := countRecords(records)
	if !ok || len(records) > FramePayloadBytesMax || w.finished {
		panic("persistence: not a batch of records, or the snapshot is finished")
	}
	if w.err != nil || count == 0 {
		return w.err
	}
	frame := append(w.buffer[:0], make([]byte, frameHeadBytes)...)
	frame = append(frame, records...)
	sealFrame(frame, w.seed, w.saved.Bytes, lagUnknown, time)
	w.buffer = frame
	w.write(frame)
	w.saved.Bytes += int64(len(frame))
	w.saved.Records += count
	if w.unsynced >= SnapshotSyncBytes {
		w.sync()
	}
	return w.err
}

func (w *SnapshotWriter) write(p []byte) {
	if w.err == nil {
		_, w.err = w.file.Write(p)
		w.unsynced += int64(len(p))
	}
}

func (w *SnapshotWriter) sync() {
	if w.err == nil {
		w.err = w.file.Sync()
		w.unsynced = 0
	}
}

// Finish writes the footer and makes the temporary file durable: the slow half of Commit.
func (w *SnapshotWriter) Finish() error {
	if w.finished {
		return w.err
	}
	w.finished = true
	w.write(footer{records: w.saved.Records, offset: w.saved.Bytes}.encode(w.seed))
	w.saved.Bytes += footerBytes
	w.sync()
	w.err = errors.Join(w.err, w.file.Close())
	return w.err
}

// Commit finishes the snapshot and makes it the current one, and removes what it supersedes. If it fails it has aborted:
// the old snapshot and the journal stay as they are.
func (w *SnapshotWriter) Commit() (Saved, error) {
	if err := w.install(); err != nil {
		return Saved{}, err
	}
	w.saved.Leftover = w.sweep()
	return w.saved, nil
}

// install is Commit without the removal.
func (w *SnapshotWriter) install() error {
	if w.store == nil || w.store.snapshot != w {
		panic("persistence: the snapshot is not under way")
	}
	err := w.Finish()
	if err == nil {
		err = w.store.Sync()
	}
	if err == nil {
		err = w.rename()
	}
	if err != nil {
		w.Abort()
		return err
	}
	w.store.snapshot = nil
	w.store.base, w.store.saved = w.saved.Generation, w.saved
	w.store.olderBytes -= w.before
	return nil
}

// rename makes the finished temporary file the snapshot of its generation.
func (w *SnapshotWriter) rename() error {
	if err := w.fs.Rename(w.temp, filepath.Join(w.dir, w.saved.File)); err != nil {
		return err
	}
	return w.fs.SyncDir(w.dir)
}

// sweep removes what the snapshot supersedes.
func (w *SnapshotWriter) sweep() error {
	v, err := takeSurvey(w.fs, w.dir)
	if err != nil {
		return err
	}
	_, err = v.sweep(w.fs)
	return err
}

// Abort gives the snapshot up. After Commit it does nothing, so that it can be deferred.
func (w *SnapshotWriter) Abort() {
	if w.store == nil || w.store.snapshot != w {
		return
	}
	w.store.snapshot = nil
	w.discard()
}

// discard removes the temporary file as well as it can. One that stays is removed by the next snapshot or at the next
// start.
func (w *SnapshotWriter) discard() {
	if !w.finished {
		w.finished = true
		w.file.Close()
	}
	w.fs.Remove(w.temp)
}

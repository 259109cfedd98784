// The file-system seam: what this package asks of a disk, and no more. Nothing here truncates or writes into the middle
// of a file: every file is written once, front to back, and then only read, renamed or removed. That is what makes the
// crash model small enough to test exhaustively (package faultfs).
//
// Between the seam and everything else stands patientFS: the one place that knows that a system call may be interrupted
// (EINTR) and that a write or a read may be shorter than asked. It goes on where the call left off, so no byte is written
// twice, and it gives up after a bounded number of attempts that make no progress.

package persistence

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"syscall"
)

// IdleAttemptsMax is how often a call that makes no progress is repeated before its error counts.
const IdleAttemptsMax = 100

// FS is a file system. Paths are those of path/filepath. Implementations need not repeat interrupted calls.
type FS interface {
	// MkdirAll makes a directory and what leads to it, durably; it is no error if it exists.
	MkdirAll(dir string) error
	// ReadDir lists a directory in any order.
	ReadDir(dir string) ([]Entry, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Create makes a new file for writing; it fails with fs.ErrExist if the name is taken.
	Create(path string) (File, error)
	// Rename gives a file another name at once, replacing what bears it.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes the lock file at path, or fails with *LockedError, and writes LockPrefix and holder into it. It refuses
	// with *ForeignError a file that is not LockFile. Closing the lock frees it and leaves the file.
	Lock(path, holder string) (io.Closer, error)
}

// File is an open file: either for reading or for writing at its end.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync returns when everything written is durable. After it has failed, what was written since the last success may
	// be gone even if a later Sync succeeds.
	Sync() error
	// Size is the file's length in bytes.
	Size() (int64, error)
}

// Entry is one name in a directory.
type Entry struct {
	Name    string
	Size    int64
	Regular bool // an ordinary file: no directory, link, socket
}

// LockPrefix begins every lock file of ours.
const LockPrefix = "sluice "

// LockFile reports whether a lock file's content is ours: what we write, or what a power loss makes of it.
func LockFile(content []byte) bool {
	begin := bytes.TrimRight(content, "\x00")
	begin = begin[:min(len(begin), len(LockPrefix))]
	return string(begin) == LockPrefix[:len(begin)]
}

// LockHolder is what the holder wrote about itself.
func LockHolder(content []byte) string {
	return string(bytes.TrimSpace(bytes.TrimPrefix(bytes.Trim(content, "\x00"), []byte(LockPrefix))))
}

// patientFS repeats interrupted calls of the file system below.
type patientFS struct{ below FS }

// persist calls f until it is no longer interrupted.
func persist(f func() error) error {
	err := f()
	for attempt := 1; errors.Is(err, syscall.EINTR) && attempt < IdleAttemptsMax; attempt++ {
		err = f()
	}
	return err
}

func (p patientFS) MkdirAll(dir string) error {
	return wrap("mkdir", dir, persist(func() error { return p.below.MkdirAll(dir) }))
}

func (p patientFS) ReadDir(dir string) (entries []Entry, err error) {
	err = persist(func() error { entries, err = p.below.ReadDir(dir); return err })
	return entries, wrap("readdir", dir, err)
}

func (p patientFS) Open(path string) (File, error) {
	return p.file("open", path, p.below.Open)
}

func (p patientFS) Create(path string) (File, error) {
	return p.file("create", path, p.below.Create)
}

func (p patientFS) file(op, path string, open func(string) (File, error)) (file File, err error) {
	err = persist(func() error { file, err = open(path); return err })
	if err != nil {
		return nil, wrap(op, path, err)
	}
	return &patientFile{file, path}, nil
}

func (p patientFS) Rename(from, to string) error {
	return wrap("rename", from, persist(func() error { return p.below.Rename(from, to) }))
}

func (p patientFS) Remove(path string) error {
	return wrap("remove", path, persist(func() error { return p.below.Remove(path) }))
}

func (p patientFS) SyncDir(dir string) error {
	return wrap("syncdir", dir, persist(func() error { return p.below.SyncDir(dir) }))
}

func (p patientFS) Lock(path, holder string) (lock io.Closer, err error) {
	err = persist(func() error { lock, err = p.below.Lock(path, holder); return err })
	var locked *LockedError
	var foreign *ForeignError
	if errors.As(err, &locked) || errors.As(err, &foreign) {
		return nil, err
	}
	return lock, wrap("lock", path, err)
}

// patientFile does the same for a file.
type patientFile struct {
	below File
	path  string
}

// Write writes all of data, going on after interruptions and short writes from where they left off.
func (f *patientFile) Write(data []byte) (int, error) {
	n, err := transfer(data, f.below.Write)
	return n, wrap("write", f.path, err)
}

// ReadAt fills data, or fails with io.ErrUnexpectedEOF when the file is shorter than its size said.
func (f *patientFile) ReadAt(data []byte, offset int64) (int, error) {
	done := offset
	n, err := transfer(data, func(rest []byte) (int, error) {
		n, err := f.below.ReadAt(rest, done)
		done += int64(n)
		if err == io.EOF && n > 0 {
			err = nil
		}
		return n, err
	})
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, wrap("read", f.path, err)
}

// transfer moves all of data through some, which may move less than it is given.
func transfer(data []byte, some func([]byte) (int, error)) (done int, err error) {
	for idle := 0; done < len(data); {
		n, err := some(data[done:])
		done += n
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return done, err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle == IdleAttemptsMax {
			return done, cmp.Or(err, io.ErrNoProgress)
		}
	}
	return done, nil
}

func (f *patientFile) Sync() error {
	return wrap("sync", f.path, persist(f.below.Sync))
}

func (f *patientFile) Size() (size int64, err error) {
	err = persist(func() error { size, err = f.below.Size(); return err })
	return size, wrap("size", f.path, err)
}

// Close is not repeated: after an interruption the descriptor is free already.
func (f *patientFile) Close() error {
	if err := f.below.Close(); !errors.Is(err, syscall.EINTR) {
		return wrap("close", f.path, err)
	}
	return nil
}

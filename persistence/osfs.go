// The operating system's file system behind the seam. Files are made with O_EXCL, so that nothing is ever overwritten by
// accident, and readable by their owner alone: keys may be names of people.

package persistence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
	// lockHolderBytesMax bounds what is read of a lock file.
	lockHolderBytesMax = 4 << 10
)

// OS is the operating system's file system.
type OS struct{}

var _ FS = OS{}

// MkdirAll makes what is missing and syncs each directory in which a name was added.
func (OS) MkdirAll(dir string) error {
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	for _, made := range missing {
		if err := (OS{}).SyncDir(filepath.Dir(made)); err != nil {
			return err
		}
	}
	return nil
}

// ReadDir lists dir. A name that vanishes meanwhile is left out.
func (OS) ReadDir(dir string) ([]Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		info, err := name.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{name.Name(), info.Size(), info.Mode().IsRegular()})
	}
	return entries, nil
}

// Open opens a file for reading.
func (OS) Open(path string) (File, error) {
	return openOS(path, os.O_RDONLY)
}

// Create makes a new file that only its owner may read.
func (OS) Create(path string) (File, error) {
	return openOS(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

func openOS(path string, flags int) (File, error) {
	f, err := os.OpenFile(path, flags, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename is the operating system's, which replaces what bears the name.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncDir makes the names in a directory durable.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock takes an advisory lock that the kernel frees when the process ends, however it ends. So a lock file that a killed
// process left behind is no obstacle.
func (OS) Lock(path, holder string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lockAndSign(f, path, holder); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockAndSign(f *os.File, path, holder string) error {
	taken, err := tryLock(f)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, lockHolderBytesMax))
	if err != nil {
		return err
	}
	if !taken {
		return &LockedError{Path: path, Holder: LockHolder(content)}
	}
	if !LockFile(content) {
		return &ForeignError{Path: path, What: fmt.Sprintf("it does not begin with %q", LockPrefix)}
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(LockPrefix+holder+"\n"), 0)
	return err
}

// osFile is an *os.File with a cheaper Sync where the system has one.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

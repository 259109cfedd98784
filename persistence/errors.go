// The reasons for which a directory is not opened. Each is a type, because a caller acts on them differently (exit, name
// the repair command, say who holds the lock), and each says which file. None of them ever leaves a change on disk.

package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// DamageError says that a file of ours is damaged in a place where no crash can have torn it.
type DamageError struct {
	Path   string
	Offset int64 // of the first byte that is wrong, as far as can be told
	What   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("read %s: damaged at byte %d: %s", e.Path, e.Offset, e.What)
}

// MissingError says that a file is missing between others.
type MissingError struct {
	Path string
	What string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("read %s: missing: %s", e.Path, e.What)
}

// VersionError says that a newer version of this package wrote a file.
type VersionError struct {
	Path    string
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("read %s: written in format %d by a newer version; this one reads formats up to %d",
		e.Path, e.Version, FormatVersion)
}

// ForeignError says that a file bears one of our names and is not ours.
type ForeignError struct {
	Path string
	What string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("read %s: not a file of this server: %s", e.Path, e.What)
}

// LockedError says that another process holds the directory.
type LockedError struct {
	Path   string
	Holder string // what the holder wrote about itself, or ""
}

func (e *LockedError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("lock %s: held by %s", e.Path, holder)
}

// isVerdict reports whether err says what is wrong with a directory, rather than that the disk failed.
func isVerdict(err error) bool {
	var damaged *DamageError
	var missing *MissingError
	return errors.As(err, &damaged) || errors.As(err, &missing) || isNotOurs(err)
}

// isNotOurs reports whether err says that a file is to be left alone: it is foreign, or a newer version's.
func isNotOurs(err error) bool {
	var foreign *ForeignError
	var newer *VersionError
	return errors.As(err, &foreign) || errors.As(err, &newer)
}

// ErrSnapshotRunning answers a second snapshot while one is being written.
var ErrSnapshotRunning = errors.New("a snapshot is already being written")

// ErrClosed answers what comes after Close.
var ErrClosed = errors.New("the journal is closed")

// wrap names the operation and the path of a failure, unless the cause names them already.
func wrap(op, path string, err error) error {
	var named *fs.PathError
	var renamed *os.LinkError
	if err == nil || errors.As(err, &named) || errors.As(err, &renamed) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

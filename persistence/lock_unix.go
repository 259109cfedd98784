// flock(2): the lock belongs to the open file, so two openings in one process exclude each other as well.

//go:build unix && !solaris && !aix && !illumos

package persistence

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on f; taken is false if someone else has it.
func tryLock(f *os.File) (taken bool, err error) {
	err = persist(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return true, nil
}

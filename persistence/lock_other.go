// Where there is no flock nothing keeps two servers apart, and so no directory is opened.

//go:build !unix || solaris || aix || illumos

package persistence

import (
	"errors"
	"os"
)

func tryLock(f *os.File) (taken bool, err error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}

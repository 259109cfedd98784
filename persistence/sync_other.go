// Elsewhere than on Linux the standard library's Sync is used; on macOS it also empties the drive's cache.

//go:build !linux

package persistence

import "os"

func syncData(f *os.File) error { return f.Sync() }

// An open file. It is the node, so that a rename or a removal leaves it usable, as on Unix.

package faultfs

import (
	"io"
	"syscall"
)

type file struct {
	fs   *FS
	node *node
	path string
}

// ReadAt reads from what is seen.
func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	fault := f.fs.enter(OpRead, f.path)
	defer f.fs.mu.Unlock()
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	if fault != nil {
		if fault.Err != nil {
			return 0, pathError(OpRead, f.path, fault.Err)
		}
		p = p[:max(1, len(p)/2)]
	}
	if n = copy(p, f.node.data[offset:]); n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Write appends. Before it fails it writes one half.
func (f *file) Write(p []byte) (n int, err error) {
	fault := f.fs.enter(OpWrite, f.path)
	defer f.fs.mu.Unlock()
	n = len(p)
	if fault != nil {
		n, err = len(p)/2, fault.Err
		switch {
		case err == nil:
			n = max(1, n)
		case err == ErrCrashed && fault.met > fault.Call:
			n = 0
		}
	}
	if room := f.fs.capacity - f.fs.used(); f.fs.capacity >= 0 && int64(n) > room {
		n, err = int(max(0, room)), syscall.ENOSPC
	}
	f.node.write(p[:n])
	if err != nil {
		err = pathError(OpWrite, f.path, err)
	}
	return n, err
}

// Sync makes what is written durable, or dooms it.
func (f *file) Sync() error {
	fault := f.fs.enter(OpSync, f.path)
	defer f.fs.mu.Unlock()
	if fault != nil && fault.Err != nil {
		if fault.Err != syscall.EINTR && fault.Err != ErrCrashed {
			f.node.doom()
		}
		return pathError(OpSync, f.path, fault.Err)
	}
	f.node.sync()
	return nil
}

// Size is the length that is seen.
func (f *file) Size() (int64, error) {
	defer f.fs.mu.Unlock()
	if err := f.fs.begin(OpSize, f.path); err != nil {
		return 0, err
	}
	return int64(len(f.node.data)), nil
}

func (f *file) Close() error {
	defer f.fs.mu.Unlock()
	return f.fs.begin(OpClose, f.path)
}

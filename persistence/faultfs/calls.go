// The calls of the seam, and the faults that meet them. Every call passes enter, which counts it and finds the fault that
// is meant for it.

package faultfs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sluice/persistence"
)

// Op is a kind of call.
type Op string

// The calls that can fail, as FS and File have them.
const (
	OpMkdir   Op = "mkdir"
	OpReadDir Op = "readdir"
	OpOpen    Op = "open"
	OpCreate  Op = "create"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpSyncDir Op = "syncdir"
	OpLock    Op = "lock"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpSize    Op = "size"
	OpClose   Op = "close"
)

// Fault makes calls fail.
type Fault struct {
	// Call is which call fails, counted from the moment at which the fault is set, from 1 on, among those of Op.
	Call int
	// Op restricts the fault to one kind of call; "" is every kind.
	Op Op
	// Path restricts it to paths that contain this.
	Path string
	// Err is what the call answers. A write moves half of its bytes first. Nil makes reads and writes short, without an
	// error, and leaves other calls alone.
	Err error
	// Sticky makes all later calls fail as well.
	Sticky bool

	met int
}

// ErrCrashed is what every call answers once the machine or the process is dead. Unlike other errors it leaves nothing
// behind: a failed Sync dooms no sector. A write that dies moves the half of its bytes, later ones move none.
var ErrCrashed = errors.New("crashed")

// Crash is the fault that ends everything at the given call from now on, before Kill or PowerLoss.
func Crash(call int) Fault { return Fault{Call: call, Err: ErrCrashed, Sticky: true} }

// SetFaults replaces all faults; none heals the disk. The faults are copied.
func (f *FS) SetFaults(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
	for _, fault := range faults {
		f.faults = append(f.faults, &fault)
	}
}

// SetHook has every call announced to hook before it happens, without any lock held, so that hook may wait.
func (f *FS) SetHook(hook func(op Op, path string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Calls is how many calls there have been.
func (f *FS) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// enter begins a call and returns the fault that meets it, or nil. It takes the lock.
func (f *FS) enter(op Op, path string) *Fault {
	f.mu.Lock()
	if hook := f.hook; hook != nil {
		f.mu.Unlock()
		hook(op, path)
		f.mu.Lock()
	}
	f.calls++
	var met *Fault
	for _, fault := range f.faults {
		if fault.Op != "" && fault.Op != op || !strings.Contains(path, fault.Path) {
			continue
		}
		fault.met++
		if met == nil && (fault.met == fault.Call || fault.Sticky && fault.met > fault.Call) {
			met = fault
		}
	}
	return met
}

// begin is enter for calls that a fault without an error does not touch.
func (f *FS) begin(op Op, path string) error {
	if fault := f.enter(op, path); fault != nil && fault.Err != nil {
		return pathError(op, path, fault.Err)
	}
	return nil
}

func pathError(op Op, path string, err error) error {
	return &fs.PathError{Op: string(op), Path: path, Err: err}
}

// MkdirAll makes a directory, durably.
func (f *FS) MkdirAll(dir string) error {
	defer f.mu.Unlock()
	if err := f.begin(OpMkdir, dir); err != nil {
		return err
	}
	f.dirs[filepath.Clean(dir)] = true
	return nil
}

// ReadDir lists a directory, sorted, so that the calls that follow are the same every time.
func (f *FS) ReadDir(dir string) (entries []persistence.Entry, err error) {
	defer f.mu.Unlock()
	if err := f.begin(OpReadDir, dir); err != nil {
		return nil, err
	}
	dir = filepath.Clean(dir)
	if !f.dirs[dir] {
		return nil, pathError(OpReadDir, dir, fs.ErrNotExist)
	}
	for path, n := range f.names {
		if filepath.Dir(path) == dir {
			entries = append(entries, persistence.Entry{Name: filepath.Base(path), Size: int64(len(n.data)), Regular: true})
		}
	}
	for path := range f.dirs {
		if filepath.Dir(path) == dir && path != dir {
			entries = append(entries, persistence.Entry{Name: filepath.Base(path)})
		}
	}
	slices.SortFunc(entries, func(a, b persistence.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// Open opens a file for reading.
func (f *FS) Open(path string) (persistence.File, error) {
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	if err := f.begin(OpOpen, path); err != nil {
		return nil, err
	}
	n, ok := f.names[path]
	if !ok {
		return nil, pathError(OpOpen, path, fs.ErrNotExist)
	}
	return &file{f, n, path}, nil
}

// Create makes a file.
func (f *FS) Create(path string) (persistence.File, error) {
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	if err := f.begin(OpCreate, path); err != nil {
		return nil, err
	}
	if f.names[path] != nil || f.dirs[path] {
		return nil, pathError(OpCreate, path, fs.ErrExist)
	}
	if !f.dirs[filepath.Dir(path)] {
		return nil, pathError(OpCreate, path, fs.ErrNotExist)
	}
	n := newNode(nil)
	f.names[path] = n
	f.pending = append(f.pending, change{link: path, node: n})
	return &file{f, n, path}, nil
}

// Rename gives a file another name.
func (f *FS) Rename(from, to string) error {
	defer f.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	if err := f.begin(OpRename, from); err != nil {
		return err
	}
	n, ok := f.names[from]
	if !ok {
		return pathError(OpRename, from, fs.ErrNotExist)
	}
	delete(f.names, from)
	f.names[to] = n
	f.pending = append(f.pending, change{unlink: from, link: to, node: n})
	return nil
}

// Remove removes a name.
func (f *FS) Remove(path string) error {
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	if err := f.begin(OpRemove, path); err != nil {
		return err
	}
	n, ok := f.names[path]
	if !ok {
		return pathError(OpRemove, path, fs.ErrNotExist)
	}
	delete(f.names, path)
	f.pending = append(f.pending, change{unlink: path, node: n})
	return nil
}

// SyncDir makes the names in dir durable.
func (f *FS) SyncDir(dir string) error {
	defer f.mu.Unlock()
	if err := f.begin(OpSyncDir, dir); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	var others []change
	for _, c := range f.pending {
		if filepath.Dir(cmp.Or(c.link, c.unlink)) == dir {
			apply(f.durable, c)
		} else {
			others = append(others, c)
		}
	}
	f.pending = others
	return nil
}

// apply makes one change to names.
func apply(names map[string]*node, c change) {
	if c.unlink != "" && names[c.unlink] == c.node {
		delete(names, c.unlink)
	}
	if c.link != "" {
		names[c.link] = c.node
	}
}

// Lock takes a lock that Kill and PowerLoss free.
func (f *FS) Lock(path, holder string) (io.Closer, error) {
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	if err := f.begin(OpLock, path); err != nil {
		return nil, err
	}
	n := f.names[path]
	if f.locks[path] {
		return nil, &persistence.LockedError{Path: path, Holder: persistence.LockHolder(n.data)}
	}
	if n == nil {
		n = newNode(nil)
		f.names[path] = n
		f.pending = append(f.pending, change{link: path, node: n})
	}
	if !persistence.LockFile(n.data) {
		return nil, &persistence.ForeignError{Path: path, What: "it is not a lock file"}
	}
	n.data = nil
	n.write([]byte(persistence.LockPrefix + holder + "\n"))
	f.locks[path] = true
	return lock{f, path}, nil
}

type lock struct {
	fs   *FS
	path string
}

func (l lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locks, l.path)
	return nil
}

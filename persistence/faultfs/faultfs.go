// Package faultfs is a file system in memory that fails and crashes on purpose, for tests of what lies above
// persistence.FS. It implements the seam and nothing else.
//
// A file has two contents: the one that readers see, and the one that a power loss leaves at least. A write changes the
// first; Sync carries it over, 512-byte sector by sector. A directory has two states in the same way, and SyncDir carries
// names over. PowerLoss makes the disk that a machine finds after the power has failed: what was synced, and of the rest
// whatever chance decides: sectors dropped, kept out of order, or filled with zeros, names made, replaced or removed or
// not. Kill makes the disk that a killed process leaves: everything written is there.
//
// After a failed Sync the unsynced sectors are doomed: readers still see them, but no later Sync makes them durable, as on
// Linux, where the kernel drops what it could not write and calls the pages clean. Writing to such a sector again
// saves it.
//
// Everything random comes from a seed. A mutex makes an FS safe for several goroutines.
package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"sluice/persistence"
)

// SectorBytes is the unit in which a disk writes: a sector is there or not.
const SectorBytes = 512

// FS is a file system in memory.
type FS struct {
	mu      sync.Mutex
	rand    *rand.Rand
	names   map[string]*node // what a reader sees
	durable map[string]*node // what a power loss leaves at least
	pending []change         // to names, since the last SyncDir of their directory
	dirs    map[string]bool
	locks   map[string]bool

	calls    int
	faults   []*Fault
	hook     func(Op, string)
	capacity int64 // bytes; negative: no limit
}

// node is a file, under whatever names.
type node struct {
	data    []byte
	durable []byte
	dirty   map[int]bool // sectors that were written since the last Sync that worked
	doomed  map[int]bool // sectors that a failed Sync has dropped
}

// change is one change of a name: link, unlink, or both at once.
type change struct {
	unlink string // a name that goes, or ""
	link   string // a name that comes, or ""
	node   *node
}

var _ persistence.FS = (*FS)(nil)

// New makes an empty disk of unlimited size. The seed decides what failures leave behind.
func New(seed uint64) *FS {
	return &FS{
		rand:     rand.New(rand.NewPCG(seed, 0x51aece)),
		names:    map[string]*node{},
		durable:  map[string]*node{},
		dirs:     map[string]bool{},
		locks:    map[string]bool{},
		capacity: -1,
	}
}

// SetCapacity limits the bytes of all files together; a negative number lifts the limit.
func (f *FS) SetCapacity(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// Used is the bytes of all files together.
func (f *FS) Used() (bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used()
}

func (f *FS) used() (bytes int64) {
	for _, n := range f.names {
		bytes += int64(len(n.data))
	}
	return bytes
}

// Names lists the files in dir, sorted.
func (f *FS) Names(dir string) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path := range f.names {
		if filepath.Dir(path) == filepath.Clean(dir) {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return names
}

// ReadFile returns what a file holds.
func (f *FS) ReadFile(path string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.names[filepath.Clean(path)]
	if !ok {
		return nil, pathError(OpOpen, path, fs.ErrNotExist)
	}
	return slices.Clone(n.data), nil
}

// WriteFile puts a file there, durably, past all faults.
func (f *FS) WriteFile(path string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	n := newNode(data)
	f.names[path], f.durable[path] = n, n
	f.dirs[filepath.Dir(path)] = true
}

// RemoveFile takes a file away, durably, past all faults.
func (f *FS) RemoveFile(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path = filepath.Clean(path)
	delete(f.names, path)
	delete(f.durable, path)
}

func newNode(data []byte) *node {
	return &node{data: slices.Clone(data), durable: slices.Clone(data), dirty: map[int]bool{}, doomed: map[int]bool{}}
}

// sectors are those that the bytes from offset to end touch.
func sectors(offset, end int) (first, last int) {
	return offset / SectorBytes, (end - 1) / SectorBytes
}

// write appends data to the node.
func (n *node) write(data []byte) {
	if len(data) == 0 {
		return
	}
	first, last := sectors(len(n.data), len(n.data)+len(data))
	n.data = append(n.data, data...)
	for s := first; s <= last; s++ {
		n.dirty[s] = true
		delete(n.doomed, s)
	}
}

// sync makes the dirty sectors durable.
func (n *node) sync() {
	for s := range n.dirty {
		n.durable = keep(n.durable, n.data, s)
	}
	if len(n.durable) < len(n.data) { // a doomed tail: the length is durable, the bytes are not
		n.durable = append(n.durable, make([]byte, len(n.data)-len(n.durable))...)
	}
	clear(n.dirty)
}

// doom gives the dirty sectors up.
func (n *node) doom() {
	for s := range n.dirty {
		n.doomed[s] = true
	}
	clear(n.dirty)
}

// keep copies one sector of data into image, which grows with zero bytes as far as it must.
func keep(image, data []byte, sector int) []byte {
	from, to := sector*SectorBytes, min((sector+1)*SectorBytes, len(data))
	if from >= to {
		return image
	}
	if len(image) < to {
		image = append(image, make([]byte, to-len(image))...)
	}
	copy(image[from:to], data[from:to])
	return image
}

// What a crash leaves. The images are disks of their own, healed and unlocked; the disk that they are made from is not
// changed, so that one history gives as many images as one likes.

package faultfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Kill is the disk after the process was killed: everything written is there, synced or not.
func (f *FS) Kill() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	image := New(f.rand.Uint64())
	image.capacity = f.capacity
	maps.Copy(image.dirs, f.dirs)
	copies := map[*node]*node{}
	copied := func(n *node) *node {
		if copies[n] == nil {
			copies[n] = &node{slices.Clone(n.data), slices.Clone(n.durable), maps.Clone(n.dirty), maps.Clone(n.doomed)}
		}
		return copies[n]
	}
	for path, n := range f.names {
		image.names[path] = copied(n)
	}
	for path, n := range f.durable {
		image.durable[path] = copied(n)
	}
	for _, c := range f.pending {
		image.pending = append(image.pending, change{c.unlink, c.link, copied(c.node)})
	}
	return image
}

// PowerLoss is the disk after the power failed: what was synced, and of the rest what chance decides.
func (f *FS) PowerLoss(seed uint64) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := rand.New(rand.NewPCG(seed, 0xdead))
	image := New(r.Uint64())
	image.capacity = f.capacity
	maps.Copy(image.dirs, f.dirs)

	names := maps.Clone(f.durable)
	// A journaling file system keeps the first so many changes of names; a simpler one keeps any of them.
	first, any := r.IntN(len(f.pending)+1), r.IntN(2) == 0
	for i, c := range f.pending {
		if any && r.IntN(2) == 0 || !any && i < first {
			apply(names, c)
		}
	}
	lost := map[*node]*node{}
	for _, path := range slices.Sorted(maps.Keys(names)) {
		n := names[path]
		if lost[n] == nil {
			lost[n] = newNode(n.powerLoss(r))
		}
		image.names[path], image.durable[path] = lost[n], lost[n]
	}
	return image
}

// powerLoss is what is left of a file.
func (n *node) powerLoss(r *rand.Rand) []byte {
	image := slices.Clone(n.durable)
	dirty := slices.Sorted(maps.Keys(n.dirty))
	style := r.IntN(5)
	tear := r.IntN(len(dirty) + 1)
	for i, s := range dirty {
		keeps := false
		switch style {
		case 0: // everything is dropped
		case 1: // everything is kept
			keeps = true
		case 2: // torn: the first so many sectors are kept
			keeps = i < tear
		default: // reordered: any sectors are kept, zero bytes between them
			keeps = r.IntN(2) == 0
		}
		if keeps {
			image = keep(image, n.data, s)
		}
	}
	// The length is kept by itself: a file may end before its last kept sector, or go on with zero bytes.
	if longer := len(n.data) - len(n.durable); longer > 0 && style != 1 {
		switch length := len(n.durable) + r.IntN(longer+1); {
		case r.IntN(2) == 0:
		case length <= len(image):
			image = image[:length]
		default:
			image = append(image, make([]byte, length-len(image))...)
		}
	}
	return image
}

// A survey is the first look at a directory: which files there are, which of them count, and what their headers say. It
// reads nothing but headers and changes nothing. Replay, Check and Repair all begin with one, so that they agree about
// what a directory means.
//
// What counts is the newest snapshot and the generations from its own on; without a snapshot, all generations from the
// first on. What is older is superseded: a crash came between the renaming of the snapshot and the removal of what it
// replaces.

package persistence

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
)

// part is one data file.
type part struct {
	name       string
	path       string
	kind       fileKind
	generation uint64
	size       int64
	head       header
	err        error // why the file cannot be read beyond its header
	hollow     bool  // a journal whose header was never written to its end; it holds nothing
}

// survey is what a directory holds.
type survey struct {
	dir        string
	snapshot   *part  // the newest, or nil
	journals   []part // those that count, oldest first, the hollow one left out
	hollow     *part  // the newest generation, if it is hollow
	superseded []part
	temp       bool // a temporary snapshot is left over
}

// takeSurvey looks at dir. The error is the disk's; what is wrong with a file is kept with it.
func takeSurvey(fs FS, dir string) (*survey, error) {
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	v := &survey{dir: dir}
	var snapshots, journals []part
	for _, e := range entries {
		if e.Name == tempName && e.Regular {
			v.temp = true
		}
		kind, generation, ok := parseName(e.Name)
		if !ok {
			continue
		}
		p := part{name: e.Name, path: filepath.Join(dir, e.Name), kind: kind, generation: generation, size: e.Size}
		if err := p.look(fs, e.Regular); err != nil {
			return nil, err
		}
		if kind == snapshotFile {
			snapshots = append(snapshots, p)
		} else {
			journals = append(journals, p)
		}
	}
	byGeneration := func(a, b part) int { return cmp.Compare(a.generation, b.generation) }
	slices.SortFunc(snapshots, byGeneration)
	slices.SortFunc(journals, byGeneration)
	if n := len(snapshots); n > 0 {
		v.snapshot = &snapshots[n-1]
		v.superseded = slices.Clip(snapshots[:n-1])
	}
	for len(journals) > 0 && journals[0].generation < v.base() {
		v.superseded = append(v.superseded, journals[0])
		journals = journals[1:]
	}
	if n := len(journals); n > 0 && journals[n-1].hollow {
		v.hollow = &journals[n-1]
		journals = journals[:n-1]
	}
	for i := range journals {
		if p := &journals[i]; p.hollow {
			p.err = &DamageError{Path: p.path, What: "the header is not there, and the generation is not the newest"}
			p.hollow = false
		}
	}
	v.journals = journals
	return v, nil
}

// look reads the header.
func (p *part) look(fs FS, regular bool) error {
	if !regular {
		p.err = &ForeignError{Path: p.path, What: "it is not an ordinary file"}
		return nil
	}
	r, err := openReader(fs, p.path)
	if err != nil {
		return err
	}
	defer r.close()
	p.size = r.size
	first := make([]byte, min(r.size, headerBytes))
	if _, err := r.file.ReadAt(first, 0); err != nil {
		return err
	}
	p.head, p.err = decodeHeader(p.path, p.kind, p.generation, first)
	if _, newer := p.err.(*VersionError); p.err == nil || newer || p.kind != journalFile || !isHollow(first, p.size) {
		return nil
	}
	if p.hollow, err = r.zeroFrom(headerBytes); p.hollow {
		p.err = nil
	}
	return err
}

// zeroFrom reports whether the file holds nothing but zero bytes from offset on.
func (r *reader) zeroFrom(offset int64) (bool, error) {
	for offset < r.size {
		n := int(min(r.size-offset, WindowBytesMin))
		p, err := r.at(offset, n)
		if err != nil || !allZero(p) {
			return false, err
		}
		offset += int64(n)
	}
	return true, nil
}

// base is the generation with which replay begins.
func (v *survey) base() uint64 {
	if v.snapshot != nil {
		return v.snapshot.generation
	}
	return 1
}

// newest is the last generation that exists and is not hollow, or would be the one before base.
func (v *survey) newest() uint64 {
	if n := len(v.journals); n > 0 {
		return v.journals[n-1].generation
	}
	return v.base() - 1
}

// bytes is the length of all that counts.
func (v *survey) bytes() (total int64) {
	if v.snapshot != nil {
		total = v.snapshot.size
	}
	for _, p := range v.journals {
		total += p.size
	}
	return total
}

// problems lists what headers and names alone show to be wrong. Without any, replay may begin.
func (v *survey) problems() (list []error) {
	if v.snapshot != nil && v.snapshot.err != nil {
		list = append(list, v.snapshot.err)
	}
	chain := v.journals
	if v.hollow != nil {
		chain = append(slices.Clip(chain), *v.hollow)
	}
	expected := v.base()
	for i, p := range chain {
		unsealed := i > 0 && p.generation == expected && p.head.seal.length == 0
		switch {
		case p.generation != expected && i == 0 && v.snapshot == nil:
			list = append(list, v.missing(snapshotFile, p.generation, p))
		case p.generation != expected:
			list = append(list, v.missing(journalFile, expected, p))
		}
		switch {
		case p.hollow:
		case p.err != nil:
			list = append(list, p.err)
		case unsealed:
			list = append(list, &DamageError{Path: p.path, What: "the header does not seal the generation before"})
		}
		expected = p.generation + 1
	}
	return list
}

// missing says that a file is not there although next is.
func (v *survey) missing(kind fileKind, generation uint64, next part) error {
	return &MissingError{
		Path: filepath.Join(v.dir, fileName(kind, generation)),
		What: fmt.Sprintf("%s is there and needs what came before it", next.name),
	}
}

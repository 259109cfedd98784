// Replay: the newest snapshot, which must be whole, and then the generations since, in order. It reads everything before
// it changes anything; if something is wrong, the directory stays as it was, byte for byte.
//
// Only the end of the newest generation may be torn. Every other generation has a successor whose header seals it, and
// the seal was written when all it covers was durable. What lies behind a seal is dead, whatever it is.
//
// Nothing is cut off on disk. The next generation's header seals the torn one where its whole frames end, so that the
// torn bytes stay for whoever wants to look at them until a snapshot supersedes the generation.

package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

const (
	// ReplayRecordsMax is how many records replay hands over at once.
	ReplayRecordsMax = 4096
	// progressBytes is how far replay gets between two reports of progress.
	progressBytes = 4 << 20
)

// Recovery says what a replay found.
type Recovery struct {
	Snapshot        string // the file's name, "" without one
	SnapshotTime    uint64 // server time at which it was begun, ns since 1970
	SnapshotRecords uint64
	SnapshotBytes   int64
	Generations     int
	JournalRecords  uint64
	JournalBytes    int64
	LastTime        uint64 // the latest server time on record, ns since 1970; 0 without any
	Cuts            []Cut  // torn tails, none after an orderly stop
	Removed         []string
}

// Cut is a torn tail: bytes that were never durable and no longer count.
type Cut struct {
	File   string // name in the directory
	Offset int64
	Bytes  int64
	What   string
}

func (c Cut) String() string {
	return fmt.Sprintf("%s: cut %d bytes at byte %d: %s", c.File, c.Bytes, c.Offset, c.What)
}

// Replay hands every record over, in order, as many of a frame at once as ReplayRecordsMax allows: who has many can let
// his waits for memory overlap. They are good until apply returns. progress, if not nil, is told now
// and then how many bytes of how many are done. After an error the store can only be closed, and what apply has built is
// void. The error is apply's, the disk's, or a *DamageError, *MissingError, *VersionError or *ForeignError.
func (s *Store) Replay(apply func([]Record) error, progress func(done, total int64)) (Recovery, error) {
	if s.replayed {
		panic("persistence: replayed twice")
	}
	v, err := takeSurvey(s.fs, s.dir)
	if err != nil {
		return Recovery{}, err
	}
	if problems := v.problems(); len(problems) > 0 {
		return Recovery{}, problems[0]
	}
	if progress == nil {
		progress = func(done, total int64) {}
	}
	p := &replayer{fs: s.fs, apply: apply, progress: progress, total: v.bytes()}
	if err := p.all(v); err != nil {
		return Recovery{}, err
	}
	s.base, s.newest, s.last, s.olderBytes = v.base(), v.newest(), p.last, p.found.JournalBytes
	if f := v.snapshot; f != nil {
		s.saved = Saved{f.name, f.generation, f.head.time, p.found.SnapshotRecords, f.size, nil}
	}
	// Names that were read may not be durable yet, if only the process was killed; nothing they supersede goes before.
	if err := s.fs.SyncDir(s.dir); err != nil {
		return Recovery{}, err
	}
	p.found.Removed, err = s.clean(v)
	if err != nil {
		return Recovery{}, err
	}
	s.replayed = true
	return p.found, nil
}

// clean removes what a crash left over: a temporary snapshot, the files that a snapshot superseded, a hollow generation.
func (s *Store) clean(v *survey) (removed []string, err error) {
	if v.temp {
		if err := s.fs.Remove(filepath.Join(s.dir, tempName)); err != nil {
			return removed, err
		}
		removed = append(removed, tempName)
	}
	if v.hollow != nil {
		if err := s.fs.Remove(v.hollow.path); err != nil {
			return removed, err
		}
		removed = append(removed, v.hollow.name)
	}
	swept, err := v.sweep(s.fs)
	return append(removed, swept...), err
}

// sweep removes the superseded files. One that is not ours, or newer, stays.
func (v *survey) sweep(disk FS) (removed []string, err error) {
	for _, p := range v.superseded {
		if isNotOurs(p.err) {
			continue
		}
		if err := disk.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		removed = append(removed, p.name)
	}
	return removed, nil
}

// replayer is one replay under way.
type replayer struct {
	fs       FS
	apply    func([]Record) error
	batch    []Record // scratch
	progress func(done, total int64)
	done     int64 // bytes of the files before the current one
	told     int64
	total    int64
	records  uint64
	last     seal // of the newest generation
	found    Recovery
}

// all replays what a survey without problems has found.
func (p *replayer) all(v *survey) error {
	p.progress(0, p.total)
	if v.snapshot != nil {
		if err := p.snapshot(v.snapshot); err != nil {
			return err
		}
	}
	for i := range v.journals {
		var next *part
		if i+1 < len(v.journals) {
			next = &v.journals[i+1]
		}
		if err := p.journal(&v.journals[i], next); err != nil {
			return err
		}
	}
	if v.hollow != nil {
		p.found.Cuts = append(p.found.Cuts, Cut{v.hollow.name, 0, v.hollow.size, "the header was never written"})
	}
	p.found.Generations = len(v.journals)
	p.progress(p.total, p.total)
	return nil
}

// snapshot replays a snapshot, which must be whole.
func (p *replayer) snapshot(file *part) error {
	r, err := openReader(p.fs, file.path)
	if err != nil {
		return err
	}
	defer r.close()
	foot, err := r.footer(file.head.sum)
	if err != nil {
		return err
	}
	end, _, wrong, err := r.walk(file.head.sum, headerBytes, foot.offset, p.visitor(r))
	switch {
	case err != nil:
		return err
	case wrong != "":
		return &DamageError{Path: r.path, Offset: end, What: wrong}
	case p.records != foot.records:
		return &DamageError{Path: r.path, Offset: foot.offset,
			What: fmt.Sprintf("it holds %d records where the footer says %d", p.records, foot.records)}
	}
	p.found.Snapshot, p.found.SnapshotTime = file.name, file.head.time
	p.found.SnapshotRecords, p.found.SnapshotBytes = p.records, r.size
	p.finish(file, r)
	return nil
}

// footer reads a snapshot's footer.
func (r *reader) footer(seed uint32) (footer, error) {
	offset := r.size - footerBytes
	if offset >= headerBytes {
		p, err := r.at(offset, footerBytes)
		if err != nil {
			return footer{}, err
		}
		if foot, ok := decodeFooter(p, seed, offset); ok {
			return foot, nil
		}
	}
	what := "the footer is missing: the snapshot is not whole"
	return footer{}, &DamageError{Path: r.path, Offset: max(offset, headerBytes), What: what}
}

// journal replays a generation up to where next seals it, or to its torn tail if it is the newest.
func (p *replayer) journal(file, next *part) error {
	r, err := openReader(p.fs, file.path)
	if err != nil {
		return err
	}
	defer r.close()
	limit := r.size
	if next != nil {
		limit = next.head.seal.length
	}
	if limit > r.size {
		what := fmt.Sprintf("the file ends; %s says that it was %d bytes long", next.name, limit)
		return &DamageError{Path: r.path, Offset: r.size, What: what}
	}
	end, sum, wrong, err := r.walk(file.head.sum, headerBytes, limit, p.visitor(r))
	if err != nil {
		return err
	}
	if wrong != "" && next == nil {
		damaged, err := r.damagedBefore(file.head.sum, end)
		if err != nil {
			return err
		}
		if !damaged {
			p.found.Cuts = append(p.found.Cuts, Cut{file.name, end, r.size - end, wrong})
			wrong = ""
		}
	}
	if wrong == "" && next != nil && next.head.seal.sum != sum && !ignoreChecksums {
		end, wrong = limit, next.name+" seals another file"
	}
	if wrong != "" {
		return &DamageError{Path: r.path, Offset: end, What: wrong}
	}
	if next == nil {
		// The process may have been killed before it synced what the kernel still held. The seal is to cover durable bytes.
		if err := r.file.Sync(); err != nil {
			return err
		}
	}
	p.last = seal{end, sum}
	p.found.JournalRecords += p.records
	p.found.JournalBytes += r.size
	p.finish(file, r)
	return nil
}

// visitor hands the records of a frame over.
func (p *replayer) visitor(r *reader) func(frame) error {
	return func(f frame) error {
		p.found.LastTime = max(p.found.LastTime, f.time)
		for rest := f.records; len(rest) > 0; {
			p.batch = p.batch[:0]
			for len(rest) > 0 && len(p.batch) < ReplayRecordsMax {
				var record Record
				var ok bool
				if record, rest, ok = CutRecord(rest); !ok {
					return &DamageError{Path: r.path, Offset: f.offset, What: "a frame that does not consist of records"}
				}
				p.batch = append(p.batch, record)
			}
			if err := p.apply(p.batch); err != nil {
				return wrap("replay", r.path, err)
			}
			p.records += uint64(len(p.batch))
		}
		if done := p.done + f.end; done-p.told >= progressBytes {
			p.told = done
			p.progress(done, p.total)
		}
		return nil
	}
}

// finish ends a file.
func (p *replayer) finish(file *part, r *reader) {
	p.found.LastTime = max(p.found.LastTime, file.head.time)
	p.records = 0
	p.done += r.size
}

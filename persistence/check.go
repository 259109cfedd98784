// Check says what a directory holds and whether a server would start from it; it changes nothing, and it goes on behind
// what is damaged, to say how much can be saved. It takes no lock, so that a copy on a read-only disk can be checked;
// under a running server the newest generation may look torn.

package persistence

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
)

// State is Check's word on one file.
type State string

// The states of a file.
const (
	StateWhole      State = "whole"         // nothing is wrong with it
	StateTornTail   State = "torn tail"     // the newest generation was cut short by a crash; harmless
	StateNeverBegun State = "never begun"   // a generation without a header; harmless
	StateSuperseded State = "superseded"    // older than the snapshot; removed at the next start
	StateTemporary  State = "temporary"     // an unfinished snapshot; removed at the next start
	StateDamaged    State = "damaged"       // repair saves what can be saved
	StateNewer      State = "newer version" // neither start nor repair touches it
	StateForeign    State = "foreign"       // neither start nor repair touches it
)

// Gap is a range of bytes that cannot be read as frames.
type Gap struct {
	Offset int64
	Bytes  int64
	What   string
}

// FileReport is what Check finds in one file.
type FileReport struct {
	Name       string
	State      State
	Generation uint64
	Bytes      int64
	Frames     uint64 // whole ones
	Records    uint64 // in them
	Gaps       []Gap  // at most GapsReportedMax
}

// GapsReportedMax bounds the gaps listed for one file.
const GapsReportedMax = 100

// Report is what Check or Repair found, and what Repair did.
type Report struct {
	Dir      string
	Files    []FileReport
	Records  uint64  // whole ones, in all files that count
	LastTime uint64  // the latest server time on record, ns since 1970
	Problems []error // why a server would not start; none if it would

	Kept   []string // copies that Repair made of damaged files
	Mended string   // the snapshot that Repair wrote
}

// Check looks at dir. The error is the disk's.
func Check(fs FS, dir string) (Report, error) {
	report, _, err := inspect(patientFS{fs}, dir, func(frame) error { return nil })
	return report, err
}

// inspect looks at dir and hands every whole frame of every file that counts to visit, in the order of replay.
func inspect(fs FS, dir string, visit func(frame) error) (Report, *survey, error) {
	report := Report{Dir: dir}
	v, err := takeSurvey(fs, dir)
	if err != nil {
		return report, nil, err
	}
	report.Problems = v.problems()
	if len(report.Problems) == 0 {
		dry := replayer{fs: fs, apply: func([]Record) error { return nil }, progress: func(int64, int64) {}}
		if err := dry.all(v); isVerdict(err) {
			report.Problems = append(report.Problems, err)
		} else if err != nil {
			return report, v, err
		}
	}
	for _, p := range v.superseded {
		report.add(p, StateSuperseded)
	}
	if v.snapshot != nil {
		if err := report.look(fs, v.snapshot, nil, visit); err != nil {
			return report, v, err
		}
	}
	for i := range v.journals {
		var next *part
		if i+1 < len(v.journals) {
			next = &v.journals[i+1]
		}
		if err := report.look(fs, &v.journals[i], next, visit); err != nil {
			return report, v, err
		}
	}
	if v.hollow != nil {
		report.add(*v.hollow, StateNeverBegun)
	}
	if v.temp {
		report.Files = append(report.Files, FileReport{Name: tempName, State: StateTemporary})
	}
	report.blame()
	return report, v, nil
}

// blame marks the file that a start would call damaged although each of its frames is whole: one is missing at its end,
// or the file is another one's.
func (r *Report) blame() {
	for _, problem := range r.Problems {
		var damage *DamageError
		for i := range r.Files {
			file := &r.Files[i]
			if errors.As(problem, &damage) && damage.Path == filepath.Join(r.Dir, file.Name) && file.State == StateWhole {
				file.State = StateDamaged
				file.gap(damage.Offset, 0, damage.What)
			}
		}
	}
}

func (r *Report) add(p part, state State) *FileReport {
	r.Files = append(r.Files, FileReport{Name: p.name, State: state, Generation: p.generation, Bytes: p.size})
	return &r.Files[len(r.Files)-1]
}

// look reads all that can be read of a file that counts.
func (r *Report) look(fs FS, p, next *part, visit func(frame) error) error {
	file := r.add(*p, StateWhole)
	if isNotOurs(p.err) {
		file.State = StateForeign
		var newer *VersionError
		if errors.As(p.err, &newer) {
			file.State = StateNewer
		}
		return nil
	}
	reader, err := openReader(fs, p.path)
	if err != nil {
		return err
	}
	defer reader.close()
	seed, limit := p.head.sum, reader.size
	if p.err != nil {
		file.gap(0, min(headerBytes, reader.size), p.err.Error())
		if seed, err = reader.seedBehind(p.head.sum); err != nil {
			return err
		}
	} else {
		r.LastTime = max(r.LastTime, p.head.time)
	}
	if p.kind == snapshotFile {
		limit = max(headerBytes, reader.size-footerBytes)
		if _, err := reader.footer(seed); isVerdict(err) {
			file.gap(limit, max(0, reader.size-limit), "the footer is missing")
			limit = reader.size
		} else if err != nil {
			return err
		}
	} else if next != nil && next.err == nil && next.head.seal.length > 0 {
		limit = min(limit, next.head.seal.length)
		if next.head.seal.length > reader.size {
			file.gap(reader.size, next.head.seal.length-reader.size, "the file ends too early")
		}
	}
	if err := reader.salvage(seed, limit, r.counter(file, visit), file.gap); err != nil {
		return err
	}
	return r.judge(file, reader, seed, p.kind == journalFile && next == nil && p.err == nil)
}

// judge sets the state of a file that has gaps.
func (r *Report) judge(file *FileReport, reader *reader, seed uint32, mayBeTorn bool) error {
	if len(file.Gaps) == 0 {
		return nil
	}
	file.State = StateDamaged
	if mayBeTorn {
		damaged, err := reader.damagedBefore(seed, file.Gaps[0].Offset)
		if err == nil && !damaged {
			file.State = StateTornTail
		}
		return err
	}
	return nil
}

// counter counts the frames and records of a file on their way to visit.
func (r *Report) counter(file *FileReport, visit func(frame) error) func(frame) error {
	return func(f frame) error {
		count, ok := countRecords(f.records)
		if !ok {
			file.gap(f.offset, f.end-f.offset, "a frame that does not consist of records")
			return nil
		}
		file.Frames++
		file.Records += count
		r.Records += count
		r.LastTime = max(r.LastTime, f.time)
		return visit(f)
	}
}

func (f *FileReport) gap(offset, length int64, what string) {
	if len(f.Gaps) < GapsReportedMax {
		f.Gaps = append(f.Gaps, Gap{offset, length, what})
	}
}

// salvage visits every whole frame up to limit, also behind broken ones, and tells skip what lies between.
func (r *reader) salvage(seed uint32, limit int64, visit func(frame) error, skip func(offset, length int64, what string)) error {
	for at := int64(headerBytes); at < limit; {
		end, _, wrong, err := r.walk(seed, at, limit, visit)
		if err != nil || end == limit {
			return err
		}
		at, err = r.search(seed, end, limit, func(int64, frameHead) bool { return true })
		if err != nil && err != errSearchTooLong {
			return err
		}
		skip(end, at-end, wrong)
	}
	return nil
}

// seedBehind finds the seed of the frames behind a damaged header: the checksum that it bears, or the one that it should
// bear if that is what was damaged.
func (r *reader) seedBehind(borne uint32) (uint32, error) {
	if r.size < headerBytes {
		return borne, nil
	}
	p, err := r.at(0, headerBytes)
	if err != nil {
		return 0, err
	}
	computed := crc32.Checksum(p[:headerBytes-4], castagnoli)
	_, wrong, err := r.frameAt(computed, headerBytes, r.size)
	if err == nil && wrong == "" {
		return computed, nil
	}
	return borne, err
}

func (g Gap) String() string {
	return fmt.Sprintf("%d bytes at byte %d: %s", g.Bytes, g.Offset, g.What)
}

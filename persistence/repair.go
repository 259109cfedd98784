// Repair saves what can be saved of a damaged directory. It writes every record that can still be read, in the order of
// replay, into one new snapshot, and keeps a copy of each damaged file beside it as name.damaged-N.
//
// A mended file in the place of the damaged one was the other way. But a generation is sealed by its successor's header,
// so mending one means rewriting all behind it, and no rename makes several files change at once. A new snapshot is one
// rename: before it nothing has changed, after it everything has, and a crash anywhere in between costs nothing but
// another copy.
//
// What was in a damaged frame is lost. A key whose last record was there is left at an earlier state, or fresh.

package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// KeptCopiesMax bounds the copies of one name.
const KeptCopiesMax = 1000

// Repair makes dir fit to start from. It does nothing if it is. It refuses with *ForeignError or *VersionError if a file
// that counts is not ours or newer: such a file is not damaged, and only its owner knows where it belongs.
func Repair(disk FS, dir string) (report Report, err error) {
	report.Dir = dir
	if _, err := disk.ReadDir(dir); err != nil {
		return report, wrap("readdir", dir, err)
	}
	held, err := Open(disk, dir, Options{Address: "repair"})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, held.lock.Close()) }()

	patient := held.fs
	report, v, err := inspect(patient, dir, func(frame) error { return nil })
	if err != nil || len(report.Problems) == 0 {
		return report, err
	}
	for _, problem := range report.Problems {
		if isNotOurs(problem) {
			return report, problem
		}
	}
	for _, file := range report.Files {
		if file.State == StateDamaged {
			kept, err := keepCopy(patient, dir, file.Name)
			if err != nil {
				return report, err
			}
			report.Kept = append(report.Kept, kept)
		}
	}
	if err := patient.SyncDir(dir); err != nil {
		return report, err
	}
	report.Mended, err = salvageInto(patient, dir, v.successor(), report.LastTime)
	return report, err
}

// successor is a generation whose snapshot supersedes everything that can be read, and bears a name of its own.
func (v *survey) successor() uint64 {
	return max(v.newest(), v.base()) + 1
}

// salvageInto writes all that can be read of dir into a snapshot and makes it the current one.
func salvageInto(disk FS, dir string, generation, time uint64) (name string, err error) {
	w, err := newSnapshotWriter(disk, dir, generation, time)
	if err != nil {
		return "", err
	}
	_, _, err = inspect(disk, dir, func(f frame) error { return w.Append(f.time, f.records) })
	if err == nil {
		err = w.Finish()
	}
	if err == nil {
		err = w.rename()
	}
	if err != nil {
		w.discard()
		return "", err
	}
	return w.saved.File, w.sweep()
}

// keepCopy copies a file to the first free name.damaged-N, durably up to the name.
func keepCopy(disk FS, dir, name string) (kept string, err error) {
	from, err := openReader(disk, filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	defer from.close()
	var to File
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.damaged-%d", name, n)
		to, err = disk.Create(filepath.Join(dir, kept))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n == KeptCopiesMax {
			return "", err
		}
	}
	for at := int64(0); at < from.size && err == nil; {
		var p []byte
		if p, err = from.at(at, int(min(from.size-at, WindowBytesMin))); err == nil {
			_, err = to.Write(p)
			at += int64(len(p))
		}
	}
	if err == nil {
		err = to.Sync()
	}
	err = errors.Join(err, to.Close())
	if err != nil {
		disk.Remove(filepath.Join(dir, kept))
	}
	return kept, err
}

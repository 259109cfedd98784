// Directories from which nothing starts, and that stay as they are (G9, G31): files that are foreign, newer, unreadable,
// damaged or missing. And the odd ones from which a start is right.

package persistence_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"strings"
	"syscall"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// edit changes a file of the directory.
func edit(t testing.TB, fs *faultfs.FS, name string, change func(data []byte) []byte) {
	t.Helper()
	data, err := fs.ReadFile(path(name))
	must(t, err)
	fs.WriteFile(path(name), change(data))
}

// newer makes a header one of format 2, with the right checksum.
func newer(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[8:], 2)
	sum := crc32.Checksum(data[:persistence.HeaderBytes-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(data[persistence.HeaderBytes-4:], sum)
	return data
}

func replace(with string) func([]byte) []byte {
	return func([]byte) []byte { return []byte(with) }
}

// flip changes one byte, counted from the end if negative.
func flip(at int) func([]byte) []byte {
	return func(data []byte) []byte {
		if at < 0 {
			at += len(data)
		}
		data[at] ^= 0x10
		return data
	}
}

func cut(n int) func([]byte) []byte {
	return func(data []byte) []byte { return data[:len(data)-n] }
}

var refusals = []struct {
	name   string
	file   string
	change func([]byte) []byte // nil: the file is removed
	want   string              // part of the error
	repair bool                // whether repair makes it start
}{
	{"newer snapshot", snapshot(2), newer, "format 2 by a newer version", false},
	{"newer journal", journal(2), newer, "format 2 by a newer version", false},
	{"newest journal newer", journal(3), newer, "format 2 by a newer version", false},
	{"newer journal cut in its header", journal(3), func(d []byte) []byte { return newer(d)[:20] }, "newer version", false},
	{"text instead of a snapshot", snapshot(2), replace("dear diary, today I was put into a directory"), "not a file of this server", false},
	{"text instead of the newest journal", journal(3), replace("{\"json\": true}"), "not a file of this server", false},
	{"gzip instead of a journal", journal(2), replace("\x1f\x8b\x08\x00" + strings.Repeat("\x42", 100)), "not a file of this server", false},
	{"journal under a snapshot's name", snapshot(2), func(d []byte) []byte { copy(d, "SLUICEJL"); return d }, "not a file of this server", false},
	{"empty snapshot", snapshot(2), replace(""), "not a file of this server", false},
	{"snapshot cut short", snapshot(2), cut(10), "not whole", true},
	{"snapshot without footer", snapshot(2), cut(persistence.FooterBytes), "not whole", true},
	{"snapshot with something behind", snapshot(2), func(d []byte) []byte { return append(d, 0) }, "not whole", true},
	{"damaged header of the snapshot", snapshot(2), flip(17), "header's checksum", true},
	{"damaged frame of the snapshot", snapshot(2), flip(60), "damaged at byte 48", true},
	{"damaged version", journal(2), flip(8), "header's checksum", true},
	{"damaged header", journal(2), flip(30), "header's checksum", true},
	{"damaged header of the newest", journal(3), flip(30), "header's checksum", true},
	{"damaged frame", journal(2), flip(60), "damaged at byte 48", true},
	{"damaged frame of the newest, frames behind", journal(3), flip(60), "damaged at byte 48", true},
	{"last frame of an older generation gone", journal(2), cut(31), "says that it was", true},
	{"older generation cut in a frame", journal(2), cut(1), "says that it was", true},
	{"older generation zeroed", journal(2), func(d []byte) []byte { clear(d); return d }, "header is not there", true},
	{"generation missing", journal(2), nil, "missing", true},
	{"snapshot missing", snapshot(2), nil, "missing", true},
	{"seal missing", journal(3), func(d []byte) []byte { clear(d[32:44]); return reseal(d) }, "does not seal the generation before", true},
	{"older generation of another directory", journal(2), func([]byte) []byte { return twin(2) }, "seals another file", true},
	{"snapshot of another directory's records", snapshot(2), miscount, "3 records where the footer says 4", true},
	{"another generation's file", journal(3), func(d []byte) []byte { d[16] = 9; return reseal(d) }, "that of generation 9", true},
}

// reseal makes a header's checksum right.
func reseal(data []byte) []byte {
	sum := crc32.Checksum(data[:persistence.HeaderBytes-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(data[persistence.HeaderBytes-4:], sum)
	return data
}

// twin is a generation of a directory that differs from small's in one time alone.
func twin(generation int) []byte {
	fs := faultfs.New(1)
	store, _, _, _ := load(fs, dir)
	store.Append(1, batch("a=1 b=2 c=3"))
	store.Rotate(2)
	store.Append(33, batch("d=4"))
	store.Append(4, batch("a= e=5"))
	data, _ := fs.ReadFile(path(journal(generation)))
	return data
}

// miscount makes a snapshot's footer count one record more, with the right checksum.
func miscount(data []byte) []byte {
	foot := data[len(data)-persistence.FooterBytes:]
	foot[8]++
	seed := binary.LittleEndian.Uint32(data[persistence.HeaderBytes-4:])
	sum := crc32.Update(seed, crc32.MakeTable(crc32.Castagnoli), foot[:persistence.FooterBytes-4])
	binary.LittleEndian.PutUint32(foot[persistence.FooterBytes-4:], sum)
	return data
}

func TestRefusalsLeaveTheDirectoryAlone(t *testing.T) {
	for _, row := range refusals {
		fs, _ := small(t)
		fs.WriteFile(path("snapshot.tmp"), []byte("left over"))
		if row.change == nil {
			fs.RemoveFile(path(row.file))
		} else {
			edit(t, fs, row.file, row.change)
		}
		before := contents(fs)
		_, _, _, err := load(fs, dir)
		if err == nil || !isTyped(err) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path(row.file)) {
			t.Fatalf("%s: error %v, want one that says %q and names the file", row.name, err, row.want)
		}
		report, checkErr := persistence.Check(fs, dir)
		if checkErr != nil || len(report.Problems) == 0 || report.Problems[0].Error() != err.Error() {
			t.Errorf("%s: check finds %v, %v, the start %v", row.name, report.Problems, checkErr, err)
		}
		if !maps.Equal(before, contents(fs)) {
			t.Errorf("%s: the directory has changed", row.name)
		}
		report, err = persistence.Repair(fs, dir)
		if (err == nil) != row.repair {
			t.Errorf("%s: repair: %v", row.name, err)
		}
		if !row.repair {
			if !maps.Equal(before, contents(fs)) {
				t.Errorf("%s: repair has changed the directory", row.name)
			}
			continue
		}
		if _, _, _, err := load(fs, dir); err != nil {
			t.Errorf("%s: after repair (%+v): %v", row.name, report, err)
		}
	}
}

// A name that is not an ordinary file is not ours.
func TestDirectoryUnderOurName(t *testing.T) {
	fs, _ := small(t)
	fs.RemoveFile(path(journal(3)))
	must(t, fs.MkdirAll(path(journal(3))))
	_, _, _, err := load(fs, dir)
	var foreign *persistence.ForeignError
	if !errors.As(err, &foreign) {
		t.Errorf("error is %v", err)
	}
}

// A file that cannot be read is refused, and what can be read is not taken for all there is.
func TestUnreadableFile(t *testing.T) {
	for _, name := range []string{snapshot(2), journal(2), journal(3)} {
		for _, op := range []faultfs.Op{faultfs.OpOpen, faultfs.OpRead} {
			fs, _ := small(t)
			before := contents(fs)
			fs.SetFaults(faultfs.Fault{Call: 1, Op: op, Path: name, Err: syscall.EACCES, Sticky: true})
			_, _, _, err := load(fs, dir)
			if !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), string(op)+" "+path(name)) {
				t.Errorf("%s of %s: %v", op, name, err)
			}
			if !maps.Equal(before, contents(fs)) {
				t.Errorf("%s of %s: the directory has changed", op, name)
			}
		}
	}
}

func TestForeignLockFile(t *testing.T) {
	fs := faultfs.New(1)
	fs.WriteFile(path("sluice.lock"), []byte("#!/bin/sh\n"))
	_, _, _, err := load(fs, dir)
	var foreign *persistence.ForeignError
	if !errors.As(err, &foreign) {
		t.Errorf("error is %v", err)
	}
	if data, _ := fs.ReadFile(path("sluice.lock")); string(data) != "#!/bin/sh\n" {
		t.Errorf("the file is now %q", data)
	}
}

// Files under other names are neither read nor touched, however much they look like ours.
func TestOtherNamesAreLeftAlone(t *testing.T) {
	fs, want := small(t)
	others := []string{"README", "journal-3", "journal-00000000003", "journal-0000000003.damaged-1", "journal-0000000000",
		"snapshot-0000000009.bak", "snapshot-", "journal-+000000004", "Journal-0000000004", "sluice.lock.old"}
	for _, name := range others {
		fs.WriteFile(path(name), []byte("something"))
	}
	store, s, _ := mustLoad(t, fs)
	equal(t, s, want)
	save(t, store, 9, s)
	must(t, store.Close(10))
	for _, name := range others {
		if data, err := fs.ReadFile(path(name)); err != nil || string(data) != "something" {
			t.Errorf("%s is now %q, %v", name, data, err)
		}
	}
}

// A crash between the renaming of a snapshot and the removal of what it supersedes.
func TestTwoSnapshots(t *testing.T) {
	fs, want := small(t)
	old, err := fs.ReadFile(path(snapshot(2)))
	must(t, err)
	older, err := fs.ReadFile(path(journal(2)))
	must(t, err)
	store, s, _ := mustLoad(t, fs)
	save(t, store, 9, s)
	must(t, store.Close(10))
	fs.WriteFile(path(snapshot(2)), old)
	fs.WriteFile(path(journal(2)), older)
	fs.WriteFile(path(journal(1)), []byte("not ours, though nothing needs the name"))
	fs.WriteFile(path("snapshot.tmp"), nil)

	_, s, recovery := mustLoad(t, fs)
	equal(t, s, want)
	if got := names(fs); got != journal(1)+" "+journal(4)+" "+snapshot(4) {
		t.Errorf("files %q", got)
	}
	if len(recovery.Removed) != 3 {
		t.Errorf("removed %v", recovery.Removed)
	}
}

// Only the temporary snapshot of a server that was killed in its first save (C120).
func TestOnlyATemporarySnapshot(t *testing.T) {
	fs := faultfs.New(1)
	fs.WriteFile(path("snapshot.tmp"), []byte("SLUICESN"))
	_, s, _ := mustLoad(t, fs)
	equal(t, s, state{})
	if got := names(fs); got != "" {
		t.Errorf("files %q", got)
	}
}

// The names that a killed process has made may not be durable yet. What they supersede is removed only after them.
func TestReplaySyncsNamesBeforeItRemoves(t *testing.T) {
	for seed := range uint64(50) {
		fs := faultfs.New(seed)
		store, _, _ := mustLoad(t, fs)
		put(t, store, 1, "a=1")
		w, err := store.BeginSnapshot(2)
		must(t, err)
		must(t, w.Append(3, batch("a=1")))
		fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSyncDir, Err: faultfs.ErrCrashed, Sticky: true})
		if _, err := w.Commit(); err == nil {
			t.Fatal("commit without the directory synced")
		}
		killed := fs.Kill()
		_, s, _ := mustLoad(t, killed)
		equal(t, s, parse("a=1"))
		_, s, _ = mustLoad(t, killed.PowerLoss(seed))
		equal(t, s, parse("a=1"))
	}
}

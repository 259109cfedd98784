// Check and Repair: what they say of a directory, and how much repair saves.

package persistence_test

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// said is a report in short: one file a line.
func said(r persistence.Report) string {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s: %s, %d frames, %d records", f.Name, f.State, f.Frames, f.Records)
		for _, gap := range f.Gaps {
			fmt.Fprintf(&b, "; %v", gap)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestCheckOfAWholeDirectory(t *testing.T) {
	fs, _ := small(t)
	fs.WriteFile(path("snapshot.tmp"), []byte("left over"))
	old := append([]byte(nil), "SLUICEJL"...)
	fs.WriteFile(path(journal(1)), old)
	fs.WriteFile(path(journal(4)), nil)
	edit(t, fs, journal(3), func(d []byte) []byte { return append(d, "torn tail"...) })
	before := contents(fs)
	report, err := persistence.Check(fs, dir)
	must(t, err)
	want := `journal-0000000001: superseded, 0 frames, 0 records
snapshot-0000000002: whole, 1 frames, 3 records
journal-0000000002: whole, 2 frames, 3 records
journal-0000000003: torn tail, 3 frames, 5 records; 9 bytes at byte 131: the file ends inside the head of a frame
journal-0000000004: never begun, 0 frames, 0 records
snapshot.tmp: temporary, 0 frames, 0 records
`
	if got := said(report); got != want {
		t.Errorf("check says\n%s\nwant\n%s", got, want)
	}
	if len(report.Problems) != 0 || report.Records != 11 || report.LastTime != 8 {
		t.Errorf("report is %+v", report)
	}
	repaired, err := persistence.Repair(fs, dir)
	must(t, err)
	if repaired.Mended != "" || fmt.Sprint(contents(fs)) != fmt.Sprint(before) {
		t.Errorf("repair has done something: %+v", repaired)
	}
}

func TestRepairSavesWhatIsWhole(t *testing.T) {
	fs, _ := small(t)
	edit(t, fs, journal(2), flip(60)) // "d=4" is gone
	damaged, err := fs.ReadFile(path(journal(2)))
	must(t, err)
	edit(t, fs, journal(3), flip(80)) // "CLEAR g=7 b=2" is gone
	report, err := persistence.Repair(fs, dir)
	must(t, err)
	want := `snapshot-0000000002: whole, 1 frames, 3 records
journal-0000000002: damaged, 1 frames, 2 records; 25 bytes at byte 48: a frame's checksum does not match
journal-0000000003: damaged, 2 frames, 2 records; 33 bytes at byte 73: a frame's checksum does not match
`
	if got := said(report); got != want {
		t.Errorf("repair says\n%s\nwant\n%s", got, want)
	}
	kept := journal(2) + ".damaged-1"
	if report.Mended != snapshot(4) || len(report.Kept) != 2 || report.Kept[0] != kept || report.Records != 7 {
		t.Errorf("report is %+v", report)
	}
	if data, err := fs.ReadFile(path(kept)); err != nil || !bytes.Equal(data, damaged) {
		t.Errorf("the copy differs: %v", err)
	}
	if got, want := names(fs), kept+" "+journal(3)+".damaged-1 "+snapshot(4); got != want {
		t.Errorf("files %q, want %q", got, want)
	}
	store, s, recovery := mustLoad(t, fs)
	equal(t, s, parse("b=2 c=3 e=5 f=6 h=8"))
	if recovery.LastTime != 8 {
		t.Errorf("last time is %d", recovery.LastTime)
	}
	put(t, store, 9, "i=9")
	must(t, store.Close(10))
	_, s, _ = mustLoad(t, fs)
	equal(t, s, parse("b=2 c=3 e=5 f=6 h=8 i=9"))
}

// The frames behind a damaged header can be read: the header's checksum is their seed, and is there or can be computed.
func TestRepairReadsBehindADamagedHeader(t *testing.T) {
	for _, at := range []int{8, 12, 17, 30, 41, 44, 47} {
		for _, name := range []string{snapshot(2), journal(3)} {
			fs, want := small(t)
			edit(t, fs, name, flip(at))
			_, err := persistence.Repair(fs, dir)
			must(t, err)
			_, s, _ := mustLoad(t, fs)
			equal(t, s, want)
		}
	}
}

// The mended snapshot never takes the damaged one's name.
func TestRepairOfASnapshotAlone(t *testing.T) {
	fs, _ := small(t)
	fs.RemoveFile(path(journal(2)))
	fs.RemoveFile(path(journal(3)))
	edit(t, fs, snapshot(2), cut(1))
	report, err := persistence.Repair(fs, dir)
	must(t, err)
	if report.Mended != snapshot(3) || names(fs) != snapshot(2)+".damaged-1 "+snapshot(3) {
		t.Errorf("report %+v, files %q", report, names(fs))
	}
	_, s, _ := mustLoad(t, fs)
	equal(t, s, parse("a=1 b=2 c=3"))
}

// A file whose frames are all whole and that is not the right one is named damaged, and kept.
func TestRepairKeepsTheWrongFile(t *testing.T) {
	fs, _ := small(t)
	fs.WriteFile(path(journal(2)), twin(2))
	report, err := persistence.Repair(fs, dir)
	must(t, err)
	if len(report.Kept) != 1 || report.Kept[0] != journal(2)+".damaged-1" || !strings.Contains(said(report), "seals another file") {
		t.Errorf("kept %v, said\n%s", report.Kept, said(report))
	}
}

func TestRepairOfManyWoundsAndTwice(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	for i := range 1000 {
		must(t, store.Append(uint64(i), batch(fmt.Sprintf("k%d=%s", i, strings.Repeat("v", 1+i%100)))))
		must(t, store.Sync())
	}
	must(t, store.Close(2000))
	edit(t, fs, journal(1), func(d []byte) []byte {
		for at := 1000; at < len(d)-1000; at += 1000 {
			copy(d[at:], make([]byte, at%61))
		}
		return d
	})
	fs.WriteFile(path(journal(1)+".damaged-1"), []byte("an earlier repair"))
	report, err := persistence.Repair(fs, dir)
	must(t, err)
	if len(report.Kept) != 1 || report.Kept[0] != journal(1)+".damaged-2" {
		t.Errorf("kept %v", report.Kept)
	}
	_, s, _ := mustLoad(t, fs)
	if uint64(len(s)) != report.Records || len(s) < 850 {
		t.Errorf("%d keys saved, %d records reported", len(s), report.Records)
	}
	report, err = persistence.Repair(fs.Kill(), dir)
	must(t, err)
	if report.Mended != "" {
		t.Errorf("repaired again: %+v", report)
	}
}

func TestRepairOfAHeldDirectory(t *testing.T) {
	fs, _ := small(t)
	mustLoad(t, fs)
	if _, err := persistence.Repair(fs, dir); err == nil || !strings.Contains(err.Error(), "held by pid") {
		t.Errorf("error is %v", err)
	}
	if _, err := persistence.Repair(fs, "/elsewhere"); err == nil {
		t.Error("a directory that is not there was repaired")
	}
	if _, err := persistence.Check(fs, "/elsewhere"); err == nil {
		t.Error("a directory that is not there was checked")
	}
}

// A repair that fails anywhere, or loses power anywhere, leaves a directory that repair can still mend.
func TestRepairFailsAnywhere(t *testing.T) {
	base, _ := small(t)
	edit(t, base, journal(2), flip(60))
	saved := parse("g=7 b=2 h=8")
	calls := 0
	for n := 1; n <= calls || calls == 0; n++ {
		for _, err := range []error{syscall.EIO, syscall.ENOSPC, faultfs.ErrCrashed} {
			fs := base.Kill()
			if calls == 0 {
				_, err := persistence.Repair(fs, dir)
				must(t, err)
				calls = fs.Calls()
				fs = base.Kill()
			}
			fs.SetFaults(faultfs.Fault{Call: n, Err: err, Sticky: err == faultfs.ErrCrashed})
			persistence.Repair(fs, dir)
			fs.SetFaults()
			for _, image := range []*faultfs.FS{fs.Kill(), fs.PowerLoss(uint64(n)), fs.PowerLoss(uint64(n + 1000))} {
				if _, err := persistence.Repair(image, dir); err != nil {
					t.Fatalf("call %d, %v: second repair: %v", n, err, err)
				}
				_, s, _ := mustLoad(t, image)
				equal(t, s, saved)
				if !strings.Contains(names(image), "damaged-1") {
					t.Fatalf("call %d, %v: no copy of the damaged file: %s", n, err, names(image))
				}
			}
		}
	}
}

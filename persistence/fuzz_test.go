// Fuzzing what is read from disk. Whatever a file holds, a start ends in a state or in an error of the known kinds, changes
// nothing when it refuses, and repair leaves a directory that starts or that it has not touched.

package persistence_test

import (
	"maps"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

func FuzzJournal(f *testing.F) {
	base, _ := small(f)
	for _, name := range []string{journal(2), journal(3)} {
		data, err := base.ReadFile(path(name))
		must(f, err)
		f.Add(data, false)
		f.Add(data[:len(data)-5], true)
		f.Add(append(data, make([]byte, 100)...), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, lax bool) {
		fs := base.Kill()
		fs.WriteFile(path(journal(3)), data)
		startAnyway(t, fs, lax)
	})
}

func FuzzSnapshot(f *testing.F) {
	base, _ := small(f)
	data, err := base.ReadFile(path(snapshot(2)))
	must(f, err)
	f.Add(data, false)
	f.Add(data[:len(data)-5], true)
	f.Fuzz(func(t *testing.T, data []byte, lax bool) {
		fs := base.Kill()
		fs.WriteFile(path(snapshot(2)), data)
		startAnyway(t, fs, lax)
	})
}

// startAnyway starts, checks, repairs and starts again, with checksums or, lax, without.
func startAnyway(t *testing.T, fs *faultfs.FS, lax bool) {
	if lax {
		defer persistence.IgnoreChecksums()()
	}
	accept := func([]persistence.Record) error { return nil }
	start := func(fs *faultfs.FS) error {
		store, err := persistence.Open(fs, dir, persistence.Options{})
		must(t, err)
		_, err = store.Replay(accept, nil)
		must(t, store.Close(0))
		return err
	}
	before := contents(fs)
	err := start(fs)
	report, checkErr := persistence.Check(fs, dir)
	must(t, checkErr)
	if err == nil {
		if len(report.Problems) > 0 {
			t.Fatalf("it starts, and check finds %v", report.Problems)
		}
		return
	}
	if !isTyped(err) || len(report.Problems) == 0 || report.Problems[0].Error() != err.Error() {
		t.Fatalf("it does not start: %v; check finds %v", err, report.Problems)
	}
	if !maps.Equal(before, contents(fs)) {
		t.Fatalf("the refusal %v has changed the directory", err)
	}
	if _, err := persistence.Repair(fs, dir); err != nil {
		if !isTyped(err) || !maps.Equal(before, contents(fs)) {
			t.Fatalf("repair gave up with %v", err)
		}
	} else if err := start(fs); err != nil {
		t.Fatalf("after repair: %v", err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(batch("a=1 b= CLEAR"))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		rest := data
		for len(rest) > 0 {
			r, next, ok := persistence.CutRecord(rest)
			if !ok {
				return
			}
			if len(next) >= len(rest) {
				t.Fatal("no progress")
			}
			again = persistence.AppendRecord(again, r.Kind, r.Key, r.Value)
			rest = next
		}
		if len(again) > len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(again))
		}
	})
}

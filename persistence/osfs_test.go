// The operating system's file system: that it keeps the seam's promises on a real disk, and that a second opener is told
// who holds the directory.

package persistence_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/persistence"
)

func TestOnARealDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	store, _, _, err := load(persistence.OS{}, dir)
	must(t, err)
	put(t, store, 1, "a=1 b=2")
	save(t, store, 2, parse("a=1 b=2"))
	put(t, store, 3, "b= c=3")
	must(t, store.Rotate(4))
	put(t, store, 5, "d=4")
	must(t, store.Close(6))
	store, s, _, err := load(persistence.OS{}, dir)
	must(t, err)
	equal(t, s, parse("a=1 c=3 d=4"))
	report, err := persistence.Check(persistence.OS{}, dir)
	must(t, err)
	if len(report.Files) != 3 || len(report.Problems) != 0 {
		t.Errorf("report is %+v", report)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
	must(t, store.Close(7))
}

func TestCommitterOnARealDisk(t *testing.T) {
	dir := t.TempDir()
	for mode := persistence.Always; mode <= persistence.Off; mode++ {
		store, _, _, err := load(persistence.OS{}, dir)
		must(t, err)
		ticks := make(chan time.Time)
		c := persistence.NewCommitter(store, persistence.Config{Mode: mode, Clock: func() time.Duration { return 0 }, Ticks: ticks})
		answer := make(chan error, 1)
		send(c, fmt.Sprintf("%v=1", mode), func(err error) { answer <- err })
		must(t, <-answer)
		ticks <- time.Time{}
		must(t, c.Close(1))
	}
	store, s, _, err := load(persistence.OS{}, dir)
	must(t, err)
	equal(t, s, parse("always=1 everysec=1 os=1"))
	must(t, store.Close(1))
}

func TestSecondOpenerIsToldWhoHolds(t *testing.T) {
	dir := t.TempDir()
	store, _, _, err := load(persistence.OS{}, dir)
	must(t, err)
	_, _, _, err = load(persistence.OS{}, dir)
	var locked *persistence.LockedError
	want := fmt.Sprintf("lock %s: held by pid %d, 127.0.0.1:6380", filepath.Join(dir, "sluice.lock"), os.Getpid())
	if !errors.As(err, &locked) || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	must(t, store.Close(1))
	store, _, _, err = load(persistence.OS{}, dir)
	must(t, err)
	must(t, store.Close(1))
}

func TestForeignLockFileOnARealDisk(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sluice.lock")
	must(t, os.WriteFile(name, []byte("precious"), 0o600))
	_, _, _, err := load(persistence.OS{}, dir)
	var foreign *persistence.ForeignError
	if data, _ := os.ReadFile(name); !errors.As(err, &foreign) || string(data) != "precious" {
		t.Errorf("error is %v, the file is now %q", err, data)
	}
}

func TestErrorsNameTheOperationAndThePathOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, _, _, err := load(persistence.OS{}, filepath.Join(file, "data"))
	if err == nil || strings.Count(err.Error(), file) != 1 {
		t.Errorf("error is %v", err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	store, _, _, err := load(persistence.OS{}, dir)
	must(t, err)
	w, err := store.BeginSnapshot(1)
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "snapshot.tmp")))
	_, err = w.Commit()
	if want := "rename " + filepath.Join(dir, "snapshot.tmp") + " "; err == nil || strings.Count(err.Error(), want) != 1 {
		t.Errorf("error is %v", err)
	}
	must(t, store.Close(1))
	if _, err := (persistence.OS{}).Create(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a file: %v", err)
	}
}

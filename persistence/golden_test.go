// Files of every version since the first, kept in testdata, must load for ever (G31). With -update the current version's
// are written anew: only a new version may need that.

package persistence_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

var update = flag.Bool("update", false, "write the golden files of the current version")

// goldenTime is T0, 2027-01-15T08:00:00Z, in ns.
const goldenTime = 1800000000_000000000

// goldenState is what the golden directory of every version says.
var goldenState = parse("fresh=yes user:1=one empty-looking=\x00\x00 user:2=zwei long=" + string(bytes.Repeat([]byte("l"), 300)))

// goldenFiles makes a directory with everything in it: a snapshot, a sealed generation with dead bytes behind the seal, a
// generation with records of other kinds, a mark at the end.
func goldenFiles(t *testing.T) *faultfs.FS {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	put(t, store, goldenTime, "user:1=1 user:2=2 long=l")
	w, err := store.BeginSnapshot(goldenTime + 1)
	must(t, err)
	must(t, w.Append(goldenTime+2, batch("user:1=1")))
	must(t, w.Append(goldenTime+2, batch("user:2=2 long=l")))
	_, err = w.Commit()
	must(t, err)
	put(t, store, goldenTime+3, "gone=soon user:1=one")
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: os.ErrDeadlineExceeded})
	if err := store.Append(goldenTime+4, batch("dead=bytes")); err == nil {
		t.Fatal("the write has not failed")
	}
	put(t, store, goldenTime+5, "CLEAR fresh=yes user:1=one empty-looking=\x00\x00")
	must(t, store.Append(goldenTime+6, batch("user:2=zwei"), batch("long="+goldenState["long"])))
	must(t, store.Close(goldenTime+7))
	return fs
}

func TestGoldenFiles(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprintf("v%d", persistence.FormatVersion))
	if *update {
		fs := goldenFiles(t)
		must(t, os.MkdirAll(current, 0o755))
		for name := range contents(fs) {
			data, err := fs.ReadFile(path(name))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(current, name), data, 0o644))
		}
	}
	versions, err := filepath.Glob("testdata/v*")
	must(t, err)
	if len(versions) != persistence.FormatVersion {
		t.Errorf("golden files of %v, want one directory a version up to %d", versions, persistence.FormatVersion)
	}
	for _, version := range versions {
		fs := golden(t, version)
		_, s, recovery := mustLoad(t, fs)
		equal(t, s, goldenState)
		if recovery.LastTime != goldenTime+7 || recovery.Cuts != nil || recovery.SnapshotTime != goldenTime+1 {
			t.Errorf("%s: recovery is %+v", version, recovery)
		}
	}
}

// What is written today is what was written when the version was made, byte for byte.
func TestGoldenFilesAreWritten(t *testing.T) {
	fs := goldenFiles(t)
	want := golden(t, filepath.Join("testdata", fmt.Sprintf("v%d", persistence.FormatVersion)))
	if names(fs) != names(want) {
		t.Fatalf("files %s, want %s", names(fs), names(want))
	}
	for name := range contents(fs) {
		got, _ := fs.ReadFile(path(name))
		want, _ := want.ReadFile(path(name))
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs: the format has changed without a new version\n%x\n%x", name, got, want)
		}
	}
}

// golden copies a golden directory into memory.
func golden(t *testing.T, version string) *faultfs.FS {
	t.Helper()
	entries, err := os.ReadDir(version)
	must(t, err)
	fs := faultfs.New(1)
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(version, entry.Name()))
		must(t, err)
		fs.WriteFile(path(entry.Name()), data)
	}
	return fs
}

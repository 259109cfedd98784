// What the disk in memory leaves behind, compared with what is said of it.

package faultfs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, disk *faultfs.FS, path string) persistence.File {
	t.Helper()
	must(t, disk.MkdirAll("/d"))
	f, err := disk.Create(path)
	must(t, err)
	return f
}

func write(t *testing.T, f persistence.File, data []byte) {
	t.Helper()
	_, err := f.Write(data)
	must(t, err)
}

// images are the different contents of one file after power losses.
func images(disk *faultfs.FS, path string) map[string]bool {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		data, err := disk.PowerLoss(seed).ReadFile(path)
		if err != nil {
			seen["none"] = true
		} else {
			seen[string(data)] = true
		}
	}
	return seen
}

func TestSyncedBytesSurvive(t *testing.T) {
	disk := faultfs.New(1)
	f := create(t, disk, "/d/f")
	durable := bytes.Repeat([]byte("a"), 700)
	write(t, f, durable)
	must(t, f.Sync())
	must(t, disk.SyncDir("/d"))
	write(t, f, bytes.Repeat([]byte("b"), 2000))
	all := images(disk, "/d/f")
	var dropped, torn, zeros, whole bool
	for image := range all {
		if !strings.HasPrefix(image, string(durable)) {
			t.Fatalf("synced bytes are lost: %q", image[:min(len(image), 700)])
		}
		tail := image[700:]
		dropped = dropped || tail == ""
		whole = whole || tail == strings.Repeat("b", 2000)
		torn = torn || tail == strings.Repeat("b", 1024-700) // up to the end of its sector
		zeros = zeros || strings.Contains(tail, "\x00b")
	}
	if !dropped || !torn || !zeros || !whole {
		t.Errorf("dropped %v, torn %v, zeros before bytes %v, whole %v", dropped, torn, zeros, whole)
	}
	if data, err := disk.Kill().ReadFile("/d/f"); err != nil || len(data) != 2700 {
		t.Errorf("after a kill %d bytes, %v", len(data), err)
	}
}

func TestNamesNeedTheirDirectorySynced(t *testing.T) {
	disk := faultfs.New(1)
	f := create(t, disk, "/d/f")
	write(t, f, []byte("x"))
	must(t, f.Sync())
	if all := images(disk, "/d/f"); !all["none"] || !all["x"] || len(all) != 2 {
		t.Errorf("images %v", all)
	}
	must(t, disk.SyncDir("/d"))
	if all := images(disk, "/d/f"); !all["x"] || len(all) != 1 {
		t.Errorf("images %v", all)
	}
	must(t, disk.Rename("/d/f", "/d/g"))
	must(t, disk.Remove("/d/g"))
	// The rename and the removal may each be there or not; a removal without the rename removes nothing.
	if f, g := images(disk, "/d/f"), images(disk, "/d/g"); !f["x"] || !f["none"] || !g["x"] || !g["none"] {
		t.Errorf("images %v and %v", f, g)
	}
}

func TestFailedSyncDoomsSectors(t *testing.T) {
	disk := faultfs.New(1)
	f := create(t, disk, "/d/f")
	must(t, disk.SyncDir("/d"))
	write(t, f, bytes.Repeat([]byte("a"), 512))
	disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	must(t, f.Sync()) // it lies
	if all := images(disk, "/d/f"); all[strings.Repeat("a", 512)] {
		t.Error("doomed bytes survive")
	}
	if data, _ := disk.ReadFile("/d/f"); string(data) != strings.Repeat("a", 512) {
		t.Error("doomed bytes are not seen")
	}
}

func TestFaults(t *testing.T) {
	disk := faultfs.New(1)
	f := create(t, disk, "/d/f")
	disk.SetFaults(faultfs.Fault{Call: 2, Op: faultfs.OpWrite, Err: syscall.EIO})
	write(t, f, []byte("one"))
	if n, err := f.Write([]byte("four")); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("wrote %d, %v", n, err)
	}
	write(t, f, []byte("five"))
	disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Sticky: true})
	for range 2 {
		if n, err := f.Write([]byte("short")); n != 2 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	disk.SetFaults()
	disk.SetCapacity(20)
	if n, err := f.Write([]byte("much too long")); n != 7 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	if data, _ := disk.ReadFile("/d/f"); string(data) != "onefofiveshshmuch to" {
		t.Errorf("the file is %q", data)
	}
	if _, err := disk.Create("/d/f"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create: %v", err)
	}
	if _, err := disk.Open("/d/g"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
}

func TestCrashStopsEverything(t *testing.T) {
	disk := faultfs.New(1)
	f := create(t, disk, "/d/f")
	disk.SetFaults(faultfs.Crash(1))
	f.Write([]byte("1234"))
	f.Write([]byte("5678"))
	if err := f.Sync(); err == nil || disk.Remove("/d/f") == nil {
		t.Error("it goes on")
	}
	killed := disk.Kill()
	if data, err := killed.ReadFile("/d/f"); err != nil || string(data) != "12" {
		t.Errorf("after the kill %q, %v", data, err)
	}
	if names := killed.Names("/d"); !slices.Equal(names, []string{"f"}) {
		t.Errorf("names %v", names)
	}
}

// The same seed gives the same images.
func TestSeeds(t *testing.T) {
	make := func() *faultfs.FS {
		disk := faultfs.New(5)
		f := create(t, disk, "/d/f")
		write(t, f, bytes.Repeat([]byte("abc"), 1000))
		return disk
	}
	for seed := range uint64(50) {
		a, errA := make().PowerLoss(seed).ReadFile("/d/f")
		b, errB := make().PowerLoss(seed).ReadFile("/d/f")
		if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) {
			t.Fatalf("seed %d gives two images", seed)
		}
	}
}

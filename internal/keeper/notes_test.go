package keeper_test

// Notes: what the server keeps beside its keys comes back like them, from the journal
// and from snapshots, in every mode, whatever becomes of the keys.

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
	"sluice/shard"
)

// wantNotes compares all notes.
func (r *rig) wantNotes(want map[string]string) {
	r.t.Helper()
	got := r.set.Notes()
	if len(got) != len(want) {
		r.t.Errorf("%d notes, want %d", len(got), len(want))
	}
	for name, text := range want {
		if string(got[name]) != text {
			r.t.Errorf("note %s is %.40q, want %.40q", name, got[name], text)
		}
	}
}

func TestNotesComeBack(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides, persistence.Off} {
		synctest.Test(t, func(t *testing.T) {
			r := open(t, faultfs.New(1), mode, nil)
			long := strings.Repeat("text", 200_000)
			want := map[string]string{"a": "two", "long": long}
			note := func(name string, text []byte) {
				if err := r.set.Note(name, text); err != nil {
					t.Error(err)
				}
			}
			note("a", []byte("one"))
			note("gone", []byte("one"))
			note("long", []byte(long))
			for i := range 2000 {
				name := fmt.Sprint("many/", i)
				want[name] = name + strings.Repeat("x", 300)
				note(name, []byte(want[name]))
			}
			if err := r.Save(); err != nil && mode != persistence.Off {
				t.Error(err)
			}
			note("a", []byte("two"))
			note("gone", nil)
			r.set.Each(func(_ int, c *shard.Core, _ uint64) { c.Clear() })
			r.wantNotes(want)
			pass(2 * time.Second)
			if err := r.Close(mode == persistence.Off); err != nil {
				t.Error(err)
			}
			r.set.Close()
			back := open(t, r.disk.PowerLoss(1), mode, nil)
			back.wantNotes(want)
			back.close()
		})
	}
}

// A note that cannot be made durable is as it was before, in memory and, when the disk
// works again, there.
func TestNoteThatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		r := open(t, disk, persistence.Always, nil)
		if err := r.set.Note("a", []byte("one")); err != nil {
			t.Fatal(err)
		}
		disk.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO, Sticky: true})
		if r.set.Note("a", []byte("two")) == nil || r.set.Note("b", []byte("two")) == nil {
			t.Error("the disk does not work, and yet a note was kept")
		}
		r.wantNotes(map[string]string{"a": "one"})
		disk.SetFaults()
		pass(5 * time.Second)
		image := disk.PowerLoss(1)
		r.close()
		back := open(t, image, persistence.Always, nil)
		back.wantNotes(map[string]string{"a": "one"})
		back.close()
	})
}

// Torn tails and damage, and the line between them (C109, G6): a journal cut or filled with zeros at every byte starts
// with what was whole; a flipped bit is noticed or harmless; and nothing on disk changes when a start is refused.

package persistence_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

// threeRecords is a journal whose last three records lie in frames of their own, and the offsets of all frames.
func threeRecords(t testing.TB) (data []byte, lines []string, ends []int) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	ends = []int{persistence.HeaderBytes}
	for i := range 10 {
		line := fmt.Sprintf("key%d=%d", i, i*1000)
		lines = append(lines, line)
		put(t, store, uint64(i), line)
		data, _ = fs.ReadFile(path(journal(1)))
		ends = append(ends, len(data))
	}
	return data, lines, ends
}

func TestTornAtEveryByte(t *testing.T) {
	data, lines, ends := threeRecords(t)
	for n := range data {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		for name, image := range map[string][]byte{
			"cut":         data[:n],
			"zero-filled": append(data[:n:n], make([]byte, len(data)-n)...),
			"zeros added": append(data[:n:n], make([]byte, 5000)...),
		} {
			if name != "cut" && n > 0 && n < persistence.HeaderBytes {
				continue // a header lies within one sector, and is synced before anything follows it
			}
			fs := faultfs.New(1)
			fs.WriteFile(path(journal(1)), image)
			store, s, recovery, err := load(fs, dir)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, n, err)
			}
			equal(t, s, stateOf(lines, whole))
			checkCut(t, recovery, n, ends[whole], len(image))
			put(t, store, 99, "after=1")
			must(t, store.Close(100))
			_, s, recovery = mustLoad(t, fs)
			equal(t, s, stateOf(append(lines[:whole:whole], "after=1"), whole+1))
			if len(recovery.Cuts) != 0 {
				t.Fatalf("cut again: %v", recovery.Cuts)
			}
		}
	}
}

// checkCut compares what a recovery says was cut with the last whole frame's end.
func checkCut(t *testing.T, recovery persistence.Recovery, n, end, size int) {
	t.Helper()
	if n < persistence.HeaderBytes {
		end = 0 // the generation was never begun
	}
	if n == end && size == end && n > 0 {
		if len(recovery.Cuts) != 0 {
			t.Fatalf("at %d: cut %v", n, recovery.Cuts)
		}
		return
	}
	want := persistence.Cut{File: journal(1), Offset: int64(end), Bytes: int64(size - end)}
	if len(recovery.Cuts) != 1 {
		t.Fatalf("at %d: cuts %v, want %v", n, recovery.Cuts, want)
	}
	got := recovery.Cuts[0]
	want.What = got.What
	if got != want || got.What == "" {
		t.Fatalf("at %d: cut %v, want %v", n, got, want)
	}
}

// The newest generation may exist without a header, and the one before is then the last.
func TestHollowGeneration(t *testing.T) {
	for _, content := range [][]byte{nil, []byte("S"), []byte("SLUICEJL\x01\x00"), make([]byte, 48), make([]byte, 600000)} {
		fs := faultfs.New(1)
		store, _, _ := mustLoad(t, fs)
		put(t, store, 1, "a=1")
		must(t, store.Close(2))
		fs.WriteFile(path(journal(2)), content)
		store, s, recovery := mustLoad(t, fs)
		equal(t, s, parse("a=1"))
		if len(recovery.Cuts) != 1 || recovery.Cuts[0].File != journal(2) || recovery.Cuts[0].Bytes != int64(len(content)) {
			t.Errorf("%d bytes: cuts %v", len(content), recovery.Cuts)
		}
		put(t, store, 3, "b=2")
		must(t, store.Close(4))
		_, s, _ = mustLoad(t, fs)
		equal(t, s, parse("a=1 b=2"))
	}
}

// small is a directory with a snapshot and two generations, each frame synced. FLIP_KEYS makes it larger by so many keys in
// each file: 1,500 are about 64 KiB.
func small(t testing.TB) (*faultfs.FS, state) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	more := func() {
		for i := range count(t, "FLIP_KEYS", 0) {
			put(t, store, 1, fmt.Sprintf("more%d=%d", i, i*i))
		}
	}
	put(t, store, 1, "a=1 b=2 c=3")
	w, err := store.BeginSnapshot(2)
	must(t, err)
	must(t, w.Append(2, batch("a=1 b=2 c=3")))
	for i := range count(t, "FLIP_KEYS", 0) {
		must(t, w.Append(2, batch(fmt.Sprintf("more%d=%d", i, i))))
	}
	_, err = w.Commit()
	must(t, err)
	put(t, store, 3, "d=4")
	more()
	put(t, store, 4, "a= e=5")
	must(t, store.Rotate(5))
	more()
	put(t, store, 6, "f=6")
	put(t, store, 7, "CLEAR g=7 b=2")
	put(t, store, 8, "h=8")
	return fs.Kill(), parse("g=7 b=2 h=8")
}

// Every flipped bit is noticed: the start is refused, or a cut is reported. Only the last frame can be cut; a flip
// anywhere before it is proven to be damage by the frames behind.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	base, want := small(t)
	for _, name := range []string{snapshot(2), journal(2), journal(3)} {
		whole, err := base.ReadFile(path(name))
		must(t, err)
		for bit := range len(whole) * 8 {
			fs := base.Kill()
			flipped := append([]byte(nil), whole...)
			flipped[bit/8] ^= 1 << (bit % 8)
			fs.WriteFile(path(name), flipped)
			before := contents(fs)
			_, s, recovery, err := load(fs, dir)
			switch {
			case err != nil:
				if after := contents(fs); !maps.Equal(before, after) {
					t.Fatalf("%s bit %d: the refusal %v changed the directory", name, bit, err)
				}
				if !isTyped(err) {
					t.Fatalf("%s bit %d: %v", name, bit, err)
				}
			case len(recovery.Cuts) == 0:
				t.Fatalf("%s bit %d: accepted silently", name, bit)
			case name != journal(3) || recovery.Cuts[0].Offset+recovery.Cuts[0].Bytes != int64(len(whole)) || recovery.Cuts[0].Bytes > 30:
				t.Fatalf("%s bit %d: cut %v", name, bit, recovery.Cuts)
			default:
				equal(t, s, parse("g=7 b=2"))
			}
		}
	}
	_, s, _ := mustLoad(t, base)
	equal(t, s, want)
}

func isTyped(err error) bool {
	var damaged *persistence.DamageError
	var missing *persistence.MissingError
	var foreign *persistence.ForeignError
	var newer *persistence.VersionError
	return errors.As(err, &damaged) || errors.As(err, &missing) || errors.As(err, &foreign) || errors.As(err, &newer)
}

// Every shorter file is noticed as well. The newest generation shows a cut, unless it ends between two frames: then what
// is missing was never there, as far as anyone can tell.
func TestEveryTruncationIsNoticed(t *testing.T) {
	base, _ := small(t)
	for _, name := range []string{snapshot(2), journal(2), journal(3)} {
		whole, err := base.ReadFile(path(name))
		must(t, err)
		silent := 0
		for n := range whole {
			fs := base.Kill()
			fs.WriteFile(path(name), whole[:n])
			_, _, recovery, err := load(fs, dir)
			if err == nil && len(recovery.Cuts) == 0 {
				silent++
			}
		}
		if want := map[bool]int{true: 3 + count(t, "FLIP_KEYS", 0)}[name == journal(3)]; silent != want {
			t.Errorf("%s: %d lengths accepted silently, want %d", name, silent, want)
		}
	}
}

// Changes of 1 to 16 bytes, with checksums switched on and off: on, nothing passes silently; off, nothing panics, and
// memory stays within twice the file and 64 MB.
func TestRandomDamage(t *testing.T) {
	base, want := small(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range count(t, "DAMAGE_CHANGES", 5000) {
		name := []string{snapshot(2), journal(2), journal(3)}[r.IntN(3)]
		data, err := base.ReadFile(path(name))
		must(t, err)
		whole := string(data)
		at := r.IntN(len(data))
		for i := at; i < min(len(data), at+1+r.IntN(16)); i++ {
			data[i] = byte(r.Uint32())
		}
		fs := base.Kill()
		fs.WriteFile(path(name), data)
		_, s, recovery, err := load(fs.Kill(), dir)
		if err == nil && len(recovery.Cuts) == 0 && (string(data) != whole || !maps.Equal(s, want)) {
			t.Fatalf("%s changed at %d: accepted silently", name, at)
		}
		withoutChecksums(t, fs.Kill())
	}
}

func TestEveryFlippedBitWithoutChecksums(t *testing.T) {
	base, _ := small(t)
	for _, name := range []string{snapshot(2), journal(2), journal(3)} {
		whole, err := base.ReadFile(path(name))
		must(t, err)
		for bit := range len(whole) * 8 {
			fs := base.Kill()
			flipped := append([]byte(nil), whole...)
			flipped[bit/8] ^= 1 << (bit % 8)
			fs.WriteFile(path(name), flipped)
			withoutChecksums(t, fs)
		}
	}
}

// withoutChecksums starts, checks and repairs with every checksum taken for right.
func withoutChecksums(t *testing.T, fs *faultfs.FS) {
	t.Helper()
	defer persistence.IgnoreChecksums()()
	var before, after runtime.MemStats
	size := fs.Used()
	runtime.ReadMemStats(&before)
	accept := func([]persistence.Record) error { return nil }
	store, err := persistence.Open(fs, dir, persistence.Options{})
	must(t, err)
	store.Replay(accept, nil)
	runtime.ReadMemStats(&after)
	if got := int64(after.TotalAlloc - before.TotalAlloc); got > 2*size+64<<20 {
		t.Fatalf("%d bytes allocated for files of %d", got, size)
	}
	store.Close(1)
	if _, err := persistence.Check(fs, dir); err != nil {
		t.Fatal(err)
	}
	persistence.Repair(fs, dir)
}

// What several tests need: a directory opened and replayed into a map, batches from a line of text, and the files of a
// directory as they are.

package persistence_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

const dir = "/data"

// Kinds that the tests use: a plain assignment, and an order to forget everything.
const (
	kindPut   = 1
	kindClear = 2
)

// state is the twin of what a caller rebuilds: key → value.
type state map[string]string

// apply is what a caller does with a record.
func (s state) apply(r persistence.Record) error {
	switch {
	case r.Kind == kindClear:
		clear(s)
	case r.Kind != kindPut:
		return fmt.Errorf("unknown kind %d", r.Kind)
	case len(r.Value) == 0:
		delete(s, string(r.Key))
	default:
		s[string(r.Key)] = string(r.Value)
	}
	return nil
}

// each applies records one by one.
func each(apply func(persistence.Record) error) func([]persistence.Record) error {
	return func(records []persistence.Record) error {
		for _, r := range records {
			if err := apply(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// batch encodes a line such as "a=1 b=2 c= CLEAR".
func batch(line string) []byte {
	var b []byte
	for word := range strings.FieldsSeq(line) {
		if word == "CLEAR" {
			b = persistence.AppendRecord(b, kindClear, nil, nil)
			continue
		}
		key, value, _ := strings.Cut(word, "=")
		b = persistence.AppendRecord(b, kindPut, []byte(key), []byte(value))
	}
	return b
}

// encode is the state as one batch.
func (s state) encode() (b []byte) {
	for key, value := range s {
		b = persistence.AppendRecord(b, kindPut, []byte(key), []byte(value))
	}
	return b
}

// load opens and replays dir.
func load(fs persistence.FS, dir string) (*persistence.Store, state, persistence.Recovery, error) {
	store, err := persistence.Open(fs, dir, persistence.Options{Address: "127.0.0.1:6380"})
	if err != nil {
		return nil, nil, persistence.Recovery{}, err
	}
	s := state{}
	recovery, err := store.Replay(each(s.apply), nil)
	if err != nil {
		return nil, nil, recovery, errors.Join(err, store.Close(0))
	}
	return store, s, recovery, nil
}

func mustLoad(t testing.TB, fs persistence.FS) (*persistence.Store, state, persistence.Recovery) {
	t.Helper()
	store, s, recovery, err := load(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	return store, s, recovery
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put appends one batch and syncs it.
func put(t testing.TB, store *persistence.Store, time uint64, line string) {
	t.Helper()
	must(t, store.Append(time, batch(line)))
	must(t, store.Sync())
}

// save writes the whole state as a snapshot.
func save(t testing.TB, store *persistence.Store, time uint64, s state) persistence.Saved {
	t.Helper()
	w, err := store.BeginSnapshot(time)
	must(t, err)
	must(t, w.Append(time, s.encode()))
	saved, err := w.Commit()
	must(t, err)
	return saved
}

func equal(t testing.TB, got, want state) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("state is %v, want %v", got, want)
	}
}

// parse is the state that a line describes.
func parse(line string) state {
	s := state{}
	for rest := batch(line); len(rest) > 0; {
		var r persistence.Record
		r, rest, _ = persistence.CutRecord(rest)
		s.apply(r)
	}
	return s
}

// contents are the files of dir by name, the lock file left out.
func contents(fs *faultfs.FS) map[string][sha256.Size]byte {
	sums := map[string][sha256.Size]byte{}
	for _, name := range fs.Names(dir) {
		if name != "sluice.lock" {
			data, _ := fs.ReadFile(filepath.Join(dir, name))
			sums[name] = sha256.Sum256(data)
		}
	}
	return sums
}

func names(fs *faultfs.FS) string {
	var list []string
	for _, name := range fs.Names(dir) {
		if name != "sluice.lock" {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

func path(name string) string { return filepath.Join(dir, name) }

func journal(n int) string  { return fmt.Sprintf("journal-%010d", n) }
func snapshot(n int) string { return fmt.Sprintf("snapshot-%010d", n) }

// count reads a number from the environment, for runs longer than the usual.
func count(t testing.TB, variable string, usual int) int {
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		return n
	}
	return usual
}

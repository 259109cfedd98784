// Corners that cannot be reached from outside at a reasonable size: lags beyond 4 GiB, calls that never make progress, a
// search that gives up.

package persistence

import (
	"bytes"
	"errors"
	"io"
	"syscall"
	"testing"
)

func TestLag(t *testing.T) {
	rows := []struct {
		offset, durable int64
		lag             uint32
		proves          int64 // the last byte that a frame with this lag proves to have been durable; −1: none
	}{
		{100, 100, 0, 99},
		{100, 48, 52, 47},
		{1 << 32, 2, 1<<32 - 2, 1},
		{1 << 32, 1, lagUnknown, -1},
		{1 << 40, 48, lagUnknown, -1},
	}
	for _, row := range rows {
		head := frameHead{lag: lagOf(row.offset, row.durable)}
		if head.lag != row.lag {
			t.Errorf("lag of %d behind %d is %d", row.offset, row.durable, head.lag)
		}
		if row.proves >= 0 && !head.provesDurable(row.offset, row.proves) || head.provesDurable(row.offset, row.proves+1) {
			t.Errorf("a frame at %d with lag %d proves otherwise", row.offset, head.lag)
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	want := header{kind: journalFile, generation: 7, time: 1 << 60, seal: seal{4711, 0xabcd}}
	p := want.encode()
	got, err := decodeHeader("j", journalFile, 7, p)
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for n := range p {
		if _, err := decodeHeader("j", journalFile, 7, p[:n]); err == nil {
			t.Errorf("%d bytes were taken for a header", n)
		}
	}
}

func TestFooterRoundTrip(t *testing.T) {
	want := footer{records: 12, offset: 345}
	p := want.encode(99)
	if got, ok := decodeFooter(p, 99, 345); !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
	if _, ok := decodeFooter(p, 98, 345); ok {
		t.Error("another file's footer was accepted")
	}
	if _, ok := decodeFooter(p, 99, 346); ok {
		t.Error("a footer in another place was accepted")
	}
}

// stubborn is a file whose calls answer what they are told to.
type stubborn struct {
	File
	answer func(p []byte) (int, error)
	calls  int
}

func (s *stubborn) Write(p []byte) (int, error) {
	s.calls++
	return s.answer(p)
}

func (s *stubborn) ReadAt(p []byte, _ int64) (int, error) {
	s.calls++
	return s.answer(p)
}

func TestCallsWithoutProgressEnd(t *testing.T) {
	rows := []struct {
		err, want error
	}{
		{nil, io.ErrNoProgress},
		{syscall.EINTR, syscall.EINTR},
	}
	for _, row := range rows {
		below := &stubborn{answer: func([]byte) (int, error) { return 0, row.err }}
		f := &patientFile{below, "f"}
		if _, err := f.Write([]byte("x")); !errors.Is(err, row.want) || below.calls != IdleAttemptsMax {
			t.Errorf("write: %v after %d calls", err, below.calls)
		}
		if _, err := f.ReadAt([]byte("x"), 0); !errors.Is(err, row.want) {
			t.Errorf("read: %v", err)
		}
	}
	ended := &patientFile{&stubborn{answer: func([]byte) (int, error) { return 0, io.EOF }}, "f"}
	if _, err := ended.ReadAt([]byte("x"), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read behind the end: %v", err)
	}
}

// C111: a write that moves one byte at a time, interrupted before each, moves every byte once.
func TestByteByByte(t *testing.T) {
	var got bytes.Buffer
	calls := 0
	below := &stubborn{answer: func(p []byte) (int, error) {
		if calls++; calls%2 == 1 {
			return 0, syscall.EINTR
		}
		return got.Write(p[:1])
	}}
	want := bytes.Repeat([]byte("0123456789"), 100)
	if n, err := (&patientFile{below, "f"}).Write(want); n != len(want) || err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// memory is a file that is read from a slice.
type memory struct {
	File
	bytes.Reader
}

func (m *memory) ReadAt(p []byte, offset int64) (int, error) { return m.Reader.ReadAt(p, offset) }
func (m *memory) Size() (int64, error)                       { return m.Reader.Size(), nil }
func (m *memory) Close() error                               { return nil }

// A file in which nearly every byte looks like the head of a long frame takes a bounded time, and is damaged then.
func TestSearchGivesUp(t *testing.T) {
	// Read as length and lag at every offset, these bytes are 4,210,752 and lags that reach back a little.
	data := bytes.Repeat([]byte{0x40, 0x40, 0x40, 0x00}, 3<<20)
	r := &reader{file: &memory{Reader: *bytes.NewReader(data)}, size: int64(len(data))}
	at, err := r.search(0, headerBytes, r.size, func(int64, frameHead) bool { return true })
	if err != errSearchTooLong || at != r.size {
		t.Errorf("found %d, %v", at, err)
	}
	if damaged, err := r.damagedBefore(0, headerBytes); !damaged || err != nil {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
}

func TestNames(t *testing.T) {
	for _, kind := range []fileKind{journalFile, snapshotFile} {
		for _, generation := range []uint64{1, 9_999_999_999, 10_000_000_000, 1<<63 - 1} {
			k, g, ok := parseName(fileName(kind, generation))
			if !ok || k != kind || g != generation {
				t.Errorf("%s: %v %d %v", fileName(kind, generation), k, g, ok)
			}
		}
	}
	for _, name := range []string{"journal-0000000000", "journal-1", "journal-00000000001", "journal-9223372036854775808",
		"journal--000000001", "journal", "wal-0000000001", "journal-0000000001.damaged-1", "snapshot.tmp"} {
		if _, _, ok := parseName(name); ok {
			t.Errorf("%s was taken for ours", name)
		}
	}
}

// Records by rows: what is encoded comes back, and nothing else is taken for a record.

package persistence_test

import (
	"bytes"
	"testing"

	"sluice/persistence"
)

func TestRecordRoundTrip(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 300)
	rows := []persistence.Record{
		{Kind: 0, Key: nil, Value: nil},
		{Kind: 1, Key: []byte("k"), Value: nil},
		{Kind: 255, Key: []byte("key"), Value: []byte("value")},
		{Kind: 7, Key: long, Value: long[:127]},
		{Kind: 7, Key: long[:128], Value: bytes.Repeat(long, 1000)},
		{Kind: 7, Key: []byte{0, 0, 0}, Value: []byte{0xff, 0x80}},
	}
	var all []byte
	for _, row := range rows {
		all = persistence.AppendRecord(all, row.Kind, row.Key, row.Value)
	}
	for i, want := range rows {
		got, rest, ok := persistence.CutRecord(all)
		if !ok || got.Kind != want.Kind || !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) {
			t.Fatalf("record %d: got %v, %v", i, got, ok)
		}
		all = rest
	}
	if len(all) != 0 {
		t.Fatalf("%d bytes left", len(all))
	}
}

func TestRecordCutShortIsRefused(t *testing.T) {
	whole := persistence.AppendRecord(nil, 1, bytes.Repeat([]byte("k"), 200), bytes.Repeat([]byte("v"), 200))
	for n := range whole {
		if _, _, ok := persistence.CutRecord(whole[:n]); ok {
			t.Fatalf("the first %d of %d bytes were taken for a record", n, len(whole))
		}
	}
}

func TestRecordLengthsThatLie(t *testing.T) {
	rows := [][]byte{
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0},       // key of 2^64 − 1 bytes
		{1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},       // value of as many
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, // no length at all
		{1, 2, 0, 'k'},              // key longer than what is left
		{1, 1, 2, 'k', 'v'},         // value longer than what is left
		{1, 0x80, 0x80, 0x80},       // length without an end
		{1, 0x80, 0x80, 0x80, 0x7f}, // key longer than a frame
	}
	for i, row := range rows {
		if r, _, ok := persistence.CutRecord(row); ok {
			t.Errorf("row %d: taken for %v", i, r)
		}
	}
}

// A token bucket's key of 20 bytes with 40 bytes of state has to fit the key and 48 bytes.
func TestRecordIsCompact(t *testing.T) {
	key, value := make([]byte, 20), make([]byte, 40)
	got := len(persistence.AppendRecord(nil, 1, key, value)) - len(key) - len(value)
	if got != persistence.RecordOverheadBytesMin {
		t.Errorf("overhead is %d bytes, want %d", got, persistence.RecordOverheadBytesMin)
	}
	key, value = make([]byte, persistence.FramePayloadBytesMax/2), make([]byte, persistence.FramePayloadBytesMax/2)
	got = len(persistence.AppendRecord(nil, 1, key, value)) - len(key) - len(value)
	if got != persistence.RecordOverheadBytesMax {
		t.Errorf("overhead is %d bytes at most, want %d", got, persistence.RecordOverheadBytesMax)
	}
}

func TestAppendRecordDoesNotAllocate(t *testing.T) {
	key, value, dst := make([]byte, 20), make([]byte, 40), make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { dst = persistence.AppendRecord(dst[:0], 1, key, value) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

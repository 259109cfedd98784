// A record is the unit that the journal and the snapshot carry: an absolute assignment of a value to a key. This file
// turns records into bytes and back, and knows nothing else. Lengths are variable-length integers, because almost every
// key and every value is shorter than 128 bytes and then costs one byte of length: three bytes of framing a record, so
// that a key table at rest is about as compact as the entries themselves.

package persistence

import "encoding/binary"

// Limits of a record. A record lies in one frame, so the frame's limit is the record's.
const (
	// RecordOverheadBytesMin is what a record costs beyond key and value when both are shorter than 128 bytes.
	RecordOverheadBytesMin = 3
	// RecordOverheadBytesMax is the same for the longest key and value that fit a frame.
	RecordOverheadBytesMax = 9
)

// Record assigns Value to Key. The assignment is absolute, so the last record of a key wins and replaying one twice
// changes nothing. An empty Value says that the key is fresh again: it is gone. Kind is the caller's and opaque here; a
// caller may use a kind of its own for a record that is an order rather than an assignment ("forget everything"), because
// replay hands records over in the order in which they were appended.
type Record struct {
	Kind  uint8
	Key   []byte
	Value []byte
}

// AppendRecord appends one encoded record to dst and returns the longer slice. It allocates only when dst is too short.
//
//	+------+----------------+------------------+-----+-------+
//	| kind | key length     | value length     | key | value |
//	| 1 B  | uvarint, 1-4 B | uvarint, 1-4 B   |     |       |
//	+------+----------------+------------------+-----+-------+
func AppendRecord(dst []byte, kind uint8, key, value []byte) []byte {
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	dst = append(dst, key...)
	return append(dst, value...)
}

// CutRecord takes the first record off an encoded batch and returns the rest. The record's key and value lie in batch.
// ok is false when batch does not begin with a whole record.
func CutRecord(batch []byte) (record Record, rest []byte, ok bool) {
	if len(batch) < RecordOverheadBytesMin {
		return Record{}, nil, false
	}
	record.Kind = batch[0]
	keyLen, rest, ok := cutLength(batch[1:])
	if !ok {
		return Record{}, nil, false
	}
	valueLen, rest, ok := cutLength(rest)
	if !ok || keyLen > len(rest) || valueLen > len(rest)-keyLen {
		return Record{}, nil, false
	}
	record.Key = rest[:keyLen:keyLen]
	record.Value = rest[keyLen : keyLen+valueLen : keyLen+valueLen]
	return record, rest[keyLen+valueLen:], true
}

// cutLength takes a length off p. Lengths beyond a frame's limit are refused here, so no sum of two can overflow.
func cutLength(p []byte) (length int, rest []byte, ok bool) {
	if len(p) > 0 && p[0] < 0x80 {
		return int(p[0]), p[1:], true
	}
	v, n := binary.Uvarint(p)
	if n <= 0 || v > FramePayloadBytesMax {
		return 0, nil, false
	}
	return int(v), p[n:], true
}

// countRecords counts the records of an encoded batch. ok is false when the batch does not consist of whole records.
func countRecords(batch []byte) (count uint64, ok bool) {
	for len(batch) > 0 {
		if _, batch, ok = CutRecord(batch); !ok {
			return count, false
		}
		count++
	}
	return count, true
}

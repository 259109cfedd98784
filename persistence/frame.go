// A frame is one batch of records in a file: a head of 20 bytes, then the records. The journal and the snapshot use the
// same frames.
//
// The checksum is seeded with the checksum of the file's header and covers the frame's own offset. So a frame is bound to
// one file and one place in it: a stale block of a deleted file, a frame written twice, moved or left out all fail it, at
// no cost in bytes. A chain (each checksum seeded by the frame before) would promise as much, but then no frame could be
// verified behind a damaged one, and telling a torn tail from damage needs just that; see reader.go.
//
// Lag is what makes that distinction possible. It says how many bytes in front of this frame were not known to be durable
// when the frame was written: everything before offset − lag was. A whole frame behind a broken one therefore proves
// damage if it was written after the broken bytes were synced, and proves nothing otherwise.

package persistence

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// FrameBytesMax is the longest frame, head included. It bounds what a reader allocates for a length that it reads.
	FrameBytesMax = 16 << 20
	// FramePayloadBytesMax is the longest batch of records in one frame.
	FramePayloadBytesMax = FrameBytesMax - frameHeadBytes

	frameHeadBytes = 20
	// lagUnknown in a frame's lag says nothing about what was durable: more than 4 GiB were not.
	lagUnknown = 1<<32 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ignoreChecksums makes every checksum match. Only tests set it: they show that bounds and lengths are checked by
// themselves, so that a file that happens to match its checksum cannot make the reader panic or allocate without bound.
var ignoreChecksums bool

// frameHead is a frame's head, decoded.
//
//	 0        4        8       12                20
//	+--------+--------+--------+-----------------+-----------
//	| length | CRC    | lag    | server time     | records …
//	| u32    | u32    | u32    | u64, unix ns    | length B
//	+--------+--------+--------+-----------------+-----------
type frameHead struct {
	length uint32 // of the records, in bytes
	sum    uint32 // CRC-32C, seeded with the header's: offset u64, length, lag, time, records
	lag    uint32 // bytes before this frame that were not known to be durable, or lagUnknown
	time   uint64 // server time of the batch, ns since 1970
}

// sealFrame puts the head of the frame at offset into the first bytes of frame, whose records are already in place, and
// returns the checksum.
func sealFrame(frame []byte, seed uint32, offset int64, lag uint32, time uint64) uint32 {
	head := frameHead{length: uint32(len(frame) - frameHeadBytes), lag: lag, time: time}
	head.sum = frameSum(seed, offset, head, frame[frameHeadBytes:])
	binary.LittleEndian.PutUint32(frame[0:], head.length)
	binary.LittleEndian.PutUint32(frame[4:], head.sum)
	binary.LittleEndian.PutUint32(frame[8:], head.lag)
	binary.LittleEndian.PutUint64(frame[12:], head.time)
	return head.sum
}

// decodeFrameHead reads a head from the first 20 bytes of p.
func decodeFrameHead(p []byte) frameHead {
	return frameHead{
		length: binary.LittleEndian.Uint32(p[0:]),
		sum:    binary.LittleEndian.Uint32(p[4:]),
		lag:    binary.LittleEndian.Uint32(p[8:]),
		time:   binary.LittleEndian.Uint64(p[12:]),
	}
}

// frameSum is the checksum of the frame at offset in the file whose header has the checksum seed.
func frameSum(seed uint32, offset int64, head frameHead, records []byte) uint32 {
	var bound [24]byte
	binary.LittleEndian.PutUint64(bound[0:], uint64(offset))
	binary.LittleEndian.PutUint32(bound[8:], head.length)
	binary.LittleEndian.PutUint32(bound[12:], head.lag)
	binary.LittleEndian.PutUint64(bound[16:], head.time)
	return crc32.Update(crc32.Update(seed, castagnoli, bound[:]), castagnoli, records)
}

// lagOf is the lag to write into a frame at offset when everything before durable is known to be durable.
func lagOf(offset, durable int64) uint32 {
	return uint32(min(offset-durable, lagUnknown))
}

// plausible reports whether a frame with this head may lie at offset in a file whose frames end at limit.
func (h frameHead) plausible(offset, limit int64) bool {
	return h.length <= FramePayloadBytesMax && int64(h.length) <= limit-offset-frameHeadBytes &&
		(h.lag == lagUnknown || int64(h.lag) <= offset-headerBytes)
}

// provesDurable reports whether a whole frame at offset shows that the byte at damaged was durable when it was written.
func (h frameHead) provesDurable(offset, damaged int64) bool {
	return h.lag != lagUnknown && offset-int64(h.lag) > damaged
}

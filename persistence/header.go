// Every file begins with the same 48 bytes, and a snapshot ends with 28 more. The header says whose file it is, in which
// format, and which generation; its checksum seeds those of the frames. The footer is the mark of wholeness: a snapshot
// without one, or with bytes behind it, is never taken for whole.

package persistence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	// FormatVersion is the version of the files that this package writes, and the newest that it reads.
	FormatVersion = 1

	headerBytes = 48
	footerBytes = 28
	magicBytes  = 8
	footerMagic = "SLUICEOK"
)

// fileKind tells the two kinds of data file apart.
type fileKind uint8

const (
	journalFile fileKind = iota
	snapshotFile
)

// magic is what a file of the kind begins with.
func (k fileKind) magic() string {
	if k == snapshotFile {
		return "SLUICESN"
	}
	return "SLUICEJL"
}

func (k fileKind) String() string {
	if k == snapshotFile {
		return "snapshot"
	}
	return "journal"
}

// seal is the last word on a generation: its frames end at length, the last of them (or the header, without any) has the
// checksum sum, and whatever lies behind is dead. The header of the next generation carries it. Zero: nothing before.
type seal struct {
	length int64
	sum    uint32
}

// header is a file's header, decoded.
//
//	 0          8         12         16           24           32             40          44       48
//	+----------+---------+----------+------------+------------+--------------+-----------+--------+
//	| magic    | version | reserved | generation | begun at   | seal: length | seal: sum | CRC-32C|
//	| 8 bytes  | u32     | u32, 0   | u64        | u64, ns    | u64          | u32       | of 0-43|
//	+----------+---------+----------+------------+------------+--------------+-----------+--------+
//
// In a snapshot the generation is the one that replay goes on with, and the seal is zero.
type header struct {
	kind       fileKind
	generation uint64
	time       uint64 // server time at which the file was begun, ns since 1970
	seal       seal
	sum        uint32 // set by encode and decodeHeader
}

// encode returns the header's bytes and sets its checksum.
func (h *header) encode() []byte {
	p := make([]byte, headerBytes)
	copy(p, h.kind.magic())
	binary.LittleEndian.PutUint32(p[8:], FormatVersion)
	binary.LittleEndian.PutUint64(p[16:], h.generation)
	binary.LittleEndian.PutUint64(p[24:], h.time)
	binary.LittleEndian.PutUint64(p[32:], uint64(h.seal.length))
	binary.LittleEndian.PutUint32(p[40:], h.seal.sum)
	h.sum = crc32.Checksum(p[:headerBytes-4], castagnoli)
	binary.LittleEndian.PutUint32(p[headerBytes-4:], h.sum)
	return p
}

// decodeHeader reads the header of the file at path, whose name says kind and generation. p holds its first bytes, up to
// headerBytes of them. The error is a *ForeignError, *VersionError or *DamageError.
func decodeHeader(path string, kind fileKind, generation uint64, p []byte) (header, error) {
	if len(p) < magicBytes || string(p[:magicBytes]) != kind.magic() {
		return header{}, &ForeignError{Path: path, What: fmt.Sprintf("it does not begin like a %s", kind)}
	}
	if len(p) < headerBytes {
		if len(p) >= 12 && binary.LittleEndian.Uint32(p[8:]) > FormatVersion {
			return header{}, &VersionError{Path: path, Version: binary.LittleEndian.Uint32(p[8:])}
		}
		return header{}, &DamageError{Path: path, Offset: int64(len(p)), What: "the file ends inside its header"}
	}
	version := binary.LittleEndian.Uint32(p[8:])
	if version > FormatVersion && !flippedVersion(p) {
		return header{}, &VersionError{Path: path, Version: version}
	}
	h := header{
		kind:       kind,
		generation: binary.LittleEndian.Uint64(p[16:]),
		time:       binary.LittleEndian.Uint64(p[24:]),
		seal:       seal{int64(binary.LittleEndian.Uint64(p[32:])), binary.LittleEndian.Uint32(p[40:])},
		sum:        binary.LittleEndian.Uint32(p[headerBytes-4:]),
	}
	damage := func(what string, args ...any) (header, error) {
		return h, &DamageError{Path: path, What: fmt.Sprintf(what, args...)}
	}
	switch {
	case h.sum != crc32.Checksum(p[:headerBytes-4], castagnoli) && !ignoreChecksums:
		return damage("the header's checksum does not match")
	case version != FormatVersion || binary.LittleEndian.Uint32(p[12:]) != 0:
		return damage("the header is not one of format %d", FormatVersion)
	case h.generation != generation:
		return damage("the header is that of generation %d", h.generation)
	case h.seal.length != 0 && (h.seal.length < headerBytes || kind == snapshotFile):
		return damage("the header seals %d bytes", h.seal.length)
	}
	return h, nil
}

// flippedVersion reports whether the header would be whole if its version were ours: then the version is damaged, and the
// file is not newer.
func flippedVersion(p []byte) bool {
	fixed := bytes.Clone(p[:headerBytes-4])
	binary.LittleEndian.PutUint32(fixed[8:], FormatVersion)
	return crc32.Checksum(fixed, castagnoli) == binary.LittleEndian.Uint32(p[headerBytes-4:])
}

// isHollow reports whether p, the first bytes of a journal, can be what remains of a header whose writing was cut short:
// nothing, or a part of a header, with nothing or zero bytes behind it. A file of zero bytes of any length counts as well.
//
// A header is written and synced before the first frame. So a generation that is hollow never held a frame.
func isHollow(p []byte, size int64) bool {
	p = bytes.TrimRight(p, "\x00")
	if len(p) == 0 {
		return true
	}
	n := min(len(p), magicBytes)
	return size <= headerBytes && len(p) < headerBytes && string(p[:n]) == journalFile.magic()[:n]
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// footer closes a snapshot.
//
//	 0          8         16            24       28
//	+----------+---------+-------------+--------+
//	| SLUICEOK | records | own offset  | CRC-32C, seeded with the header's,
//	| 8 bytes  | u64     | u64         | of 0-23|
//	+----------+---------+-------------+--------+
type footer struct {
	records uint64
	offset  int64
}

func (f footer) encode(seed uint32) []byte {
	p := make([]byte, footerBytes)
	copy(p, footerMagic)
	binary.LittleEndian.PutUint64(p[8:], f.records)
	binary.LittleEndian.PutUint64(p[16:], uint64(f.offset))
	binary.LittleEndian.PutUint32(p[24:], crc32.Update(seed, castagnoli, p[:24]))
	return p
}

// decodeFooter reads the last footerBytes of a snapshot, which lie at offset. ok is false when they are not its footer.
func decodeFooter(p []byte, seed uint32, offset int64) (f footer, ok bool) {
	f = footer{binary.LittleEndian.Uint64(p[8:]), int64(binary.LittleEndian.Uint64(p[16:]))}
	sum := crc32.Update(seed, castagnoli, p[:24])
	ok = string(p[:magicBytes]) == footerMagic && f.offset == offset &&
		(sum == binary.LittleEndian.Uint32(p[24:]) || ignoreChecksums)
	return f, ok
}

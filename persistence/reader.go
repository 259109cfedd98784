// Reading a file frame by frame, through a window that is a little longer than the longest frame it has met, and looking
// behind a broken frame for the next whole one.
//
// Nothing read from a file is believed before it is checked: a length is compared with the frame's limit and with what is
// left of the file before a byte is allocated for it.

package persistence

import "errors"

const (
	// WindowBytesMin is how much is read at once, beyond what is asked for.
	WindowBytesMin = 256 << 10
	// SearchWorkBytesMax bounds what one search for the next whole frame checks; a file can be made so that nearly every
	// byte looks like the head of a long frame.
	SearchWorkBytesMax = 256 << 20
)

var errSearchTooLong = errors.New("too much looks like a frame and is none")

// frame is one frame of a file. Its records lie in the reader's window, until the next frame is read.
type frame struct {
	frameHead
	offset  int64
	end     int64
	records []byte
}

// reader reads the frames of one file. Close it.
type reader struct {
	file File
	path string
	size int64

	window []byte // the bytes of the file from start on
	start  int64
}

// openReader opens the file at path.
func openReader(fs FS, path string) (*reader, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &reader{file: file, path: path, size: size}, nil
}

func (r *reader) close() { r.file.Close() }

// at returns n bytes at offset, which must lie within the file. They are good until the next call.
func (r *reader) at(offset int64, n int) ([]byte, error) {
	if offset < r.start || offset+int64(n) > r.start+int64(len(r.window)) {
		if err := r.slide(offset, n); err != nil {
			return nil, err
		}
	}
	from := int(offset - r.start)
	return r.window[from : from+n], nil
}

// slide moves the window to offset and makes it n bytes long at least. What it held of that already is not read again.
func (r *reader) slide(offset int64, n int) error {
	length := int(min(int64(n+WindowBytesMin), r.size-offset))
	if cap(r.window) < length {
		grown := make([]byte, len(r.window), length)
		copy(grown, r.window)
		r.window = grown
	}
	kept := 0
	if offset >= r.start && offset < r.start+int64(len(r.window)) {
		kept = copy(r.window, r.window[offset-r.start:])
	}
	kept = min(kept, length)
	r.window, r.start = r.window[:length], offset
	_, err := r.file.ReadAt(r.window[kept:], offset+int64(kept))
	if err != nil {
		r.window = r.window[:0]
	}
	return err
}

// frameAt reads the frame at offset in a file whose frames end at limit. If there is no whole frame, wrong says why.
// The error is that of the disk.
func (r *reader) frameAt(seed uint32, offset, limit int64) (f frame, wrong string, err error) {
	if limit-offset < frameHeadBytes {
		return frame{}, "the file ends inside the head of a frame", nil
	}
	p, err := r.at(offset, frameHeadBytes)
	if err != nil {
		return frame{}, "", err
	}
	if allZero(p) {
		return frame{}, "zero bytes where a frame should begin", nil
	}
	f = frame{frameHead: decodeFrameHead(p), offset: offset}
	if f.length > FramePayloadBytesMax {
		return frame{}, "a frame longer than any", nil
	}
	f.end = offset + frameHeadBytes + int64(f.length)
	if f.end > limit {
		return frame{}, "the file ends inside a frame", nil
	}
	if p, err = r.at(offset, frameHeadBytes+int(f.length)); err != nil {
		return frame{}, "", err
	}
	f.records = p[frameHeadBytes:]
	if f.sum != frameSum(seed, offset, f.frameHead, f.records) && !ignoreChecksums {
		return frame{}, "a frame's checksum does not match", nil
	}
	return f, "", nil
}

// walk visits the frames from offset on until limit, or until one is not whole: then wrong says why. end and sum are
// where the last whole frame ends and its checksum; sum is the seed if there was none.
func (r *reader) walk(
	seed uint32, offset, limit int64, visit func(frame) error,
) (end int64, sum uint32, wrong string, err error) {
	end, sum = offset, seed
	for end < limit {
		f, wrong, err := r.frameAt(seed, end, limit)
		if wrong != "" || err != nil {
			return end, sum, wrong, err
		}
		if err := visit(f); err != nil {
			return end, sum, "", err
		}
		end, sum = f.end, f.sum
	}
	return end, sum, "", nil
}

// search looks for the first whole frame that begins behind offset and ends within limit, and that want accepts by its
// head. It returns limit if there is none, and errSearchTooLong if it gave up.
func (r *reader) search(seed uint32, offset, limit int64, want func(at int64, head frameHead) bool) (int64, error) {
	work := int64(0)
	for at := offset + 1; at+frameHeadBytes <= limit; at++ {
		p, err := r.at(at, frameHeadBytes)
		if err != nil {
			return limit, err
		}
		head := decodeFrameHead(p)
		if !head.plausible(at, limit) || !want(at, head) {
			continue
		}
		if work += frameHeadBytes + int64(head.length); work > SearchWorkBytesMax {
			return limit, errSearchTooLong
		}
		_, wrong, err := r.frameAt(seed, at, limit)
		if err != nil {
			return limit, err
		}
		if wrong == "" {
			return at, nil
		}
	}
	return limit, nil
}

// damagedBefore reports whether the broken frame at offset, in the newest generation, is damage rather than a torn tail:
// whether a whole frame behind it was written when the broken one was durable already. Without such a witness the broken
// frame and all behind it were never synced, or are the last frame that was; there a tear and damage look the same. If no
// witness is found in time, it is damage: refusing loses nothing.
func (r *reader) damagedBefore(seed uint32, offset int64) (bool, error) {
	witness, err := r.search(seed, offset, r.size, func(at int64, head frameHead) bool {
		return head.provesDurable(at, offset)
	})
	if err == errSearchTooLong {
		return true, nil
	}
	return witness < r.size, err
}

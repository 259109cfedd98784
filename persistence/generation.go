// One generation of the journal while it is written. It is a file that grows at its end, and it knows three places in it:
//
//	header │ frame │ frame │ frame │ frame │ fra
//	                       ▲               ▲   ▲
//	                    synced            end  what a failed write left
//
// Up to synced the file is durable; up to end it is written and whole; behind end nothing is known once a write has failed.
// A generation never repairs itself. After a failure it is retired, and the next generation's header seals it: at end if
// it can still be synced, at synced if it cannot, because after a failed sync the kernel may have dropped the pages and a
// second sync that succeeds would prove nothing.

package persistence

import "errors"

// writeBufferBytesKept is how long a write buffer is kept for the next frame; a longer one is given back.
const writeBufferBytesKept = 4 << 20

// generation is a journal file that frames are appended to.
type generation struct {
	file   File
	path   string
	number uint64
	seed   uint32
	end    seal // of the whole frames
	synced seal // of the durable frames
	broken bool // a write failed: nothing may be appended any more
	buffer []byte
}

// createGeneration makes the file, writes its header and makes both durable. If it fails, a file may be left over.
//
// Invariant: what head.seal covers of the generation before is durable. So a header that is whole proves that the
// generation before was whole up to its seal, and a tear there is damage. (Checked by Store.retire, which makes the seal.)
func createGeneration(fs FS, dir, path string, head header) (*generation, error) {
	file, err := fs.Create(path)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(head.encode())
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = fs.SyncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	start := seal{headerBytes, head.sum}
	return &generation{file: file, path: path, number: head.generation, seed: head.sum, end: start, synced: start}, nil
}

// append writes one frame with the records of all batches, in one write.
func (g *generation) append(time uint64, batches [][]byte) error {
	if invariants && g.broken {
		panic("persistence: a frame behind what a failed write left")
	}
	frame := append(g.buffer[:0], make([]byte, frameHeadBytes)...)
	for _, batch := range batches {
		frame = append(frame, batch...)
	}
	if len(frame) > FrameBytesMax {
		panic("persistence: batches longer than a frame")
	}
	sum := sealFrame(frame, g.seed, g.end.length, lagOf(g.end.length, g.synced.length), time)
	if cap(frame) <= writeBufferBytesKept {
		g.buffer = frame
	}
	if _, err := g.file.Write(frame); err != nil {
		g.broken = true
		return err
	}
	g.end = seal{g.end.length + int64(len(frame)), sum}
	return nil
}

// checkBatches panics if a batch does not consist of whole records: a caller's mistake that would be on disk for good.
func checkBatches(batches [][]byte) {
	for _, batch := range batches {
		if _, ok := countRecords(batch); !ok {
			panic("persistence: not a batch of records")
		}
	}
}

package shard

// The logs of keys under a sliding log. A log does not fit into an entry, so the
// entry's state holds the number of its log here. Log 0 is always empty: a key
// that has none yet is decided with it, and takes it over when the call passes.

import (
	"unsafe"

	"sluice/algorithms"
)

type logs struct {
	rows  []*algorithms.Log
	free  []uint32
	bytes int // memory of the runs of all logs
}

func newLogs() logs { return logs{rows: []*algorithms.Log{new(algorithms.Log)}} }

func (t *logs) at(i uint64) *algorithms.Log { return t.rows[i] }

// adopt gives log 0, which a call has just charged, a number of its own.
func (t *logs) adopt() uint64 {
	log := t.rows[0]
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.rows[0], t.rows[i] = t.rows[i], log
		return uint64(i)
	}
	t.rows = append(t.rows, log)
	t.rows[0] = new(algorithms.Log)
	return uint64(len(t.rows) - 1)
}

// drop empties a log and keeps a short one's memory for the next key.
func (t *logs) drop(i uint64) {
	log := t.rows[i]
	t.bytes -= log.Bytes()
	log.Reset()
	if log.Bytes() > logKeptBytesMax {
		*log = algorithms.Log{}
	}
	t.bytes += log.Bytes()
	t.free = append(t.free, uint32(i))
}

// logKeptBytesMax is how much memory a freed log may keep.
const logKeptBytesMax = 256

// rowBytes is the memory of the logs themselves, without their runs.
func (t *logs) rowBytes() int {
	return len(t.rows)*int(unsafe.Sizeof(algorithms.Log{})) + 8*cap(t.rows) + 4*cap(t.free)
}

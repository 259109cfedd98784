package shard

// The logs of keys under a sliding log. A log does not fit into an entry, so the
// entry's state holds the number of its log here. Log 0 is always empty: a key
// that has none yet is decided with it, and takes it over when the call passes.

import "sluice/algorithms"

type logs struct {
	rows  rows[logRow]
	free  uint32 // head of the list of logs without a key
	bytes int    // memory of the runs of all logs
}

type logRow struct {
	log  algorithms.Log
	next uint32 // in the free list
}

func newLogs() (t logs) {
	t.rows.add()
	return t
}

func (t *logs) at(i uint64) *algorithms.Log { return &t.rows.at(uint32(i)).log }

// adopt gives log 0, which a call has just charged, a number of its own.
func (t *logs) adopt() uint64 {
	i := t.free
	if i == 0 {
		i = t.rows.add()
	}
	empty, row := t.rows.at(0), t.rows.at(i)
	t.free, row.next = row.next, 0
	empty.log, row.log = row.log, empty.log
	return uint64(i)
}

// drop empties a log and keeps a short one's memory for the next key.
func (t *logs) drop(i uint64) {
	row := t.rows.at(uint32(i))
	t.bytes -= row.log.Bytes()
	row.log.Reset()
	if row.log.Bytes() > logKeptBytesMax {
		row.log = algorithms.Log{}
	}
	t.bytes += row.log.Bytes()
	row.next, t.free = t.free, uint32(i)
}

// logKeptBytesMax is how much memory a freed log may keep.
const logKeptBytesMax = 256

// rowBytes is the memory of the logs themselves, without their runs.
func (t *logs) rowBytes() int { return t.rows.bytes() }

// loadedBytes is the memory of the log that has been loaded.
func (c *Core) loadedBytes() int {
	if c.stored.Log == nil {
		return 0
	}
	return c.stored.Log.Bytes()
}

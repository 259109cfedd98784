package keeper

// What the keeper tells INFO and the metrics: one look at figures that change
// while it is taken.

import "time"

// Status is one look at a keeper.
type Status struct {
	Mode          string
	Dir           string
	JournalBytes  int64
	UnsyncedBytes int64
	Lag           time.Duration // age of the oldest change that is not durable
	Generation    uint64
	Syncs         uint64
	Lost          uint64 // batches that a snapshot must make good
	Fault         string // why the journal does not keep its promise, ""
	LastError     string // the last error of the disk, healed or not, ""
	Saving        bool
	LastSave      uint64 // server time of the last snapshot, ns since 1970; 0: none
	LastSaveBytes int64
	LastSaveError string // of the last snapshot that was tried, "" if it worked
}

// Status looks at the keeper. Before Start there is nothing to tell.
func (k *Keeper) Status() Status {
	s := Status{Mode: k.options.Mode.String(), Dir: k.options.Dir, LastSave: k.savedTime.Load()}
	if k.committer == nil {
		return s
	}
	c := k.committer.Stats()
	s.JournalBytes, s.UnsyncedBytes, s.Lag = c.JournalBytes, c.UnsyncedBytes, c.Lag
	s.Generation, s.Syncs, s.Lost = c.Generation, c.Syncs, c.Lost
	s.Saving = k.asked.Load()
	if c.Fault != nil {
		s.Fault = c.Fault.Error()
	}
	s.LastError, s.LastSaveError = text(c.LastError), text(c.LastSaveError)
	if c.LastSave != nil {
		s.LastSaveBytes = c.LastSave.Bytes
	}
	return s
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package keeper

// What the keeper tells INFO and the metrics: one look at figures that change
// while it is taken.

import "time"

// Status is one look at a keeper.
type Status struct {
	Mode          string
	Dir           string
	JournalBytes  int64
	HeldBytes     int64 // handed over and not durable
	UnsyncedBytes int64
	Lag           time.Duration // age of the oldest change that was handed over and is not durable
	Generation    uint64
	Syncs         uint64
	Lost          uint64 // batches that a snapshot had or has to make good
	Faults        uint64 // how often the journal has not kept its promise
	Fault         string // why it does not at present, ""
	LastError     string // the last error of the disk, healed or not, ""

	Saving        bool
	SavingFor     time.Duration // of the snapshot that is being written
	Saves         uint64        // since the start
	SaveDue       bool          // what the journal lacks is not in a snapshot yet
	ChangedSince  uint64        // batches since the last snapshot
	LastSave      uint64        // server time of the last snapshot, ns since 1970; 0: none
	LastSaveFile  string
	LastSaveBytes int64
	LastSaveKeys  uint64
	LastSaveTook  time.Duration
	LastSaveError string // of the last snapshot that was tried, "" if it worked

	LoadedRecords uint64 // at the start
	LoadedBytes   int64
}

// Status looks at the keeper. It must have been started.
func (k *Keeper) Status() Status {
	c, v := k.committer.Stats(), &k.saves
	s := Status{
		Mode: k.options.Mode.String(), Dir: k.options.Dir,
		JournalBytes: c.JournalBytes, HeldBytes: c.HeldBytes, UnsyncedBytes: c.UnsyncedBytes, Lag: c.Lag,
		Generation: c.Generation, Syncs: c.Syncs, Lost: c.Lost, Faults: c.Faults, LastError: text(c.LastError),
		Saving: k.asked.Load(), Saves: v.done.Load(), SaveDue: c.SnapshotNeeded,
		ChangedSince: c.Batches - min(c.Batches, v.batches.Load()),
		LastSave:     v.time.Load(), LastSaveTook: time.Duration(v.took.Load()), LastSaveError: text(c.LastSaveError),
		LoadedRecords: k.loaded.SnapshotRecords + k.loaded.JournalRecords,
		LoadedBytes:   k.loaded.SnapshotBytes + k.loaded.JournalBytes,
	}
	if s.Saving {
		s.SavingFor = max(0, k.options.Elapsed()-time.Duration(v.began.Load()))
	}
	if c.Fault != nil {
		s.Fault = c.Fault.Error()
	}
	if c.LastSave != nil {
		s.LastSaveFile, s.LastSaveBytes, s.LastSaveKeys = c.LastSave.File, c.LastSave.Bytes, c.LastSave.Records
	}
	return s
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

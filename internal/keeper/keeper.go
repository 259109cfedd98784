// Package keeper keeps a server's state on disk: it loads what is there at the
// start, hands what changes to the journal, and writes snapshots while the server
// serves. It is the seam between package shard, which knows keys, and package
// persistence, which knows files; neither knows the other.
//
// Life of a Keeper: Open locks the directory. Load replays it into the shards
// while nobody is served. Start begins the journal and the timer of snapshots.
// Save and BackgroundSave write a snapshot. Close hands over the rest and ends.
package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/persistence"
	"sluice/shard"
)

const (
	// lookInterval is how often the keeper looks whether a snapshot is due.
	lookInterval = time.Second
)

// Options say what is kept, where and how.
type Options struct {
	FS      persistence.FS
	Dir     string
	Mode    persistence.Mode
	Address string // of the server, for who finds the directory locked
	// SnapshotEvery and SnapshotJournalBytes: a snapshot is written when that
	// much time has passed since the last, or when the journal is that long.
	// 0 means never for that reason.
	SnapshotEvery        time.Duration
	SnapshotJournalBytes int64
	// Refuse makes Refusing tell of disk errors in every mode, not only under
	// persistence.Always.
	Refuse bool
	// Elapsed reads time that never goes back.
	Elapsed func() time.Duration
	TagHash func(key []byte) uint64
	Log     *slog.Logger
}

// Clock is the server's time.
type Clock interface{ Now() uint64 }

// Keeper keeps the state of one set of shards in one directory.
type Keeper struct {
	options   Options
	store     *persistence.Store
	set       *shard.Set
	clock     Clock
	committer *persistence.Committer
	ticks     *time.Ticker

	saving    sync.Mutex  // held while a snapshot is written
	asked     atomic.Bool // a snapshot in the background is wanted or under way
	wake      chan struct{}
	quit      chan struct{}
	ended     sync.WaitGroup
	savedAt   atomic.Int64  // Elapsed at the end of the last snapshot, or at Start
	savedTime atomic.Uint64 // server time of the last snapshot that worked, ns
	changes   atomic.Uint64 // journal batches at the last snapshot
}

// Open locks the directory; an error says who holds it.
func Open(o Options) (*Keeper, error) {
	store, err := persistence.Open(o.FS, o.Dir, persistence.Options{Address: o.Address})
	if err != nil {
		return nil, err
	}
	return &Keeper{options: o, store: store, wake: make(chan struct{}, 1), quit: make(chan struct{})}, nil
}

// Load replays what is on disk into the shards. progress is told how many bytes
// of how many have been read.
func (k *Keeper) Load(set *shard.Set, clock Clock, progress func(done, total int64)) (persistence.Recovery, error) {
	k.set, k.clock = set, clock
	restoration := set.Restore(k.options.TagHash)
	recovery, err := k.store.Replay(restoration.Do, progress)
	restoration.End()
	if err != nil {
		return recovery, err
	}
	for _, cut := range recovery.Cuts {
		k.options.Log.Warn("a torn tail of the journal was cut; it had not been made durable",
			"file", cut.File, "offset", cut.Offset, "bytes", cut.Bytes, "what", cut.What)
	}
	k.savedTime.Store(recovery.SnapshotTime)
	return recovery, nil
}

// Start begins the journal and the timer of snapshots.
func (k *Keeper) Start() {
	k.ticks = time.NewTicker(persistence.TickAgeMax)
	k.committer = persistence.NewCommitter(k.store, persistence.Config{
		Mode: k.options.Mode, Clock: k.options.Elapsed, Ticks: k.ticks.C,
		SnapshotNeeded: k.askSnapshot,
	})
	if k.options.Mode != persistence.Off {
		k.set.Journal(k.committer, k.options.Mode == persistence.Always)
	}
	k.savedAt.Store(int64(k.options.Elapsed()))
	k.ended.Go(k.loop)
}

// loop writes the snapshots that are due and tells the log of faults.
func (k *Keeper) loop() {
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	var faulty bool
	for {
		select {
		case <-k.quit:
			return
		case <-k.wake:
		case <-look.C:
			faulty = k.tellFault(faulty)
			if !k.due() {
				continue
			}
			k.asked.Store(true)
		}
		if k.asked.Load() {
			k.save("background")
			k.asked.Store(false)
		}
	}
}

// tellFault logs the beginning and the end of a fault.
func (k *Keeper) tellFault(was bool) bool {
	fault := k.committer.Fault()
	switch {
	case fault != nil && !was:
		k.options.Log.Error("the journal does not keep its promise", "error", fault, "refusing", k.Refusing() != nil)
	case fault == nil && was:
		k.options.Log.Info("the journal keeps its promise again")
	}
	return fault != nil
}

// due says whether it is time for a snapshot.
func (k *Keeper) due() bool {
	stats := k.committer.Stats()
	if stats.SnapshotNeeded {
		return true
	}
	if limit := k.options.SnapshotJournalBytes; limit > 0 && stats.JournalBytes >= limit {
		return true
	}
	every := k.options.SnapshotEvery
	changed := k.options.Mode == persistence.Off || stats.Batches != k.changes.Load()
	return every > 0 && changed && k.options.Elapsed()-time.Duration(k.savedAt.Load()) >= every
}

func (k *Keeper) askSnapshot() {
	if k.asked.CompareAndSwap(false, true) {
		k.wake <- struct{}{}
	}
}

// errSaving answers a second snapshot while one is written, as Redis does.
var errSaving = errors.New("a snapshot is being written already")

// BackgroundSave begins a snapshot and returns.
func (k *Keeper) BackgroundSave() error {
	if !k.asked.CompareAndSwap(false, true) {
		return errSaving
	}
	k.wake <- struct{}{}
	return nil
}

// Save writes a snapshot and returns when it is the current one.
func (k *Keeper) Save() error {
	if k.asked.Load() {
		return errSaving
	}
	return k.save("asked for")
}

// save writes one snapshot. Batches go on meanwhile.
func (k *Keeper) save(reason string) error {
	k.saving.Lock()
	defer k.saving.Unlock()
	began := k.options.Elapsed()
	defer func() { k.savedAt.Store(int64(k.options.Elapsed())) }()
	batches := k.committer.Stats().Batches
	snapshot, err := k.committer.BeginSnapshot(k.clock.Now())
	if err != nil {
		return k.saveFailed(reason, err)
	}
	defer snapshot.Abort()
	if err := k.set.Export(snapshot.Append); err != nil {
		return k.saveFailed(reason, err)
	}
	saved, err := snapshot.Commit()
	if err != nil {
		return k.saveFailed(reason, err)
	}
	k.changes.Store(batches)
	k.savedTime.Store(saved.Time)
	k.options.Log.Info("snapshot written", "reason", reason, "file", saved.File, "records", saved.Records,
		"bytes", saved.Bytes, "took", k.options.Elapsed()-began)
	if saved.Leftover != nil {
		k.options.Log.Warn("old files could not be removed and are tried again next time", "error", saved.Leftover)
	}
	return nil
}

func (k *Keeper) saveFailed(reason string, err error) error {
	k.options.Log.Error("the snapshot could not be written; the last one and the journal stay", "reason", reason, "error", err)
	return fmt.Errorf("snapshot: %w", err)
}

// Refusing tells why what spends is refused at present, nil if it is not.
func (k *Keeper) Refusing() error {
	if k.options.Mode != persistence.Always && !k.options.Refuse {
		return nil
	}
	// A nil pointer in an error would not be nil.
	if fault := k.committer.Fault(); fault != nil {
		return fault
	}
	return nil
}

// Close hands over what the journal is owed, writes a snapshot if asked to, and
// ends. No batch may be running.
func (k *Keeper) Close(snapshot bool) error {
	if k.committer == nil {
		return k.store.Close(0)
	}
	close(k.quit)
	k.ended.Wait()
	k.set.Flush()
	var err error
	if snapshot {
		err = k.save("shutdown")
	}
	err = errors.Join(err, k.committer.Close(k.clock.Now()))
	k.ticks.Stop()
	return err
}

package keeper

// Writing snapshots: who asks for one, when one is due, and what became of it. One
// is written at a time, while batches go on.

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"sluice/persistence"
)

const (
	// retryMin and retryMax bound how long a snapshot that was due waits after one
	// has failed: a disk that is full is not to be filled up again every second.
	retryMin = time.Second
	retryMax = time.Minute

	// A snapshot in the background works for workMin at least and then rests for
	// restPerWork times as long as it worked, restMax at most: who calls the server
	// meanwhile has most of every processor. On a disk that is slow it is not made
	// much slower.
	workMin     = 100 * time.Microsecond
	restPerWork = 6
	restMax     = 10 * time.Millisecond
)

// saves is what is known of snapshots. Readings are of Elapsed.
type saves struct {
	began   atomic.Int64  // reading at the beginning of the one under way, or of the last
	endedAt atomic.Int64  // reading at the end of the last, or at Start
	took    atomic.Int64  // how long the last took, 0 before
	time    atomic.Uint64 // server time of the last that worked, ns since 1970
	batches atomic.Uint64 // journal batches at the beginning of the last that worked
	done    atomic.Uint64 // how many have worked
	failed  atomic.Uint64 // how many have failed since the last that worked
}

// due says whether it is time for a snapshot.
func (k *Keeper) due() bool {
	since := k.options.Elapsed() - time.Duration(k.saves.endedAt.Load())
	if n := k.saves.failed.Load(); n > 0 && since < min(retryMin<<min(n, 10), retryMax) {
		return false
	}
	stats := k.committer.Stats()
	if stats.SnapshotNeeded {
		return true
	}
	if limit := k.options.SnapshotJournalBytes; limit > 0 && stats.JournalBytes >= max(limit, savedBytes(stats.LastSave)) {
		return true
	}
	every := k.options.SnapshotEvery
	changed := k.options.Mode == persistence.Off || stats.Batches != k.saves.batches.Load()
	return every > 0 && changed && since >= every
}

func savedBytes(s *persistence.Saved) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// askSnapshot is the journal's wish for a snapshot. The journal must not wait.
func (k *Keeper) askSnapshot() {
	if k.saves.failed.Load() == 0 && k.asked.CompareAndSwap(false, true) {
		k.wakeUp()
	}
}

func (k *Keeper) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// errSaving answers a second snapshot while one is written, as Redis does.
var errSaving = errors.New("a snapshot is being written already")

// BackgroundSave begins a snapshot and returns.
func (k *Keeper) BackgroundSave() error {
	if !k.asked.CompareAndSwap(false, true) {
		return errSaving
	}
	k.wakeUp()
	return nil
}

// Save writes a snapshot and returns when it is the current one. If one is being
// written in the background it fails.
func (k *Keeper) Save() error {
	if k.asked.Load() {
		return errSaving
	}
	return k.save("asked for", false)
}

// SaveLast is Save for who is about to end the server: it waits for the snapshot that
// is being written, because what has happened since it began is not in it.
func (k *Keeper) SaveLast() error {
	k.hurryUp()
	return k.save("shutdown", false)
}

// background writes a snapshot that nobody waits for; the log is told.
func (k *Keeper) background() {
	if err := k.save("background", true); err != nil {
		k.options.Log.Error("the snapshot could not be written; the last one and the journal stay", "error", err)
	}
}

// save writes one snapshot. Batches go on meanwhile; if it is paced nobody waits for it.
func (k *Keeper) save(reason string, paced bool) (err error) {
	k.saving <- struct{}{}
	defer func() { <-k.saving }()
	began := k.options.Elapsed()
	k.saves.began.Store(int64(began))
	batches := k.committer.Stats().Batches
	saved, err := k.write(paced)
	ended := k.options.Elapsed()
	k.saves.endedAt.Store(int64(ended))
	k.saves.took.Store(int64(ended - began))
	if err != nil {
		k.saves.failed.Add(1)
		return fmt.Errorf("snapshot: %w", err)
	}
	k.saves.batches.Store(batches)
	k.saves.time.Store(saved.Time)
	k.saves.done.Add(1)
	k.saves.failed.Store(0)
	k.options.Log.Info("snapshot written", "reason", reason, "file", saved.File, "records", saved.Records,
		"bytes", saved.Bytes, "took", ended-began)
	if saved.Leftover != nil {
		k.options.Log.Warn("old files could not be removed and are tried again next time", "error", saved.Leftover)
	}
	return nil
}

// write exports all keys into a new snapshot and makes it the current one.
func (k *Keeper) write(paced bool) (persistence.Saved, error) {
	snapshot, err := k.committer.BeginSnapshot(k.clock.Now())
	if err != nil {
		return persistence.Saved{}, err
	}
	defer snapshot.Abort()
	emit := snapshot.Append
	if paced {
		emit = k.paced(emit)
	}
	if err := k.set.Export(emit); err != nil {
		return persistence.Saved{}, err
	}
	return snapshot.Commit()
}

// paced is emit with rests.
func (k *Keeper) paced(emit func(uint64, []byte) error) func(uint64, []byte) error {
	began := k.options.Elapsed()
	return func(now uint64, records []byte) error {
		err := emit(now, records)
		if worked := k.options.Elapsed() - began; worked >= workMin {
			select {
			case <-time.After(min(restPerWork*worked, restMax)):
			case <-k.hurry:
			}
			began = k.options.Elapsed()
		}
		return err
	}
}

// hurryUp ends all rests: somebody waits for the snapshot after all.
func (k *Keeper) hurryUp() { k.hurryOnce.Do(func() { close(k.hurry) }) }

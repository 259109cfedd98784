// Package keeper keeps a server's state on disk: it loads what is there at the
// start, hands what changes to the journal, and writes snapshots while the server
// serves. It is the seam between package shard, which knows keys, and package
// persistence, which knows files; neither knows the other.
//
// Life of a Keeper: Open locks the directory. Load replays it into the shards
// while nobody is served. Start begins the journal and the timer of snapshots.
// Save and BackgroundSave write a snapshot (save.go). Close hands over the rest
// and ends.
package keeper

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/persistence"
	"sluice/shard"
)

const (
	// lookInterval is how often the keeper looks whether a snapshot is due, and
	// whether there is a fault to tell of.
	lookInterval = time.Second
	// closeAttemptsMax is how often Close tries to write what is left.
	closeAttemptsMax = 3
)

// Options say what is kept, where and how.
type Options struct {
	FS      persistence.FS
	Dir     string
	Mode    persistence.Mode
	Address string // of the server, for who finds the directory locked
	// SnapshotEvery and SnapshotJournalBytes: a snapshot is written when that
	// much time has passed since the last and something has changed, or when the
	// journal is that long and as long as the last snapshot: together they are
	// never much more than twice of what a restart must read, and writing
	// snapshots is never much more than what the journal writes anyway. 0 means
	// never for that reason.
	SnapshotEvery        time.Duration
	SnapshotJournalBytes int64
	// HeldBytesMax is how much may wait in the journal to be durable; what is more
	// waits in the shards, where each key waits once. 0: persistence.HeldBytesMax.
	HeldBytesMax int64
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

	saving chan struct{} // holds one while a snapshot is written
	asked  atomic.Bool   // a snapshot in the background is wanted or under way
	wake   chan struct{}
	quit   chan struct{}
	hurry  chan struct{} // closed when snapshots shall not rest any more
	ended  sync.WaitGroup

	hurryOnce sync.Once
	stopping  atomic.Bool // Load is to give up
	saves     saves
	loaded    persistence.Recovery
}

// Open locks the directory; an error says who holds it.
func Open(o Options) (*Keeper, error) {
	store, err := persistence.Open(o.FS, o.Dir, persistence.Options{Address: o.Address})
	if err != nil {
		return nil, err
	}
	return &Keeper{options: o, store: store, saving: make(chan struct{}, 1), wake: make(chan struct{}, 1), quit: make(chan struct{}), hurry: make(chan struct{})}, nil
}

// ErrStopped is what Load returns after Stop.
var ErrStopped = errors.New("stopped while loading")

// Load replays what is on disk into the shards. progress is told how many bytes
// of how many have been read.
func (k *Keeper) Load(set *shard.Set, clock Clock, progress func(done, total int64)) (persistence.Recovery, error) {
	k.set, k.clock = set, clock
	restoration := set.Restore(k.options.TagHash)
	recovery, err := k.store.Replay(func(records []persistence.Record) error {
		if k.stopping.Load() {
			return ErrStopped
		}
		return restoration.Do(records)
	}, progress)
	restoration.End()
	if err != nil {
		return recovery, err
	}
	for _, cut := range recovery.Cuts {
		k.options.Log.Warn("a torn tail of the journal was cut; it had not been made durable",
			"file", cut.File, "offset", cut.Offset, "bytes", cut.Bytes, "what", cut.What)
	}
	k.loaded = recovery
	k.saves.time.Store(recovery.SnapshotTime)
	return recovery, nil
}

// Stop makes Load give up, from another goroutine. What is on disk is not changed.
func (k *Keeper) Stop() { k.stopping.Store(true) }

// journal is what the shards see of the committer.
type journal struct {
	*persistence.Committer
	heldMax int64
}

// Behind says that changes should wait in the shards: the disk does not work, or
// does not keep up.
func (j journal) Behind() bool { return j.Fault() != nil || j.Held() > j.heldMax }

// Start begins the journal and the timer of snapshots.
func (k *Keeper) Start() {
	k.ticks = time.NewTicker(persistence.TickAgeMax)
	k.committer = persistence.NewCommitter(k.store, persistence.Config{
		Mode: k.options.Mode, Clock: k.options.Elapsed, Ticks: k.ticks.C,
		SnapshotNeeded: k.askSnapshot, HeldBytesMax: k.options.HeldBytesMax,
	})
	if k.options.Mode != persistence.Off {
		k.set.Journal(journal{k.committer, cmp.Or(k.options.HeldBytesMax, persistence.HeldBytesMax)}, k.options.Mode == persistence.Always)
	}
	k.saves.endedAt.Store(int64(k.options.Elapsed()))
	k.ended.Go(k.loop)
}

// loop writes the snapshots that are due and tells the log of faults.
func (k *Keeper) loop() {
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	var teller teller
	for {
		select {
		case <-k.quit:
			teller.look(k)
			return
		case <-k.wake:
		case <-look.C:
			teller.look(k)
			if !k.due() || !k.asked.CompareAndSwap(false, true) {
				continue
			}
		}
		if k.asked.Load() {
			k.background()
			k.asked.Store(false)
		}
	}
}

// teller tells the log of faults: when one begins or becomes another, when it ends,
// and of those that began and ended while nobody looked.
type teller struct {
	faults uint64 // as of the last look
	fault  string // what was told last and has not ended, ""
}

func (t *teller) look(k *Keeper) {
	stats := k.committer.Stats()
	began := stats.Faults != t.faults
	t.faults = stats.Faults
	switch {
	case stats.Fault != nil:
		if text := stats.Fault.Error(); text != t.fault {
			t.fault = text
			k.options.Log.Error("the journal does not keep its promise", "error", text, "refusing", k.Refusing() != nil)
		}
	case t.fault != "":
		t.fault = ""
		k.options.Log.Info("the journal keeps its promise again")
	case began:
		k.options.Log.Error("the journal did not keep its promise for a moment, and does again", "error", stats.LastError)
	}
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

// Close hands over what the journal is owed, writes a snapshot if asked to or if
// something is missing from the journal, and ends. No batch may be running. An
// error says that the directory may lack what was promised.
func (k *Keeper) Close(snapshot bool) error {
	if k.committer == nil {
		return k.store.Close(0)
	}
	close(k.quit)
	k.hurryUp()
	k.ended.Wait()
	err := k.drain()
	if snapshot || err == nil && k.committer.Stats().SnapshotNeeded {
		err = errors.Join(err, k.save("shutdown", false))
	}
	err = errors.Join(err, k.committer.Close(k.clock.Now()))
	k.ticks.Stop()
	return err
}

// drain hands everything over and has it made durable.
func (k *Keeper) drain() (err error) {
	for failed := 0; failed < closeAttemptsMax; {
		all := k.set.Flush()
		if err = k.committer.Sync(); err != nil {
			failed++
		} else if all {
			return nil
		}
	}
	return err
}

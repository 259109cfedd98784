package simulation

// A world: cores, ledgers and a store on a disk that fails, and the sequence in which
// a server performs their steps.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
	"sluice/persistence/faultfs"
	"sluice/server"
	"sluice/shard"
)

const (
	dir = "/data"
	// The times that a server keeps to. A sync takes a tenth of a second at most.
	flushEvery = uint64(shard.FlushInterval)
	tickEvery  = uint64(persistence.TickAgeMax)
	syncAge    = uint64(persistence.SyncAge)
	retryEvery = uint64(persistence.RetryEvery)
	syncTakes  = 100 * milli
	// ageMax is how old a grant can be that a power loss takes, under everysec.
	ageMax = second
	// stepTime is the longest step of the clock while a server runs.
	stepTime = 20 * milli
)

// batch is records on their way to the disk. What they say is everything that keys had
// seen when they were taken.
type batch struct {
	records []byte
	time    uint64
	frame   uint64 // that they were last written in
	covers  []int  // for each key, the version that it brings; nil: none for sure
}

type world struct {
	*rand.Rand
	*model
	mode  persistence.Mode
	disk  *faultfs.FS
	store *persistence.Store
	cores []*shard.Core
	now   uint64

	pending []batch // not durable
	written int     // the first so many are in the journal
	flushed uint64  // when the shards were flushed last
	ticked  uint64
	failed  uint64 // when the disk failed last; 0 never
	retryAt uint64 // the disk has failed; 0: it works

	oldest      uint64 // when the oldest batch that is not durable was handed over; 0 none
	oldestAfter uint64 // the same without those that the running sync covers
	ticket      persistence.SyncTicket
	syncing     bool
	syncEnds    uint64

	snapshot *persistence.SnapshotWriter
	at       struct {
		core   int
		cursor uint32
	}
	stats struct{ allowed, denied, snapshots, failures int }
}

// start opens the disk's directory with a number of shards. What is there must be
// what the model says: each key at a version of its own, not before least.
func (w *world) start(shards int, least func(*history) int) error {
	store, err := persistence.Open(w.disk, dir, persistence.Options{})
	if err != nil {
		return err
	}
	w.store, w.cores = store, nil
	for range shards {
		w.cores = append(w.cores, shard.NewCore(w.now))
	}
	recovery, err := store.Replay(w.restore, nil)
	if err != nil {
		return err
	}
	if w.now < recovery.LastTime {
		return fmt.Errorf("the time on record is %d ns ahead", recovery.LastTime-w.now)
	}
	for n, c := range w.cores {
		c.Journal(n, shards)
	}
	for _, h := range w.keys {
		view, found := w.look(h)
		if err := h.recovered(w.now, found, &view, least(h)); err != nil {
			return err
		}
	}
	w.pending, w.written, w.syncing, w.snapshot = nil, 0, false, nil
	w.oldest, w.oldestAfter, w.retryAt, w.failed = 0, 0, 0, 0
	w.flushed, w.ticked = w.now, w.now
	return errors.Join(w.files(), w.once())
}

// restore does what records say, as a server does.
func (w *world) restore(records []persistence.Record) (err error) {
	for i := 0; i < len(records) && err == nil; i++ {
		if r := &records[i]; r.Kind != shard.RecordClear {
			err = w.core(r.Key).Restore(w.now, r.Key, r.Value)
		} else {
			err = shard.RestoreClear(w.cores, r.Value, server.TagHash)
		}
	}
	return err
}

func (w *world) core(key []byte) *shard.Core {
	return w.cores[shard.Route(server.TagHash(key), len(w.cores))]
}

// ask does one operation on a key.
func (w *world) ask(op *shard.Op) {
	ops := []shard.Op{*op}
	w.core(op.Key).Step(w.now, ops, []uint32{0})
	*op = ops[0]
}

func (w *world) look(h *history) (view shard.View, found bool) {
	op := shard.Op{Kind: shard.Look, Key: h.name, View: &view}
	w.ask(&op)
	return view, op.Found
}

// files looks at what lies in the directory after a start: no file of no bytes, no
// temporary one, one snapshot at most.
func (w *world) files() error {
	names := w.disk.Names(dir)
	for _, name := range names {
		if data, err := w.disk.ReadFile(dir + "/" + name); err != nil || len(data) == 0 {
			return fmt.Errorf("%s is empty (%v)", name, err)
		}
	}
	if all := strings.Join(names, " "); strings.Contains(all, ".tmp") || strings.Count(all, "snapshot-") > 1 {
		return fmt.Errorf("files after a start: %s", all)
	}
	return nil
}

// once sees to it that every key is there once, on the shard where it belongs.
func (w *world) once() error {
	met := make(map[string]bool)
	for n, c := range w.cores {
		var err error
		c.Scan(w.now, 0, 1<<20, func(key []byte, _ shard.View) {
			switch {
			case met[string(key)]:
				err = fmt.Errorf("%.10q is there twice", key)
			case shard.Route(server.TagHash(key), len(w.cores)) != n:
				err = fmt.Errorf("%.10q is on shard %d of %d", key, n, len(w.cores))
			case !slices.ContainsFunc(w.keys, func(h *history) bool { return string(h.name) == string(key) }):
				err = fmt.Errorf("%.10q is nobody's", key)
			}
			met[string(key)] = true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step does one random thing, and then what is due.
func (w *world) step() error {
	switch n := w.IntN(40); {
	case n < 22:
		if err := w.spend(); err != nil {
			return err
		}
	case n < 24:
		w.reset()
	case n < 25:
		w.clear()
	case n < 26:
		w.cores[w.IntN(len(w.cores))].Tick(w.now, 1+w.IntN(50))
	case n < 34:
		w.save()
	default:
		w.advance(w.Uint64N(stepTime))
	}
	return w.due()
}

// refusing says that nothing may be spent.
func (w *world) refusing() bool { return w.mode == persistence.Always && w.retryAt != 0 }

// spend makes some calls and holds the answers against the model.
func (w *world) spend() error {
	if w.refusing() {
		return nil
	}
	for range 1 + w.IntN(6) {
		h, l := w.keys[w.IntN(len(w.keys))], w.limits[w.IntN(len(w.limits))]
		op := shard.Op{Kind: shard.Allow, Key: h.name}
		op.Call = algorithms.Call{Limit: l, Cost: 1 + w.Uint64N(1+l.Burst/2), KeyHash: hashOf(h.name)}
		w.ask(&op)
		if want := h.allow(w.now, l, op.Call.Cost); op.Decision != want || op.Full {
			return fmt.Errorf("%.10q under %+v: %+v, want %+v", h.name, *l, op.Decision, want)
		}
		if op.Decision.Allowed {
			w.stats.allowed++
		} else {
			w.stats.denied++
		}
	}
	w.changed()
	return nil
}

func (w *world) reset() {
	if w.refusing() {
		return
	}
	h := w.keys[w.IntN(len(w.keys))]
	_, was := w.look(h)
	op := shard.Op{Kind: shard.Reset, Key: h.name}
	w.ask(&op)
	if op.Found != was {
		panic("a reset did not find what was there")
	}
	h.reset(w.now)
	w.changed()
}

// clear makes all keys fresh, one shard after the other.
func (w *world) clear() {
	if w.refusing() {
		return
	}
	for on, c := range w.cores {
		for _, h := range w.keys {
			if shard.Route(server.TagHash(h.name), len(w.cores)) == on {
				h.reset(w.now)
			}
		}
		c.Clear()
		w.changed()
	}
}

// changed takes the records of what was done under always, where they are written
// before anything is answered. In the other modes they are taken when a flush is due.
func (w *world) changed() {
	if w.mode == persistence.Always {
		w.take()
		if w.IntN(3) > 0 { // others come into the same group meanwhile
			w.commit()
		}
	}
}

// take takes all records that the cores owe, and has them wait to be written.
func (w *world) take() {
	handed := false
	for _, c := range w.cores {
		for more := c.Owes(); more; handed = true {
			var records []byte
			records, more = c.TakeRecords(w.now, nil, shard.RecordsBytesMax)
			w.pending = append(w.pending, batch{records: records, time: w.now})
		}
	}
	covers := make([]int, len(w.keys))
	for n, h := range w.keys {
		covers[n] = len(h.versions) - 1
	}
	all := batch{covers: covers}
	switch n := len(w.pending); {
	case n == 0: // nothing is owed, and all that was is durable
		w.promise(&all, func(h *history, n int) { h.durable, h.written = n, n })
		return
	case w.written == n: // nothing new is owed, and all that was is written
		w.promise(&all, func(h *history, n int) { h.written = n })
		fallthrough
	default:
		w.pending[n-1].covers = covers
	}
	if handed && w.oldest == 0 {
		w.oldest = w.now
	}
	if handed && w.syncing && w.oldestAfter == 0 {
		w.oldestAfter = w.now
	}
}

// commit writes what waits and makes it durable.
func (w *world) commit() bool {
	w.endSync()
	if !w.write() {
		return false
	}
	if err := w.store.Sync(); err != nil {
		w.fault()
		return false
	}
	w.oldest = 0
	w.settle()
	return true
}

// write writes what waits, several batches in a frame.
func (w *world) write() bool {
	for w.written < len(w.pending) {
		group := w.pending[w.written:][:1+w.IntN(len(w.pending)-w.written)]
		var records [][]byte
		for _, b := range group {
			records = append(records, b.records)
		}
		if err := w.store.Append(w.now, records...); err != nil {
			w.fault()
			return false
		}
		for i := range group {
			group[i].frame = w.store.Appended()
			w.promise(&group[i], func(h *history, n int) { h.written = max(h.written, n) })
		}
		w.written += len(group)
	}
	return true
}

// promise notes how far a batch brings each key.
func (w *world) promise(b *batch, note func(h *history, version int)) {
	for n, version := range b.covers {
		note(w.keys[n], version)
	}
}

// settle lets go of what is durable.
func (w *world) settle() {
	n := 0
	for n < w.written && w.pending[n].frame <= w.store.Durable() {
		w.promise(&w.pending[n], func(h *history, n int) { h.durable = max(h.durable, n) })
		n++
	}
	w.pending, w.written = w.pending[n:], w.written-n
}

// fault takes an error of the disk: what the journal does not hold is written again.
func (w *world) fault() {
	w.stats.failures++
	w.failed, w.retryAt = w.now, w.now+retryEvery
	for appended := w.store.Appended(); w.written > 0 && w.pending[w.written-1].frame > appended; {
		w.written--
	}
}

// advance moves the clock.
func (w *world) advance(by uint64) { w.now += by }

// due does what a server does by itself when its time has come.
func (w *world) due() error {
	if w.syncing && w.now >= w.syncEnds {
		w.endSync()
	}
	if w.mode != persistence.Always && w.now-w.flushed >= flushEvery && w.retryAt == 0 {
		w.flushed = w.now
		w.take()
		w.write()
	}
	if w.now-w.ticked >= tickEvery {
		w.ticked = w.now
		w.tick()
	}
	if w.mode == persistence.EverySec && (w.failed == 0 || w.now-w.failed > ageMax) {
		return w.young()
	}
	return nil
}

// tick tries again after a failure, and begins a sync that is due.
func (w *world) tick() {
	if w.retryAt != 0 {
		if w.now >= w.retryAt && w.commit() && w.store.Rotate(w.now) == nil {
			w.retryAt = 0
		}
		return
	}
	if w.mode == persistence.EverySec && !w.syncing && w.oldest != 0 && w.now-w.oldest >= syncAge {
		if ticket, ok := w.store.SyncStart(); ok {
			w.ticket, w.syncing, w.oldestAfter = ticket, true, 0
			w.syncEnds = w.now + w.Uint64N(syncTakes)
		}
	}
}

// endSync waits for a running sync.
func (w *world) endSync() {
	if !w.syncing {
		return
	}
	w.syncing = false
	if err := w.store.SyncDone(w.ticket, w.ticket.Run()); err != nil {
		w.fault()
		return
	}
	w.oldest = w.oldestAfter
	w.settle()
}

// young sees to it that what could be lost is younger than it may be.
func (w *world) young() error {
	for _, h := range w.keys {
		for _, v := range h.versions[min(h.durable+1, len(h.versions)):] {
			if w.now-v.at > ageMax {
				return fmt.Errorf("%.10q has a version of %v ago that is not durable", h.name, time.Duration(w.now-v.at))
			}
		}
	}
	return nil
}

// save moves a snapshot on.
func (w *world) save() {
	switch {
	case w.snapshot == nil:
		if w.IntN(4) > 0 || !w.commit() {
			return
		}
		var err error
		if w.snapshot, err = w.store.BeginSnapshot(w.now); err != nil {
			w.snapshot = nil
			w.fault()
		}
		w.at.core, w.at.cursor = 0, 1
	case w.at.core < len(w.cores):
		var records []byte
		records, w.at.cursor = w.cores[w.at.core].Export(w.now, w.at.cursor, 1+w.IntN(8), nil)
		w.snapshot.Append(w.now, records) // an error is found again at the end
		if w.at.cursor == 0 {
			w.at.core, w.at.cursor = w.at.core+1, 1
		}
	case w.IntN(8) == 0:
		w.snapshot.Abort()
		w.snapshot = nil
	default:
		if w.commit() {
			if _, err := w.snapshot.Commit(); err != nil {
				w.fault()
			} else {
				w.stats.snapshots++
			}
		} else {
			w.snapshot.Abort()
		}
		w.snapshot = nil
	}
}

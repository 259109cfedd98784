// The queue's promises beyond those that the rig and the sweep hold at random: memory is bounded, what is lost is counted,
// and a snapshot that began after the loss makes it good.

package persistence_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/persistence"
	"sluice/persistence/faultfs"
)

const ms = time.Millisecond

// full is a batch of about 1,000 bytes that sets one key.
func full(key string) []byte { return batch(key + "=" + strings.Repeat("v", 990)) }

func TestMemoryIsBoundedAndLossIsMadeGood(t *testing.T) {
	for _, mode := range []persistence.Mode{persistence.Always, persistence.EverySec, persistence.OSDecides} {
		fs := faultfs.New(1)
		store, _, _ := mustLoad(t, fs)
		asked := 0
		q := persistence.NewQueue(store, mode, 10_000, func() { asked++ })
		fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.EIO, Sticky: true})
		want, now := state{}, time.Duration(0)
		for i := range 100 {
			now += 10 * ms
			key := fmt.Sprint("k", i)
			want.apply(mustCut(string(key + "=" + strings.Repeat("v", 990))))
			q.Submit(now, uint64(i), full(key), nil)
			q.Tick(now)
			if q.Held() > 10_000 {
				t.Fatalf("%v: %d bytes held", mode, q.Held())
			}
		}
		if q.Lost() < 88 || !q.SnapshotNeeded() || q.Fault() == nil {
			t.Fatalf("%v: %d lost, fault %v", mode, q.Lost(), q.Fault())
		}
		if asked > 0 {
			t.Errorf("%v: a snapshot was asked for while the disk fails", mode)
		}
		fs.SetFaults()
		now += time.Second
		q.Tick(now)
		if q.Fault() != nil || asked != 1 {
			t.Fatalf("%v: fault %v, asked %d times", mode, q.Fault(), asked)
		}
		q.Tick(now)
		w, err := q.Begin(now, 200)
		must(t, err)
		must(t, w.Append(200, want.encode()))
		must(t, q.Commit(now, w))
		if q.SnapshotNeeded() || asked != 1 {
			t.Errorf("%v: needed %v, asked %d times", mode, q.SnapshotNeeded(), asked)
		}
		must(t, q.Close(now, 300))
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		equal(t, s, want)
	}
}

// Under EverySec a written batch may be forgotten beyond the bound; it is lost only if a sync then fails.
func TestForgottenBatches(t *testing.T) {
	for _, fails := range []bool{false, true} {
		fs := faultfs.New(1)
		store, _, _ := mustLoad(t, fs)
		asked := 0
		q := persistence.NewQueue(store, persistence.EverySec, 10_000, func() { asked++ })
		for i := range 30 {
			q.Submit(ms, 1, full(fmt.Sprint("k", i)), nil)
		}
		if q.Held() > 10_000 || q.Lost() != 0 {
			t.Fatalf("%d held, %d lost", q.Held(), q.Lost())
		}
		if fails {
			fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO})
		}
		ticket, ok := q.StartSync(300 * ms)
		if !ok {
			t.Fatal("no sync is due")
		}
		q.FinishSync(310*ms, ticket.Run())
		q.Tick(500 * ms)
		if q.Fault() != nil || q.SnapshotNeeded() != fails || (asked > 0) != fails {
			t.Errorf("fails %v: fault %v, needed %v, asked %d", fails, q.Fault(), q.SnapshotNeeded(), asked)
		}
		_, s, _ := mustLoad(t, fs.PowerLoss(1))
		if want := map[bool]int{false: 30, true: 10}[fails]; len(s) != want {
			t.Errorf("fails %v: %d keys are durable, want %d", fails, len(s), want)
		}
	}
}

// A loss after a snapshot has begun is not made good by it.
func TestLossDuringASnapshot(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	q := persistence.NewQueue(store, persistence.EverySec, 2_000, nil)
	w, err := q.Begin(ms, 1)
	must(t, err)
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Path: "journal", Err: syscall.EIO, Sticky: true})
	for i := range 5 {
		q.Submit(2*ms, 1, full(fmt.Sprint("k", i)), nil)
	}
	fs.SetFaults()
	q.Tick(200 * ms)
	must(t, q.Commit(210*ms, w))
	if q.Lost() == 0 || !q.SnapshotNeeded() {
		t.Errorf("%d lost, needed %v", q.Lost(), q.SnapshotNeeded())
	}
}

func TestEverySecIsLate(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	q := persistence.NewQueue(store, persistence.EverySec, 1<<20, nil)
	q.Submit(0, 1, batch("a=1"), nil)
	if _, ok := q.StartSync(100 * ms); ok {
		t.Error("synced at once")
	}
	ticket, ok := q.StartSync(250 * ms)
	if !ok {
		t.Fatal("not synced after SyncAge")
	}
	q.Submit(400*ms, 2, batch("a=2"), nil)
	q.Tick(persistence.LateAge)
	if q.Fault() != nil {
		t.Errorf("fault %v before LateAge", q.Fault())
	}
	q.Tick(persistence.LateAge + ms)
	if q.Fault() == nil || !strings.Contains(q.Fault().Error(), "sync /data: nothing written in the last 750ms is durable") {
		t.Errorf("fault is %v", q.Fault())
	}
	q.FinishSync(1000*ms, ticket.Run())
	if q.Fault() != nil {
		t.Errorf("fault %v after the sync", q.Fault())
	}
	if _, ok := q.StartSync(1000 * ms); !ok { // for what arrived meanwhile
		t.Error("the second batch is forgotten")
	}
	q.Tick(2000 * ms)
	if q.Fault() == nil {
		t.Error("the second batch is not late")
	}
	q.FinishSync(2000*ms, nil)
	q.Submit(2000*ms, 3, batch("a=3"), nil)
	q.Tick(4000 * ms)
	must(t, q.Flush(4000*ms))
	if q.Fault() != nil {
		t.Errorf("fault %v after everything was synced", q.Fault())
	}
}

// While a sync runs nothing but writing goes on, even when a write has failed meanwhile.
func TestWriteFailsDuringASync(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	q := persistence.NewQueue(store, persistence.EverySec, 1<<20, nil)
	q.Submit(0, 1, batch("a=1"), nil)
	ticket, ok := q.StartSync(300 * ms)
	if !ok {
		t.Fatal("no sync is due")
	}
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.EIO})
	q.Submit(300*ms, 2, batch("b=2"), nil)
	q.Tick(600 * ms)
	if q.Fault() == nil {
		t.Fatal("no fault")
	}
	q.FinishSync(700*ms, ticket.Run())
	q.Tick(700 * ms)
	if q.Fault() != nil || store.Durable() != 2 {
		t.Errorf("fault %v, %d durable", q.Fault(), store.Durable())
	}
	_, s, _ := mustLoad(t, fs.PowerLoss(1))
	equal(t, s, parse("a=1 b=2"))
}

// An error is told to all who wait, and what they wait for is written all the same once the disk works.
func TestRefusedBatchesAreWrittenLater(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	q := persistence.NewQueue(store, persistence.Always, 1<<20, nil)
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpSync, Err: syscall.EIO, Sticky: true})
	for i := range 3 {
		var told error
		q.Submit(time.Duration(i)*ms, 1, batch(fmt.Sprintf("k%d=1", i)), func(err error) { told = err })
		if !errors.Is(told, syscall.EIO) || !strings.Contains(told.Error(), "sync "+path(journal(1))) {
			t.Errorf("told %v", told)
		}
	}
	if fault := q.Fault(); fault == nil || fault.Since != 0 {
		t.Errorf("fault is %+v", fault)
	}
	fs.SetFaults()
	q.Tick(50 * ms)
	if q.Fault() == nil {
		t.Error("tried again before RetryEvery")
	}
	q.Tick(persistence.RetryEvery)
	if q.Fault() != nil || q.Held() != 0 {
		t.Errorf("fault %v, %d bytes held", q.Fault(), q.Held())
	}
	_, s, _ := mustLoad(t, fs.PowerLoss(1))
	equal(t, s, parse("k0=1 k1=1 k2=1"))
}

// More than one frame's worth of batches goes into several frames.
func TestGroupLargerThanAFrame(t *testing.T) {
	fs := faultfs.New(1)
	store, _, _ := mustLoad(t, fs)
	q := persistence.NewQueue(store, persistence.Always, 64<<20, nil)
	fs.SetFaults(faultfs.Fault{Call: 1, Op: faultfs.OpWrite, Err: syscall.EIO})
	long := strings.Repeat("v", 9<<20)
	for i := range 3 {
		q.Submit(0, uint64(i), batch(fmt.Sprintf("k%d=%s", i, long)), nil)
	}
	q.Tick(time.Second)
	if store.Durable() != 3 {
		t.Errorf("%d frames", store.Durable())
	}
	must(t, q.Close(time.Second, 9))
	_, s, _ := mustLoad(t, fs)
	if len(s) != 3 {
		t.Errorf("%d keys", len(s))
	}
}

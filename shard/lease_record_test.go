package shard

// The records of leases and the bounds of accounts: what is on disk stays readable,
// what nobody can have written is refused or harmless, and nothing grows for ever.

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// leaseRecords are what a core owes after a lease, a report and a return.
func leaseRecords(t testing.TB) (records map[uint8]persistence.Record, all []byte) {
	a := newAsker()
	a.Core.Journal(0, 1)
	l := newLimit(algorithms.FixedWindow, 100, time.Hour)
	a.lease(start, "user:42", l, 60, 1, 60*second, "gw1")
	a.giveLease(start, "user:42", "gw1", 20)
	a.tell(start, Report, "user:42", Leasing{Holder: []byte("gw1"), Seq: 7, Start: start / nanosPerMilli, Spent: algorithms.Amount{Whole: 12}, Degraded: algorithms.Amount{Whole: 3}})
	all = flush(a.Core, start, nil)
	records = make(map[uint8]persistence.Record)
	for rest := all; len(rest) > 0; {
		r, after, ok := persistence.CutRecord(rest)
		if rest = after; !ok {
			t.Fatal("no record")
		}
		records[r.Kind] = r
	}
	return records, all
}

// The bytes are on disks. A change that this test notices needs a kind of its own.
func TestLeaseRecordsAreAsEver(t *testing.T) {
	records, _ := leaseRecords(t)
	for kind, want := range map[uint8]string{
		// not money; one state, "user:42"; one lease: gw1, 40 units, until T0 + 60 s, of
		// the window T0; one charge: state 0, mark T0 + 1 h, life 0.
		RecordLeases: "00" + "0107757365723a3432" + "01" + "0367773128" + "0058fb8b84e2fa18" + "80a0f1c2b134" + "0100" + "00a06cc4bce5fa18" + "00",
		// not money, window T0, until T0 + 2 h, 40 authorised, an hour long
		RecordUsage: "00" + "80a0f1c2b134" + "004025f502e9fa18" + "28" + "80c0e285e368",
		// not money, window T0, until T0 + 2 h, gw1, report 7, 12 spent, 3 degraded
		RecordParty: "00" + "80a0f1c2b134" + "004025f502e9fa18" + "03677731" + "08" + "0c" + "03",
	} {
		if got := hex.EncodeToString(records[kind].Value); got != want {
			t.Errorf("kind %d is %s, want %s", kind, got, want)
		}
	}
}

// Whatever is written is read again, up to the longest window and the longest lease at the
// end of the last year that there is.
func TestLongestLeasesComeBack(t *testing.T) {
	const last = 7_258_118_399 * second
	a := asker{Core: NewCore(last)}
	a.Core.Journal(0, 1)
	l := limitOf(algorithms.Spec{Algorithm: algorithms.FixedWindow, Units: 100, Window: algorithms.WindowMaxNanos, AlignSet: true, Align: algorithms.AlignFirst})
	a.lease(last, "k", l, 60, 1, algorithms.WindowMaxNanos, "gw1")
	core, err := (&disk{journal: flush(a.Core, last, nil)}).restored(last)
	if err != nil {
		t.Fatal(err)
	}
	back := asker{Core: core}
	if got := back.giveLease(last, "k", "gw1", 25); got != 25 {
		t.Errorf("%d taken back", got)
	}
	usage := back.tell(last, Tell, "k", Leasing{Count: 10}).Leasing.Usage
	if len(usage) != 1 || usage[0].Authorised != 35 {
		t.Errorf("%+v", usage)
	}
}

// Records with any byte changed or missing are refused, or make accounts that could be.
func TestLeaseRecordsThatNobodyWrote(t *testing.T) {
	records, _ := leaseRecords(t)
	r := newRand(t, 9950)
	restore := func(kind uint8, value []byte) {
		c := NewCore(start)
		if kind == RecordLeases {
			_ = c.restoreOut(start, []byte("user:42"), value) // refused or not
		} else {
			_ = c.restoreUsage(start, kind, []byte("user:42"), value)
		}
		must(t, c)
		a := asker{Core: c}
		a.giveLease(start, "user:42", "gw1", 1)
		a.tell(start, Tell, "user:42", Leasing{Count: 10})
		c.Settle(start + 10*second)
		must(t, c)
	}
	for _, kind := range []uint8{RecordLeases, RecordUsage, RecordParty} {
		value := records[kind].Value
		for n := range len(value) {
			restore(kind, value[:n])
			for range 20 {
				changed := append([]byte(nil), value...)
				changed[n] = byte(r.Uint32())
				restore(kind, changed)
			}
		}
		for _, with := range [][]byte{append(append([]byte(nil), value...), 0), {}} {
			c := NewCore(start)
			err := c.restoreUsage(start, kind, []byte("k"), with)
			if kind == RecordLeases {
				err = c.restoreOut(start, []byte("k"), with)
			}
			if err == nil {
				t.Errorf("kind %d: %x is not refused", kind, with)
			}
		}
	}
}

// Every bound is met, and what is beyond it is refused without a trace.
func TestBoundsOfLeases(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, algorithms.UnitsMax, time.Second)
	for n := range HoldersPerKeyMax {
		a.lease(start, "k", l, 1, 1, 60*second, fmt.Sprint("holder", n))
	}
	if got := a.lease(start, "k", l, 1, 1, 60*second, "one more"); got.Trouble != Crowded || got.Granted != 0 {
		t.Errorf("one holder more: %d granted, trouble %d", got.Granted, got.Trouble)
	}
	if got := a.lease(start, "k", l, 1, 1, 60*second, "holder7"); got.Granted != 1 || got.Holders != HoldersPerKeyMax {
		t.Errorf("a holder again: %d granted, %d holders", got.Granted, got.Holders)
	}
	if used := a.remaining(start, "k", l); used != algorithms.UnitsMax-HoldersPerKeyMax-1 {
		t.Errorf("%d remain", used)
	}
	must(t, a.Core)
	// Windows: the oldest go.
	for n := range uint64(UsageWindowsMax + 10) {
		a.lease(start+n*second, "w", l, 1, 1, second, "h")
	}
	now := start + (UsageWindowsMax+10)*second
	usage := a.tell(now, Tell, "w", Leasing{Count: 2 * UsageWindowsMax}).Leasing.Usage
	if len(usage) != UsageWindowsMax || usage[0].Start != (now-second)/nanosPerMilli {
		t.Errorf("%d windows, the newest from %d", len(usage), usage[0].Start)
	}
	late := a.tell(now, Report, "w", Leasing{Holder: []byte("h"), Start: start / nanosPerMilli, Spent: algorithms.Amount{Whole: 1}})
	if late.Found || late.Leasing.Trouble != Late {
		t.Errorf("a report about a window that went: counts %v, trouble %d", late.Found, late.Leasing.Trouble)
	}
	must(t, a.Core)
}

// Leases do not grow beyond the memory that there is; what is refused changes nothing,
// and there is room again when leases and windows have ended.
func TestLeasesKeepToTheirMemory(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, 1000, time.Hour)
	a.lease(start, "first", l, 1, 1, 60*second, "h")
	a.Bound(Bounds{BytesMax: a.Bytes() + 100_000})
	n, refused := 0, false
	for ; n < 10_000 && !refused; n++ {
		refused = a.lease(start, "first", l, 1, 1, 60*second, fmt.Sprintf("holder%0200d", n)).Full
	}
	if !refused || a.Bytes() > a.bounds.BytesMax {
		t.Fatalf("%d leases, %d bytes of %d", n, a.Bytes(), a.bounds.BytesMax)
	}
	before, other := a.remaining(start, "first", l), fmt.Sprintf("other_%0200d", n)
	report := a.tell(start, Report, "first", Leasing{Holder: []byte(other), Start: start / nanosPerMilli, Spent: algorithms.Amount{Whole: 1}}).Full
	if a.lease(start, "first", l, 5, 1, 60*second, other).Granted != 0 || a.remaining(start, "first", l) != before || !report {
		t.Error("something was granted or reported without room")
	}
	if later := a.lease(start+3*3600*second, "first", l, 5, 1, 60*second, "new"); later.Granted != 5 {
		t.Errorf("%d granted when there is room again, full %v", later.Granted, later.Full)
	}
	must(t, a.Core)
}

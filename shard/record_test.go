package shard

// The value of a record: what is written comes back, and nothing comes back that could
// not have been written.

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/algorithms"
	"sluice/persistence"
)

// specs has every algorithm with every option and the ends of every range.
func specs(t testing.TB) (list []algorithms.Spec) {
	paris, err := algorithms.ParseZone("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range algorithms.All() {
		for _, units := range []uint64{1, 127, 128, 100_000, algorithms.UnitsMax} {
			for _, window := range []uint64{1_000_000, second, 3600 * second, algorithms.WindowMaxNanos} {
				s := algorithms.Spec{Algorithm: a.ID, Units: units, Window: window}
				list = append(list, s)
				if a.Options&algorithms.OptionBurst != 0 {
					s.Burst = 1 + units/3
					list = append(list, s)
				}
				if a.Options&algorithms.OptionAlign != 0 {
					s.AlignSet = true
					for _, s.Align = range []algorithms.Align{algorithms.AlignFirst, algorithms.AlignJitter} {
						list = append(list, s)
					}
				}
			}
			if a.Options&algorithms.OptionCalendar != 0 {
				for _, align := range []algorithms.Align{algorithms.AlignDay, algorithms.AlignWeek, algorithms.AlignMonth, algorithms.AlignYear} {
					list = append(list, algorithms.Spec{Algorithm: a.ID, Units: units, Align: align},
						algorithms.Spec{Algorithm: a.ID, Units: units, Align: align, Zone: paris, ZoneSet: true})
				}
				list = append(list, algorithms.Spec{Algorithm: a.ID, Units: units, Align: algorithms.AlignMonth, Zone: paris, ZoneSet: true, Anchor: 31})
			}
		}
	}
	return list
}

// Every limit that there can be is read as it was written.
func TestLimitsComeBack(t *testing.T) {
	seen := make(map[algorithms.ID]int)
	for _, s := range specs(t) {
		l, err := algorithms.NewLimit(s, algorithms.LogLimitMaxDefault)
		if err != nil {
			continue // too long to fill, or too large for a log
		}
		seen[s.Algorithm]++
		c := cursor{rest: appendLimit(nil, &l)}
		if back, err := c.parseLimit(); err != nil || back != l || len(c.rest) > 0 {
			t.Errorf("%+v comes back as %+v, %v", l, back, err)
		}
	}
	for _, a := range algorithms.All() {
		if seen[a.ID] < 10 {
			t.Errorf("%s: %d limits", a.Name, seen[a.ID])
		}
	}
}

// A budget's window begins with its first charge or with the calendar.
func TestNoBudgetHasAnotherWindow(t *testing.T) {
	for _, align := range []algorithms.Align{algorithms.AlignEpoch, algorithms.AlignJitter} {
		l := algorithms.Limit{Units: 10, Window: second, Burst: 10, Algorithm: algorithms.Budget, Align: align}
		if back, err := (&cursor{rest: appendLimit(nil, &l)}).parseLimit(); err == nil {
			t.Errorf("%v is taken, as %+v", align, back)
		}
	}
}

// valued is a core with a key of each limit that there can be, and their records.
func valued(t testing.TB) (*asker, map[string]string) {
	r, a := newRand(t, 41), newAsker()
	for i, s := range specs(t) {
		l, err := algorithms.NewLimit(s, algorithms.LogLimitMaxDefault)
		if err != nil || l.Kind() == algorithms.Permits {
			continue // too long to fill, or too large for a log; permits have calls of their own
		}
		key, now := fmt.Sprint(i), start+uint64(i)
		for range 1 + r.IntN(20) {
			a.allow(now, key, &l, 1+r.Uint64N(1+l.Burst/4))
			now += r.Uint64N(1 + l.Window/50)
		}
	}
	return a, all(t, a.Core, start)
}

func TestRecordsComeBack(t *testing.T) {
	a, values := valued(t)
	if len(values) < 150 {
		t.Fatalf("only %d keys", len(values))
	}
	var journal []byte
	for key, value := range values {
		journal = persistence.AppendRecord(journal, RecordKey, []byte(key), []byte(value))
	}
	back := playBack(t, start, journal)
	if err := sameKeys(t, back, a.Core, start, []*algorithms.Limit{newLimit(algorithms.GCRA, 10, time.Hour)}); err != nil {
		t.Error(err)
	}
	for key, value := range values {
		v, u := View{}, View{}
		a.look(start, &Op{Key: []byte(key), hash: a.hash([]byte(key)), View: &v})
		back.look(start, &Op{Key: []byte(key), hash: back.hash([]byte(key)), View: &u})
		if err := sameView(u, v); err != nil {
			t.Errorf("%s, %x: %v", key, value, err)
		}
	}
}

// Permits come back as they are held, whatever they were renewed for and when: the
// longest time counts from the renewal, and a clock may be behind the state's own.
func TestPermitsComeBack(t *testing.T) {
	a := newAsker()
	short, long := newLimit(algorithms.Concurrency, 5, 10*time.Second), newLimit(algorithms.Concurrency, 5, time.Hour)
	for i, step := range []struct {
		after uint64
		kind  Kind
		id    string
		limit *algorithms.Limit
		n     uint64
		ends  string // of all permits, seconds after the start
	}{
		{0, Allow, "a", short, 1, "a10"},
		{second, Allow, "b", long, 2, "a10 b3601"},
		{5 * second, Renew, "a", nil, 0, "a15 b3601"},
		{6 * second, Renew, "a", nil, 1 * second, "a7 b3601"},
		{6 * second, Renew, "a", nil, 0, "a16 b3601"},
		{20 * second, Renew, "b", nil, algorithms.WindowMaxNanos, "b3155760020"},
		{30 * second, Allow, "a", short, 1, "a40 b3155760020"},
		{20 * second, Renew, "a", nil, 2 * second, "a32 b3155760020"},
		{31 * second, Release, "b", nil, 0, "a32"},
		{19 * second, Release, "a", nil, 0, ""},
	} {
		now := start + step.after
		a.ops[0].ID = step.id
		op := a.ask(now, step.kind, []byte("k"), step.limit, step.n)
		if op.Kind != Allow && !op.Found {
			t.Fatalf("step %d: the permit is not held", i)
		}
		var journal []byte
		for key, value := range all(t, a.Core, now) {
			journal = persistence.AppendRecord(journal, RecordKey, []byte(key), []byte(value))
		}
		back := playBack(t, now, journal)
		for _, c := range []*Core{a.Core, back} {
			v := View{}
			c.look(now, &Op{Key: []byte("k"), hash: c.hash([]byte("k")), View: &v})
			var ends []string
			for _, p := range v.Permits {
				ends = append(ends, fmt.Sprint(p.ID, (p.End-start)/second))
			}
			if ends := strings.Join(ends, " "); ends != step.ends || (ends != "") != (c.index.count > 0) {
				t.Errorf("step %d: %d keys, permits end at %s, want %s", i, c.index.count, ends, step.ends)
			}
		}
	}
}

// A token bucket takes 48 bytes beside its key, at its worst.
func TestRecordIsCompact(t *testing.T) {
	a := newAsker()
	l := limitOf(algorithms.Spec{Algorithm: algorithms.TokenBucket, Units: algorithms.UnitsMax, Window: algorithms.WindowMaxNanos})
	a.allow(start, "key", l, algorithms.UnitsMax/2)
	a.allow(start+12345, "key", l, algorithms.UnitsMax/3)
	for _, value := range all(t, a.Core, start) {
		if len(value)+persistence.RecordOverheadBytesMin > 60 {
			t.Errorf("the largest: %d bytes", len(value))
		}
	}
	usual := newLimit(algorithms.TokenBucket, 100_000, time.Hour)
	a.allow(start, "usual", usual, 77_777)
	a.allow(start+12345, "usual", usual, 7_777)
	if value := all(t, a.Core, start)["usual"]; len(value)+persistence.RecordOverheadBytesMin > 48 {
		t.Errorf("a usual one: %d bytes", len(value))
	}
}

// Every value with every single bit turned, cut at every byte, and longer by one: it is
// refused, or what comes back is a state like any other. The core holds either way.
func TestDamagedRecords(t *testing.T) {
	_, values := valued(t)
	c := NewCore(start)
	refused, taken := 0, 0
	try := func(value []byte) {
		if c.Restore(start, []byte("k"), value) != nil {
			refused++
		} else {
			taken++
		}
	}
	for _, value := range values {
		if len(value) > 200 {
			value = value[:200]
		}
		for bit := range 8 * len(value) {
			b := []byte(value)
			b[bit/8] ^= 1 << (bit % 8)
			try(b)
		}
		for n := range len(value) {
			try([]byte(value[:n]))
		}
		try([]byte(value + "\x00"))
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%d refused, %d taken", refused, taken)
	}
	c.Restore(start, []byte("k"), nil)
	if c.Len() != 0 || c.logs.bytes > 1<<16 {
		t.Errorf("%d keys, %d bytes of logs", c.Len(), c.logs.bytes)
	}
	must(t, c)
}

// Values that are wrong in ways that no single bit shows.
func TestRecordsThatCannotBe(t *testing.T) {
	u := func(values ...uint64) (b []byte) {
		for _, v := range values {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	at := binary.LittleEndian.AppendUint64(nil, start)
	head := func(id algorithms.ID, align byte, rest ...uint64) []byte {
		return append([]byte{byte(id), align}, u(rest...)...)
	}
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	for name, value := range map[string][]byte{
		"nothing but an algorithm": {1},
		"an algorithm that is not": join(head(200, 0, 10, 1000, 0), at, u(0, 0, 0)),
		"an alignment that is not": join(head(algorithms.FixedWindow, 7, 10, 1000, 0), at, u(start+1, 1, 0)),
		"a limit of nothing":       join(head(algorithms.TokenBucket, 0, 0, 1000, 0), at, u(1, 0, 0)),
		"a window of nothing":      join(head(algorithms.TokenBucket, 0, 10, 0, 0), at, u(1, 0, 0)),
		"a window without end":     join(head(algorithms.TokenBucket, 0, 10, 1<<63, 0), at, u(1, 0, 0)),
		"a burst where none is":    join(head(algorithms.FixedWindow, 0, 10, 1000, 5), at, u(start+1, 1, 0)),
		"a far instant":            join(head(algorithms.TokenBucket, 0, 10, 1000, 0), binary.LittleEndian.AppendUint64(nil, 1<<63), u(1, 0, 0)),
		"a log without runs":       join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(0)),
		"a log of too many":        join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(1<<40, 1, 1)),
		"a run that ends at once":  join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(1, 0, 1)),
		"a run of no units":        join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(1, 5, 0)),
		"a run of a debt too deep": join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(1, 5, 1<<63)),
		"a run without end":        join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(1, 1<<63, 1)),
		"a run that ends before":   join(head(algorithms.SlidingLog, 0, 10, 1000, 0), at, u(2, 5, 1, 1<<64-2, 1)),
		"a zone that is not":       join(head(algorithms.FixedWindow, byte(algorithms.AlignDay), 10, 0, 0), []byte{0, 4}, []byte("Mars"), at, u(start+1, 1, 0)),
		"a zone that is cut":       join(head(algorithms.FixedWindow, byte(algorithms.AlignDay), 10, 0, 0), []byte{0, 200}, []byte("UTC")),
		"more than there is":       join(head(algorithms.TokenBucket, 0, 10, 1000, 0), at, u(1, 0, 0, 0)),
	} {
		c := NewCore(start)
		if err := c.Restore(start, []byte("k"), value); err == nil {
			t.Errorf("%s: taken", name)
		}
		if c.Len() != 0 {
			t.Errorf("%s: %d keys", name, c.Len())
		}
		must(t, c)
	}
	if NewCore(start).Restore(start, make([]byte, KeyBytesMax+1), nil) == nil {
		t.Error("a key that is too long is taken")
	}
}

// The orders to forget all keys of a shard.
func TestClearRecords(t *testing.T) {
	for _, row := range []struct{ n, of int }{{0, 1}, {7, 8}, {255, 256}} {
		r, _, _ := persistence.CutRecord(appendClear(nil, row.n, row.of))
		if n, of, err := parseClear(r.Value); n != row.n || of != row.of || err != nil || r.Kind != RecordClear {
			t.Errorf("%+v comes back as %d of %d, %v", row, n, of, err)
		}
	}
	for _, value := range []string{"", "\x00", "\x00\x00", "\x01\x01", "\x02\x01", "\x00\x01\x00", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, _, err := parseClear([]byte(value)); err == nil {
			t.Errorf("%q is taken", value)
		}
	}
}

func FuzzRecord(f *testing.F) {
	_, values := valued(f)
	for _, value := range values {
		if len(value) < 100 {
			f.Add([]byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		c := &asker{Core: NewCore(start)}
		if c.Restore(start, []byte("k"), value) == nil {
			l := newLimit(algorithms.TokenBucket, 10, time.Second)
			c.ask(start, Peek, []byte("k"), l, 1)
			c.allow(start, "k", l, 1)
		}
		c.Settle(start + 200*year)
		must(t, c.Core)
	})
}

package shard

// Rows and corners of the core that random histories would meet too rarely.

import (
	"fmt"
	"testing"
	"time"

	"sluice/algorithms"
)

// newAsker is an empty core at T0.
func newAsker() *asker { return &asker{Core: NewCore(start)} }

// step is a batch written as a list of questions; it returns the answers as text.
func (a *asker) batch(now uint64, l *algorithms.Limit, questions ...string) (answers []string) {
	ops := make([]Op, len(questions))
	part := make([]uint32, len(questions))
	kinds := map[byte]Kind{'A': Allow, 'P': Peek, 'R': Reset, 'L': Look}
	for i, q := range questions {
		part[i] = uint32(i)
		ops[i] = Op{Kind: kinds[q[0]], Key: []byte(q[1:])}
		ops[i].Call = algorithms.Call{Limit: l, Cost: 1}
	}
	a.Step(now, ops, part)
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case Allow, Peek:
			word := "D"
			if op.Decision.Allowed {
				word = "A"
			}
			answers = append(answers, fmt.Sprint(word, " ", op.Decision.Remaining))
		default:
			answers = append(answers, fmt.Sprint(op.Found))
		}
	}
	return answers
}

// What the first look at a batch finds may be gone, or another's, when its turn
// comes. Batches of fewer than phasedOpsMin operations take another way.
func TestStepHintsNeverLie(t *testing.T) {
	l := newLimit(algorithms.FixedWindow, 5, time.Hour)
	for _, row := range []struct {
		name      string
		questions []string
		answers   []string
	}{
		{"one key, many times", []string{"Ax", "Ax", "Px", "Ax", "Ax", "Ax", "Ax", "Lx"},
			[]string{"A 4", "A 3", "A 3", "A 2", "A 1", "A 0", "D 0", "true"}},
		{"removed by an earlier operation", []string{"Ra", "Pa", "La", "Aa", "Aa", "Ra", "Ra", "Pa"},
			[]string{"true", "A 5", "false", "A 4", "A 3", "true", "false", "A 5"}},
		{"its slot is another's now", []string{"Ra", "Ax", "Aa", "Pa", "Px", "La"},
			[]string{"true", "A 4", "A 4", "A 4", "A 4", "true"}},
		{"its slot and its block are another's now", []string{"Ra", "Rb", "Ay", "Ax", "Aa", "Ab", "Px", "Pb"},
			[]string{"true", "true", "A 4", "A 4", "A 4", "A 4", "A 4", "A 4"}},
		{"made in this batch", []string{"Px", "Lx", "Ax", "Px", "Lx", "Rx", "Px"},
			[]string{"A 5", "false", "A 4", "A 4", "true", "true", "A 5"}},
		{"made, removed and made again", []string{"Ax", "Rx", "Ax", "Ax", "Rx", "Lx"},
			[]string{"A 4", "true", "A 4", "A 3", "true", "false"}},
		{"short", []string{"Ra", "Ax", "Aa"}, []string{"true", "A 4", "A 4"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAsker()
			a.batch(start, l, "Aa", "Ab", "Ab", "Aa", "Ab")
			if got := a.batch(start, l, row.questions...); fmt.Sprint(got) != fmt.Sprint(row.answers) {
				t.Errorf("\nasked %q\ngot   %q\nwant  %q", row.questions, got, row.answers)
			}
			must(t, a.Core)
		})
	}
}

// A key ceases to exist at the exact instant at which it is fresh, for every
// question, whether the wheel has got there or not.
func TestExpiryExactlyNow(t *testing.T) {
	for _, row := range algorithms.Rates() {
		t.Run(row.Name, func(t *testing.T) {
			l := newLimit(row.ID, 3, 7*time.Second)
			a := newAsker()
			a.allow(start, "k", l, 3)
			op := a.ask(start, Look, []byte("k"), nil, 0)
			view := View{}
			op.View = &view
			a.Step(start, a.ops[:], first)
			op.View = nil
			end := view.FreshAt
			if view.Used != 3 || view.Remaining() != 0 || view.ResetAfter != algorithms.Millis(end-start) {
				t.Errorf("%+v", view)
			}
			scanned := func(now uint64) (n int) {
				a.Scan(now, 0, 100, func([]byte, View) { n++ })
				return n
			}
			for _, moment := range []struct {
				now  uint64
				live bool
			}{{end - 1, true}, {end, false}, {end + 1, false}, {end - 1, true}} {
				if got := a.found(moment.now, Look, "k"); got != moment.live {
					t.Errorf("%d ns after its end it is found: %v", int64(moment.now-end), got)
				}
				if got := a.remaining(moment.now, "k", l); (got == 3) == moment.live {
					t.Errorf("%d ns after its end %d remain", int64(moment.now-end), got)
				}
				if got := scanned(moment.now); got == 1 != moment.live {
					t.Errorf("%d ns after its end a scan meets %d keys", int64(moment.now-end), got)
				}
			}
			if a.allow(end-1, "k", l, 3) || !a.allow(end, "k", l, 3) {
				t.Error("the whole limit is not free at exactly its end")
			}
			if a.Len() != 1 {
				t.Errorf("%d entries for one key", a.Len())
			}
			must(t, a.Core)
		})
	}
}

func TestResetOfWhatIsOver(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, 3, time.Second)
	a.allow(start, "k", l, 1)
	if a.found(start+second, Reset, "k") || a.Len() != 0 {
		t.Errorf("found what is over, or kept it: %d entries", a.Len())
	}
	if a.found(start, Reset, "nobody") {
		t.Error("found what never was")
	}
	must(t, a.Core)
}

// What is denied or only looked at leaves no trace: no entry, no byte, no limit.
func TestDenialsAndLooksLeaveNothing(t *testing.T) {
	for _, row := range algorithms.Rates() {
		t.Run(row.Name, func(t *testing.T) {
			a, l := newAsker(), newLimit(row.ID, 3, time.Hour)
			for i := range 1000 {
				key := fmt.Sprint("key ", i)
				if a.allow(start, key, l, 4) || a.remaining(start, key, l) != 3 || a.found(start, Look, key) || a.found(start, Reset, key) {
					t.Fatal("a call that can never pass passed, or was kept")
				}
			}
			if a.Len() != 0 || a.Slots() != 0 || a.Bytes() != NewCore(start).Bytes() || len(a.limits.find) != 0 {
				t.Errorf("%d entries, %d slots, %d bytes, %d limits", a.Len(), a.Slots(), a.Bytes(), len(a.limits.find))
			}
			a.allow(start, "k", l, 3)
			before, bytes := *a.slab.at(1), a.Bytes()
			other := newLimit(algorithms.GCRA, 2, time.Minute)
			if a.allow(start+1, "k", l, 1) || a.allow(start+2, "k", other, 1) {
				t.Error("a call over the limit passed")
			}
			a.remaining(start+3, "k", other)
			a.found(start+4, Look, "k")
			if *a.slab.at(1) != before || a.Bytes() != bytes {
				t.Error("a denial or a look changed the entry")
			}
			if s := a.Stats(); s.Allowed != 1 || s.Denied != 1002 || s.Expired != 0 {
				t.Errorf("%+v", s)
			}
			must(t, a.Core)
		})
	}
}

// A log follows its key through every change of algorithm and is never shared.
func TestLogsAreHandedOver(t *testing.T) {
	log := newLimit(algorithms.SlidingLog, 50, time.Minute)
	a := newAsker()
	for _, row := range algorithms.Rates() {
		other := newLimit(row.ID, 50, time.Minute)
		for i, l := range []*algorithms.Limit{log, other, log, log, other, other, log} {
			for _, key := range []string{"x", "y" + row.Name} {
				now := start + uint64(i)*1000
				if !a.allow(now, key, l, 1) {
					t.Fatalf("%s: call %d denied", row.Name, i)
				}
				must(t, a.Core)
			}
		}
		if row.ID != algorithms.SlidingLog && a.remaining(start+9000, "y"+row.Name, log) != 50-7 {
			t.Errorf("%s: %d remain after seven calls", row.Name, a.remaining(start+9000, "y"+row.Name, log))
		}
		a.found(start+9000, Reset, "x")
	}
	// A log that is over is not found again by the key's next life.
	now := start + 3600*second
	if !a.allow(now, "ysliding_log", log, 50) || a.allow(now, "ysliding_log", log, 1) {
		t.Error("what is over still counts, or what is new does not")
	}
	must(t, a.Core)
	a.Settle(now + 3600*second)
	must(t, a.Core)
	if a.Len() != 0 || a.logs.rows.len > 8 {
		t.Errorf("%d keys, %d logs", a.Len(), a.logs.rows.len-1)
	}
}

// A limit that no key is charged under any more is forgotten, and its row is used
// again.
func TestLimitsAreForgotten(t *testing.T) {
	a := newAsker()
	for round := range 50 {
		for i := range 20 {
			l := newLimit(algorithms.TokenBucket, uint64(1000+20*round+i), time.Second)
			a.allow(start+uint64(round)*10*second, fmt.Sprint(i%7), l, 1)
		}
		if len(a.limits.find) > 7 || a.limits.rows.len > 10 {
			t.Fatalf("%d limits in %d rows for 7 keys", len(a.limits.find), a.limits.rows.len)
		}
		must(t, a.Core)
	}
}

// Keys of every length that there can be are told apart.
func TestKeysOfEveryLength(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, 10, time.Hour)
	lengths := edges()
	bytes := make([]byte, KeyBytesMax)
	for round := range 2 {
		for i, n := range lengths {
			// Each key begins as all others do, so that only its length tells it apart.
			if op := a.ask(start, Allow, bytes[:n], l, 1); op.Decision.Remaining != uint64(9-round) {
				t.Fatalf("round %d, length %d of %d: %d remain", round, i, n, op.Decision.Remaining)
			}
		}
	}
	if a.Len() != len(lengths) {
		t.Errorf("%d keys, want %d", a.Len(), len(lengths))
	}
	must(t, a.Core)
}

// Two keys with one hash, which real keys never have, are two keys.
func TestSameHashOtherKey(t *testing.T) {
	a, l := newAsker(), newLimit(algorithms.FixedWindow, 10, time.Hour)
	a.allow(start, "one", l, 1)
	one := Op{Key: []byte("one"), hash: a.hash([]byte("one"))}
	i := a.find(&one)
	for _, hint := range []slot{0, i} {
		other := Op{Key: []byte("two"), hash: one.hash, hint: hint}
		if found := a.find(&other); i == 0 || found != 0 {
			t.Errorf("hint %d: a key with the hash of entry %d is taken for entry %d", hint, i, found)
		}
		wrong := Op{Key: one.Key, hash: one.hash ^ 1<<63, hint: hint}
		if found := a.find(&wrong); found != 0 {
			t.Errorf("hint %d: entry %d is found under another hash", hint, found)
		}
	}
}

// No step allocates, neither on keys that are there nor where keys come and go.
func TestStepAllocatesNothing(t *testing.T) {
	a, now := newAsker(), start
	var limits []*algorithms.Limit
	for _, row := range algorithms.Rates() {
		limits = append(limits, newLimit(row.ID, 1000, time.Hour))
	}
	ops := make([]Op, 64)
	part := make([]uint32, len(ops))
	for i := range ops {
		part[i] = uint32(i)
		ops[i] = Op{Kind: Kind(i % 4), Key: fmt.Append(nil, "key ", i/4%4), View: new(View)}
		if i%8 < 4 && ops[i].Kind == Reset {
			ops[i].Kind = Allow
		}
		ops[i].Call = algorithms.Call{Limit: limits[i/8%len(limits)], Cost: 1}
	}
	step := func() {
		now += 1000
		a.Step(now, ops, part)
		a.Tick(now, 100)
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 && !raceEnabled && !invariants {
		t.Errorf("a batch of %d operations allocates %v times", len(ops), n)
	}
	must(t, a.Core)
}

func TestClear(t *testing.T) {
	c := filled(t, 5000)
	a := asker{Core: c}
	empty, stats := NewCore(start), c.Stats()
	c.Clear()
	must(t, c)
	if c.Len() != 0 || c.Slots() != 0 || c.Bytes() != empty.Bytes() || c.Stats() != stats {
		t.Errorf("%d keys, %d slots, %d bytes (%d when new), %+v", c.Len(), c.Slots(), c.Bytes(), empty.Bytes(), c.Stats())
	}
	if !a.allow(start, "again", newLimit(algorithms.SlidingLog, 1, time.Second), 1) {
		t.Error("a fresh key was denied")
	}
	must(t, c)
}

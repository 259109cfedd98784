package server

// Transcripts once more, on a server that is started anew, so to say, after every line:
// what is answered then comes from records alone. So whatever can be said to the server
// comes back from disk as it was, and no record is written that no start would take.

import (
	"os"
	"sync"
	"testing"

	"sluice/persistence"
	"sluice/shard"
)

// restarts is the journal of a server whose shards are made of it again and again.
type restarts struct {
	rig *rig

	mu      sync.Mutex
	records []byte
}

func (j *restarts) Behind() bool   { return false }
func (j *restarts) Buffer() []byte { return nil }

func (j *restarts) Submit(_ uint64, records []byte, done func(error)) {
	j.mu.Lock()
	j.records = append(j.records, records...)
	j.mu.Unlock()
	if done != nil {
		go done(nil)
	}
}

// restart puts shards in the place of the server's that hold what the journal says.
func (j *restarts) restart() error {
	before := j.rig.shards
	before.Flush()
	before.Close()
	var list []persistence.Record
	for rest := j.records; len(rest) > 0; {
		r, after, _ := persistence.CutRecord(rest)
		list, rest = append(list, r), after
	}
	j.rig.shards = shard.NewSet(before.Len(), j.rig.clock)
	r := j.rig.shards.Restore(TagHash)
	err := r.Do(list)
	r.End()
	j.rig.shards.Journal(j, false)
	return err
}

func TestTranscriptsAcrossRestarts(t *testing.T) {
	// Of what a restart ends, such as counts and who was denied, the others tell.
	for _, name := range []string{"arithmetic", "budgets", "changes", "cost", "edges", "expiry", "keys", "leases", "plans", "rules", "settle"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			var j *restarts
			got := replayWith(t, string(text), 3, false, func(r *rig) {
				j = &restarts{rig: r}
				r.shards.Journal(j, false)
			}, func(line string) {
				if j == nil {
					return
				}
				if err := j.restart(); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			})
			if got != string(text) {
				t.Errorf("after restarts it answers otherwise:\n%s", difference(string(text), got))
			}
		})
	}
}

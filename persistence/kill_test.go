// Real processes, killed with SIGKILL (C118, G1): a child commits under Always and says what was acknowledged; whatever it
// said is there afterwards. The kernel keeps what was written, so this shows that the real file system is driven as the
// one in memory is; for power losses see crash_test.go.

package persistence_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/persistence"
)

const killDir = "SLUICE_TEST_KILL_DIR"

// TestKill kills KILLS children, by default 20, in the same directory.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		killedChild(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 1))
	acked := 0
	for n := range count(t, "KILLS", 20) {
		acked = max(acked, runAndKill(t, dir, 1+r.IntN(100)))
		store, s, recovery, err := load(persistence.OS{}, dir)
		must(t, err)
		p, _ := strconv.Atoi(s["seq"])
		if p < acked || s["k"+strconv.Itoa(p%10)] != s["seq"] {
			t.Fatalf("kill %d: batch %d was acknowledged, %d recovered: %v", n, acked, p, s)
		}
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, entry := range entries {
			if info, _ := entry.Info(); info.Size() == 0 || strings.HasSuffix(entry.Name(), ".tmp") {
				t.Errorf("kill %d: %s is left with %d bytes", n, entry.Name(), info.Size())
			}
		}
		if recovery.Generations > 0 && recovery.LastTime != uint64(p) {
			t.Errorf("kill %d: the last time is %d, want %d", n, recovery.LastTime, p)
		}
		must(t, store.Close(uint64(p)))
	}
}

// runAndKill runs a child until it has acknowledged so many batches, kills it, and returns the last it acknowledged.
func runAndKill(t *testing.T, dir string, batches int) (acked int) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKill$")
	child.Env = append(os.Environ(), killDir+"="+dir)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	lines := bufio.NewScanner(out)
	for n := 0; n < batches && lines.Scan(); n++ {
		acked, _ = strconv.Atoi(lines.Text())
	}
	must(t, child.Process.Kill())
	for lines.Scan() { // what it said before it died counts
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			acked = max(acked, n)
		}
	}
	child.Wait()
	return acked
}

// killedChild commits batches and snapshots until it is killed.
func killedChild(t *testing.T, dir string) {
	store, s, _, err := load(persistence.OS{}, dir)
	must(t, err)
	c := persistence.NewCommitter(store, persistence.Config{Mode: persistence.Always, Clock: func() time.Duration { return 0 }})
	answer := make(chan error)
	for i, _ := strconv.Atoi(s["seq"]); ; {
		i++
		line := fmt.Sprintf("k%d=%d seq=%d", i%10, i, i)
		s.apply(mustCut(line))
		s["seq"] = strconv.Itoa(i)
		c.Submit(uint64(i), append(c.Buffer(), batch(line)...), func(err error) { answer <- err })
		must(t, <-answer)
		fmt.Println(i)
		if i%20 == 0 {
			w, err := c.BeginSnapshot(uint64(i))
			must(t, err)
			must(t, w.Append(uint64(i), s.encode()))
			_, err = w.Commit()
			must(t, err)
		}
	}
}

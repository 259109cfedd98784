package server

// Ids are bounded as keys are: what remembers answers must not be a way to fill the
// memory of a server.

import (
	"fmt"
	"strings"
	"testing"

	"sluice/shard"
)

func TestNoRoomForIDs(t *testing.T) {
	for _, command := range []string{"RL.ALLOW k token_bucket 1000000 1h 1 IDEMPOTENT id-%d TTL 5m", "RL.RESERVE k token_bucket 1000000 1h 1 ID id-%d TTL 5m ONEXPIRE CANCEL"} {
		r := newRig(t, 1)
		w := r.dial()
		ask := func(line string) string {
			reply, _ := w.send([]byte(line + "\r\n"))
			return string(reply)
		}
		ask(fmt.Sprintf(command, 0))
		r.shards.Each(func(_ int, c *shard.Core, _ uint64) { c.Bound(shard.Bounds{BytesMax: c.Bytes() + 1_000_000}) })
		n := 1
		for ; n < 20_000; n++ {
			if reply := ask(fmt.Sprintf(command, n)); strings.HasPrefix(reply, "-") {
				if reply != "-"+errNoIDRoom+"\r\n" {
					t.Fatal(reply)
				}
				break
			}
		}
		if n < 1000 || n == 20_000 {
			t.Fatalf("%s: %d ids in 1,000,000 bytes", command, n)
		}
		// What was refused changed nothing, and what is known is still known.
		left := fmt.Sprintf("*6\r\n:1\r\n:1000000\r\n:%d\r\n", 1_000_000-n)
		if reply := ask("RL.PEEK k token_bucket 1000000 1h"); !strings.HasPrefix(reply, left) {
			t.Errorf("%s: after %d calls: %q", command, n, reply)
		}
		if reply := ask(fmt.Sprintf(command, 0)); !strings.Contains(reply, ":999999\r\n") {
			t.Errorf("%s: again: %q", command, reply)
		}
		// Ids are forgotten, and then there is room.
		ask("RL.CLOCK ADVANCE 7m")
		if reply := ask(fmt.Sprintf(command, n)); strings.HasPrefix(reply, "-") {
			t.Errorf("%s: later: %q", command, reply)
		}
	}
}

package server

// What ids remember is told to whoever asks, in the asker's own protocol. Only nil is
// written otherwise in RESP3, and a reader of RESP2 cannot make anything of that.

import (
	"fmt"
	"strings"
	"testing"
)

func TestAnswersOfIDsInBothProtocols(t *testing.T) {
	r := newRig(t, 2)
	two, three := r.dial(), r.dial()
	three.line(t, "HELLO 3")
	// Where nothing is enforced, nothing binds, and the name of what binds is nil.
	two.want(t, "RL.PLAN SET quiet '{limits: {rpm: {algorithm: token_bucket, limit: 5, window: 10s, mode: shadow}}}'", "+OK")
	free := ":1\r\n:9007199254740991\r\n:9007199254740991\r\n:0\r\n:0\r\n:0\r\n<nil>"
	for _, row := range []struct{ line, want string }{
		{"RL.ALLOW k @quiet IDEMPOTENT %s", "*7\r\n" + free},
		{"RL.ALLOWALL k @quiet 1 IDEMPOTENT %s", "*3\r\n:1\r\n:0\r\n*7\r\n" + free},
		{"RL.RESERVE k @quiet 1 ID %s", "*8\r\n" + free + "$6\r\n%s\r\n"},
		{"RL.COMMIT %s 1", "*7\r\n" + free},
	} {
		// The ids have what RESP2 writes for nil in them.
		for i, wires := range [][]*wire{{two, three, two}, {three, two, three}} {
			id := fmt.Sprintf("%d$-1\r\n", i)
			if strings.Contains(row.line, "IDEMPOTENT") {
				id = row.line[3:9] + id
			}
			for _, w := range wires {
				null := map[*wire]string{two: "$-1\r\n", three: "_\r\n"}[w]
				want := strings.ReplaceAll(strings.ReplaceAll(row.want, "<nil>", null), "%s", id)
				if reply, _ := w.send(requestLine(t, fmt.Sprintf(row.line, fmt.Sprintf("%q", id)))); string(reply) != want {
					t.Errorf("%s\n got %q\nwant %q", row.line, reply, want)
				}
			}
		}
	}
}

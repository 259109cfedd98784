package bench

// The constant-reply loop: what the machine, the kernel and the Go runtime allow at most. It reads requests with redcon's
// parser and answers each with the same six integers; nothing is looked up, decided or shared.

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/tidwall/redcon"
)

// constantReply is what RL.ALLOW says of a call that passes.
const constantReply = "*6\r\n:1\r\n:100\r\n:99\r\n:0\r\n:10\r\n:0\r\n"

// constantReadBytes holds the longest pipelines that are measured, and ten thousand times.
const constantReadBytes = 16 << 10

// ServeConstant answers every request on a listener with constantReply, PING as Redis does, until the context ends.
func ServeConstant(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("accept %s: %w", l.Addr(), err)
		}
		go constant(c)
	}
}

func constant(c net.Conn) {
	defer c.Close()
	in := make([]byte, constantReadBytes)
	var out []byte
	var args [][]byte
	for used := 0; ; {
		n, err := c.Read(in[used:])
		if err != nil {
			return
		}
		b := in[:used+n]
		out = out[:0]
		for {
			var complete bool
			complete, args, _, b, err = redcon.ReadNextCommand(b, args[:0])
			if err != nil {
				return
			}
			if !complete {
				break
			}
			if len(args) == 1 {
				out = redcon.AppendString(out, "PONG")
			} else {
				out = append(out, constantReply...)
			}
		}
		if used = copy(in, b); used == len(in) {
			return // a request longer than the buffer is not part of any measurement
		}
		if _, err := c.Write(out); err != nil && !errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

package server

// placeholder
import "github.com/tidwall/redcon"

func runPing(s *session, out []byte, args [][]byte) []byte { return redcon.AppendString(out, "PONG") }
func runHelp(s *session, out []byte, args [][]byte) []byte { return redcon.AppendArray(out, 0) }
func runConfigGet(s *session, out []byte, args [][]byte) []byte {
	out = redcon.AppendArray(out, 2)
	out = redcon.AppendBulk(out, args[2])
	return redcon.AppendBulkString(out, "")
}

var connectionCommands = []*Command{{Name: "PING", Arity: -1, Group: "connection", run: runPing}}
var serverCommands = []*Command{{Name: "CONFIG", Arity: -2, Group: "server", Sub: []*Command{{Name: "CONFIG GET", Arity: 3, run: runConfigGet}}}}

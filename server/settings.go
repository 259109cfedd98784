package server

// The table of settings: what CONFIG GET tells. The rows are the server's own;
// what the command line adds or knows better comes in Options.Settings.

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// setting is a row of the table.
type setting struct {
	name    string
	summary string
	value   func(s *Server) string
}

// constant is the value of a setting that cannot be otherwise.
func constant(text string) func(*Server) string {
	return func(*Server) string { return text }
}

var settingRows = []setting{
	{"appendonly", "yes where a journal is kept", func(s *Server) string {
		if s.keeper != nil {
			return "yes"
		}
		return "no"
	}},
	{"databases", "how many numbers SELECT takes, all of one key space", constant(strconv.Itoa(DatabasesMax))},
	{"maxmemory", "bytes that keys may take; 0: any number", constant("0")},
	{"maxmemory-policy", "what is thrown away to make room", constant("noeviction")},
	{"proto-max-bulk-len", "bytes that a request may have", constant(strconv.Itoa(RequestBytesMax))},
	{"replica-read-only", "for tools that ask; there are no replicas", constant("yes")},
	{"save", "empty, for tools that ask; BGSAVE and the command line say when snapshots are written", constant("")},
	{"sliding-log-limit-max", "the largest limit of a sliding_log", func(s *Server) string { return strconv.FormatUint(s.logLimitMax, 10) }},
	{"timeout", "0: an idle connection is never closed", constant("0")},
}

// settingValues is every setting with its value.
func (s *Server) settingValues() map[string]string {
	values := make(map[string]string, len(settingRows)+len(s.settings))
	for _, row := range settingRows {
		values[row.name] = row.value(s)
	}
	maps.Copy(values, s.settings)
	return values
}

func runConfigGet(s *session, out []byte, args [][]byte) ([]byte, error) {
	values := s.server.settingValues()
	maps.DeleteFunc(values, func(name, _ string) bool {
		return !slices.ContainsFunc(args[2:], func(pattern []byte) bool {
			return glob([]byte(strings.ToLower(string(pattern))), []byte(name))
		})
	})
	out = appendMap(out, s.proto, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = redcon.AppendBulkString(out, name)
		out = redcon.AppendBulkString(out, values[name])
	}
	return out, nil
}

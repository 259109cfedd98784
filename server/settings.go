package server

// CONFIG: the table of settings (internal/settings), and what Redis's tools ask for
// under Redis's names, which is told but cannot be set.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"sluice/internal/settings"
)

// setting is a row of what is told under Redis's names.
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
	{"appendfsync", "always or everysec, as journal; no for os, for off and where nothing is kept", func(s *Server) string {
		if mode := s.config().Journal.String(); s.keeper != nil && (mode == "always" || mode == "everysec") {
			return mode
		}
		return "no"
	}},
	{"appendonly", "yes where a journal is kept", func(s *Server) string {
		if s.keeper != nil && s.config().Journal.String() != "off" {
			return "yes"
		}
		return "no"
	}},
	{"client-output-buffer-limit", "as output-max, output-soft and output-soft-time", func(s *Server) string {
		c := s.config()
		return fmt.Sprintf("normal %d %d %d", c.OutputMax, c.OutputSoft, int64(c.OutputSoftTime/time.Second))
	}},
	{"databases", "how many numbers SELECT takes, all of one key space", constant(strconv.Itoa(DatabasesMax))},
	{"maxclients", "as max-clients", func(s *Server) string { return strconv.Itoa(s.config().MaxClients) }},
	{"maxmemory", "bytes to keep to, as max-memory", func(s *Server) string { return strconv.FormatInt(s.config().MaxMemory, 10) }},
	{"maxmemory-policy", "what is thrown away to make room: volatile-ttl where on-full is evict-soonest", func(s *Server) string {
		if s.config().OnFull == "evict-soonest" {
			return "volatile-ttl"
		}
		return "noeviction"
	}},
	{"proto-max-bulk-len", "bytes that a request may have", constant(strconv.Itoa(RequestBytesMax))},
	{"replica-read-only", "for tools that ask; there are no replicas", constant("yes")},
	{"save", "seconds between snapshots while there are changes, as snapshot-every; empty where there are none", func(s *Server) string {
		if every := s.config().SnapshotEvery; s.keeper != nil && every > 0 {
			return fmt.Sprintf("%d 1", int64(every/time.Second))
		}
		return ""
	}},
	{"slowlog-log-slower-than", "microseconds, as slow-log", func(s *Server) string {
		return strconv.FormatInt(s.config().SlowLog.Microseconds(), 10)
	}},
	{"slowlog-max-len", "how many slow commands are remembered", constant(strconv.Itoa(SlowLogMax))},
	{"timeout", "seconds, as idle-timeout; 0: an idle connection is never closed", func(s *Server) string { return strconv.FormatInt(int64(s.config().IdleTimeout/time.Second), 10) }},
}

// config is what holds now.
func (s *Server) config() *settings.Config { return s.settings.Config() }

// redisSetting is the value of a row.
func (s *Server) redisSetting(name string) string {
	i := slices.IndexFunc(settingRows, func(row setting) bool { return row.name == name })
	return settingRows[i].value(s)
}

// settingValues is every setting with its value.
func (s *Server) settingValues() map[string]string {
	values := make(map[string]string, len(settingRows)+len(settings.Rows))
	for _, row := range settingRows {
		values[row.name] = row.value(s)
	}
	for i := range settings.Rows {
		values[settings.Rows[i].Name], _ = s.settings.Shown(settings.Rows[i].Name)
	}
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

func runConfigSet(s *session, out []byte, args [][]byte) ([]byte, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("ERR CONFIG SET wants a value after each name, such as CONFIG SET log-level debug")
	}
	pairs := make([]string, 0, len(args))
	for _, word := range args[2:] {
		pairs = append(pairs, string(word))
	}
	for i := 0; i < len(pairs); i += 2 {
		name := strings.ToLower(pairs[i])
		if at := slices.IndexFunc(settingRows, func(row setting) bool { return row.name == name }); at >= 0 {
			return nil, fmt.Errorf("ERR %s is told for tools that ask, and cannot be set: %s", name, settingRows[at].summary)
		}
	}
	if err := s.server.settings.Set(pairs...); err != nil {
		return nil, fmt.Errorf("ERR %s", line(err.Error()))
	}
	return redcon.AppendOK(out), nil
}

// NothingChanged begins the error of a CONFIG RELOAD that found something wrong.
const NothingChanged = "ERR nothing was changed: "

// runConfigReload reads the file again.
func runConfigReload(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.server.reload == nil {
		return nil, errors.New("ERR this server has nothing to read again")
	}
	if err := s.server.reload(); err != nil {
		return nil, errors.New(NothingChanged + line(err.Error()))
	}
	return redcon.AppendOK(out), nil
}

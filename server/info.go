package server

// The table of statistics and INFO, which prints it. What a row tells is taken
// from one look at the server, so the numbers of a reply belong together.

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"

	"sluice/internal/keeper"
	"sluice/plans"
	"sluice/shard"
)

// vitals is one look at the server.
type vitals struct {
	server      *Server
	now         uint64
	keys        int
	tableBytes  int
	leases      int         // out
	shards      shard.Stats // of all shards
	perShard    []shardVitals
	book        *plans.Book
	heapBytes   uint64         // what lives in the heap, and what is not collected yet
	memoryBytes uint64         // what the process has from the operating system
	loading     *Loading       // nil: nothing is being loaded
	kept        *keeper.Status // nil: nothing is kept, or not yet
}

// shardVitals is one look at a shard.
type shardVitals struct {
	keys, tableBytes, waiting int
	stats                     shard.Stats
	counts                    []shard.Counts // by series
}

// statistic is a row: a line of INFO.
type statistic struct {
	section string
	name    string
	summary string
	value   func(v *vitals) any
}

var statistics = slices.Concat(serverStatistics, keepStatistics, workStatistics)

// serverStatistics are the rows before those of what is kept.
var serverStatistics = []statistic{
	{"server", "redis_version", "the version of Redis whose protocol is spoken", func(*vitals) any { return RedisVersion }},
	{"server", "sluice_version", "the version of this server", func(v *vitals) any { return v.server.version }},
	{"server", "redis_mode", "always standalone", func(*vitals) any { return "standalone" }},
	{"server", "os", "operating system and processor", func(*vitals) any { return runtime.GOOS + " " + runtime.GOARCH }},
	{"server", "arch_bits", "bits of an address", func(*vitals) any { return 32 << (^uint(0) >> 63) }},
	{"server", "go_version", "what the server was built with", func(*vitals) any { return runtime.Version() }},
	{"server", "process_id", "of the server", func(*vitals) any { return os.Getpid() }},
	{"server", "run_id", "changes with every start", func(v *vitals) any { return v.server.runID }},
	{"server", "tcp_port", "where it listens; 0 where that is not TCP", func(v *vitals) any { return v.server.port() }},
	{"server", "shards", "how many goroutines own keys", func(v *vitals) any { return v.server.shards.Len() }},
	{"server", "server_time_usec", "microseconds since 1970", func(v *vitals) any { return v.now / nanosPerMicro }},
	{"server", "clock_offset_ms", "by how much the wall clock is ahead of server time", func(v *vitals) any { return v.server.clock.Offset() / nanosPerMilli }},
	{"server", "uptime_in_seconds", "since the start", func(v *vitals) any { return v.uptimeSeconds() }},
	{"server", "uptime_in_days", "since the start", func(v *vitals) any { return v.uptimeSeconds() / (24 * 3600) }},

	{"clients", "connected_clients", "open connections", func(v *vitals) any { return v.server.connected() }},
	{"clients", "maxclients", "how many there may be", func(v *vitals) any { return v.server.ClientsMax() }},
	{"clients", "blocked_clients", "always 0: no command waits", func(*vitals) any { return 0 }},

	{"memory", "used_memory", "bytes of the heap", func(v *vitals) any { return v.heapBytes }},
	{"memory", "used_memory_human", "the same for people", func(v *vitals) any { return human(v.heapBytes) }},
	{"memory", "used_memory_rss", "bytes that the process has from the operating system", func(v *vitals) any { return v.memoryBytes }},
	{"memory", "used_memory_dataset", "bytes of the tables of keys", func(v *vitals) any { return v.tableBytes }},
	{"memory", "maxmemory", "bytes to keep to", func(v *vitals) any { return v.server.redisSetting("maxmemory") }},
	{"memory", "maxmemory_policy", "what is thrown away at the cap", func(v *vitals) any { return v.server.redisSetting("maxmemory-policy") }},
}

// workStatistics are the rows after those of what is kept.
var workStatistics = []statistic{
	{"stats", "total_connections_received", "connections accepted", func(v *vitals) any { return v.server.stats.connections.Load() }},
	{"stats", "total_commands_processed", "commands, errors among them", func(v *vitals) any { return v.server.stats.commands.Load() }},
	{"stats", "instantaneous_ops_per_sec", "commands in the last second", func(v *vitals) any { return v.server.stats.lastSecond.Load() }},
	{"stats", "total_error_replies", "error replies", func(v *vitals) any { return v.server.stats.errors.Load() }},
	{"stats", "protocol_errors", "connections closed for what they sent", func(v *vitals) any { return v.server.stats.protocolErrors.Load() }},
	{"stats", "rejected_connections", "connections closed before they could send anything", func(v *vitals) any { return v.server.stats.refused.Load() }},
	{"stats", "client_output_buffer_limit_disconnections", "connections closed because they took no replies", func(v *vitals) any { return v.server.stats.cutOff.Load() }},
	{"stats", "tls_handshakes_failed", "TLS connections closed before they were one", func(v *vitals) any { return v.server.stats.handshakesFailed.Load() }},
	{"stats", "acl_access_denied_auth", "logins with a wrong password", func(v *vitals) any { return v.server.stats.loginsFailed.Load() }},
	{"stats", "decisions_allowed", "calls that passed and were charged", func(v *vitals) any { return v.shards.Allowed }},
	{"stats", "decisions_denied", "calls that were denied", func(v *vitals) any { return v.shards.Denied }},
	{"stats", "leases_out", "leases that could be returned, with a holder", func(v *vitals) any { return v.leases }},
	{"stats", "evicted_keys", "keys thrown away for others, before they were fresh", func(v *vitals) any { return v.shards.Evicted }},
	{"stats", "expired_keys", "keys freed because they had become fresh", func(v *vitals) any { return v.shards.Expired }},

	{"cpu", "used_cpu_sys", "seconds in the system's code", func(*vitals) any {
		system, _ := processorSeconds()
		return fmt.Sprintf("%.6f", system)
	}},
	{"cpu", "used_cpu_user", "seconds in the server's own code", func(*vitals) any {
		_, user := processorSeconds()
		return fmt.Sprintf("%.6f", user)
	}},

	{"plans", "plans", "how many plans there are", func(v *vitals) any { return len(v.book.PlanNames()) }},
	{"plans", "rules", "how many rules there are", func(v *vitals) any { return len(v.book.RuleNames()) }},
	{"plans", "book_version", "the same on every server with the same plans, rules and addresses", func(v *vitals) any { return fmt.Sprintf("%016x", v.book.Version()) }},

	{"replication", "role", "always master", func(*vitals) any { return "master" }},
	{"replication", "connected_slaves", "always 0", func(*vitals) any { return 0 }},

	{"commandstats", "cmdstat_", "a line for each command that came: calls; microseconds, and microseconds a call; what was refused before it was a call; calls that were answered with an error", commandLines},
	{"errorstats", "errorstat_", "a line for each first word of error replies", errorLines},
	{"latencystats", "latency_percentiles_usec_", "a line for each command: the microseconds within which half, 99 % and 99.9 % of the calls were done, counted from their arrival", latencyLines},

	{"cluster", "cluster_enabled", "always 0", func(*vitals) any { return 0 }},

	{"keyspace", "db0", "left out where there is no key; every key expires", func(v *vitals) any {
		if v.keys == 0 {
			return nil
		}
		return fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", v.keys, v.keys)
	}},
}

// look gathers the vitals.
func (s *Server) look() *vitals {
	v := &vitals{server: s, book: s.Book(), now: s.clock.Now(), keys: s.keys(), loading: s.loading.Load()}
	if v.loading == nil && s.keeper != nil {
		status := s.keeper.Status()
		v.kept = &status
	}
	s.shards.Each(func(n int, c *shard.Core, _ uint64) {
		of := c.Stats()
		v.perShard = append(v.perShard, shardVitals{c.Len(), c.Bytes(), s.shards.Waiting(n), of, slices.Clone(c.Counts())})
		v.shards.Allowed += of.Allowed
		v.shards.Denied += of.Denied
		v.shards.Expired += of.Expired
		v.shards.Evicted += of.Evicted
		v.tableBytes += c.Bytes()
		v.leases += c.Leases()
	})
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	v.heapBytes = samples[0].Value.Uint64()
	v.memoryBytes = samples[1].Value.Uint64() - samples[2].Value.Uint64()
	return v
}

func (v *vitals) uptimeSeconds() uint64 {
	// A test clock may have been set back.
	return (max(v.now, v.server.startedAt) - v.server.startedAt) / nanosPerSecond
}

// human writes a number of bytes as Redis does, with one letter for the unit.
func human(n uint64) string {
	units := "BKMGT"
	shown, i := n*100, 0
	for ; shown >= 1024*100 && i < len(units)-1; i++ {
		shown /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%d.%02d%c", shown/100, shown%100, units[i])
}

// sections lists the sections of INFO in order.
func sections() (names []string) {
	for _, row := range statistics {
		if !slices.Contains(names, row.section) {
			names = append(names, row.section)
		}
	}
	return names
}

func runInfo(s *session, out []byte, args [][]byte) ([]byte, error) {
	words := args[1:]
	if len(words) == 0 {
		words = [][]byte{[]byte("default")}
	}
	asked := slices.DeleteFunc(sections(), func(name string) bool { return !asksFor(words, name) })
	return appendText(out, s.proto, s.server.info(asked)), nil
}

// isDefault says whether a section is told where none is asked for by name. Those that
// are not may be long.
func isDefault(section string) bool { return section != "commandstats" && section != "latencystats" }

// asksFor says whether a section is among those that were asked for.
func asksFor(words [][]byte, section string) bool {
	return slices.ContainsFunc(words, func(word []byte) bool {
		w := strings.ToLower(string(word))
		return w == section || w == "all" || w == "everything" || w == "default" && isDefault(section)
	})
}

// info prints sections: a title, then a line a field, all ended by CRLF.
func (s *Server) info(sections []string) string {
	var b bytes.Buffer
	v := s.look()
	for i, section := range sections {
		if i > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s%s\r\n", strings.ToUpper(section[:1]), section[1:])
		for _, row := range statistics {
			if row.section != section {
				continue
			}
			switch value := row.value(v).(type) {
			case nil:
			case []statLine:
				for _, f := range value {
					fmt.Fprintf(&b, "%s%s:%s\r\n", row.name, f.name, f.text)
				}
			default:
				fmt.Fprintf(&b, "%s:%v\r\n", row.name, value)
			}
		}
	}
	return b.String()
}

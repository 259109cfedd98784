package settings

// The rows. Summaries go on from the flag's name in the help and stand alone in the
// reference; what they say of a default is not repeated in them.

import (
	"runtime"
	"strconv"
	"time"

	"sluice/algorithms"
	"sluice/internal/clock"
	"sluice/persistence"
	"sluice/shard"
)

const (
	// ShardsMax is how many shards a server can have.
	ShardsMax = 256
	// MemoryMinBytes is the least that max-memory may be.
	MemoryMinBytes = 16 << 20
)

// Rows is every setting, group by group.
var Rows = []Row{
	{Name: "config", Group: "Server", Arg: "file", Outside: true,
		Summary: "file of plans, rules and settings; none where it is empty",
		field:   text(func(c *Config) *string { return &c.File })},
	{Name: "listen", Group: "Server", Arg: "address", Default: "127.0.0.1:6380",
		Summary: "address to listen on, HOST:PORT, or several with commas between them; none where it is empty",
		field:   addresses(func(c *Config) *[]string { return &c.Listen })},
	{Name: "unix-socket", Group: "Server", Arg: "path",
		Summary: "socket in the file system to listen on; none where it is empty",
		field:   text(func(c *Config) *string { return &c.UnixSocket })},
	{Name: "unix-socket-mode", Group: "Server", Arg: "mode", Default: "700",
		Summary: "permissions of that socket",
		field:   mode(func(c *Config) *uint32 { return &c.UnixSocketMode })},
	{Name: "shards", Group: "Server", Arg: "number", Default: strconv.Itoa(runtime.GOMAXPROCS(0)), Said: "the number of processors",
		Summary: "number of shards, each of which owns a part of the keys",
		field:   number(func(c *Config) *int { return &c.Shards }, 1, ShardsMax)},
	{Name: "drain", Group: "Server", Arg: "time", Default: "0",
		Summary: "time between /readyz answering 503 and the end, for load balancers to notice",
		field:   duration(func(c *Config) *time.Duration { return &c.Drain })},

	{Name: "admin", Group: "Admin listener", Arg: "address", Example: "127.0.0.1:6381",
		Summary: "address for probes, metrics and the control plane over HTTP, HOST:PORT; none where it is empty",
		field:   optional(func(c *Config) *string { return &c.Admin })},
	{Name: "admin-token", Group: "Admin listener", Arg: "token", Secret: true,
		Summary: "what callers of the control plane and of profiles must know; there are neither where it is empty",
		field:   secret(func(c *Config) *string { return &c.AdminToken })},
	{Name: "admin-token-file", Group: "Admin listener", Arg: "file", Example: "/etc/sluice/admin-token",
		Summary: "file that holds the admin-token, on its first line",
		field:   secretFile(func(c *Config) *string { return &c.AdminToken })},
	{Name: "pprof", Group: "Admin listener", Default: "false",
		Summary: "profiles under /debug/pprof/, for those who know the token",
		field:   toggle(func(c *Config) *bool { return &c.Pprof })},

	{Name: "max-clients", Group: "Connections", Arg: "number", Default: "10000", Live: true,
		Summary: "number of connections there may be; fewer where the process may not open so many files",
		field:   number(func(c *Config) *int { return &c.MaxClients }, 1, 1<<20)},
	{Name: "idle-timeout", Group: "Connections", Arg: "time", Default: "0", Live: true,
		Summary: "time after which a connection that sends nothing is closed; 0 for never",
		field:   duration(func(c *Config) *time.Duration { return &c.IdleTimeout })},
	{Name: "tcp-keepalive", Group: "Connections", Arg: "time", Default: "5m",
		Summary: "time after which a silent peer is asked whether it is still there; 0 for never",
		field:   duration(func(c *Config) *time.Duration { return &c.TCPKeepAlive })},
	{Name: "output-max", Group: "Connections", Arg: "size", Default: "8MiB", Live: true,
		Summary: "size that a reply may have; a longer one is an error; 0 for no bound",
		field:   size(func(c *Config) *int64 { return &c.OutputMax })},
	{Name: "output-soft", Group: "Connections", Arg: "size", Default: "1MiB", Live: true,
		Summary: "size of replies that may wait for longer than output-soft-time",
		field:   size(func(c *Config) *int64 { return &c.OutputSoft })},
	{Name: "output-soft-time", Group: "Connections", Arg: "time", Default: "10s", Live: true,
		Summary: "time after which a peer is cut off that takes nothing, or that more than output-soft waits for; 0 for never",
		field:   duration(func(c *Config) *time.Duration { return &c.OutputSoftTime })},

	{Name: "tls-listen", Group: "TLS", Arg: "address",
		Summary: "address to listen on for TLS, HOST:PORT, or several with commas between them",
		field:   addresses(func(c *Config) *[]string { return &c.TLSListen })},
	{Name: "tls-cert", Group: "TLS", Arg: "file",
		Summary: "file of the server's certificate and what vouches for it, PEM",
		field:   text(func(c *Config) *string { return &c.TLSCert })},
	{Name: "tls-key", Group: "TLS", Arg: "file",
		Summary: "file of the certificate's key, PEM",
		field:   text(func(c *Config) *string { return &c.TLSKey })},
	{Name: "tls-client-ca", Group: "TLS", Arg: "file",
		Summary: "file of certificates, PEM, one of which must vouch for a client's; none are asked for where it is empty",
		field:   text(func(c *Config) *string { return &c.TLSClientCA })},

	{Name: "requirepass", Group: "Access", Arg: "password", Live: true, Secret: true,
		Summary: "password of the user default; none where it is empty",
		field:   text(func(c *Config) *string { return &c.RequirePass })},
	{Name: "requirepass-file", Group: "Access", Arg: "file",
		Summary: "file whose first line is the password of the user default",
		field:   passwordFile(func(c *Config) *string { return &c.RequirePassFile })},
	{Name: "acl-file", Group: "Access", Arg: "file",
		Summary: "file of users, as ACL SAVE writes it",
		field:   text(func(c *Config) *string { return &c.ACLFile })},
	{Name: "enable-debug", Group: "Access", Default: "false", Outside: true,
		Summary: "take DEBUG SLEEP; for tests of clients",
		field:   toggle(func(c *Config) *bool { return &c.EnableDebug })},
	{Name: "protected-mode", Group: "Access", Default: "true", Live: true,
		Summary: "while no password is set, listen on and serve this machine only",
		field:   toggle(func(c *Config) *bool { return &c.ProtectedMode })},

	{Name: "dir", Group: "State on disk", Arg: "directory", Default: "./sluice-data",
		Summary: "directory that state is kept in; where it is empty nothing is kept",
		field:   text(func(c *Config) *string { return &c.Dir })},
	{Name: "journal", Group: "State on disk", Arg: "when", Default: "everysec",
		Summary: "when changes are durable: always (before the reply), everysec, os, or off (snapshots only)",
		field: word(func(c *Config, w string) error {
			var err error
			c.Journal, err = persistence.ParseMode(w)
			return err
		}, "always", "everysec", "os", "off")},
	{Name: "snapshot-every", Group: "State on disk", Arg: "time", Default: "5m",
		Summary: "time between snapshots while there are changes; 0 for none",
		field:   duration(func(c *Config) *time.Duration { return &c.SnapshotEvery })},
	{Name: "snapshot-journal-bytes", Group: "State on disk", Arg: "size", Default: "256MiB",
		Summary: "size of the journal that makes a snapshot due, once it is as long as the last snapshot; 0 for none",
		field:   size(func(c *Config) *int64 { return &c.SnapshotJournal })},
	{Name: "on-disk-error", Group: "State on disk", Arg: "what", Default: "serve",
		Summary: "what spending commands get while the journal cannot be written: serve or refuse; with journal always it is refuse",
		field:   word(func(c *Config, w string) error { c.OnDiskError = w; return nil }, "serve", "refuse")},

	{Name: "max-memory", Group: "Memory and bounds", Arg: "size", Default: "75%",
		Summary: "size of memory to keep to, or a share of the machine's or its cgroup's; keys may take nine tenths of it",
		field:   memory(func(c *Config) *int64 { return &c.MaxMemory })},
	{Name: "max-keys", Group: "Memory and bounds", Arg: "number", Default: "0",
		Summary: "number of keys there may be; 0 for no bound",
		field:   number(func(c *Config) *int { return &c.MaxKeys }, 0, 1<<48)},
	{Name: "on-full", Group: "Memory and bounds", Arg: "what", Default: "refuse",
		Summary: "what happens to a new key without room: refuse, or evict-soonest (of the others)",
		field:   word(func(c *Config, w string) error { c.OnFull = w; return nil }, "refuse", "evict-soonest")},
	{Name: "sliding-log-max", Group: "Memory and bounds", Arg: "limit", Default: strconv.Itoa(algorithms.LogLimitMaxDefault),
		Summary: "largest limit of a sliding_log, which keeps every call",
		field:   number(func(c *Config) *uint64 { return &c.SlidingLogMax }, 1, shard.LogLimitMax)},

	{Name: "log-level", Group: "Log", Arg: "level", Default: "info", Live: true,
		Summary: "what is logged at least: debug, info, warn or error",
		field: word(func(c *Config, w string) error {
			return c.LogLevel.UnmarshalText([]byte(w))
		}, "debug", "info", "warn", "error")},

	{Name: "slow-log", Group: "Log", Arg: "time", Default: "10ms", Live: true,
		Summary: "time from which on SLOWLOG remembers a command that is not done in constant time; 0 for none",
		field:   duration(func(c *Config) *time.Duration { return &c.SlowLog })},
	{Name: "log-format", Group: "Log", Arg: "form", Default: "auto",
		Summary: "text, json, or auto: text on a terminal, JSON elsewhere",
		field:   word(func(c *Config, w string) error { c.LogFormat = w; return nil }, "auto", "text", "json")},

	{Name: "denial-log", Group: "Log", Arg: "number", Default: "0", Live: true,
		Summary: "one of how many denials is logged, drawn at random, at level info; 1 for all, 0 for none",
		field:   number(func(c *Config) *int { return &c.DenialLog }, 0, 1_000_000_000)},
	{Name: "denial-log-keys", Group: "Log", Arg: "how", Default: "hashed", Live: true,
		Summary: "how denials are logged: hashed (HMAC-SHA-256 of the key) or plain",
		field:   word(func(c *Config, w string) error { c.DenialLogHashed = w == "hashed"; return nil }, "hashed", "plain")},
	{Name: "denial-log-secret", Group: "Log", Arg: "secret", Secret: true,
		Summary: "what keys are hashed with; where it is empty a new one is drawn at each start, and hashes of two runs cannot be compared",
		field:   secret(func(c *Config) *string { return &c.DenialLogSecret })},
	{Name: "denial-log-secret-file", Group: "Log", Arg: "file", Example: "/etc/sluice/denial-log-secret",
		Summary: "file that holds the denial-log-secret, on its first line",
		field:   secretFile(func(c *Config) *string { return &c.DenialLogSecret })},

	{Name: "slew", Group: "Clock", Default: "false",
		Summary: "server time follows the wall clock after a step, by at most 0.1 % of the time that goes by; without it the distance is only shown",
		field:   toggle(func(c *Config) *bool { return &c.Slew })},
	{Name: clock.AllowBehindFlag, Group: "Clock", Default: "false", Outside: true,
		Summary: "start although the clock is more than a day behind what is on disk",
		field:   toggle(func(c *Config) *bool { return &c.AllowClockBehind })},
	{Name: "test-clock", Group: "Clock", Default: "false", Outside: true,
		Summary: "a clock that stands still at 2027-01-15T08:00:00Z until RL.CLOCK sets it; for tests and examples",
		field:   toggle(func(c *Config) *bool { return &c.TestClock })},
}

// contradictions are what settings may not say together. Each says what is wrong and
// names the settings that it is about, the one to complain about first.
var contradictions = []struct {
	names []string
	wrong func(c *Config) string
}{
	{[]string{"listen", "tls-listen", "unix-socket"}, func(c *Config) string {
		if len(c.Listen)+len(c.TLSListen) > 0 || c.UnixSocket != "" {
			return ""
		}
		return "must be an address where there is no tls-listen and no unix-socket"
	}},
	{[]string{"tls-listen", "tls-cert", "tls-key"}, func(c *Config) string {
		if len(c.TLSListen) == 0 || c.TLSCert != "" && c.TLSKey != "" {
			return ""
		}
		return "needs tls-cert and tls-key"
	}},
	{[]string{"tls-client-ca", "tls-listen"}, func(c *Config) string {
		if c.TLSClientCA == "" || len(c.TLSListen) > 0 {
			return ""
		}
		return "asks clients for certificates, and no tls-listen is given: nobody would be asked"
	}},
	{[]string{"tls-cert", "tls-listen"}, func(c *Config) string {
		if c.TLSCert == "" || len(c.TLSListen) > 0 {
			return ""
		}
		return "is for TLS, and no tls-listen is given: nobody would be served with it"
	}},
	{[]string{"pprof", "admin", "admin-token-file"}, func(c *Config) string {
		if !c.Pprof || c.Admin != "" && c.AdminToken != "" {
			return ""
		}
		return "needs admin, where profiles are asked for, and admin-token-file, with what callers must know"
	}},
	{[]string{"dir", "journal"}, func(c *Config) string {
		if c.Dir != "" || c.Journal != persistence.Always {
			return ""
		}
		return "is empty, so nothing is kept, and journal always promises that everything is: give a directory, or another journal"
	}},
	{[]string{"on-disk-error", "journal"}, func(c *Config) string {
		if c.OnDiskError != "serve" || c.Journal != persistence.Always || c.Origin("on-disk-error").Source == Default {
			return ""
		}
		return "is serve, and journal always never acknowledges what is not on disk: leave it away, or choose another journal"
	}},
	{[]string{"requirepass-file", "requirepass"}, func(c *Config) string {
		if c.RequirePassFile == "" || c.RequirePass == "" {
			return ""
		}
		return "and requirepass are two passwords for one user: give one of them"
	}},
	{[]string{"max-keys", "shards"}, func(c *Config) string {
		if c.MaxKeys == 0 || c.MaxKeys >= c.Shards {
			return ""
		}
		return "must be 0, or at least the number of shards (" + strconv.Itoa(c.Shards) + "), got " + strconv.Itoa(c.MaxKeys)
	}},
	{[]string{"admin-token", "admin-token-file"}, func(c *Config) string {
		if c.Text("admin-token") == "" || c.Text("admin-token-file") == "" {
			return ""
		}
		return "and admin-token-file are both given: one of them is enough"
	}},
	{[]string{"denial-log-secret", "denial-log-secret-file"}, func(c *Config) string {
		if c.Text("denial-log-secret") == "" || c.Text("denial-log-secret-file") == "" {
			return ""
		}
		return "and denial-log-secret-file are both given: one of them is enough"
	}},
	{[]string{"admin", "admin-token-file"}, func(c *Config) string {
		if c.Admin == "" || c.AdminToken != "" || Loopback(c.Admin) {
			return ""
		}
		return "listens beyond this machine (" + c.Admin + "), so it needs a token: set admin-token-file, or listen on 127.0.0.1"
	}},
}

package server

// The rows of the commands about the server: what it knows, how it is, and all
// keys at once.

var serverCommands = []*Command{
	{
		Name: "TIME", Group: "server", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Tells the server's time.",
		Details: "It is the time that decisions are made by; RL.CLOCK GET tells the same in milliseconds.",
		Arity:   1, Flags: always | FlagMulti,
		Reply:    "Array of two bulk strings: seconds since 1970, and microseconds of the second.",
		run:      runTime,
		Examples: []Example{{"TIME", "1) \"1800000000\"\n2) \"0\""}},
	},
	{
		Name: "DBSIZE", Group: "server", Since: "0.1.0", Complexity: "O(N), N keys that have come due and were not freed yet",
		Summary: "Counts the keys.",
		Details: "A fresh key does not exist. In a shard with more than two thousand keys, those that became fresh within the last millisecond may be counted still.",
		Arity:   1, Flags: FlagReadonly | FlagFast,
		Reply:    "Integer: how many keys there are.",
		run:      runDBSize,
		Examples: []Example{used10, {"DBSIZE", "(integer) 1"}, {"RL.CLOCK ADVANCE 1s", "OK"}, {"DBSIZE", "(integer) 0"}},
	},
	flushes("FLUSHDB"),
	flushes("FLUSHALL"),
	{
		Name: "INFO", Group: "server", Since: "0.1.0", Complexity: "O(N), N keys that have come due and were not freed yet",
		Summary: "Tells how the server is.",
		Details: "default stands for what is told without a section: all but commandstats and latencystats; all and everything stand for all. Commands that are decided at once share the time that this took: `usec` is their shares, from arrival to decision, with what they waited for shards. Commands such as PING, which are about no key and done in constant time, are counted and not timed, and so are those between MULTI and EXEC, whose time is that of EXEC.",
		Arity:   -1, Flags: FlagLoading | FlagStale | FlagDangerous,
		Args:     []Arg{{Name: "section", Optional: true, Multiple: true}},
		Reply:    "Verbatim string (RESP2: bulk string) of lines `field:value`, a title before each section.",
		run:      runInfo,
		Examples: []Example{{"INFO replication", "# Replication\nrole:master\nconnected_slaves:0"}},
	},
	{
		Name: "CONFIG", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.",
		Summary: "Tells and changes settings.",
		Details: "[settings.md](settings.md) is the reference of what can be set, at start and later.",
		Arity:   -2,
		Sub: []*Command{{
			Name: "CONFIG GET", Since: "0.1.0", Complexity: "O(N), N settings", Arity: -3, Flags: FlagAdmin | FlagLoading | FlagStale,
			Summary: "Tells the settings whose names match a pattern.",
			Details: "Patterns are those of KEYS, in any case. Names are those of the settings, and these, which Redis's tools ask for:",
			Args:    []Arg{{Name: "parameter", Type: "pattern", Multiple: true}},
			Reply:   "Map: names and values.", run: runConfigGet,
			Examples: []Example{{"CONFIG GET save appendonly", "1) \"appendonly\"\n2) \"no\"\n3) \"save\"\n4) \"\""}},
		}, {
			Name: "CONFIG RESETSTAT", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagAdmin | FlagLoading | FlagStale,
			Summary: "Sets the counts of connections, commands, latencies and errors that INFO tells back to 0.",
			Reply:   "Simple string OK.", run: runConfigResetStat,
			Examples: []Example{{"CONFIG RESETSTAT", "OK"}},
		}, {
			Name: "CONFIG SET", Since: "0.1.0", Complexity: "O(N), N settings", Arity: -4, Flags: FlagAdmin | FlagLoading | FlagStale,
			Summary: "Changes settings, all that are given or none, until the server ends.",
			Details: "Only settings that are marked live in [settings.md](settings.md) can be changed while the server runs.",
			Args:    []Arg{{Name: "setting", Type: "block", Multiple: true, Args: []Arg{{Name: "name"}, {Name: "value"}}}},
			Reply:   "Simple string OK.", run: runConfigSet,
			Examples: []Example{{"CONFIG SET log-level warn", "OK"}, {"CONFIG GET log-level", "1) \"log-level\"\n2) \"warn\""}},
			Refusals: []Refusal{
				{"CONFIG SET log-level loud", "ERR log-level must be debug, info, warn or error, got \"loud\""},
				{"CONFIG SET log-level info log-level warn", "ERR log-level is given twice"},
				{"CONFIG SET log-level info shards", "ERR CONFIG SET wants a value after each name, such as CONFIG SET log-level debug"},
				{"CONFIG SET shards 4", "ERR shards is read at start only; set it with --shards, SLUICE_SHARDS or in the file, and start again"},
				{"CONFIG SET log-levl info", "ERR there is no setting 'log-levl', did you mean 'log-level'?"},
				{"CONFIG SET maxmemory 1gb", "ERR maxmemory is told for tools that ask, and cannot be set: bytes to keep to, as max-memory"},
			},
		}, {
			Name: "CONFIG RELOAD", Since: "0.1.0", Complexity: "O(N), N plans and rules", Arity: 2, Flags: FlagAdmin,
			Summary: "Reads the configuration file again, as SIGHUP does: all of it holds then, or nothing changes.",
			Details: "The log tells what differs. Settings that are not live hold from the next start on.",
			Reply:   "Simple string OK; an error says what is wrong in the file, with line and column.", run: runConfigReload,
			Refusals: []Refusal{{"CONFIG RELOAD", "ERR this server has nothing to read again"}},
		}},
	},
	{
		Name: "COMMAND", Group: "server", Since: "0.1.0", Complexity: "O(N), N commands",
		Summary: "Tells what commands there are.",
		Details: "Names and shapes are those of Redis 7.",
		Arity:   -1, Flags: FlagLoading | FlagStale,
		Reply: "Array with an entry for each command: name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands.",
		run:   runCommand,
		Sub: []*Command{
			{
				Name: "COMMAND COUNT", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagFast | FlagLoading | FlagStale,
				Summary: "Counts the commands.", Reply: "Integer.", run: runCommandCount,
			},
			{
				Name: "COMMAND DOCS", Since: "0.1.0", Complexity: "O(N), N commands", Arity: -2, Flags: FlagLoading | FlagStale,
				Summary: "Tells the documentation of commands, which redis-cli shows as hints and help.",
				Args:    []Arg{{Name: "command-name", Optional: true, Multiple: true}},
				Reply:   "Map: names and maps with summary, since, group, complexity, arguments, subcommands.", run: runCommandDocs,
				Examples: []Example{{"COMMAND DOCS dbsize nosuch", "1) \"dbsize\"\n2) 1) \"summary\"\n   2) \"Counts the keys.\"\n   3) \"since\"\n   4) \"0.1.0\"\n   5) \"group\"\n   6) \"server\"\n   7) \"complexity\"\n   8) \"O(N), N keys that have come due and were not freed yet\""}},
			},
			{
				Name: "COMMAND INFO", Since: "0.1.0", Complexity: "O(N), N commands", Arity: -2, Flags: FlagLoading | FlagStale,
				Summary: "Tells the entries of commands.",
				Args:    []Arg{{Name: "command-name", Optional: true, Multiple: true}},
				Reply:   "Array of entries as COMMAND has them; nil for a command that there is not.", run: runCommandInfo,
				Examples: []Example{{"COMMAND INFO nosuch", "1) (nil)"}},
			},
			{
				Name: "COMMAND LIST", Since: "0.1.0", Complexity: "O(N), N commands", Arity: -2, Flags: FlagLoading | FlagStale,
				Summary: "Lists the names of the commands and subcommands.",
				Args: []Arg{{Name: "filterby", Type: "oneof", Token: "FILTERBY", Optional: true, Args: []Arg{
					{Name: "module-name", Token: "MODULE"}, {Name: "category", Token: "ACLCAT"}, {Name: "pattern", Type: "pattern", Token: "PATTERN"},
				}}},
				Reply: "Array of names.", run: runCommandList,
				Examples: []Example{{"COMMAND LIST FILTERBY PATTERN *expire*", "1) \"expiretime\"\n2) \"pexpiretime\""}},
				Refusals: []Refusal{{"COMMAND LIST FILTERBY NAME x", "ERR syntax error, a filter is FILTERBY MODULE name, FILTERBY ACLCAT category or FILTERBY PATTERN pattern"}},
			},
			{
				Name: "COMMAND GETKEYS", Since: "0.1.0", Complexity: "O(N), N arguments", Arity: -3, Flags: FlagLoading | FlagStale,
				Summary: "Tells which arguments of a command are keys.",
				Args:    []Arg{{Name: "command"}, {Name: "arg", Optional: true, Multiple: true}},
				Reply:   "Array of the keys.", run: runCommandGetKeys,
				Examples: []Example{
					{"COMMAND GETKEYS DEL a b", "1) \"a\"\n2) \"b\""},
					{"COMMAND GETKEYS RL.MALLOW a gcra 1 1s 1 b @pro 1", "1) \"a\"\n2) \"b\""},
				},
				Refusals: []Refusal{
					{"COMMAND GETKEYS PING", "ERR The command has no key arguments"},
					{"COMMAND GETKEYS NOSUCH a", "ERR Invalid command specified, unknown command 'NOSUCH', with args beginning with: 'a' "},
				},
			},
			{
				Name: "COMMAND GETKEYSANDFLAGS", Since: "0.1.0", Complexity: "O(N), N arguments", Arity: -3, Flags: FlagLoading | FlagStale,
				Summary: "Tells which arguments of a command are keys, and what is done with them.",
				Args:    []Arg{{Name: "command"}, {Name: "arg", Optional: true, Multiple: true}},
				Reply:   "Array of pairs: a key, and a set (RESP2: array) of words: RO or RW, access, update.", run: runCommandGetKeysAndFlags,
				Examples: []Example{
					{"COMMAND GETKEYSANDFLAGS RL.ALLOW a gcra 1 1s", "1) 1) \"a\"\n   2) 1) RW\n      2) access\n      3) update"},
					{"COMMAND GETKEYSANDFLAGS TTL a", "1) 1) \"a\"\n   2) 1) RO\n      2) access"},
				},
				Refusals: []Refusal{{"COMMAND GETKEYSANDFLAGS PING", "ERR The command has no key arguments"}},
			},
		},
	},
}

// flushes makes the row of FLUSHDB or FLUSHALL.
func flushes(name string) *Command {
	return &Command{
		Name: name, Group: "server", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Makes every key fresh.",
		Details: "There is one key space, so FLUSHDB and FLUSHALL are the same; so are ASYNC and SYNC.",
		Arity:   -1, Flags: FlagWrite | FlagDangerous,
		Args: []Arg{{Name: "mode", Type: "oneof", Optional: true, Args: []Arg{
			{Name: "async", Type: "pure-token", Token: "ASYNC"}, {Name: "sync", Type: "pure-token", Token: "SYNC"},
		}}},
		Reply:    "Simple string OK.",
		run:      runFlush,
		Examples: []Example{used10, {name, "OK"}, {"EXISTS user:42", "(integer) 0"}},
		Refusals: []Refusal{{name + " NOW", "ERR syntax error, it must be ASYNC or SYNC, got 'NOW'"}},
	}
}

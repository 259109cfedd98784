package server

// The rows of transactions, and of what tools ask a Redis server about itself and its
// keys.

import "sluice/shard"

var transactionCommands = []*Command{
	{
		Name: "MULTI", Group: "transactions", Since: "0.1.0", Complexity: "O(1)", Arity: 1, Flags: isSession,
		Summary: "Begins a transaction: the commands that follow are kept until EXEC.",
		Details: "A transaction takes the commands for rate limits and for single keys; what goes over all keys cannot be part of one.",
		Reply:   "Simple string OK; QUEUED for each command that follows.", run: runMulti,
		Examples: []Example{
			{"MULTI", "OK"}, {"RL.ALLOW a fixed_window 2 1m", "QUEUED"}, {"RL.ALLOW b fixed_window 2 1m", "QUEUED"}, {"EXISTS a b", "QUEUED"},
			{"EXEC", "1) 1) (integer) 1\n   2) (integer) 2\n   3) (integer) 1\n   4) (integer) 0\n   5) (integer) 60000\n   6) (integer) 0\n2) 1) (integer) 1\n   2) (integer) 2\n   3) (integer) 1\n   4) (integer) 0\n   5) (integer) 60000\n   6) (integer) 0\n3) (integer) 2"},
		},
	},
	{
		Name: "EXEC", Group: "transactions", Since: "0.1.0", Complexity: "Depends on the commands.", Arity: 1, Flags: FlagLoading | FlagStale | FlagSession,
		Summary: "Does the commands of a transaction at one instant; nobody else comes in between.",
		Reply:   "Array of their replies; nil where a watched key has changed.", run: runExec,
		Refusals: []Refusal{{"EXEC", "ERR EXEC without MULTI"}},
	},
	{
		Name: "DISCARD", Group: "transactions", Since: "0.1.0", Complexity: "O(N), N commands", Arity: 1, Flags: isSession,
		Summary: "Gives up a transaction.", Reply: "Simple string OK.", run: runDiscard,
		Examples: []Example{{"MULTI", "OK"}, {"PING", "QUEUED"}, {"DISCARD", "OK"}, {"PING", "PONG"}},
		Refusals: []Refusal{{"DISCARD", "ERR DISCARD without MULTI"}},
	},
	{
		Name: "WATCH", Group: "transactions", Since: "0.1.0", Complexity: "O(N), N keys", Arity: -2, Flags: FlagFast | FlagReadonly | FlagSession, Keys: Keys{1, -1, 1},
		Summary: "Has the next EXEC do nothing if a key has changed by then.",
		Details: "A key has changed when it was charged, given back to or reset, or has become fresh.",
		Args:    []Arg{{Name: "key", Type: "key", Multiple: true}}, Reply: "Simple string OK.", run: runWatch,
		Examples: []Example{{"WATCH a", "OK"}, {"RL.ALLOW a fixed_window 2 1m", decisionText(1, 2, 1, 0, 60000, 0)}, {"MULTI", "OK"}, {"RL.ALLOW a fixed_window 2 1m", "QUEUED"}, {"EXEC", "(nil)"}},
	},
	{
		Name: "UNWATCH", Group: "transactions", Since: "0.1.0", Complexity: "O(1)", Arity: 1, Flags: isSession,
		Summary: "Watches no key any more.", Reply: "Simple string OK.", run: runUnwatch,
		Examples: []Example{{"UNWATCH", "OK"}},
	},
	functionCall("FCALL"),
	functionCall("FCALL_RO"),
}

// functionCall is FCALL or FCALL_RO.
func functionCall(name string) *Command {
	return &Command{
		Name: name, Group: "ratelimit", Since: "0.1.0", Complexity: "Depends on the function.", Arity: -3, keysOf: callKeys, Flags: FlagWrite | FlagDenyOOM,
		Summary: "Calls a command for rate limits as a function, for clients that must know which arguments are keys.",
		Details: "The function is the command's name in any case; it counts as that command. Of RL.MALLOW and RL.ALLOWALL the keys come first, and what belongs to each follows in the same order.",
		Args:    []Arg{{Name: "function"}, {Name: "numkeys", Type: "integer"}, {Name: "key", Type: "key", Optional: true, Multiple: true}, {Name: "arg", Optional: true, Multiple: true}},
		Reply:   "What the command replies.", run: runCall, rewrite: rewriteCall,
		Examples: []Example{{name + " rl.peek 1 user:42 token_bucket 10 10s", decisionText(1, 10, 10, 0, 0, 0)}},
		Refusals: []Refusal{
			{name + " get 1 k", "ERR Function not found: 'get'; the functions are the commands for rate limits, such as RL.ALLOW"},
			{name + " rl.peek 5 k", "ERR Number of keys can't be greater than number of args"},
			{name + " rl.mallow 2 a b gcra 1 1s 1", "ERR each key of RL.MALLOW wants algorithm, limit, window and cost, or @plan and cost, in the order of the keys"},
		},
	}
}

// views makes the row of a subcommand that looks at one key.
func views(name, summary, reply string, of func([]byte, *shard.Op) []byte, out string) *Command {
	return &Command{
		Name: name, Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: FlagReadonly, Keys: Keys{2, 2, 1},
		Summary: summary, Args: []Arg{{Name: "key", Type: "key"}}, Reply: reply + "; nil for a fresh key.",
		parse: parseSubView, write: writeView(of),
		Examples: []Example{used10, {name + " user:42", out}, {name + " nobody", "(nil)"}},
	}
}

var answerCommands = []*Command{
	{
		Name: "OBJECT", Group: "generic", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Tells how a key is kept.",
		Sub: []*Command{
			views("OBJECT ENCODING", "Tells what a key's state is kept in.", "Bulk string: entry, log or permits", encoding, `"entry"`),
			views("OBJECT FREQ", "Tells how hot a key is.", "Integer: how many binary digits the number of units has that are used of it, for tools such as `redis-cli --hotkeys`. It is of the state and not counted: RL.TOP HOT counts", frequency, "(integer) 1"),
			views("OBJECT IDLETIME", "Tells how long ago a key was last charged.", "Integer: seconds", idleTime, "(integer) 0"),
			views("OBJECT REFCOUNT", "Is there for tools that ask.", "Integer: 1", refCount, "(integer) 1"),
		},
	},
	{
		Name: "MEMORY", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Tells about memory.",
		Sub: []*Command{{
			Name: "MEMORY USAGE", Since: "0.1.0", Complexity: "O(N), N permits", Arity: -3, Flags: FlagReadonly, Keys: Keys{2, 2, 1},
			Summary: "Tells how much memory a key takes.", Args: []Arg{{Name: "key", Type: "key"}, {Name: "count", Type: "integer", Token: "SAMPLES", Optional: true}},
			Reply: "Integer: bytes; nil for a fresh key.", parse: parseMemoryUsage, write: writeView(keyBytes),
			Examples: []Example{used10, {"MEMORY USAGE user:42", "(integer) 79"}, {"MEMORY USAGE nobody", "(nil)"}},
			Refusals: []Refusal{{"MEMORY USAGE a b", "ERR syntax error, it must be MEMORY USAGE key [SAMPLES count]"}},
		}},
	},
	{
		Name: "ROLE", Group: "server", Since: "0.1.0", Complexity: "O(1)", Arity: 1, Flags: always | FlagMulti,
		Summary: "Tells that this server is nobody's replica.", Reply: "Array: master, 0, no replicas.", run: runRole,
		Examples: []Example{{"ROLE", "1) \"master\"\n2) (integer) 0\n3) (empty array)"}},
	},
	{
		Name: "WAIT", Group: "generic", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: FlagFast,
		Summary: "Tells how many replicas have what was written: there are none.", Args: []Arg{{Name: "numreplicas", Type: "integer"}, {Name: "timeout", Type: "integer"}},
		Reply: "Integer: 0.", run: runWait, Examples: []Example{{"WAIT 0 100", "(integer) 0"}},
	},
	disabled("CLUSTER", -2, []Arg{{Name: "subcommand", Multiple: true}}),
	disabled("READONLY", 1, nil),
	disabled("READWRITE", 1, nil),
	{
		Name: "FUNCTION", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Is there for tools that ask; there are no functions but those of FCALL.",
		Sub: []*Command{
			{Name: "FUNCTION LIST", Since: "0.1.0", Complexity: "O(1)", Arity: -2, Flags: always, Args: []Arg{{Name: "option", Optional: true, Multiple: true}}, Summary: "Lists the libraries of functions: none.", Reply: "Empty array.", run: nothing},
			{Name: "FUNCTION FLUSH", Since: "0.1.0", Complexity: "O(1)", Arity: -2, Flags: always | FlagAdmin, Args: []Arg{{Name: "mode", Optional: true}}, Summary: "Deletes the libraries of functions, of which there are none.", Reply: "Simple string OK.", run: ok},
		},
	},
	{
		Name: "MODULE", Group: "server", Since: "0.1.0", Complexity: "O(1)", Arity: -2, Summary: "Is there for tools that ask; there are no modules.",
		Sub: []*Command{
			{Name: "MODULE LIST", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: forOperators, Summary: "Lists the modules: none.", Reply: "Empty array.", run: nothing},
		},
	},
	{
		Name: "SLOWLOG", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Tells which commands took long.",
		Sub: []*Command{
			{
				Name: "SLOWLOG GET", Since: "0.1.0", Complexity: "O(N), N entries", Arity: -2, Flags: forOperators, Summary: "Tells the newest slow commands.",
				Details: "Commands that are not done in constant time are measured. Of those that may hold a password only the name is kept.",
				Args:    []Arg{{Name: "count", Type: "integer", Optional: true, Summary: "10 where not given; -1 for all"}},
				Reply:   "Array of entries: number, Unix time, microseconds, arguments, address, name.", run: runSlowLogGet,
				Examples: []Example{{"SLOWLOG GET", "(empty array)"}}, Refusals: []Refusal{{"SLOWLOG GET x", "ERR count should be greater than or equal to -1"}},
			},
			{Name: "SLOWLOG LEN", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: forOperators, Summary: "Counts the slow commands.", Reply: "Integer.", run: runSlowLogLen, Examples: []Example{{"SLOWLOG LEN", "(integer) 0"}}},
			{Name: "SLOWLOG RESET", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: forOperators, Summary: "Forgets the slow commands.", Reply: "Simple string OK.", run: runSlowLogReset},
		},
	},
	{
		Name: "LATENCY", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Tells how long commands take.",
		Sub: []*Command{
			{
				Name: "LATENCY HISTOGRAM", Since: "0.1.0", Complexity: "O(N), N commands", Arity: -2, Flags: forOperators,
				Args: []Arg{{Name: "command", Optional: true, Multiple: true}}, Summary: "Tells how many calls of each command were done within each power of two of microseconds.",
				Details: "Time is counted from a call's arrival, so it holds what the calls that arrived at once took together. Commands such as PING, which are about no key and done in constant time, are not timed.",
				Reply:   "Map: of each command calls, and histogram_usec, a map of microseconds and how many calls took at most that long.", run: runLatencyHistogram,
				Examples: []Example{used10, {"LATENCY HISTOGRAM rl.allow", "1) \"rl.allow\"\n2) 1) \"calls\"\n   2) (integer) 1\n   3) \"histogram_usec\"\n   4) 1) (integer) 1\n      2) (integer) 1"}, {"LATENCY HISTOGRAM ping", "(empty array)"}},
			},
			{
				Name: "LATENCY DOCTOR", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: forOperators, Summary: "Says where to look for latencies.",
				Reply: "Verbatim string (RESP2: bulk string).", run: runLatencyDoctor,
			},
			{
				Name: "LATENCY GRAPH", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: forOperators, Args: []Arg{{Name: "event"}}, Summary: "Is there for tools that ask; no events are kept.",
				Reply: "An error.", run: runLatencyGraph, Refusals: []Refusal{{"LATENCY GRAPH command", "ERR No samples available for event 'command'"}},
			},
			{Name: "LATENCY LATEST", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: forOperators, Summary: "Lists events that took long: none are kept.", Reply: "Empty array.", run: nothing},
			{Name: "LATENCY HISTORY", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: forOperators, Args: []Arg{{Name: "event"}}, Summary: "Lists when an event took long: never.", Reply: "Empty array.", run: nothing},
			{Name: "LATENCY RESET", Since: "0.1.0", Complexity: "O(1)", Arity: -2, Flags: forOperators, Args: []Arg{{Name: "event", Optional: true, Multiple: true}}, Summary: "Forgets events, of which there are none.", Reply: "Integer: 0.",
				run: func(_ *session, out []byte, _ [][]byte) ([]byte, error) { return append(out, ":0\r\n"...), nil }},
		},
	},
	{
		Name: "MONITOR", Group: "server", Since: "0.1.0", Complexity: "O(1)", Arity: 1, Flags: forOperators | FlagSession,
		Summary: "Shows what others do, as they do it, until RESET or the end of the connection.",
		Details: "Commands for operators and those that may hold a password are not shown; long arguments are cut. A monitor that does not keep up misses commands and is told how many. While there is one, all commands take longer.",
		Reply:   "OK, and then a line for each command.", run: runMonitor,
	},
	{
		Name: "DEBUG", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.", Arity: -2, Summary: "Helps to test clients.",
		Sub: []*Command{{
			Name: "DEBUG SLEEP", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: FlagAdmin | FlagStale, Summary: "Keeps this connection waiting, and no other.",
			Args: []Arg{{Name: "seconds"}}, Reply: "Simple string OK.", run: runDebugSleep,
			Refusals: []Refusal{{"DEBUG SLEEP 1", "ERR DEBUG is switched off; start the server with --enable-debug"}},
		}},
	},
}

// disabled is a command of a cluster.
func disabled(name string, arity int, args []Arg) *Command {
	return &Command{
		Name: name, Group: "server", Since: "0.1.0", Complexity: "O(1)", Arity: arity, Flags: FlagLoading | FlagStale, Args: args,
		Summary: "Is refused: this server is no cluster.", Reply: "An error.", run: runCluster,
	}
}

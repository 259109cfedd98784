package server

// The rows of the commands that Redis users know for keys. They are about limiter
// keys, of which those that are fresh do not exist.

import (
	"fmt"

	"sluice/shard"
)

// decisionText is a decision as redis-cli shows it.
func decisionText(allowed, limit, remaining, retryAfter, resetAfter, delay int) string {
	return fmt.Sprintf("1) (integer) %d\n2) (integer) %d\n3) (integer) %d\n4) (integer) %d\n5) (integer) %d\n6) (integer) %d",
		allowed, limit, remaining, retryAfter, resetAfter, delay)
}

// used10 makes a key that is fresh again after a second.
var used10 = Example{"RL.ALLOW user:42 token_bucket 10 10s", decisionText(1, 10, 9, 0, 1000, 0)}

// looks makes the row of a command that looks at one key.
func looks(name, summary, reply string, write func(*session, []byte, []shard.Op) []byte, out, fresh string) *Command {
	return &Command{
		Name: name, Group: "generic", Since: "0.1.0", Complexity: "O(1)", Summary: summary, Reply: reply,
		Arity: 2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1}, Args: []Arg{{Name: "key", Type: "key"}},
		parse: parseView, write: write,
		Examples: []Example{used10, {name + " user:42", out}, {name + " nobody", fresh}},
	}
}

// deletes makes the row of DEL or UNLINK.
func deletes(name string) *Command {
	return &Command{
		Name: name, Group: "generic", Since: "0.1.0", Complexity: "O(N), N keys",
		Summary: "Makes keys fresh, as RL.RESET does.",
		Arity:   -2, Flags: FlagWrite | FlagFast, Keys: Keys{1, -1, 1}, Args: []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many of the keys existed.", parse: parseKeys(shard.Reset), write: writeFound,
		Examples: []Example{used10, {name + " user:42 user:43", "(integer) 1"}},
	}
}

var keyCommands = []*Command{
	deletes("DEL"),
	deletes("UNLINK"),
	{
		Name: "EXISTS", Group: "generic", Since: "0.1.0", Complexity: "O(N), N keys", Summary: "Counts which of some keys exist; a fresh key does not.",
		Arity: -2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, -1, 1}, Args: []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many exist; a key named twice counts twice.", parse: parseKeys(shard.Look), write: writeFound,
		Examples: []Example{used10, {"EXISTS user:42 user:43 user:42", "(integer) 2"}, {"RL.CLOCK ADVANCE 1s", "OK"}, {"EXISTS user:42", "(integer) 0"}},
	},
	looks("TYPE", "Tells the algorithm that a key was last charged under.",
		"Simple string: the algorithm's name; none for a fresh key.", writeType, "token_bucket", "none"),
	looks("TTL", "Tells in how many seconds a key is fresh.",
		"Integer: seconds, rounded up; -2 for a fresh key. There is no key without an expiry.", writeTime(ttlSeconds), "(integer) 1", "(integer) -2"),
	looks("PTTL", "Tells in how many milliseconds a key is fresh.",
		"Integer: milliseconds, rounded up; -2 for a fresh key.", writeTime(ttlMillis), "(integer) 1000", "(integer) -2"),
	looks("EXPIRETIME", "Tells when a key is fresh.",
		"Integer: Unix time in seconds, rounded up; -2 for a fresh key.", writeTime(expirySeconds), "(integer) 1800000001", "(integer) -2"),
	looks("PEXPIRETIME", "Tells when a key is fresh.",
		"Integer: Unix time in milliseconds, rounded up; -2 for a fresh key.", writeTime(expiryMillis), "(integer) 1800000001000", "(integer) -2"),
	{
		Name: "SCAN", Group: "generic", Since: "0.1.0", Complexity: "O(N), N = COUNT; all keys take O(N), N slots of the table, in all",
		Summary: "Goes over all keys, some at a time.",
		Details: "Begin with cursor 0 and go on with the cursor of each reply until it is 0 again. A key that lives from the first call to the last " +
			"is met exactly once. One that comes, goes, or goes and comes again in between may be met or not, and then also twice. Cursors hold no state in the server and never expire. " +
			"COUNT (10 where it is not given) is how many keys are looked at; MATCH and TYPE choose among them, so a reply may hold fewer, or none.",
		Arity: -2, Flags: FlagReadonly,
		Args: []Arg{
			{Name: "cursor", Type: "integer", Summary: "0 at first, then that of the last reply"},
			{Name: "pattern", Type: "pattern", Token: "MATCH", Optional: true, Summary: "with * ? [abc] [a-c] [^abc] and \\"},
			{Name: "count", Type: "integer", Token: "COUNT", Optional: true, Summary: "1 to 2147483647"},
			{Name: "type", Token: "TYPE", Optional: true, Summary: "an algorithm"},
		},
		Reply: "Array of two: the next cursor as a bulk string, and an array of keys.",
		run:   runScan,
		Examples: []Example{
			used10,
			{"SCAN 0 MATCH user:* COUNT 100", "1) \"0\"\n2) 1) \"user:42\""},
			{"SCAN 0 TYPE gcra", "1) \"0\"\n2) (empty array)"},
		},
		Refusals: []Refusal{
			{"SCAN next", "ERR invalid cursor"},
			{"SCAN 0 COUNT 0", "ERR count out of range: it must be a whole number from 1 to 2147483647, got '0'"},
			{"SCAN 0 MATCH", "ERR syntax error, MATCH wants a value after it"},
			{"SCAN 0 LIMIT 5", "ERR syntax error, the options of SCAN are MATCH, COUNT and TYPE, got 'LIMIT'"},
			{"SCAN 0 TYPE gcr", "ERR unknown algorithm 'gcr', did you mean 'gcra'?"},
		},
	},
	{
		Name: "KEYS", Group: "generic", Since: "0.1.0", Complexity: "O(N), N slots of the table",
		Summary: "Lists all keys that match a pattern.",
		Details: "The reply is as large as all of the keys; use SCAN where there are many. Other connections are served meanwhile.",
		Arity:   2, Flags: FlagReadonly | FlagDangerous,
		Args:     []Arg{{Name: "pattern", Type: "pattern", Summary: "with * ? [abc] [a-c] [^abc] and \\"}},
		Reply:    "Array of keys, in no order.",
		run:      runKeys,
		Examples: []Example{used10, {"KEYS user:*", "1) \"user:42\""}, {"KEYS host:*", "(empty array)"}},
	},
	{
		Name: "RANDOMKEY", Group: "generic", Since: "0.1.0", Complexity: "O(1); O(N), N slots, where hardly any is in use",
		Summary: "Tells one of the keys, by chance.",
		Arity:   1, Flags: FlagReadonly,
		Reply:    "Bulk string: a key; nil if there is none.",
		run:      runRandomKey,
		Examples: []Example{{"RANDOMKEY", "(nil)"}, used10, {"RANDOMKEY", `"user:42"`}},
	},
}

package server

// The rows of the commands on keys.

import "sluice/shard"

// looks makes the row of a command that looks at one key.
func looks(name, summary, reply string, write func(*session, []byte, []shard.Op) []byte, examples ...Example) *Command {
	return &Command{
		Name: name, Group: "generic", Since: "0.1.0", Complexity: "O(1)", Summary: summary, Reply: reply,
		Arity: 2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1}, Args: []Arg{{Name: "key", Type: "key"}},
		parse: parseKeys(shard.Look), write: write, Examples: examples,
	}
}

var used10 = Example{"RL.ALLOW user:42 token_bucket 10 10s 1", "1) (integer) 1\n2) (integer) 10\n3) (integer) 9\n4) (integer) 0\n5) (integer) 1000\n6) (integer) 0"}

var keyCommands = []*Command{
	{
		Name: "DEL", Group: "generic", Since: "0.1.0", Complexity: "O(N), N keys", Summary: "Makes keys fresh; the same as RL.RESET.",
		Arity: -2, Flags: FlagWrite, Keys: Keys{1, -1, 1}, Args: []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many of the keys existed.", parse: parseKeys(shard.Reset), write: writeFound,
		Examples: []Example{used10, {"DEL user:42 user:43", "(integer) 1"}},
	},
	{
		Name: "UNLINK", Group: "generic", Since: "0.1.0", Complexity: "O(N), N keys", Summary: "Makes keys fresh; the same as RL.RESET.",
		Arity: -2, Flags: FlagWrite | FlagFast, Keys: Keys{1, -1, 1}, Args: []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many of the keys existed.", parse: parseKeys(shard.Reset), write: writeFound,
		Examples: []Example{{"UNLINK user:42", "(integer) 0"}},
	},
	{
		Name: "EXISTS", Group: "generic", Since: "0.1.0", Complexity: "O(N), N keys", Summary: "Counts the keys that exist; a fresh key does not.",
		Arity: -2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, -1, 1}, Args: []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many exist; a key named twice counts twice.", parse: parseKeys(shard.Look), write: writeFound,
		Examples: []Example{used10, {"EXISTS user:42 user:43", "(integer) 1"}},
	},
	looks("TYPE", "Tells the algorithm that a key was last charged under.", "Simple string: the algorithm's name; none for a fresh key.", writeType,
		used10, Example{"TYPE user:42", "token_bucket"}),
	looks("TTL", "Tells in how many seconds a key is fresh.", "Integer: seconds, rounded up; -2 for a fresh key.", writeTime(ttlSeconds),
		used10, Example{"TTL user:42", "(integer) 1"}),
	looks("PTTL", "Tells in how many milliseconds a key is fresh.", "Integer: milliseconds, rounded up; -2 for a fresh key.", writeTime(ttlMillis),
		used10, Example{"PTTL user:42", "(integer) 1000"}),
	looks("EXPIRETIME", "Tells when a key is fresh.", "Integer: Unix time in seconds, rounded up; -2 for a fresh key.", writeTime(expirySeconds),
		used10, Example{"EXPIRETIME user:42", "(integer) 1800000001"}),
	looks("PEXPIRETIME", "Tells when a key is fresh.", "Integer: Unix time in milliseconds, rounded up; -2 for a fresh key.", writeTime(expiryMillis),
		used10, Example{"PEXPIRETIME user:42", "(integer) 1800000001000"}),
}

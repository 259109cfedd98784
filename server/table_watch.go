package server

// The rows of the commands that tell who is limited, and why.

var watchCommands = []*Command{
	{
		Name: "RL.TOP", Group: "server", Since: "0.1.0", Complexity: "O(N log N), N a few hundred keys that are watched", Arity: -2, Flags: FlagReadonly | FlagAdmin,
		Summary: "Tells which keys are denied most, or charged most, in the last minutes.",
		Details: "Each shard watches 256 keys of either kind, whatever number of keys there is. A count may be too high, by `error` at most, where a key took over the place of another; it is halved every minute. " +
			"HOT counts the first 65,536 charges of a minute in each shard, and then one of sixteen, drawn at random, for all: a key charged 10,000 times is then typically told within 4 %. Under a plan the key is that of the limit, `{key}#limit`. Of long keys the first 64 bytes are told, and `…`.",
		Args: []Arg{
			{Name: "kind", Type: "oneof", Args: []Arg{{Name: "denied", Type: "pure-token", Token: "DENIED"}, {Name: "hot", Type: "pure-token", Token: "HOT"}}},
			{Name: "plan", Token: "PLAN", Optional: true, Summary: "the keys of one plan only"},
			{Name: "count", Type: "integer", Token: "COUNT", Optional: true, Summary: "how many to tell, at most 1000; 10 where it is not given"},
		},
		Reply: "Array of maps, heaviest first: key, plan, limit, rule, algorithm, count, error. What is no plan's has nil for plan, limit and rule.",
		run:   runTop,
		Examples: []Example{
			{"RL.ALLOW user:42 token_bucket 1 10s", "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 0\n5) (integer) 10000\n6) (integer) 0"},
			{"RL.ALLOW user:42 token_bucket 1 10s", "1) (integer) 0\n2) (integer) 1\n3) (integer) 0\n4) (integer) 10000\n5) (integer) 10000\n6) (integer) 0"},
			{"RL.TOP DENIED COUNT 1", "1)  1) \"key\"\n    2) \"user:42\"\n    3) \"plan\"\n    4) (nil)\n    5) \"limit\"\n    6) (nil)\n    7) \"rule\"\n    8) (nil)\n    9) \"algorithm\"\n   10) \"token_bucket\"\n   11) \"count\"\n   12) (integer) 1\n   13) \"error\"\n   14) (integer) 0"},
			{"RL.TOP HOT COUNT 1", "1)  1) \"key\"\n    2) \"user:42\"\n    3) \"plan\"\n    4) (nil)\n    5) \"limit\"\n    6) (nil)\n    7) \"rule\"\n    8) (nil)\n    9) \"algorithm\"\n   10) \"token_bucket\"\n   11) \"count\"\n   12) (integer) 1\n   13) \"error\"\n   14) (integer) 0"},
		},
		Refusals: []Refusal{
			{"RL.TOP COLD", "ERR it must be DENIED or HOT, got 'COLD'"},
			{"RL.TOP HOT PLAN nothing", "NOPLAN no such plan 'nothing'"},
			{"RL.TOP HOT COUNT 0", "ERR COUNT out of range: it must be a whole number from 1 to 1000, got '0'"},
			{"RL.TOP HOT COUNT", "ERR COUNT wants a value after it"},
			{"RL.TOP HOT KEY k", "ERR unknown option 'KEY', the options are PLAN, COUNT"},
		},
	},
	{
		Name: "RL.DENIALS", Group: "server", Since: "0.1.0", Complexity: "O(N), N denials that are remembered, at most 10000", Arity: -1, Flags: FlagReadonly | FlagAdmin,
		Summary: "Tells the last calls that were denied.",
		Details: "The server remembers about ten thousand, over all shards. KEY finds those of a key and of its limits under plans. The client is the number that CLIENT ID tells; 0 is the control plane.",
		Args: []Arg{
			{Name: "of", Token: "KEY", Optional: true, Summary: "those of one key only"},
			{Name: "count", Type: "integer", Token: "COUNT", Optional: true, Summary: "how many to tell, at most 10000; 10 where it is not given"},
		},
		Reply: "Array of maps, newest first: time_ms, key, plan, limit, rule, algorithm, cost, retry_after_ms, client.",
		run:   runDenials,
		Examples: []Example{
			{"RL.ALLOW user:42 token_bucket 10 10s 11", "1) (integer) 0\n2) (integer) 10\n3) (integer) 10\n4) (integer) -1\n5) (integer) 0\n6) (integer) 0"},
			{"RL.DENIALS KEY user:42 COUNT 1", "1)  1) \"time_ms\"\n    2) (integer) 1800000000000\n    3) \"key\"\n    4) \"user:42\"\n    5) \"plan\"\n    6) (nil)\n    7) \"limit\"\n    8) (nil)\n    9) \"rule\"\n   10) (nil)\n   11) \"algorithm\"\n   12) \"token_bucket\"\n   13) \"cost\"\n   14) \"11\"\n   15) \"retry_after_ms\"\n   16) (integer) -1\n   17) \"client\"\n   18) (integer) 1"},
		},
		Refusals: []Refusal{
			{"RL.DENIALS KEY k KEY k", "ERR KEY is given twice"},
			{"RL.DENIALS COUNT many", "ERR COUNT must be a whole number from 1 to 10000, got 'many'"},
		},
	},
}

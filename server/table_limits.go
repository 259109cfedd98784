package server

// The rows of the limiter commands.

import (
	"sluice/algorithms"
	"sluice/shard"
)

// limitArgs are the arguments of RL.ALLOW and RL.PEEK.
func limitArgs() []Arg {
	return []Arg{
		{Name: "key", Type: "key"},
		{Name: "algorithm"},
		{Name: "limit", Type: "integer"},
		{Name: "window"},
		{Name: "cost", Type: "integer", Optional: true},
		{Name: "burst", Type: "integer", Token: "BURST", Optional: true},
		{Name: "align", Type: "oneof", Token: "ALIGN", Optional: true, Args: []Arg{
			{Name: "epoch", Type: "pure-token", Token: "EPOCH"},
			{Name: "first", Type: "pure-token", Token: "FIRST"},
			{Name: "jitter", Type: "pure-token", Token: "JITTER"},
		}},
	}
}

const decisionReply = "Array of six integers: allowed (1 or 0), limit, remaining, retry_after_ms, reset_after_ms, delay_ms."

var limitCommands = []*Command{
	{
		Name: "RL.ALLOW", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Decides whether a call may pass and spends its cost, in one atomic step.",
		Details: "The cost defaults to 1. A denied call changes nothing. `retry_after_ms` is 0 when allowed, " +
			"otherwise the smallest wait after which the same call passes, or -1 when it can never pass " +
			"because the cost is above the limit (for buckets: the burst). Algorithms: " + algorithmList() + ".",
		Arity: -4, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1}, Args: limitArgs(),
		Reply: decisionReply,
		parse: askAllow.one, write: writeDecision, repeats: true, kind: shard.Allow,
		Examples: []Example{
			{"RL.ALLOW user:42 token_bucket 10 10s 8", "1) (integer) 1\n2) (integer) 10\n3) (integer) 2\n4) (integer) 0\n5) (integer) 8000\n6) (integer) 0"},
			{"RL.ALLOW user:42 token_bucket 10 10s 5", "1) (integer) 0\n2) (integer) 10\n3) (integer) 2\n4) (integer) 3000\n5) (integer) 8000\n6) (integer) 0"},
			{"RL.ALLOW user:42 token_bucket 10 10s 11", "1) (integer) 0\n2) (integer) 10\n3) (integer) 2\n4) (integer) -1\n5) (integer) 8000\n6) (integer) 0"},
			{"RL.ALLOW api token_bucket 100 1m BURST 20", "1) (integer) 1\n2) (integer) 20\n3) (integer) 19\n4) (integer) 0\n5) (integer) 600\n6) (integer) 0"},
			{"RL.ALLOW user:7 tokenbuket 10 1s", "(error) ERR unknown algorithm 'tokenbuket', did you mean 'token_bucket'?"},
		},
	},
	{
		Name: "RL.PEEK", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Answers as RL.ALLOW would and spends nothing.",
		Details: "`allowed` and `retry_after_ms` are for the cost given; `remaining` is what is there now, the cost not taken off. A cost of 0 is always allowed.",
		Arity:   -4, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1}, Args: limitArgs(),
		Reply: decisionReply,
		parse: askPeek.one, write: writeDecision, repeats: true, kind: shard.Peek,
		Examples: []Example{
			{"RL.PEEK user:42 sliding_log 3 1m", "1) (integer) 1\n2) (integer) 3\n3) (integer) 3\n4) (integer) 0\n5) (integer) 0\n6) (integer) 0"},
			{"EXISTS user:42", "(integer) 0"},
		},
	},
	{
		Name: "RL.MALLOW", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N groups",
		Summary: "Makes many independent decisions in one command.",
		Details: "Each group is decided on its own, in order. One bad group is an error for the whole command, before anything is spent. At most 1,000 groups.",
		Arity:   -4, Flags: FlagWrite | FlagDenyOOM, Keys: Keys{},
		Args: []Arg{{Name: "group", Type: "block", Multiple: true, Args: []Arg{
			{Name: "key", Type: "key"}, {Name: "algorithm"}, {Name: "limit", Type: "integer"}, {Name: "window"}, {Name: "cost", Type: "integer"},
		}}},
		Reply: "Array with a decision for each group, as RL.ALLOW replies.",
		parse: parseMany, write: writeMany,
		Examples: []Example{
			{"RL.MALLOW a fixed_window 1 1h 1 a fixed_window 1 1h 1", "1) 1) (integer) 1\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 0\n   5) (integer) 3600000\n   6) (integer) 0\n2) 1) (integer) 0\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 3600000\n   5) (integer) 3600000\n   6) (integer) 0"},
		},
	},
	{
		Name: "RL.RESET", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N keys",
		Summary: "Makes keys fresh, as if nobody had used them.",
		Arity:   -2, Flags: FlagWrite | FlagFast, Keys: Keys{1, -1, 1},
		Args:  []Arg{{Name: "key", Type: "key", Multiple: true}},
		Reply: "Integer: how many of the keys were not fresh.",
		parse: parseKeys(shard.Reset), write: writeFound,
		Examples: []Example{
			{"RL.ALLOW user:42 gcra 10 1m 10", "1) (integer) 1\n2) (integer) 10\n3) (integer) 0\n4) (integer) 0\n5) (integer) 60000\n6) (integer) 0"},
			{"RL.RESET user:42 user:43", "(integer) 1"},
		},
	},
	{
		Name: "RL.INSPECT", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Shows what is stored on a key.",
		Details: "A fixed window also shows `align`, a sliding log the number of `runs` it keeps.",
		Arity:   2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}},
		Reply: "Map: algorithm, limit, burst, window_ms, used (rounded up), remaining, reset_after_ms, …; nil for a fresh key.",
		parse: parseKeys(shard.Look), write: writeInspect,
		Examples: []Example{
			{"RL.ALLOW user:42 leaky_bucket 5 1s 2", "1) (integer) 1\n2) (integer) 5\n3) (integer) 3\n4) (integer) 0\n5) (integer) 400\n6) (integer) 0"},
			{"RL.INSPECT user:42", " 1) \"algorithm\"\n 2) \"leaky_bucket\"\n 3) \"limit\"\n 4) (integer) 5\n 5) \"burst\"\n 6) (integer) 5\n 7) \"window_ms\"\n 8) (integer) 1000\n 9) \"used\"\n10) (integer) 2\n11) \"remaining\"\n12) (integer) 3\n13) \"reset_after_ms\"\n14) (integer) 400"},
			{"RL.INSPECT nobody", "(nil)"},
		},
	},
	{
		Name: "RL.CLOCK", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Tells the server's time; under --test-clock it also sets it.",
		Arity:   -2,
		Sub: []*Command{
			{
				Name: "RL.CLOCK GET", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagReadonly | FlagFast | FlagLoading | FlagStale,
				Summary: "Tells the server's time.", Reply: "Integer: milliseconds since 1970.", run: runClockGet,
				Examples: []Example{{"RL.CLOCK GET", "(integer) 1800000000000"}},
			},
			{
				Name: "RL.CLOCK SET", Since: "0.1.0", Complexity: "O(N), N keys that come due", Arity: 3, Flags: FlagWrite | FlagAdmin,
				Summary: "Sets the test clock to an instant, also an earlier one.", Args: []Arg{{Name: "unix-ms", Type: "integer"}},
				Reply: "OK, after everything due has been swept and freed.", run: runClockSet,
				Examples: []Example{{"RL.CLOCK SET 1800000060000", "OK"}, {"RL.CLOCK GET", "(integer) 1800000060000"}},
			},
			{
				Name: "RL.CLOCK ADVANCE", Since: "0.1.0", Complexity: "O(N), N keys that come due", Arity: 3, Flags: FlagWrite | FlagAdmin,
				Summary: "Moves the test clock forward.", Args: []Arg{{Name: "duration"}},
				Details: "The duration may also use `us` and `ns`.",
				Reply:   "OK, after everything due has been swept and freed.", run: runClockAdvance,
				Examples: []Example{{"RL.CLOCK ADVANCE 1m30s", "OK"}, {"RL.CLOCK GET", "(integer) 1800000090000"}},
			},
		},
	},
	{
		Name: "RL.HELP", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Lists the commands, or explains one.",
		Arity:   -1, Flags: FlagReadonly | FlagFast | FlagLoading | FlagStale,
		Args:  []Arg{{Name: "command", Optional: true, Multiple: true}},
		Reply: "Array of lines of text.",
		run:   runHelp,
	},
}

// algorithmList names all algorithms with their short forms.
func algorithmList() (list string) {
	for i, a := range algorithms.All() {
		if i > 0 {
			list += ", "
		}
		list += "`" + a.Name + "`"
		for _, s := range a.Short {
			list += " (`" + s + "`)"
		}
	}
	return list
}

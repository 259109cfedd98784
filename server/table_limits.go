package server

// The rows of the limiter commands: what they are called, what they take, and
// which functions of limits.go do the work.

import (
	"slices"
	"strings"

	"sluice/algorithms"
	"sluice/shard"
)

// limitArgs are the arguments of RL.ALLOW and RL.PEEK.
func limitArgs(cost string) []Arg {
	return []Arg{
		{Name: "key", Type: "key", Summary: "whom or what is limited, at most 65536 bytes"},
		{Name: "limits", Type: "oneof", Args: []Arg{
			{Name: "limit", Type: "block", Args: []Arg{
				{Name: "algorithm", Summary: algorithmList() + "; in any case, with - or _"},
				{Name: "limit", Type: "integer", Summary: "units per window, 1 to 9007199254740991"},
				{Name: "window", Summary: "1ms to 100 years, such as 250ms, 90s, 1h30m or 7d; a bare number is seconds; for fixed_window and budget also day, week, month or year"},
			}},
			planArg,
		}},
		{Name: "cost", Type: "integer", Optional: true, Summary: cost},
		{Name: "burst", Type: "integer", Token: "BURST", Optional: true, Summary: "capacity of a bucket; the limit where it is not given"},
		{Name: "align", Type: "oneof", Token: "ALIGN", Optional: true, Summary: "where the windows of fixed_window begin", Args: []Arg{
			{Name: "epoch", Type: "pure-token", Token: "EPOCH", Summary: "with the Unix epoch, the default"},
			{Name: "first", Type: "pure-token", Token: "FIRST", Summary: "with the first call that spends"},
			{Name: "jitter", Type: "pure-token", Token: "JITTER", Summary: "with the Unix epoch, shifted by a hash of the key"},
		}},
		{Name: "zone", Token: "TZ", Optional: true, Summary: "IANA time zone of a calendar window, such as Europe/Paris; UTC where it is not given"},
		{Name: "anchor", Type: "integer", Token: "ANCHOR", Optional: true, Summary: "day on which the windows of month begin, 1 to 31; a shorter month uses its last day"},
	}
}

const decisionReply = "Array of six integers: allowed (1 or 0), limit, remaining, retry_after_ms, reset_after_ms, delay_ms. " +
	"With budget, limit and remaining are decimal strings. With a plan a seventh element names the binding limit, and where the plan has a concurrency limit an eighth is the permit's id, nil on a denial."

// planDetails explains a call with a plan.
const planDetails = "With `@plan` every limit of the plan must pass, and all are charged or none. The cost counts on the rate limits: the one given, else the plan's price of ENDPOINT, else 1. " +
	"SPEND is charged to a budget, which without it passes while anything is left. A concurrency limit takes one permit, whose id is ID or made by the server, until RL.RELEASE or its window. " +
	"The first six elements are those of the binding limit: of those that deny the one with the longest wait, else the one with the smallest part left."

// decisionDetails explains the six integers.
const decisionDetails = `| field | meaning |
|---|---|
| allowed | 1 or 0 |
| limit | what the cost is measured against: the burst for buckets, the limit for windows |
| remaining | units that would still pass now, rounded down, also on a denial |
| retry_after_ms | 0 when allowed; on a denial the smallest wait after which the same call passes if nobody else calls; -1 when it can never pass because the cost is above the limit |
| reset_after_ms | until the key is fresh again if nobody calls, rounded up; PTTL tells the same |
| delay_ms | how long an admitted call of ` + "`leaky_bucket`" + ` should wait, rounded up; 0 for every other algorithm |`

// limitRefusals are what RL.ALLOW and RL.PEEK say to what is wrong.
func limitRefusals(name string) []Refusal {
	const (
		units    = "must be a whole number from 1 to 9007199254740991, got "
		far      = "out of range: it " + units
		duration = "ERR window must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), got "
		span     = "ERR window out of range: it must be from 1ms to 3155760000s, got "
	)
	return []Refusal{
		{name + " k tokenbuket 10 1s", "ERR unknown algorithm 'tokenbuket', did you mean 'token_bucket'?"},
		{name + " k magic 10 1s", "ERR unknown algorithm 'magic', it must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, budget, concurrency"},
		{name + " k gcra 0 1s", "ERR limit " + far + "'0'"},
		{name + " k gcra 1e3 1s", "ERR limit " + units + "'1e3'"},
		{name + " k gcra 9007199254740992 1s", "ERR limit " + far + "'9007199254740992'"},
		{name + " k gcra 10 soon", duration + "'soon'"},
		{name + " k gcra 10 0s", span + "'0s'"},
		{name + " k gcra 10 3155760001s", span + "'3155760001s'"},
		{name + " k gcra 10 1s 1 BURST 0", "ERR burst " + far + "'0'"},
		{name + " k gcra 1 100d 1 BURST 1000", "ERR burst out of range: it would take over 100 years to fill at this limit and window"},
		{name + " k gcra 10 1s 1 BURST", "ERR BURST wants a value after it"},
		{name + " k gcra 10 1s 1 BURST 5 BURST 6", "ERR BURST is given twice"},
		{name + " k fixed_window 10 1s 1 ALIGN NOON", "ERR ALIGN must be EPOCH, FIRST or JITTER, got 'NOON'"},
		{name + " k fixed_window 10 1s 1 BURST 5", "ERR BURST does not belong to fixed_window, it is an option of token_bucket, gcra and leaky_bucket"},
		{name + " k gcra 10 1s 1 ALIGN FIRST", "ERR ALIGN does not belong to gcra, it is an option of fixed_window"},
		{name + " k gcra 10 1s 1 BURS 5", "ERR unknown option 'BURS', did you mean 'BURST'?"},
		{name + " k gcra 10 1s 1 NX", "ERR unknown option 'NX', the options are BURST, ALIGN, TZ, ANCHOR, IDEMPOTENT; a cost comes right after the window"},
		{name + " k sliding_log 100001 1d", "ERR limit out of range: a sliding_log keeps at most 100000 units, got 100001; use sliding_counter for larger limits"},
		{name + " k @pro", "NOPLAN no such plan 'pro'"},
	}
}

// costRefusals are what RL.ALLOW says to a cost that is wrong.
func costRefusals() (list []Refusal) {
	const text = "must be a whole number from 1 to 9007199254740991, got "
	for _, cost := range []string{"-5", "+1", "1.5", "1e3", "0x5", "", " 1"} {
		list = append(list, Refusal{"RL.ALLOW k gcra 10 1s '" + cost + "'", "ERR cost " + text + "'" + cost + "'"})
	}
	return append(list,
		Refusal{"RL.ALLOW k gcra 10 1s 9007199254740992", "ERR cost out of range: it " + text + "'9007199254740992'"},
		Refusal{"RL.ALLOW k gcra 10 1s 0", "ERR cost out of range: it " + text + "'0'; to look without spending use RL.PEEK"})
}

var limitCommands = []*Command{
	{
		Name: "RL.ALLOW", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1); for sliding_log O(log N), N charges that still count",
		Summary: "Decides whether a call may pass and spends its cost, in one atomic step.",
		Details: "A denied call changes nothing. A cost above the limit (for buckets: the burst) can never pass.\n\n" + decisionDetails + "\n\n" +
			"A key that was charged under other parameters is judged on what those leave as used now, against the limit of this call. " +
			"Only a call that passes stores its parameters; so a limit takes effect at once when it is raised or lowered.\n\n" + planDetails,
		Arity: -3, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1},
		Args:  slices.Concat(limitArgs("units that the call spends, 1 where it is not given"), planOptionArgs, []Arg{permitArg, idempotentArg}),
		Reply: decisionReply,
		parse: askAllow.one, write: writeDecision, repeats: true, kind: shard.Allow,
		Examples: []Example{
			{"RL.ALLOW user:42 token_bucket 10 10s 8", decisionText(1, 10, 2, 0, 8000, 0)},
			{"RL.ALLOW user:42 token_bucket 10 10s 5", decisionText(0, 10, 2, 3000, 8000, 0)},
			{"RL.ALLOW user:42 token_bucket 10 10s 11", decisionText(0, 10, 2, -1, 8000, 0)},
			{"RL.CLOCK ADVANCE 3s", "OK"},
			{"RL.ALLOW user:42 token_bucket 10 10s 5", decisionText(1, 10, 0, 0, 10000, 0)},
			{"RL.ALLOW api token_bucket 100 1m BURST 20", decisionText(1, 20, 19, 0, 600, 0)},
			{"RL.ALLOW partner leaky_bucket 5 1s 2", decisionText(1, 5, 3, 0, 400, 0)},
			{"RL.ALLOW partner leaky_bucket 5 1s", decisionText(1, 5, 2, 0, 600, 400)},
			{setExamplePlan, "OK"},
			{"RL.ALLOW user:42 @pro", decisionText(1, 20, 19, 0, 50, 0) + "\n7) \"burst\""},
			{"RL.ALLOW user:42 @pro 20", decisionText(0, 20, 19, 50, 50, 0) + "\n7) \"burst\""},
		},
		Refusals: slices.Concat(limitRefusals("RL.ALLOW"), costRefusals(), []Refusal{
			{"RL.ALLOW k @pro", "NOPLAN no such plan 'pro'"},
		}),
	},
	{
		Name: "RL.PEEK", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1); for sliding_log O(log N), N charges that still count",
		Summary: "Answers as RL.ALLOW would and spends nothing.",
		Details: "`allowed` and `retry_after_ms` are for the cost given; `remaining` is what is there now, the cost not taken off. " +
			"A cost of 0 is always allowed. A look makes no key and moves no expiry.",
		Arity: -3, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1},
		Args:  slices.Concat(limitArgs("units that the call would spend, 1 where it is not given; it may be 0"), planOptionArgs, []Arg{permitArg}),
		Reply: decisionReply,
		parse: askPeek.one, write: writeDecision, repeats: true, kind: shard.Peek,
		Examples: []Example{
			{"RL.PEEK user:42 sliding_log 3 1m", decisionText(1, 3, 3, 0, 0, 0)},
			{"EXISTS user:42", "(integer) 0"},
			{"RL.ALLOW user:42 sliding_log 3 1m 3", decisionText(1, 3, 0, 0, 60000, 0)},
			{"RL.PEEK user:42 sliding_log 3 1m", decisionText(0, 3, 0, 60000, 60000, 0)},
			{"RL.PEEK user:42 sliding_log 3 1m 0", decisionText(1, 3, 0, 0, 60000, 0)},
		},
		Refusals: append(limitRefusals("RL.PEEK"),
			Refusal{"RL.PEEK k gcra 10 1s -1", "ERR cost must be a whole number from 0 to 9007199254740991, got '-1'"}),
	},
	{
		Name: "RL.MALLOW", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N groups",
		Summary: "Makes many independent decisions in one command.",
		Details: "Each group is decided on its own, in order. One bad group is an error for the whole command, before anything is spent. At most 1,000 groups. Groups take no options. A group may be `key @plan cost`; the plans of one command may have at most 4,096 limits together.",
		Arity:   -4, Flags: FlagWrite | FlagDenyOOM,
		Args: []Arg{{Name: "group", Type: "block", Multiple: true, Args: []Arg{
			{Name: "key", Type: "key"}, {Name: "algorithm"}, {Name: "limit", Type: "integer"}, {Name: "window"}, {Name: "cost", Type: "integer"},
		}}},
		Reply: "Array with a decision for each group, as RL.ALLOW replies.",
		parse: parseMany, write: writeMany, keysOf: groupKeys,
		Examples: []Example{
			{"RL.MALLOW a fixed_window 1 1h 1 a fixed_window 1 1h 1", "1) 1) (integer) 1\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 0\n   5) (integer) 3600000\n   6) (integer) 0\n2) 1) (integer) 0\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 3600000\n   5) (integer) 3600000\n   6) (integer) 0"},
		},
		Refusals: []Refusal{
			{"RL.MALLOW a gcra 1 1s 1 b gcra 1 1s", "ERR group 2 is short: a group is key algorithm limit window cost, or key @plan cost"},
			{"RL.MALLOW a gcra 1 1s 1 b gcra 1 1s 0", "ERR group 2: cost out of range: it must be a whole number from 1 to 9007199254740991, got '0'; to look without spending use RL.PEEK"},
			{"RL.MALLOW a gcra 1 1s 1 b @pro 1", "NOPLAN group 2: no such plan 'pro'"},
		},
	},
	{
		Name: "RL.RESET", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N keys",
		Summary: "Makes keys fresh, as if nobody had used them.",
		Details: "Of two words, a second one that begins with @ names a plan. A key that is called so can be made fresh with DEL.",
		Arity:   -2, Flags: FlagWrite | FlagFast, Keys: Keys{1, -1, 1},
		Args:  []Arg{{Name: "key", Type: "key", Multiple: true}, {Name: "@plan", Optional: true, Summary: "after one key: every limit of the plan for that key, instead of the key itself"}},
		Reply: "Integer: how many of the keys, or of the plan's limits, were not fresh.",
		parse: parseReset, write: writeFound, keysOf: resetKeys,
		Examples: []Example{
			{"RL.ALLOW user:42 gcra 10 1m 10", decisionText(1, 10, 0, 0, 60000, 0)},
			{"RL.RESET user:42 user:43", "(integer) 1"},
			{"RL.PEEK user:42 gcra 10 1m", decisionText(1, 10, 10, 0, 0, 0)},
		},
		Refusals: []Refusal{{"RL.RESET user:42 @pro", "NOPLAN no such plan 'pro'"}},
	},
	{
		Name: "RL.INSPECT", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Shows what is stored on a key.",
		Details: "The limit is the one that the key was last charged under. A fixed window also shows `align`, a sliding log the number of `runs`, 16 bytes each, that it keeps.",
		Arity:   2, Flags: FlagReadonly | FlagFast, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}},
		Reply: "Map: algorithm, limit, burst, window_ms, used (rounded up), remaining, reset_after_ms, ...; nil for a fresh key.",
		parse: parseView, write: writeInspect,
		Examples: []Example{
			{"RL.ALLOW user:42 leaky_bucket 5 1s 2", decisionText(1, 5, 3, 0, 400, 0)},
			{"RL.INSPECT user:42", " 1) \"algorithm\"\n 2) \"leaky_bucket\"\n 3) \"limit\"\n 4) (integer) 5\n 5) \"burst\"\n 6) (integer) 5\n 7) \"window_ms\"\n 8) (integer) 1000\n 9) \"used\"\n10) (integer) 2\n11) \"remaining\"\n12) (integer) 3\n13) \"reset_after_ms\"\n14) (integer) 400"},
			{"RL.INSPECT nobody", "(nil)"},
		},
	},
	{
		Name: "RL.CLOCK", Group: "ratelimit", Since: "0.1.0", Complexity: "Depends on the subcommand.",
		Summary: "Tells the server's time; under --test-clock it also sets it.",
		Arity:   -2,
		Sub: []*Command{
			{
				Name: "RL.CLOCK GET", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagReadonly | FlagFast | FlagLoading | FlagStale,
				Summary: "Tells the server's time.", Reply: "Integer: milliseconds since 1970.", run: runClockGet,
				Examples: []Example{{"RL.CLOCK GET", "(integer) 1800000000000"}},
			},
			{
				Name: "RL.CLOCK SET", Since: "0.1.0", Complexity: "O(N), N keys that come due; O(N), N keys, where it goes back", Arity: 3, Flags: FlagWrite | FlagAdmin,
				Summary: "Sets the test clock to an instant, also an earlier one.", Args: []Arg{{Name: "unix-ms", Type: "integer", Summary: "milliseconds since 1970"}},
				Reply: "Simple string OK, after everything due has been swept and freed.", run: runClockSet,
				Examples: []Example{{"RL.CLOCK SET 1800000060000", "OK"}, {"RL.CLOCK GET", "(integer) 1800000060000"}},
				Refusals: []Refusal{
					{"RL.CLOCK SET now", "ERR unix-ms must be a whole number from 0 to 9223372036854, got 'now'"},
					{"RL.CLOCK SET 7258118400001", "ERR the clock can be set to 7258118400000 ms (the year 2200) at most, got 7258118400001"},
				},
			},
			{
				Name: "RL.CLOCK ADVANCE", Since: "0.1.0", Complexity: "O(N), N keys that come due", Arity: 3, Flags: FlagWrite | FlagAdmin,
				Summary: "Moves the test clock forward.", Args: []Arg{{Name: "duration", Summary: "as a window, and with the units us and ns too"}},
				Reply: "Simple string OK, after everything due has been swept and freed.", run: runClockAdvance,
				Examples: []Example{{"RL.CLOCK ADVANCE 1m30s", "OK"}, {"RL.CLOCK GET", "(integer) 1800000090000"}},
				Refusals: []Refusal{{"RL.CLOCK ADVANCE -1s", "ERR duration must be a duration such as 1s, 250ms, 10us or 1ns, got '-1s'"}},
			},
		},
		Refusals: []Refusal{{"RL.CLOCK STOP", "ERR unknown subcommand 'STOP'. Try RL.CLOCK HELP."}},
	},
	{
		Name: "RL.HELP", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N commands",
		Summary: "Lists the commands, or explains one.",
		Arity:   -1, Flags: always,
		Args:  []Arg{{Name: "command", Optional: true}, {Name: "subcommand", Optional: true}},
		Reply: "Array of lines of text.",
		run:   runHelp,
		Examples: []Example{
			{"RL.HELP DBSIZE", " 1) DBSIZE\n 2)     Counts the keys.\n..."},
		},
		Refusals: []Refusal{
			{"RL.HELP RL.ALOW", "ERR no help for 'RL.ALOW', did you mean 'RL.ALLOW'?"},
			{"RL.HELP RL.CLOCK STOP", "ERR no help for 'RL.CLOCK STOP', the subcommands of RL.CLOCK are GET, SET, ADVANCE, HELP"},
			{"RL.HELP me", "ERR no help for 'me', RL.HELP alone lists the commands"},
		},
	},
}

// algorithmList names all algorithms with their short forms.
func algorithmList() string {
	var names []string
	for _, a := range algorithms.All() {
		name := a.Name
		if len(a.Short) > 0 {
			name += " (" + strings.Join(a.Short, ", ") + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

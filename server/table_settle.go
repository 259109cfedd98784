package server

// The rows of the commands that go past one decision: several limits at once, ids
// and reservations, permits, debits and refunds.

import "sluice/shard"

var settleCommands = []*Command{
	{
		Name: "RL.ALLOWALL", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N groups",
		Summary: "Charges several limits, or none of them.",
		Details: "The keys may live on different shards; no other caller can see or use a half-made decision. On a denial each " +
			"decision is what RL.PEEK would say, so it shows which limits blocked and when each would pass. A group may be " +
			"`key concurrency limit ttl n`: its permit has the id of ID, or one that the server makes, as the last element. " +
			"A group may be `key @plan cost`; its decision has the binding limit's name as a seventh element. " +
			"The same key twice is an error. At most 64 groups.",
		Arity: -4, Flags: FlagWrite | FlagDenyOOM, keysOf: groupKeys,
		Args: []Arg{
			{Name: "group", Type: "block", Multiple: true, Args: []Arg{
				{Name: "key", Type: "key"}, {Name: "algorithm"}, {Name: "limit"}, {Name: "window"}, {Name: "cost"},
			}},
			{Name: "id", Token: "ID", Optional: true},
			idempotentArg,
		},
		Reply: "Array: allowed, retry_after_ms (the longest of the denying limits; -1 if one can never pass), a decision for each group, and the permits' id where there are any.",
		parse: parseTogether, write: writeTogether,
		Examples: []Example{
			{"RL.ALLOWALL t:rpm sliding_counter 2 1m 1 t:burst token_bucket 1 1s 1", "1) (integer) 1\n2) (integer) 0\n3) 1) (integer) 1\n   2) (integer) 2\n   3) (integer) 1\n   4) (integer) 0\n   5) (integer) 120000\n   6) (integer) 0\n4) 1) (integer) 1\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 0\n   5) (integer) 1000\n   6) (integer) 0"},
			{"RL.ALLOWALL t:rpm sliding_counter 2 1m 1 t:burst token_bucket 1 1s 1", "1) (integer) 0\n2) (integer) 1000\n3) 1) (integer) 1\n   2) (integer) 2\n   3) (integer) 1\n   4) (integer) 0\n   5) (integer) 120000\n   6) (integer) 0\n4) 1) (integer) 0\n   2) (integer) 1\n   3) (integer) 0\n   4) (integer) 1000\n   5) (integer) 1000\n   6) (integer) 0"},
			{"RL.PEEK t:rpm sliding_counter 2 1m", "1) (integer) 1\n2) (integer) 2\n3) (integer) 1\n4) (integer) 0\n5) (integer) 120000\n6) (integer) 0"},
		},
	},
	{
		Name: "RL.DEBIT", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Charges units whatever the limit says; a debt may come of it.",
		Details: "A debt shows as remaining 0 until it is paid; a window's debt ends with its window. At most 2^63 - 1 units can be used. With `@plan` the amount goes to its rate limits and SPEND to its budgets.",
		Arity:   -3, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1}, Args: append(amountArgs(), planOptionArgs...),
		Reply: "What RL.PEEK with cost 0 says afterwards.",
		parse: parseCharge(shard.Debit), write: writeDecision,
		Examples: []Example{{"RL.DEBIT user:42 token_bucket 10 10s 15", "1) (integer) 1\n2) (integer) 10\n3) (integer) 0\n4) (integer) 0\n5) (integer) 15000\n6) (integer) 0"}, {"RL.ALLOW user:42 token_bucket 10 10s", "1) (integer) 0\n2) (integer) 10\n3) (integer) 0\n4) (integer) 6000\n5) (integer) 15000\n6) (integer) 0"}},
	},
	{
		Name: "RL.REFUND", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Takes back the newest units of a key, down to fresh.",
		Details: "Work that may outlive its window uses RL.RESERVE, whose settling reaches only what was charged. With `@plan` the amount is taken off its rate limits and SPEND off its budgets.",
		Arity:   -3, Flags: FlagWrite | FlagFast, Keys: Keys{1, 1, 1}, Args: append(amountArgs(), planOptionArgs...),
		Reply: "What RL.PEEK with cost 0 says afterwards.",
		parse: parseCharge(shard.Refund), write: writeDecision,
		Examples: []Example{{"RL.ALLOW user:42 token_bucket 10 10s 8", "1) (integer) 1\n2) (integer) 10\n3) (integer) 2\n4) (integer) 0\n5) (integer) 8000\n6) (integer) 0"}, {"RL.REFUND user:42 token_bucket 10 10s 3", "1) (integer) 1\n2) (integer) 10\n3) (integer) 5\n4) (integer) 0\n5) (integer) 5000\n6) (integer) 0"}},
	},
	{
		Name: "RL.RESERVE", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N ids",
		Summary: "Charges an estimate now, to be settled when the true cost is known.",
		Details: "The id is given or made by the server. The same id with the same key and amount gives the first answer again and charges " +
			"nothing; with another key or amount it is an error. A denial is not remembered. Unsettled at its TTL (60 s), a reservation is " +
			"committed as reserved, or cancelled if ONEXPIRE says so. With `@plan` all of its limits are charged or none; the permit of a " +
			"concurrency limit has the reservation's id and ends when that is settled, or at its own time.",
		Arity: -3, Flags: FlagMulti | FlagWrite | FlagDenyOOM, Keys: Keys{1, 1, 1},
		Args: append(append(amountArgs(), planOptionArgs...),
			Arg{Name: "duration", Token: "TTL", Optional: true},
			Arg{Name: "id", Token: "ID", Optional: true},
			Arg{Name: "onexpire", Type: "oneof", Token: "ONEXPIRE", Optional: true, Args: []Arg{
				{Name: "commit", Type: "pure-token", Token: "COMMIT"}, {Name: "cancel", Type: "pure-token", Token: "CANCEL"},
			}}),
		Reply: "RL.ALLOW's reply and, as its last element, the id; nil on a denial. With a plan the binding limit's name stands before it.",
		parse: parseReserve, write: writeReserve,
		Examples: []Example{
			{"RL.RESERVE llm:42 token_bucket 1000 1m 400 ID r1", "1) (integer) 1\n2) (integer) 1000\n3) (integer) 600\n4) (integer) 0\n5) (integer) 24000\n6) (integer) 0\n7) \"r1\""},
			{"RL.COMMIT r1 250", "1) (integer) 1\n2) (integer) 1000\n3) (integer) 750\n4) (integer) 0\n5) (integer) 15000\n6) (integer) 0"},
			{"RL.COMMIT r1 250", "1) (integer) 1\n2) (integer) 1000\n3) (integer) 750\n4) (integer) 0\n5) (integer) 15000\n6) (integer) 0"},
		},
	},
	{
		Name: "RL.COMMIT", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N ids",
		Summary: "Settles a reservation at its true cost.",
		Details: "Less than reserved is given back, as far as it still counts; more is charged even past the limit. Settling again, or after the reservation's time, answers what the first settling did. Under a plan the actual amount settles the rate limits and SPEND the budgets, which without it stay as reserved; the permit ends.",
		Arity:   -3, Flags: FlagMulti | FlagWrite | FlagDenyOOM, Args: []Arg{{Name: "id"}, {Name: "actual"}, {Name: "spend", Token: "SPEND", Optional: true}},
		Reply: "What RL.PEEK with cost 0 says afterwards.", run: runCommit,
		Refusals: []Refusal{{"RL.COMMIT nobody 1", "ERR no reservation 'nobody': it was never made, was denied, or was settled more than 60 s ago"}},
	},
	{
		Name: "RL.CANCEL", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N ids",
		Summary: "Gives all of a reservation back.",
		Arity:   2, Flags: FlagMulti | FlagWrite, Args: []Arg{{Name: "id"}},
		Reply: "What RL.PEEK with cost 0 says afterwards.", run: runCancel,
		Examples: []Example{
			{"RL.RESERVE llm:42 fixed_window 2 1m 1 ID r2", "1) (integer) 1\n2) (integer) 2\n3) (integer) 1\n4) (integer) 0\n5) (integer) 60000\n6) (integer) 0\n7) \"r2\""},
			{"RL.CANCEL r2", "1) (integer) 1\n2) (integer) 2\n3) (integer) 2\n4) (integer) 0\n5) (integer) 0\n6) (integer) 0"},
		},
	},
	{
		Name: "RL.ACQUIRE", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N permits of the key",
		Summary: "Takes permits of a concurrency limit, which free themselves after ttl.",
		Details: "The same id again gives the same answer and neither renews nor changes the permit. More permits than the limit can never be had: retry_after_ms is -1.",
		Arity:   -4, Flags: FlagWrite | FlagDenyOOM, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}, {Name: "limit", Type: "integer"}, {Name: "ttl"}, {Name: "n", Type: "integer", Optional: true}, {Name: "id", Token: "ID", Optional: true}},
		Reply: "Array: granted (1 or 0), limit, available, retry_after_ms, id (nil on a denial).",
		parse: parseAcquire, write: writeAcquire,
		Examples: []Example{
			{"RL.ACQUIRE jobs 1 10s ID p1", "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 0\n5) \"p1\""},
			{"RL.ACQUIRE jobs 1 10s ID p2", "1) (integer) 0\n2) (integer) 1\n3) (integer) 0\n4) (integer) 10000\n5) (nil)"},
			{"RL.RELEASE jobs p1", "(integer) 1"},
			{"RL.RELEASE jobs p1", "(integer) 0"},
			{"RL.ACQUIRE jobs 1 10s ID p2", "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 0\n5) \"p2\""},
		},
	},
	{
		Name: "RL.RENEW", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N permits of the key",
		Summary: "Lets a permit last for ttl from now, or for the time that it was acquired for.",
		Arity:   -3, Flags: FlagWrite, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}, {Name: "@plan", Optional: true}, {Name: "id"}, {Name: "ttl", Optional: true}},
		Reply: "Integer: 1; 0 when the permit is not held any more.", parse: parsePermit(shard.Renew), write: writePermit,
		Examples: []Example{{"RL.ACQUIRE jobs 1 10s ID p1", "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 0\n5) \"p1\""}, {"RL.RENEW jobs p1 1m", "(integer) 1"}, {"RL.HOLDERS jobs", "1) 1) \"p1\"\n   2) (integer) 1\n   3) (integer) 60000"}},
	},
	{
		Name: "RL.RELEASE", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N permits of the key",
		Summary: "Gives a permit back. A late or double release frees nobody else's.",
		Details: "With `@plan` the permit is looked for under every concurrency limit of the plan.",
		Arity:   -3, Flags: FlagWrite, Keys: Keys{1, 1, 1}, Args: []Arg{{Name: "key", Type: "key"}, {Name: "@plan", Optional: true}, {Name: "id"}},
		Reply: "Integer: 1; 0 when the permit is not held any more.", parse: parsePermit(shard.Release), write: writePermit,
		Examples: []Example{{"RL.RELEASE jobs p1", "(integer) 0"}},
	},
	{
		Name: "RL.HOLDERS", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N permits of the key",
		Summary: "Lists the permits of a key, the one that ends first first.",
		Arity:   2, Flags: FlagReadonly, Keys: Keys{1, 1, 1}, Args: []Arg{{Name: "key", Type: "key"}},
		Reply: "Array of [id, n, expires_in_ms].", parse: parseView, write: writeHolders,
		Examples: []Example{{"RL.ACQUIRE jobs 5 10s 2 ID p1", "1) (integer) 1\n2) (integer) 5\n3) (integer) 3\n4) (integer) 0\n5) \"p1\""}, {"RL.HOLDERS jobs", "1) 1) \"p1\"\n   2) (integer) 2\n   3) (integer) 10000"}},
	},
}

// idempotentArg is IDEMPOTENT id [TTL d].
var idempotentArg = Arg{Name: "idempotent", Type: "block", Optional: true, Args: []Arg{
	{Name: "id", Token: "IDEMPOTENT"}, {Name: "duration", Token: "TTL", Optional: true},
}}

// amountArgs are the arguments of commands that spend an amount: with a limit it must
// be given, with a plan it is as a cost.
func amountArgs() []Arg {
	args := limitArgs("units; with a plan optional")
	args[2].Name = "amount"
	return args
}

// throttleArgs are the arguments that redis-cell's commands begin with.
func throttleArgs(rate string) []Arg {
	return []Arg{{Name: "key", Type: "key"}, {Name: "max_burst", Type: "integer"}, {Name: rate, Type: "integer"}, {Name: "period", Type: "integer"}}
}

const throttleReply = "Array of five integers: limited (1 = denied), max_burst + 1, remaining, retry_after s (-1 when allowed or never), reset_after s; seconds are rounded up."

// throttleRow is a command of redis-cell's shape.
func throttleRow(name, summary string) *Command {
	return &Command{
		Name: name, Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)", Summary: summary,
		Details: "The limit is a token bucket of max_burst + 1 that earns count per period. A quantity of 0 looks and spends nothing.",
		Arity:   -5, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1},
		Args:  append(throttleArgs("count"), Arg{Name: "quantity", Type: "integer", Optional: true}),
		Reply: throttleReply, parse: parseThrottle, write: writeThrottle,
		Examples: []Example{{name + " user:42 15 30 60 1", "1) (integer) 0\n2) (integer) 16\n3) (integer) 15\n4) (integer) -1\n5) (integer) 2"}, {name + " user:42 15 30 60 16", "1) (integer) 1\n2) (integer) 16\n3) (integer) 15\n4) (integer) 2\n5) (integer) 2"}},
	}
}

var throttleCommands = []*Command{
	throttleRow("CL.THROTTLE", "Limits as redis-cell does."),
	throttleRow("RL.THROTTLE", "Limits as redis-cell does; another name of CL.THROTTLE."),
	{
		Name: "GCRA", Group: "ratelimit", Since: "0.1.0", Complexity: "O(1)", Summary: "Limits as redis-cell does, with Redis's own arguments.",
		Arity: -5, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1},
		Args:  append(throttleArgs("tokens_per_period"), Arg{Name: "n", Type: "integer", Token: "TOKENS", Optional: true}),
		Reply: throttleReply, parse: parseGCRA, write: writeThrottle,
		Examples: []Example{{"GCRA user:42 4 10 1 TOKENS 5", "1) (integer) 0\n2) (integer) 5\n3) (integer) 0\n4) (integer) -1\n5) (integer) 1"}, {"GCRA user:42 4 10 1", "1) (integer) 1\n2) (integer) 5\n3) (integer) 0\n4) (integer) 1\n5) (integer) 1"}},
	},
}

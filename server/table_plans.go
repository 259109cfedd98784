package server

// The rows of the commands that define plans and rules, and that ask by them.

// planArg stands where a plan may stand in the place of a limit.
var planArg = Arg{Name: "@plan", Summary: "a plan by its name, in the place of algorithm, limit and window"}

// planOptionArgs are the options of every call with a plan.
var planOptionArgs = []Arg{
	{Name: "endpoint", Token: "ENDPOINT", Optional: true, Summary: "with a plan: what the call is for, whose price the plan may say"},
	{Name: "spend", Token: "SPEND", Optional: true, Summary: "with a plan: a decimal that its budgets are charged"},
}

// permitArg is the id of a permit that a plan takes.
var permitArg = Arg{Name: "permit", Token: "ID", Optional: true, Summary: "with a plan: the id of the permit, where it has a concurrency limit"}

// setExamplePlan makes the plan that examples use.
const setExamplePlan = "RL.PLAN SET pro '{limits: {rpm: {algorithm: sliding_counter, limit: 600, window: 1m}, burst: {algorithm: token_bucket, limit: 20, window: 1s}}, costs: {search: 10}}'"

const setExampleRule = "RL.RULE SET api '{match: /api/, per: user, plan: pro}'"

var planCommands = []*Command{
	{
		Name: "RL.PLAN", Group: "plans", Since: "0.1.0", Complexity: "Depends on the subcommand.",
		Summary: "Defines plans: several limits under one name, changed while calls go on.",
		Arity:   -2,
		Sub: []*Command{
			{
				Name: "RL.PLAN SET", Since: "0.1.0", Complexity: "O(N), N plans", Arity: 4, Flags: FlagWrite | FlagDenyOOM,
				Summary: "Sets a plan, which takes effect whole with the next decision.",
				Details: "The text is JSON or YAML: `limits` by their names, each with `algorithm`, `limit`, `window` and what else RL.ALLOW takes (`burst`, `align`, `tz`, `anchor`), " +
					"and a `mode`, which is `enforce`, `shadow` (decided and charged beside the others, denies nothing) or `off`; `costs` of endpoints; `overrides` of limits for single keys, " +
					"or for all keys that begin alike where the name ends in `*` (exact beats the longest pattern). Keys that are in use keep what they have used. " +
					"A plan of the same name in the configuration file stands behind it until RL.PLAN DEL. Plans are kept on disk as keys are, and FLUSHALL leaves them.",
				Args:  []Arg{{Name: "name", Summary: "small letters, digits, '.', '_' and '-'"}, {Name: "text", Summary: "the plan, JSON or YAML, at most 1 MiB"}},
				Reply: "Simple string OK.", run: runPlanSet,
				Examples: []Example{{setExamplePlan, "OK"}, {"RL.PLAN LIST", "1) \"pro\""}},
				Refusals: []Refusal{
					{"RL.PLAN SET pro '{}'", "ERR plan 'pro': a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}} (line 1, column 1)"},
					{"RL.PLAN SET pro '{limits: {rpm: {algorithm: token_bucket, limit: 0, window: 1m}}}'", "ERR plan 'pro': limits.rpm.limit: limit out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 1, column 49)"},
					{"RL.PLAN SET pro '{limits: {rpm: {algorithm: token_buket, limit: 6, window: 1m}}}'", "ERR plan 'pro': limits.rpm.algorithm: unknown algorithm 'token_buket', did you mean 'token_bucket'? (line 1, column 28)"},
					{"RL.PLAN SET pro '{limits: {rpm: {algorithm: gcra, limit: 6, window: 1m}, rpm: {algorithm: gcra, limit: 7, window: 1m}}}'", "ERR plan 'pro': limits: 'rpm' is given twice, first in line 1 (line 1, column 57)"},
					{"RL.PLAN SET pro '{limits: {day: {algorithm: budget, limit: 6, window: day, tz: Europe/Pariss}}}'", "ERR plan 'pro': limits.day.tz: unknown time zone 'Europe/Pariss', did you mean 'Europe/Paris'? (line 1, column 63)"},
					{"RL.PLAN SET pro '{limits: {day: {algorithm: budget, limit: 0.0000001, window: day}}}'", "ERR plan 'pro': limits.day.limit: limit must be a decimal such as 25 or 0.0132 with at most six decimals, got '0.0000001' (line 1, column 43)"},
					{"RL.PLAN SET pro '{limits: {busy: {algorithm: concurrency, limit: 6, window: 0}}}'", "ERR plan 'pro': limits.busy.window: window out of range: it must be from 1ms to 3155760000s, got '0' (line 1, column 60)"},
					{"RL.PLAN SET Pro '{rate: 5, capacity: 5}'", "ERR a plan's name must be made of small letters, digits, '.', '_' and '-', got 'Pro', such as 'pro'"},
				},
			},
			{
				Name: "RL.PLAN GET", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: FlagReadonly,
				Summary: "Shows a plan.", Args: []Arg{{Name: "name"}}, Reply: "Bulk string: the plan in JSON.", run: runPlanGet,
				Examples: []Example{{"RL.PLAN SET login '{limits: {tries: {algorithm: sliding_log, limit: 5, window: 15m}}}'", "OK"},
					{"RL.PLAN GET login", `"{\"limits\":{\"tries\":{\"algorithm\":\"sliding_log\",\"limit\":5,\"window\":\"15m\"}}}"`}},
				Refusals: []Refusal{{"RL.PLAN GET pro", "NOPLAN no such plan 'pro'"}},
			},
			{
				Name: "RL.PLAN LIST", Since: "0.1.0", Complexity: "O(N), N plans", Arity: 2, Flags: FlagReadonly,
				Summary: "Lists the plans.", Reply: "Array of names, in order.", run: runPlanList,
				Examples: []Example{{"RL.PLAN LIST", "(empty array)"}},
			},
			{
				Name: "RL.PLAN DEL", Since: "0.1.0", Complexity: "O(N), N plans", Arity: 3, Flags: FlagWrite,
				Summary: "Takes back a plan that a command has set.",
				Details: "A plan of the same name in the configuration file holds again. States of keys stay until they become fresh.",
				Args:    []Arg{{Name: "name"}}, Reply: "Simple string OK.", run: runPlanDel,
				Examples: []Example{{setExamplePlan, "OK"}, {"RL.PLAN DEL pro", "OK"}, {"RL.PLAN LIST", "(empty array)"}},
				Refusals: []Refusal{{"RL.PLAN DEL pro", "NOPLAN no such plan 'pro'"}},
			},
		},
		Refusals: []Refusal{{"RL.PLAN ADD", "ERR unknown subcommand 'ADD'. Try RL.PLAN HELP."}},
	},
	{
		Name: "RL.EXPLAIN", Group: "plans", Since: "0.1.0", Complexity: "O(N), N limits of the plan",
		Summary: "Shows how every limit of a plan stands for a key.",
		Details: "`allowed`, `retry_after_ms` and `remaining` are as RL.PEEK tells them. `source` is `plan`, or `override` where the key has an exception; then `override` says which. " +
			"`burst` is there where it is not the limit. `key` names the state, which RL.INSPECT, RL.RESET and the commands for keys take.",
		Arity: -3, Flags: FlagReadonly, Keys: Keys{1, 1, 1},
		Args: append([]Arg{{Name: "key", Type: "key"}, {Name: "@plan"}, {Name: "cost", Type: "integer", Optional: true, Summary: "as RL.PEEK takes it"}},
			append(planOptionArgs, permitArg)...),
		Reply: "Array of maps, one a limit, by name: name, algorithm, limit, window, used, remaining, allowed, retry_after_ms, reset_after_ms, mode, source, ..., key.",
		run:   runExplain,
		Examples: []Example{
			{"RL.PLAN SET login '{limits: {tries: {algorithm: sliding_log, limit: 5, window: 15m}}}'", "OK"},
			{"RL.ALLOW user:42 @login 2", "1) (integer) 1\n2) (integer) 5\n3) (integer) 3\n4) (integer) 0\n5) (integer) 900000\n6) (integer) 0\n7) \"tries\""},
			{"RL.EXPLAIN user:42 @login", "1)  1) \"name\"\n    2) \"tries\"\n    3) \"algorithm\"\n    4) \"sliding_log\"\n    5) \"limit\"\n    6) (integer) 5\n    7) \"window\"\n    8) \"15m\"\n    9) \"used\"\n   10) (integer) 2\n   11) \"remaining\"\n   12) (integer) 3\n   13) \"allowed\"\n   14) (integer) 1\n   15) \"retry_after_ms\"\n   16) (integer) 0\n   17) \"reset_after_ms\"\n   18) (integer) 900000\n   19) \"mode\"\n   20) \"enforce\"\n   21) \"source\"\n   22) \"plan\"\n   23) \"key\"\n   24) \"{user:42}#tries\""},
		},
		Refusals: []Refusal{
			{"RL.EXPLAIN k @pro", "NOPLAN no such plan 'pro'"},
			{"RL.EXPLAIN k pro", "ERR RL.EXPLAIN looks at a plan, such as @pro, got 'pro'; RL.INSPECT shows a single key"},
		},
	},
	{
		Name: "RL.RULE", Group: "plans", Since: "0.1.0", Complexity: "Depends on the subcommand.",
		Summary: "Defines rules: which plan a gateway's requests fall under, and whom they count.",
		Arity:   -2,
		Sub: []*Command{
			{
				Name: "RL.RULE SET", Since: "0.1.0", Complexity: "O(N log N), N rules", Arity: 4, Flags: FlagWrite | FlagDenyOOM,
				Summary: "Sets a rule, which takes effect with the next request.",
				Details: "The text is JSON or YAML. `match` is a pattern as Go's ServeMux has them: a method or none, a host or none, a path in which `{name}` is one segment and a slash at the end means everything below; " +
					"the most specific pattern wins, and two of which neither is cannot both be set. `per` is `user`, `api_key`, `ip`, `global`, or a list of these and of attributes. " +
					"`plan` is the plan; `anonymous_plan` the one for requests that lack an identity, which are counted per IP address. `cost` is what a request costs, 1 where it is not given. " +
					"With `enforce: all` every rule that matches applies, all or nothing.",
				Args:  []Arg{{Name: "name", Summary: "small letters, digits, '.', '_' and '-'"}, {Name: "text", Summary: "the rule, JSON or YAML, at most 1 MiB"}},
				Reply: "Simple string OK.", run: runRuleSet,
				Examples: []Example{{setExamplePlan, "OK"}, {setExampleRule, "OK"}, {"RL.RULE LIST", "1) \"api\""}},
				Refusals: []Refusal{
					{setExampleRule, "ERR rule 'api': plan: rule 'api' names plan 'pro', which does not exist (line 1, column 33)"},
					{"RL.RULE SET api '{match: api, per: user, plan: pro}'", "ERR rule 'api': match: a pattern must have a path, such as /api/ or POST /api/orders, got 'api' (line 1, column 9)"},
					{"RL.RULE SET api '{match: /api/, per: usr, plan: pro}'", "ERR rule 'api': per: unknown scope 'usr', did you mean 'user'? An attribute goes in brackets (line 1, column 21)"},
				},
			},
			{
				Name: "RL.RULE GET", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: FlagReadonly,
				Summary: "Shows a rule.", Args: []Arg{{Name: "name"}}, Reply: "Bulk string: the rule in JSON.", run: runRuleGet,
				Examples: []Example{{setExamplePlan, "OK"}, {setExampleRule, "OK"}, {"RL.RULE GET api", `"{\"match\":\"/api/\",\"per\":\"user\",\"plan\":\"pro\"}"`}},
				Refusals: []Refusal{{"RL.RULE GET api", "NORULE no such rule 'api'"}},
			},
			{
				Name: "RL.RULE LIST", Since: "0.1.0", Complexity: "O(N), N rules", Arity: 2, Flags: FlagReadonly,
				Summary: "Lists the rules.", Reply: "Array of names, in order.", run: runRuleList,
				Examples: []Example{{"RL.RULE LIST", "(empty array)"}},
			},
			{
				Name: "RL.RULE DEL", Since: "0.1.0", Complexity: "O(N log N), N rules", Arity: 3, Flags: FlagWrite,
				Summary: "Takes back a rule that a command has set.",
				Details: "A rule of the same name in the configuration file holds again.",
				Args:    []Arg{{Name: "name"}}, Reply: "Simple string OK.", run: runRuleDel,
				Examples: []Example{{setExamplePlan, "OK"}, {setExampleRule, "OK"}, {"RL.RULE DEL api", "OK"}},
				Refusals: []Refusal{{"RL.RULE DEL api", "NORULE no such rule 'api'"}},
			},
		},
		Refusals: []Refusal{{"RL.RULE ADD", "ERR unknown subcommand 'ADD'. Try RL.RULE HELP."}},
	},
	{
		Name: "RL.REQUEST", Group: "plans", Since: "0.1.0", Complexity: "O(N), N limits of the plans that apply",
		Summary: "Decides a request by the rules that it matches.",
		Details: "METHOD and PATH must be given. IP is an address, or a list as X-Forwarded-For has it: what trusted proxies have added counts. A missing identity is replaced by the IP address; " +
			"with neither it is an error. What is told is of the limit that binds. `headers` are ready to be sent. Where no rule matches, the request is allowed and `rule` is nil. " +
			"Where a permit was taken, `id` is its id and `permits` are the keys that RL.RELEASE takes with it.",
		Arity: -5, Flags: FlagWrite | FlagDenyOOM,
		Args: []Arg{
			{Name: "method", Token: "METHOD"}, {Name: "path", Token: "PATH"}, {Name: "host", Token: "HOST", Optional: true},
			{Name: "user", Token: "USER", Optional: true}, {Name: "api-key", Token: "APIKEY", Optional: true}, {Name: "ip", Token: "IP", Optional: true},
			{Name: "attribute", Type: "block", Token: "ATTR", Optional: true, Multiple: true, Args: []Arg{{Name: "name"}, {Name: "value"}}},
			{Name: "cost", Type: "integer", Token: "COST", Optional: true, Summary: "the rule's where it is not given"},
			{Name: "spend", Token: "SPEND", Optional: true}, {Name: "id", Token: "ID", Optional: true},
		},
		Reply: "Map: allowed (1 or 0), rule, key, plan, limit_name, limit, remaining, retry_after_ms, reset_after_ms, delay_ms, headers (a map), and where a permit was taken id and permits.",
		parse: parseRequest, write: writeRequest,
		Examples: []Example{
			{setExamplePlan, "OK"}, {setExampleRule, "OK"},
			{"RL.REQUEST METHOD GET PATH /api/orders USER 42", " 1) \"allowed\"\n 2) (integer) 1\n 3) \"rule\"\n 4) \"api\"\n 5) \"key\"\n 6) \"api|user:42\"\n 7) \"plan\"\n 8) \"pro\"\n 9) \"limit_name\"\n10) \"burst\"\n11) \"limit\"\n12) (integer) 20\n13) \"remaining\"\n14) (integer) 19\n15) \"retry_after_ms\"\n16) (integer) 0\n17) \"reset_after_ms\"\n18) (integer) 50\n19) \"delay_ms\"\n20) (integer) 0\n21) \"headers\"\n22)  1) \"RateLimit-Policy\"\n     2) \"\\\"burst\\\";q=20;w=1\"\n     3) \"RateLimit\"\n     4) \"\\\"burst\\\";r=19;t=1\"\n     5) \"RateLimit-Limit\"\n     6) \"20\"\n     7) \"RateLimit-Remaining\"\n     8) \"19\"\n     9) \"RateLimit-Reset\"\n    10) \"1\""},
			{"RL.REQUEST METHOD GET PATH /health", " 1) \"allowed\"\n 2) (integer) 1\n 3) \"rule\"\n 4) (nil)\n 5) \"key\"\n 6) (nil)\n 7) \"plan\"\n 8) (nil)\n 9) \"limit_name\"\n10) (nil)\n11) \"limit\"\n12) (integer) 9007199254740991\n13) \"remaining\"\n14) (integer) 9007199254740991\n15) \"retry_after_ms\"\n16) (integer) 0\n17) \"reset_after_ms\"\n18) (integer) 0\n19) \"delay_ms\"\n20) (integer) 0\n21) \"headers\"\n22) (empty array)"},
		},
		Refusals: []Refusal{
			{"RL.REQUEST METHOD GET USER 42", "ERR METHOD and PATH must be given, as in RL.REQUEST METHOD GET PATH /api/orders USER 42"},
			{"RL.REQUEST METHOD GET PATH / PATH /", "ERR PATH is given twice"},
			{"RL.REQUEST METHOD GET PATH / ATTR model", "ERR ATTR wants a name and a value after it"},
			{"RL.REQUEST METHOD GET PATH / COST 0", "ERR COST out of range: it must be a whole number from 1 to 9007199254740991, got '0'"},
			{"RL.REQUEST METHOD GET PATH / USR 42", "ERR unknown option 'USR', did you mean 'USER'?"},
		},
	},
}

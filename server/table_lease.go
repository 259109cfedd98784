package server

// The rows of the commands about leases, and what their holders report.

var leaseCommands = []*Command{
	{
		Name: "RL.LEASE", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N leases of the key",
		Summary: "Takes what there is, up to want, for a caller to spend on its own.",
		Details: "What is granted is charged at once, as RL.ALLOW would charge it. Less than MIN (1 unit where it is not given; of a budget the " +
			"smallest amount) is not granted. The lease may be spent for valid_ms: until its TTL (60 s) or its window's end, whichever comes first. " +
			"Algorithms without windows of their own are accounted in windows of the same length that are aligned to the epoch.\n\n" +
			"With `@plan` the least of what its limits have is granted and charged to all of them; a budget is not charged, but nothing is granted when it is used up. " +
			"The limit and remaining of the one with the smallest part left are told, the window is the longest, and valid_ms ends with the window that ends first. " +
			"A plan with a concurrency limit cannot be leased, nor one with more than 16 limits.\n\n" +
			"With a HOLDER what is not needed can be given back with RL.RETURN until the TTL; then it counts as spent. holders is how many " +
			"holders have leases of the key out, granted_total what is authorised in the window: granted by leases and not returned.\n\n" +
			"A key has leases of at most 1,024 holders out, 16 of each: with one more, a holder's oldest counts as spent.",
		Arity: -4, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{1, 1, 1},
		Args: append(wantArgs(),
			Arg{Name: "min", Token: "MIN", Optional: true},
			Arg{Name: "duration", Token: "TTL", Optional: true},
			Arg{Name: "id", Token: "HOLDER", Optional: true}),
		Reply: "Flat array of ten integers: granted (0 to want), limit, remaining, retry_after_ms (until MIN could be granted; 0 when it is, -1 when it never can), " +
			"reset_after_ms, valid_ms (0 when nothing is granted), server_time_ms, window_start_ms, holders, granted_total. " +
			"With budget, granted, limit, remaining and granted_total are decimal strings.",
		parse: parseLease, write: writeLease,
		Examples: []Example{
			{"RL.LEASE user:42 fixed_window 100 1m 60 HOLDER gw1", " 1) (integer) 60\n 2) (integer) 100\n 3) (integer) 40\n 4) (integer) 0\n 5) (integer) 60000\n 6) (integer) 60000\n 7) (integer) 1800000000000\n 8) (integer) 1800000000000\n 9) (integer) 1\n10) (integer) 60"},
			{"RL.LEASE user:42 fixed_window 100 1m 60 HOLDER gw2 TTL 10s", " 1) (integer) 40\n 2) (integer) 100\n 3) (integer) 0\n 4) (integer) 0\n 5) (integer) 60000\n 6) (integer) 10000\n 7) (integer) 1800000000000\n 8) (integer) 1800000000000\n 9) (integer) 2\n10) (integer) 100"},
			{"RL.LEASE user:42 fixed_window 100 1m 60 HOLDER gw3", " 1) (integer) 0\n 2) (integer) 100\n 3) (integer) 0\n 4) (integer) 60000\n 5) (integer) 60000\n 6) (integer) 0\n 7) (integer) 1800000000000\n 8) (integer) 1800000000000\n 9) (integer) 2\n10) (integer) 100"},
			{"RL.RETURN user:42 gw1 50", "(integer) 50"},
			{"RL.PEEK user:42 fixed_window 100 1m", "1) (integer) 1\n2) (integer) 100\n3) (integer) 50\n4) (integer) 0\n5) (integer) 60000\n6) (integer) 0"},
		},
		Refusals: []Refusal{
			{"RL.LEASE user:42 fixed_window 100 1m 5 MIN 6", "ERR MIN must be at most want, '5'"},
			{"RL.LEASE user:42 fixed_window 100 1m 0", "ERR want out of range: it must be a whole number from 1 to 9007199254740991, got '0'"},
			{"RL.LEASE user:42 fixed_window 100 1m 5 TTL 0", "ERR TTL out of range: it must be from 1ms to 3155760000s, got '0'"},
			{"RL.LEASE user:42 concurrency 100 1m 5", "ERR permits of a concurrency limit are leases already; RL.ACQUIRE takes them"},
		},
	},
	{
		Name: "RL.RETURN", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N leases of the key",
		Summary: "Gives back what a holder has leased and not spent, its newest leases first.",
		Details: "Never more than the holder has out, and only as far as it still counts: nothing comes back in a later window, nor on a key that was fresh since. " +
			"What is returned is not authorised any more, also where the limit has nothing to take back. Of a lease of a plan the limit that gives least is told.",
		Arity: 4, Flags: FlagWrite | FlagFast, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}, {Name: "holder"}, {Name: "n", Type: "integer", Summary: "units; of a budget a decimal"}},
		Reply: "Integer: the units taken back, by which less is used now; 0 when there was nothing to take back. With budget a decimal string.",
		parse: parseReturn, write: writeReturn,
		Examples: []Example{
			{"RL.LEASE user:42 token_bucket 10 10s 6 HOLDER gw1", " 1) (integer) 6\n 2) (integer) 10\n 3) (integer) 4\n 4) (integer) 0\n 5) (integer) 6000\n 6) (integer) 10000\n 7) (integer) 1800000000000\n 8) (integer) 1800000000000\n 9) (integer) 1\n10) (integer) 6"},
			{"RL.RETURN user:42 gw1 4", "(integer) 4"},
			{"RL.RETURN user:42 gw1 4", "(integer) 2"},
			{"RL.RETURN user:42 gw1 4", "(integer) 0"},
		},
		Refusals: []Refusal{{"RL.RETURN user:42 gw1 0", "ERR n out of range: it must be above 0, got '0'"}},
	},
	{
		Name: "RL.REPORT", Group: "ratelimit", Since: "0.1.0", Complexity: "O(log N), N holders in the window",
		Summary: "Tells what a holder has spent of a key in a window.",
		Details: "spent and DEGRADED (0 where it is not given) are the holder's running totals for this key and window. The report with the highest seq counts, " +
			"so one may be sent again. A window is open to reports for as long after its end as it lasted, at least an hour; a key keeps its 1,024 newest windows.",
		Arity: -6, Flags: FlagWrite | FlagDenyOOM | FlagFast, Keys: Keys{3, 3, 1},
		Args: []Arg{
			{Name: "holder"}, {Name: "seq", Type: "integer"}, {Name: "key", Type: "key"},
			{Name: "window_start_ms", Type: "integer", Summary: "as RL.LEASE told it"},
			{Name: "spent", Type: "integer", Summary: "units; of a budget a decimal"},
			{Name: "n", Type: "integer", Token: "DEGRADED", Optional: true, Summary: "units decided while the server could not be asked"},
		},
		Reply: "Integer: 1 when the report counts; 0 when one with the same or a higher seq did before.",
		parse: parseReport, write: writeReport,
		Examples: []Example{
			{"RL.LEASE user:42 fixed_window 100 1m 60 HOLDER gw1", " 1) (integer) 60\n 2) (integer) 100\n 3) (integer) 40\n 4) (integer) 0\n 5) (integer) 60000\n 6) (integer) 60000\n 7) (integer) 1800000000000\n 8) (integer) 1800000000000\n 9) (integer) 1\n10) (integer) 60"},
			{"RL.REPORT gw1 1 user:42 1800000000000 25", "(integer) 1"},
			{"RL.REPORT gw1 2 user:42 1800000000000 31 DEGRADED 4", "(integer) 1"},
			{"RL.REPORT gw1 1 user:42 1800000000000 25", "(integer) 0"},
			{"RL.USAGE user:42", "1)  1) \"window_start_ms\"\n    2) (integer) 1800000000000\n    3) \"authorised\"\n    4) (integer) 60\n    5) \"spent\"\n    6) (integer) 31\n    7) \"degraded\"\n    8) (integer) 4\n    9) \"holders\"\n   10) (integer) 1"},
		},
		Refusals: []Refusal{
			{"RL.REPORT gw1 1 user:42 1800000000001 25", "ERR window_start_ms is ahead of the server's time; RL.LEASE tells both"},
			{"RL.REPORT gw1 1 user:42 1800000000000 25 DEGRADE 4", "ERR RL.REPORT takes DEGRADED n after what was spent, got 'DEGRADE'"},
		},
	},
	{
		Name: "RL.USAGE", Group: "ratelimit", Since: "0.1.0", Complexity: "O(N), N holders in the windows that are shown",
		Summary: "Adds up what was used of a key, window by window, the newest first.",
		Details: "authorised is what leases were granted and did not return; spent and degraded are the sums of what the holders reported; holders is how many " +
			"were granted a lease or have reported. What RL.ALLOW spends is not in it.",
		Arity: -2, Flags: FlagReadonly, Keys: Keys{1, 1, 1},
		Args:  []Arg{{Name: "key", Type: "key"}, {Name: "n", Type: "integer", Token: "COUNT", Optional: true, Summary: "at most so many windows"}},
		Reply: "Array of maps (flat arrays in RESP2): window_start_ms, authorised, spent, degraded, holders. With budget the amounts are decimal strings.",
		parse: parseUsage, write: writeUsage,
		Examples: []Example{{"RL.USAGE user:42", "(empty array)"}},
		Refusals: []Refusal{{"RL.USAGE user:42 COUNT 0", "ERR COUNT out of range: it must be a whole number from 1 to 1024, got '0'"}},
	},
}

// wantArgs are the arguments of RL.LEASE that have their places, and a limit's options.
func wantArgs() []Arg {
	args := limitArgs("")
	args[2] = Arg{Name: "want", Type: "integer", Summary: "units; of a budget a decimal"}
	return args
}

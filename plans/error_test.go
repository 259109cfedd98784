package plans

// What is said about every text that is wrong, word for word, and where.

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var planErrors = []struct{ text, want string }{
	{``, `a plan must be a mapping such as {limits: ...}, got nothing (line 1, column 1)`},
	{`5`, `a plan must be a mapping such as {limits: ...}, got '5' (line 1, column 1)`},
	{`[]`, `a plan must be a mapping such as {limits: ...}, got a list (line 1, column 1)`},
	{`{}`, `a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}} (line 1, column 1)`},
	{`limits: {}`, `limits: a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}} (line 1, column 9)`},
	{`limits:`, `limits: a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}} (line 1, column 7)`},
	{`limits: []`, `limits: limits must be a mapping such as {name: ...}, got a list (line 1, column 9)`},
	{`limit: {}`, `unknown field 'limit', did you mean 'limits'? (line 1, column 1)`},
	{`limits: {rpm: 5}`, `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got '5' (line 1, column 15)`},
	{`limits: {rpm: }`, `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got nothing (line 1, column 14)`},
	{`limits: {rpm: {algorithm: tokenbuket, limit: 5, window: 1m}}`, `limits.rpm.algorithm: unknown algorithm 'tokenbuket', did you mean 'token_bucket'? (line 1, column 27)`},
	{`limits: {rpm: {algorithm: frobnicate, limit: 5, window: 1m}}`, `limits.rpm.algorithm: unknown algorithm 'frobnicate': it must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, budget or concurrency (line 1, column 27)`},
	{`limits: {rpm: {algorithm: [tb], limit: 5, window: 1m}}`, `limits.rpm.algorithm: algorithm must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, budget or concurrency, got a list (line 1, column 27)`},
	{`limits: {rpm: {limit: 5, window: 1m}}`, `limits.rpm: algorithm is missing: it must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, budget or concurrency (line 1, column 15)`},
	{`limits: {rpm: {algorithm: tb, window: 1m}}`, `limits.rpm: limit is missing: how many units may pass per window (line 1, column 15)`},
	{`limits: {rpm: {algorithm: tb, limit: 5}}`, `limits.rpm: window is missing: a duration such as 1m or 7d, or day, week, month or year (line 1, column 15)`},
	{`limits: {rpm: {algorithm: tb, limit: 0, window: 1m}}`, `limits.rpm.limit: limit out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 9007199254740992, window: 1m}}`, `limits.rpm.limit: limit out of range: it must be a whole number from 1 to 9007199254740991, got '9007199254740992' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 1e3, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '1e3' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 1_000, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '1_000' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 0x10, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '0x10' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: +5, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '+5' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 25.00, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '25.00' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: ' 5', window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got ' 5' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: [5], window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got a list (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: {a: 5}, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got a mapping (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: null, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got nothing (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: true, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got 'true' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: .inf, window: 1m}}`, `limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '.inf' (line 1, column 38)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1x}}`, `limits.rpm.window: window must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), or day, week, month or year, got '1x' (line 1, column 49)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 0}}`, `limits.rpm.window: window out of range: it must be from 1ms to 3155760000s, got '0' (line 1, column 49)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 0.0001}}`, `limits.rpm.window: window must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), or day, week, month or year, got '0.0001' (line 1, column 49)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 36525d1ms}}`, `limits.rpm.window: window out of range: it must be from 1ms to 3155760000s, got '36525d1ms' (line 1, column 49)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: day}}`, `limits.rpm.window: window 'day' follows the calendar, which goes with fixed_window and budget; for token_bucket give a duration such as 1d (line 1, column 49)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: mont}}`, `limits.rpm.window: window must be a duration such as 250ms, 90s, 1h30m or 7d (a bare number is seconds), or day, week, month or year, got 'mont', did you mean 'month'? (line 1, column 49)`},
	{`limits: {rpm: {algorithm: concurrency, limit: 5, window: month}}`, `limits.rpm.window: window 'month' follows the calendar, which goes with fixed_window and budget; for concurrency give a duration such as 1d (line 1, column 58)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: month, anchor: 32}}`, `limits.rpm.anchor: anchor out of range: it must be a whole number from 1 to 31, got '32' (line 1, column 64)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: day, anchor: 3}}`, `limits.rpm.anchor: anchor goes with the window month: it is the day on which months begin (line 1, column 62)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: 1d, anchor: 3}}`, `limits.rpm.anchor: anchor goes with the window month: it is the day on which months begin (line 1, column 61)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: 1d, tz: Europe/Paris}}`, `limits.rpm.tz: tz goes with a calendar window: day, week, month or year, of fixed_window and budget (line 1, column 57)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: day, tz: Europe/Pariss}}`, `limits.rpm.tz: unknown time zone 'Europe/Pariss', did you mean 'Europe/Paris'? (line 1, column 58)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: day, tz: Mars}}`, `limits.rpm.tz: unknown time zone 'Mars': it must be an IANA name such as Europe/Paris (line 1, column 58)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: day, align: first}}`, `limits.rpm.align: align does not go with a calendar window, which begins where the calendar says (line 1, column 61)`},
	{`limits: {rpm: {algorithm: budget, limit: 5, window: 1d, align: first}}`, `limits.rpm.align: align does not belong to budget: it goes with fixed_window (line 1, column 64)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: 1d, burst: 7}}`, `limits.rpm.burst: burst does not belong to fixed_window: it goes with token_bucket, gcra and leaky_bucket (line 1, column 60)`},
	{`limits: {rpm: {algorithm: concurrency, limit: 5, window: 1d, burst: 7}}`, `limits.rpm.burst: burst does not belong to concurrency: it goes with token_bucket, gcra and leaky_bucket (line 1, column 69)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1d, burst: 0}}`, `limits.rpm.burst: burst out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 1, column 60)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1d, align: first}}`, `limits.rpm.align: align does not belong to token_bucket: it goes with fixed_window (line 1, column 60)`},
	{`limits: {rpm: {algorithm: fw, limit: 5, window: 1d, align: frist}}`, `limits.rpm.align: unknown align 'frist': it must be one of epoch, first or jitter (line 1, column 60)`},
	{`limits: {rpm: {algorithm: tb, limit: 1, window: 1d, burst: 9007199254740991}}`, `limits.rpm.burst: burst out of range: it would take over 100 years to fill at this limit and window (line 1, column 60)`},
	{`limits: {rpm: {algorithm: sliding_log, limit: 100001, window: 1d}}`, `limits.rpm.limit: limit out of range: a sliding_log keeps at most 100000 units, got 100001; use sliding_counter for larger limits (line 1, column 47)`},
	{`limits: {rpm: {algorithm: budget, limit: 1.0000001, window: 1d}}`, `limits.rpm.limit: limit must be a decimal such as 25 or 0.0132 with at most six decimals, got '1.0000001' (line 1, column 42)`},
	{`limits: {rpm: {algorithm: budget, limit: 0.0, window: 1d}}`, `limits.rpm.limit: limit out of range: it must be a decimal from 0.000001 to 9007199254.740991, got '0.0' (line 1, column 42)`},
	{`limits: {rpm: {algorithm: budget, limit: 9007199254.740992, window: 1d}}`, `limits.rpm.limit: limit out of range: it must be a decimal from 0.000001 to 9007199254.740991, got '9007199254.740992' (line 1, column 42)`},
	{`limits: {rpm: {algorithm: budget, limit: [1], window: 1d}}`, `limits.rpm.limit: limit must be a decimal such as 25 or 0.0132 with at most six decimals, got a list (line 1, column 42)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1m, mode: shadwo}}`, `limits.rpm.mode: unknown mode 'shadwo', did you mean 'shadow'? (line 1, column 59)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1m, mode: [off]}}`, `limits.rpm.mode: mode must be one of enforce, shadow or off, got a list (line 1, column 59)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1m, windw: 1}}`, `limits.rpm: unknown field 'windw', did you mean 'window'? (line 1, column 53)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1m, frob: 1}}`, `limits.rpm: unknown field 'frob': it must be one of algorithm, limit, window, burst, align, tz, anchor or mode (line 1, column 53)`},
	{`limits: {rpm: {algorithm: tb, limit: 5, window: 1m, limit: 1}}`, `limits.rpm: 'limit' is given twice, first in line 1 (line 1, column 53)`},
	{"limits:\n  rpm: {algorithm: tb, limit: 5, window: 1m}\n  rpm: {algorithm: tb, limit: 5, window: 1m}", `limits: 'rpm' is given twice, first in line 2 (line 3, column 3)`},
	{`limits: {RPM: {algorithm: tb, limit: 5, window: 1m}}`, `limits["RPM"]: a limit's name must be made of small letters, digits, '.', '_' and '-', got 'RPM', such as 'rpm' (line 1, column 10)`},
	{`limits: {'': {algorithm: tb, limit: 5, window: 1m}}`, `limits[""]: a limit's name must be made of small letters, digits, '.', '_' and '-', got '' (line 1, column 10)`},
	{`limits: {'a#b': {algorithm: tb, limit: 5, window: 1m}}`, `limits["a#b"]: a limit's name must be made of small letters, digits, '.', '_' and '-', got 'a#b' (line 1, column 10)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\ncosts: 5", `costs: costs must be a mapping such as {name: ...}, got '5' (line 2, column 8)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\ncosts: {search: 0}", `costs.search: cost out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 2, column 17)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\ncosts: {search: 1.5}", `costs.search: cost must be a whole number from 1 to 9007199254740991, got '1.5' (line 2, column 17)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\ncosts: {'': 1}", `costs[""]: an endpoint's name must have 1 to 256 bytes, got 0 (line 2, column 9)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\ncosts: {search: 1, search: 2}", `costs: 'search' is given twice, first in line 2 (line 2, column 20)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: []", `overrides: overrides must be a mapping such as {name: ...}, got a list (line 2, column 12)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: 5}", `overrides.a: an override must be a mapping such as {name: ...}, got '5' (line 2, column 16)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rmp: {limit: 5}}}", `overrides.a.rmp: unknown limit 'rmp': it must be rpm (line 2, column 17)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {}}}", `overrides.a.rpm: an override must change something: algorithm, limit, window, burst, align, tz, anchor or mode (line 2, column 22)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: 5}}", `overrides.a.rpm: a limit must be a mapping such as {algorithm: ...}, got '5' (line 2, column 22)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {algorithm: budget}}}", `overrides.a.rpm.algorithm: an override cannot make a limit of another kind: budget counts money, the plan's token_bucket counts units (line 2, column 34)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {algorithm: concurrency}}}", `overrides.a.rpm.algorithm: an override cannot make a limit of another kind: concurrency counts permits, the plan's token_bucket counts units (line 2, column 34)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {window: day}}}", `overrides.a.rpm.window: window 'day' follows the calendar, which goes with fixed_window and budget; for token_bucket give a duration such as 1d (line 2, column 31)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {tz: UTC}}}", `overrides.a.rpm.tz: tz goes with a calendar window: day, week, month or year, of fixed_window and budget (line 2, column 27)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {algorithm: fw, burst: 7}}}", `overrides.a.rpm.burst: burst does not belong to fixed_window: it goes with token_bucket, gcra and leaky_bucket (line 2, column 45)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {\"user:42\": {rpm: {limit: -5}}}", `overrides["user:42"].rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '-5' (line 2, column 38)`},
	{"limits: {rpm: {algorithm: token_bucket, limit: 5, window: 1m}}\noverrides: {a: {rpm: {limit: 1}}, a: {rpm: {limit: 2}}}", `overrides: 'a' is given twice, first in line 2 (line 2, column 35)`},
	{"limits: {rpm: {algorithm: tb, limit: 5, window: 1m, burst: 90000000}}\noverrides: {a: {rpm: {window: 30000d}}}", `overrides.a.rpm: burst out of range: it would take over 100 years to fill at this limit and window (line 2, column 22)`},
	{`rate: 5`, `rate (units per second) and capacity (units) go together (line 1, column 1)`},
	{`{rate: 0, capacity: 5}`, `rate: rate out of range: it must be a decimal from 0.000001 to 9007199254.740991, got '0' (line 1, column 8)`},
	{`{rate: 0.5, capacity: 0}`, `capacity: capacity out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 1, column 23)`},
	{`{rate: 0.5, capacity: 5, limits: {}}`, `unknown field 'limits': it must be one of rate or capacity (line 1, column 26)`},
	{`{rate: 0.000001, capacity: 9007199254740991}`, `capacity and rate: burst out of range: it would take over 100 years to fill at this limit and window (line 1, column 1)`},
}

var syntaxErrors = []struct{ text, want string }{
	{"\tlimits: 5", `a tab cannot indent: use spaces (line 1, column 7)`},
	{"limits:\n\trpm: 5", `a tab cannot indent: use spaces (line 2, column 1)`},
	{`limits: {a`, `could not find flow map content (line 1, column 10)`},
	{`limits: 'x`, `could not find end character of single-quoted text (line 1, column 9)`},
	{"limits:\n-\ncosts: {}", `this entry of a list is empty (line 2, column 1)`},
	{`limits: *x`, `no '&x' stands before this (line 1, column 9)`},
	{`limits: &x {y: *x}`, `no '&x' stands before this (line 1, column 16)`},
	{`limits: !!map {}`, `tags are not supported: every field knows what it is (line 1, column 9)`},
	{"{\n\t\"limits\": {\n\t\t\"rpm\": 5\n\t}\n}", `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got '5' (line 3, column 10)`},
	{"limits: \xff", `this is not UTF-8 (line 1, column 9)`},
	{"# é\nlimits: \xff", `this is not UTF-8 (line 2, column 9)`},
	{"a: 1\n---\nb: 2", `a second document begins here: one is all that is read (line 2, column 1)`},
	{"a: 1\n...\nb: 2", `a second document begins here: one is all that is read (line 3, column 1)`},
	{"%YAML 1.2\n---\na: 1", `directives are not supported (line 1, column 1)`},
	{`limits: {<<: {}}`, `merge keys (<<) are not supported: write the fields out, or give the whole value an &anchor and an *alias (line 1, column 10)`},
	{`a: b: c`, `mapping value is not allowed in this context (line 1, column 4)`},
	{`a: - b`, `block sequence entries are not allowed in this context (line 1, column 4)`},
	{`{[a]: b}`, `found an invalid key for this map (line 1, column 5)`},
	{"? a\n: b", `explicit keys (?) are not supported: write name: value (line 1, column 1)`},
	{">-" + strings.Repeat("u", 500), `invalid header option: "-` + strings.Repeat("u", 96) + `... (line 1, column 1)`},
	{"limits:" + strings.Repeat("\n  a:", 50), `limits.a: a limit must be a mapping such as {algorithm: ...}, got nothing (line 2, column 4)`},
	{`limits: {a, b: 1}`, `'a' has no value: write name: value (line 1, column 10)`},
	{`limits: {b: 1, a}`, `'a' has no value: write name: value (line 1, column 16)`},
	{`limits: {b: [c, d], "a" }`, `'a' has no value: write name: value (line 1, column 21)`},
	{"a: 1\n- b", `non-map value is specified (line 2, column 1)`},
	{"a: 1\nb", `non-map value is specified (line 2, column 1)`},
	{`[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`, `this is nested too deep (line 1, column 33)`},
	{`- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - `, `this is nested too deep (line 1, column 65)`},
	{`a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: `, `this is nested too deep (line 1, column 98)`},
	{`&a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a &a `, `this is nested too deep (line 1, column 97)`},
	{`!a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a !a `, `this is nested too deep (line 1, column 65)`},
	{`{a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: `, `this is nested too deep (line 1, column 129)`},
	{"limits:\r\n  rpm: 5\r\n", `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got '5' (line 2, column 8)`},
	{"\ufefflimits:\n  rpm: 5\n", `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got '5' (line 2, column 8)`},
	{"é: 1", `unknown field '\u00e9': it must be one of limits, costs or overrides (line 1, column 1)`},
	{"limits: |\n  a\n  b\n", `limits: limits must be a mapping such as {name: ...}, got 'a\nb\n' (line 1, column 9)`},
	{"# c\n\nlimits: # d\n  # e\n  rpm: # f\n    - 5\n", `limits.rpm: a limit must be a mapping such as {algorithm: ...}, got a list (line 6, column 5)`},
}

var ruleErrors = []struct{ text, want string }{
	{`5`, `a rule must be a mapping such as {name: ...}, got '5' (line 1, column 1)`},
	{`{}`, `match is missing: a pattern such as /api/ or POST /api/orders (line 1, column 1)`},
	{`{match: /, plan: p}`, `per is missing: whom the rule counts: user, api_key, ip, global, or a list (line 1, column 1)`},
	{`{match: /, per: ip}`, `plan is missing: the name of a plan (line 1, column 1)`},
	{`{per: ip, plan: p}`, `match is missing: a pattern such as /api/ or POST /api/orders (line 1, column 1)`},
	{`{match: /, per: ip, plan: p, name: q}`, `name: this is rule 'r', the text says 'q' (line 1, column 36)`},
	{`{match: /, per: ip, plan: p, name: [q]}`, `name: a rule's name must be a word, got a list (line 1, column 36)`},
	{`{match: /, per: usr, plan: p}`, `per: unknown scope 'usr', did you mean 'user'? An attribute goes in brackets (line 1, column 17)`},
	{`{match: /, per: tenant, plan: p}`, `per: per must be user, api_key, ip, global, or a list such as [api_key, model], got 'tenant' (line 1, column 17)`},
	{`{match: /, per: {a: b}, plan: p}`, `per: per must be user, api_key, ip, global, or a list such as [api_key, model], got a mapping (line 1, column 17)`},
	{`{match: /, per: [apikey, x], plan: p}`, `per[0]: unknown scope 'apikey', did you mean 'api_key'? (line 1, column 18)`},
	{`{match: /, per: [api-key, x], plan: p}`, `per[0]: unknown scope 'api-key', did you mean 'api_key'? (line 1, column 18)`},
	{`{match: /, per: [global, x], plan: p}`, `per[0]: global stands alone: it counts all requests together (line 1, column 18)`},
	{`{match: /, per: [], plan: p}`, `per: per must list 1 to 8 scopes, got 0 (line 1, column 17)`},
	{`{match: /, per: [a, b, c, d, e, f, g, h, i], plan: p}`, `per: per must list 1 to 8 scopes, got 9 (line 1, column 17)`},
	{`{match: /, per: [x, x], plan: p}`, `per[1]: scope 'x' is there twice (line 1, column 21)`},
	{`{match: /, per: [X], plan: p}`, `per[0]: a scope must be made of small letters, digits, '.', '_' and '-', got 'X', such as 'x' (line 1, column 18)`},
	{`{match: /, per: [[x]], plan: p}`, `per[0]: a scope must be user, api_key, ip or the name of an attribute, got a list (line 1, column 18)`},
	{`{match: /, per: ip, plan: p, anonymous_plan: q}`, `anonymous_plan: anonymous_plan goes with a rule that counts a user, an api_key or an attribute, which may be missing (line 1, column 46)`},
	{`{match: /, per: ip, plan: P q}`, `plan: plan must be made of small letters, digits, '.', '_' and '-', got 'P q', such as 'p-q' (line 1, column 27)`},
	{`{match: /, per: ip, plan: {limits: {}}}`, `plan: plan must be the name of a plan, got a mapping (line 1, column 27)`},
	{`{match: /, per: user, plan: p, anonymous_plan: A}`, `anonymous_plan: anonymous_plan must be made of small letters, digits, '.', '_' and '-', got 'A', such as 'a' (line 1, column 48)`},
	{`{match: /, per: ip, plan: p, cost: 0}`, `cost: cost out of range: it must be a whole number from 1 to 9007199254740991, got '0' (line 1, column 36)`},
	{`{match: /, per: ip, plan: p, enforce: every}`, `enforce: unknown enforce 'every': it must be one of first or all (line 1, column 39)`},
	{`{mtch: /, per: ip, plan: p}`, `unknown field 'mtch', did you mean 'match'? (line 1, column 2)`},
	{`{match: [/], per: ip, plan: p}`, `match: match must be a pattern such as /api/ or POST /api/orders, got a list (line 1, column 9)`},
	{`{match: '', per: ip, plan: p}`, `match: a pattern must have a path, such as /api/ or POST /api/orders, got '' (line 1, column 9)`},
	{`{match: GET, per: ip, plan: p}`, `match: a pattern must have a path, such as /api/ or POST /api/orders, got 'GET' (line 1, column 9)`},
	{`{match: get /, per: ip, plan: p}`, `match: a method is written in capitals: GET (line 1, column 9)`},
	{`{match: GE(T /, per: ip, plan: p}`, `match: 'GE(T' is not a method, such as GET or POST (line 1, column 9)`},
	{`{match: ' /', per: ip, plan: p}`, `match: a pattern begins with a method, a host or a '/', not with a blank (line 1, column 9)`},
	{`{match: '/a//b', per: ip, plan: p}`, `match: pattern '/a//b' can never match, since paths are cleaned first: write '/a/b' (line 1, column 9)`},
	{`{match: '/a/../b', per: ip, plan: p}`, `match: pattern '/a/../b' can never match, since paths are cleaned first: write '/b' (line 1, column 9)`},
	{`{match: '/a/./', per: ip, plan: p}`, `match: pattern '/a/./' can never match, since paths are cleaned first: write '/a/' (line 1, column 9)`},
	{`{match: '/a/%2e%2E/b', per: ip, plan: p}`, `match: segment '%2e%2E' can never match, since paths are cleaned first (line 1, column 9)`},
	{`{match: '/a?b', per: ip, plan: p}`, `match: a pattern is a path without query and fragment: leave '?b' out (line 1, column 9)`},
	{`{match: '/a/*', per: ip, plan: p}`, `match: '*' is not a wildcard here: /api/ matches everything below, /api/{name} one segment; write %2A for the character (line 1, column 9)`},
	{`{match: '/a/{b}c', per: ip, plan: p}`, `match: a wildcard is a whole segment, such as {id}, got '{b}c' (line 1, column 9)`},
	{`{match: '/a/{b', per: ip, plan: p}`, `match: a wildcard is a whole segment, such as {id}, got '{b' (line 1, column 9)`},
	{`{match: '/a/b}', per: ip, plan: p}`, `match: a wildcard is a whole segment, such as {id}, got 'b}' (line 1, column 9)`},
	{`{match: '/a/{}', per: ip, plan: p}`, `match: a wildcard's name is made of letters, digits and '_', such as {id}, got '{}' (line 1, column 9)`},
	{`{match: '/a/{...}', per: ip, plan: p}`, `match: a wildcard's name is made of letters, digits and '_', such as {id}, got '{...}' (line 1, column 9)`},
	{`{match: '/a/{b...}/c', per: ip, plan: p}`, `match: {b...} matches everything that follows, so it stands at the end (line 1, column 9)`},
	{`{match: '/a/{$}/c', per: ip, plan: p}`, `match: {$} stands at the end (line 1, column 9)`},
	{`{match: '/a/{b}/{b}', per: ip, plan: p}`, `match: wildcard {b} is there twice (line 1, column 9)`},
	{`{match: '/a/{1b}', per: ip, plan: p}`, `match: a wildcard's name is made of letters, digits and '_', such as {id}, got '{1b}' (line 1, column 9)`},
	{`{match: '{x}/', per: ip, plan: p}`, `match: a host cannot hold a wildcard; is a '/' missing before '{x}'? (line 1, column 9)`},
	{`{match: 'a.b:80/', per: ip, plan: p}`, `match: a host is given without its port, got 'a.b:80' (line 1, column 9)`},
	{`{match: 'a.b./', per: ip, plan: p}`, `match: a host is given without a '.' at its end, got 'a.b.' (line 1, column 9)`},
	{`{match: 'a,b/', per: ip, plan: p}`, `match: 'a,b' is not a host, such as api.example.com (line 1, column 9)`},
}

var fileErrors = []struct{ text, want string }{
	{`5`, `sluice.yaml:1:1: the file must be a mapping such as {plans: ...}, got '5'`},
	{`plan: {}`, `sluice.yaml:1:1: unknown field 'plan', did you mean 'plans'?`},
	{`plans: []`, `sluice.yaml:1:8: plans: plans must be a mapping such as {name: ...}, got a list`},
	{`plans: {P: {}}`, `sluice.yaml:1:9: plans["P"]: a plan's name must be made of small letters, digits, '.', '_' and '-', got 'P', such as 'p'`},
	{`plans: {p: }`, `sluice.yaml:1:11: plans.p: a plan must be a mapping such as {limits: ...}, got nothing`},
	{`plans: {p: {limits: {a: {algorithm: tb, limit: 0, window: 1s}}}}`, `sluice.yaml:1:48: plans.p.limits.a.limit: limit out of range: it must be a whole number from 1 to 9007199254740991, got '0'`},
	{`plans: {v1.2: {limits: {a: {algorithm: tb, limit: 0, window: 1s}}}}`, `sluice.yaml:1:51: plans["v1.2"].limits.a.limit: limit out of range: it must be a whole number from 1 to 9007199254740991, got '0'`},
	{"plans:\n  p:\n    limits:\n      a:\n        algorithm: tb\n        limit: 5\n        windw: 1s\n", `sluice.yaml:7:9: plans.p.limits.a: unknown field 'windw', did you mean 'window'?`},
	{"plans:\n  p: {}\n  p: {}\n", `sluice.yaml:2:6: plans.p: a plan must have a limit, such as limits: {rpm: {algorithm: token_bucket, limit: 600, window: 1m}}`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nplans: {}", `sluice.yaml:2:1: 'plans' is given twice, first in line 1`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: {}", `sluice.yaml:2:8: rules: rules must be a list such as [{name: api, match: /api/, per: user, plan: pro}], got a mapping`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [5]", `sluice.yaml:2:9: rules[0]: a rule must be a mapping such as {name: ...}, got '5'`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [{name: a, match: /, per: ip, plan: q}]", `sluice.yaml:2:44: rules[0].plan: rule 'a' names plan 'q', which does not exist, did you mean 'p'?`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [{name: a, match: /, per: user, plan: p, anonymous_plan: quux}]", `sluice.yaml:2:65: rules[0].anonymous_plan: rule 'a' names plan 'quux', which does not exist`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [{name: a, match: /, per: ip, plan: p}, {name: a, match: /b, per: ip, plan: p}]", `sluice.yaml:2:55: rules[1]: rule 'a' is there twice, first in line 2`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [{match: /, per: ip, plan: p}]", `sluice.yaml:2:9: rules[0]: name is missing: small letters, digits, '.', '_' and '-'`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules: [{name: A, match: /, per: ip, plan: p}]", `sluice.yaml:2:16: rules[0].name: a rule's name must be made of small letters, digits, '.', '_' and '-', got 'A', such as 'a'`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules:\n- {name: a, match: /, per: ip, plan: p}\n- {name: b, match: '/{x...}', per: ip, plan: p}", `sluice.yaml:4:20: rules[1].match: rule 'b' conflicts with rule 'a': /{x...} matches the same requests as /`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules:\n- {name: a, match: POST /, per: ip, plan: p}\n- {name: b, match: /b, per: ip, plan: p}", `sluice.yaml:4:20: rules[1].match: rule 'b' conflicts with rule 'a': /b matches more methods than POST /, but has a more specific path pattern`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules:\n- {name: a, match: /b, per: ip, plan: p}\n- {name: b, match: POST /, per: ip, plan: p}", `sluice.yaml:4:20: rules[1].match: rule 'b' conflicts with rule 'a': POST / matches fewer methods than /b, but has a more general path pattern`},
	{"plans: {p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}}\nrules:\n- {name: a, match: '/a/{x}', per: ip, plan: p}\n- {name: b, match: '/{x}/b', per: ip, plan: p}", `sluice.yaml:4:20: rules[1].match: rule 'b' conflicts with rule 'a': /{x}/b and /a/{x} both match some paths, like '/a/b', but neither is more specific than the other: /{x}/b matches '/x/b', but /a/{x} doesn't; /a/{x} matches '/a/x', but /{x}/b doesn't`},
	{"plans:\n  p: {limits: {a: {algorithm: tb, limit: 5, window: 1s}}}\n  q: {limits: {a: {algorithm: budget, limit: 5, window: 1s}}}", `sluice.yaml:3:16: plans.q.limits.a: limit 'a' counts money in plan 'q' and units in plan 'p': a key keeps its state from plan to plan under the limit's name, so a name must mean one kind of limit`},
	{"plans:\n  p: {limits: {a: {algorithm: concurrency, limit: 5, window: 1s}}}\n  q: {limits: {a: {algorithm: fw, limit: 5, window: 1s}}}", `sluice.yaml:3:16: plans.q.limits.a: limit 'a' counts units in plan 'q' and permits in plan 'p': a key keeps its state from plan to plan under the limit's name, so a name must mean one kind of limit`},
	{`addresses: {trusted: []}`, `sluice.yaml:1:13: addresses: unknown field 'trusted': it must be one of trusted_proxies or ipv6_prefix`},
	{`addresses: {trusted_proxies: [10.0.0.1/8]}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: network '10.0.0.1/8' has bits behind its prefix, did you mean '10.0.0.0/8'?`},
	{`addresses: {trusted_proxies: [0.0.0.0/0]}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: a network that holds every address would trust everybody to say who he is`},
	{`addresses: {trusted_proxies: ['::ffff:0:0/95']}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: '::ffff:0:0/95' holds more than all of IPv4`},
	{`addresses: {trusted_proxies: ['fe80::1%eth0']}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: 'fe80::1%eth0' is not an IP address or network, such as 10.0.0.0/8`},
	{`addresses: {trusted_proxies: [x]}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: 'x' is not an IP address or network, such as 10.0.0.0/8`},
	{`addresses: {trusted_proxies: [10.0.0.0/33]}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: '10.0.0.0/33' is not an IP address or network, such as 10.0.0.0/8`},
	{`addresses: {trusted_proxies: [[x]]}`, `sluice.yaml:1:31: addresses.trusted_proxies[0]: a trusted proxy must be an IP address or network, got a list`},
	{`addresses: {trusted_proxies: 10.0.0.0/8}`, `sluice.yaml:1:30: addresses.trusted_proxies: trusted_proxies must be a list such as [10.0.0.0/8, 2001:db8::/32], got '10.0.0.0/8'`},
	{`addresses: {ipv6_prefix: 0}`, `sluice.yaml:1:26: addresses.ipv6_prefix: ipv6_prefix out of range: it must be a whole number from 32 to 128, got '0'`},
	{`addresses: {ipv6_prefix: /64}`, `sluice.yaml:1:26: addresses.ipv6_prefix: ipv6_prefix must be a whole number from 32 to 128, got '/64'`},
	{`server: 5`, `sluice.yaml:1:9: server: server must be a mapping such as {name: ...}, got '5'`},
	{`server: {a: [[b]]}`, `sluice.yaml:1:14: server.a[0]: a must be a list of words, got a list`},
	{`server: {a: 1, a: 2}`, `sluice.yaml:1:16: server: 'a' is given twice, first in line 1`},
}

func TestErrors(t *testing.T) {
	plan := func(text string) error { _, err := ParsePlan("pro", []byte(text)); return err }
	rule := func(text string) error { _, err := ParseRule("r", []byte(text)); return err }
	file := func(text string) error {
		f, err := ParseFile("sluice.yaml", []byte(text))
		if err == nil {
			_, err = NewBook(f, Set{})
		}
		return err
	}
	for _, table := range []struct {
		name string
		rows []struct{ text, want string }
		read func(text string) error
	}{
		{"plan", planErrors, plan}, {"syntax", syntaxErrors, plan}, {"rule", ruleErrors, rule}, {"file", fileErrors, file},
	} {
		t.Run(table.name, func(t *testing.T) {
			for _, r := range table.rows {
				err := table.read(r.text)
				if err == nil || err.Error() != r.want {
					t.Errorf("%q:\n got %v\nwant %s", r.text, err, r.want)
				}
				checkError(t, r.text, err)
			}
		})
	}
}

// checkError fails where an error is not what every error is: typed, on one line,
// without the names of our types, with its parts fitting together.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: %T is not an *Error", text, err)
	}
	if s := e.Error(); len(s) > 1200 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || e.Message == "" {
		t.Errorf("%q: not a short line of text: %q", text, s)
	}
	for _, leak := range []string{"ast.", "token.", "*plans", "Node", "uint64", "int64", "float64", "struct", "interface", "goccy", "nil"} {
		if strings.Contains(e.Message, leak) && !strings.Contains(text, leak) {
			t.Errorf("%q: %q says %q", text, e.Message, leak)
		}
	}
	if (e.Line == 0) != (e.Snippet == "") || (e.Line == 0) != (e.Column == 0) {
		t.Errorf("%q: line %d, column %d, snippet %q", text, e.Line, e.Column, e.Snippet)
	}
	if e.Line == 0 {
		return
	}
	shown, caret, ok := strings.Cut(e.Snippet, "\n")
	if !ok || strings.Contains(caret, "\n") || !strings.HasSuffix(caret, "^") || strings.Count(caret, "^") != 1 {
		t.Fatalf("%q: snippet\n%s", text, e.Snippet)
	}
	if at, width := utf8.RuneCountInString(caret), utf8.RuneCountInString(shown); at > width+1 {
		t.Errorf("%q: the caret stands behind the line\n%s", text, e.Snippet)
	}
	if lines := 1 + strings.Count(lineEnds.Replace(text), "\n"); e.Line > lines {
		t.Errorf("%q: line %d of %d", text, e.Line, lines)
	}
}

func TestErrorDetail(t *testing.T) {
	long := `{"limits":{"rpm":{"algorithm":"token_bucket","limit":600,"window":"1m","burst":700},"burst":{"algorithm":"token_bukket","limit":20,"window":"1s","burst":40},"spend":{"algorithm":"budget","limit":"25","window":"day"}}}`
	rows := []struct{ text, want string }{
		{"limits:\n  rpm: {algorithm: tb, limit: 5, windw: 1m} # per minute\n",
			"limits.rpm: unknown field 'windw', did you mean 'window'? (line 2, column 34)\n" +
				"    2 |   rpm: {algorithm: tb, limit: 5, windw: 1m} # per minute\n" +
				"      |                                  ^"},
		{"{\n\t\"limits\": {\n\t\t\"rpm\": {\"algorithm\": \"tb\", \"limit\": \"é\", \"window\": 1}\n\t}\n}",
			"limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got '\\u00e9' (line 3, column 39)\n" +
				`    3 |   "rpm": {"algorithm": "tb", "limit": "é", "window": 1}` + "\n" +
				"      |                                       ^"},
		{long,
			"limits.burst.algorithm: unknown algorithm 'token_bukket', did you mean 'token_bucket'? (line 1, column 106)\n" +
				`    1 | ..."limit":600,"window":"1m","burst":700},"burst":{"algorithm":"token_bukket","limit":20,"window":"1s",...` + "\n" +
				"      |                                                                ^"},
		{"# é\n\nlimits: # d\n  rpm: # f\n    limit: 'x' # g\n    window: 1\n    algorithm: tb\n",
			"limits.rpm.limit: limit must be a whole number from 1 to 9007199254740991, got 'x' (line 5, column 12)\n" +
				"    5 |     limit: 'x' # g\n" +
				"      |            ^"},
	}
	for _, r := range rows {
		_, err := ParsePlan("pro", []byte(r.text))
		var e *Error
		if !errors.As(err, &e) || e.Detail() != r.want {
			t.Errorf("got\n%s\nwant\n%s", e.Detail(), r.want)
		}
	}
	bad := &Error{Message: "m"}
	if bad.Detail() != "m" || (&Error{File: "f", Message: "m"}).Error() != "f: m" {
		t.Error("errors without a place")
	}
}

// What is too long or too much is refused before it is read.
func TestBounds(t *testing.T) {
	name := strings.Repeat("a", NameBytesMax)
	if _, err := ParsePlan(name, []byte("limits: {a: {algorithm: tb, limit: 5, window: 1m}}")); err != nil {
		t.Error(err)
	}
	one := "{algorithm: tb, limit: 5, window: 1m}"
	var limits, costs strings.Builder
	for i := range LimitsMax + 1 {
		limits.WriteString(", l" + strings.Repeat("x", i) + ": " + one)
	}
	for i := range CostsMax + 1 {
		costs.WriteString(", e" + strconv.Itoa(i) + ": 1")
	}
	rows := []struct{ name, text, want string }{
		{name + "a", "{}", "a plan's name is too long: at most 128 bytes, got 129"},
		{"", "{}", "a plan's name must be made of small letters, digits, '.', '_' and '-', got ''"},
		{"a b", "{}", "a plan's name must be made of small letters, digits, '.', '_' and '-', got 'a b', such as 'a-b'"},
		{"p", strings.Repeat(" ", TextBytesMax+1), "the text is too long: at most 1048576 bytes, got 1048577"},
		{"p", "limits: {" + limits.String()[2:] + "}", "limits: a plan may have at most 64 limits, got 65 (line 1, column 9)"},
		{"p", "limits: {a: " + one + "}\ncosts: {" + costs.String()[2:] + "}", "costs: a plan may price at most 10000 endpoints, got 10001 (line 2, column 8)"},
		{"p", "limits: {a: " + one + "}\ncosts: {" + strings.Repeat("x", EndpointBytesMax+1) + ": 1}", "an endpoint's name must have 1 to 256 bytes, got 257"},
		{"p", "limits: {a: " + one + "}\noverrides: {" + strings.Repeat("x", KeyBytesMax+1) + ": {}}", "a key has at most 65536 bytes, got 65537"},
	}
	for _, r := range rows {
		_, err := ParsePlan(r.name, []byte(r.text))
		if err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%.40q: got %v, want %s", r.text, err, r.want)
		}
	}
	for name, text := range map[string]string{"a rule's name must be": "{match: /, per: ip, plan: p}", "the text is too long": strings.Repeat(" ", TextBytesMax+1)} {
		if _, err := ParseRule("R", []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	var overrides strings.Builder
	for i := range overriddenMax/LimitsMax + 1 {
		overrides.WriteString(", k" + strconv.Itoa(i) + ": {}")
	}
	all := limits.String()[2:strings.LastIndex(limits.String(), ", lx")]
	_, err := ParseFile("f", []byte("plans: {p: {limits: {"+all+"}, overrides: {"+overrides.String()[2:]+"}}}"))
	if want := "a plan of 64 limits may have at most 15625 overrides, got 15626"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	// What is long and cannot be cut does not go to the parser.
	odd := strings.Repeat("a: 1\n", uncutTokensMax/3+1) + "b\n"
	if _, err := ParseFile("f", []byte(odd)); err == nil || err.Error() != "f:16668:1: a name with a ':' is expected here, or a list's '-'" {
		t.Errorf("got %v", err)
	}
	p := mustPlan(t, "p", "limits: {a: "+one+"}")
	many := map[string]*Plan{}
	for i := range PlansMax {
		many["p"+strconv.Itoa(i)] = p
	}
	b, err := NewBook(nil, Set{Plans: many})
	if err != nil {
		t.Fatal(err)
	}
	const tooMany = "there may be at most 100000 plans and 100000 rules, got 100001 and 0"
	if _, err := b.WithPlan(p); err == nil || err.Error() != tooMany {
		t.Errorf("got %v, want %s", err, tooMany)
	}
	many["p"] = p
	if _, err := NewBook(nil, Set{Plans: many}); err == nil || err.Error() != tooMany {
		t.Errorf("got %v, want %s", err, tooMany)
	}
}

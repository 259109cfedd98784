package server

// The rows of ACL: users, what they may do, and what was refused to them. Rules and
// replies are those of Redis 7.

// forOperators are the flags of a command about users.
const forOperators = FlagAdmin | FlagLoading | FlagStale

var accessCommands = []*Command{{
	Name: "ACL", Group: "server", Since: "0.1.0", Complexity: "Depends on the subcommand.",
	Summary: "Tells and sets who may do what.",
	Arity:   -2,
	Sub: []*Command{
		{
			Name: "ACL SETUSER", Since: "0.1.0", Complexity: "O(N), N rules", Arity: -3, Flags: forOperators | FlagSession,
			Summary: "Makes a user, or changes one by rules.",
			Details: "Rules are those of Redis 7 without selectors: `on` `off`, `>password` `<password` `#sha256` `!sha256` `nopass` `resetpass`, `~pattern` `%R~pattern` " +
				"`%W~pattern` `allkeys` `resetkeys`, `+command` `-command` `+command|sub` `+@category` `-@category` `allcommands` `nocommands`, `reset`. A new user may do nothing and is off. " +
				"The rules apply in order, all or none, and are felt at once by those who are logged in. A command that changes keys wants both reading and writing of them; " +
				"RL.COMMIT and RL.CANCEL want it of the reservation's key. SCAN, KEYS and RANDOMKEY show keys of any name.",
			Args:  []Arg{{Name: "username"}, {Name: "rule", Optional: true, Multiple: true}},
			Reply: "Simple string OK.", run: runACLSetUser,
			Examples: []Example{{"ACL SETUSER web on >s3cret ~user:* +@ratelimit", "OK"}, {"ACL DRYRUN web RL.ALLOW user:42 gcra 10 1s", "OK"}, {"ACL DRYRUN web FLUSHALL", `"User web has no permissions to run the 'flushall' command"`}},
			Refusals: []Refusal{
				{"ACL SETUSER web sesame", "ERR Error in ACL SETUSER modifier 'sesame': Syntax error"},
				{"ACL SETUSER web +nosuch", "ERR Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"},
				{"ACL SETUSER web <s3cret", "ERR Error in ACL SETUSER modifier '<(a password)': The password you are trying to remove from the user does not exist"},
				{"ACL SETUSER web !s3cret", "ERR Error in ACL SETUSER modifier '!s3cret': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
				{"ACL SETUSER 'a b' on", "ERR Usernames can't contain spaces or null characters"},
			},
		},
		{
			Name: "ACL GETUSER", Since: "0.1.0", Complexity: "O(N), N rules", Arity: 3, Flags: forOperators,
			Summary: "Tells the rules of a user.", Args: []Arg{{Name: "username"}},
			Reply: "Map: flags, passwords (as SHA-256), commands, keys, channels, selectors; nil for a user that there is not.", run: runACLGetUser,
			Examples: []Example{{"ACL GETUSER default", " 1) \"flags\"\n 2) 1) \"on\"\n    2) \"nopass\"\n 3) \"passwords\"\n 4) (empty array)\n 5) \"commands\"\n 6) \"+@all\"\n 7) \"keys\"\n 8) \"~*\"\n 9) \"channels\"\n10) \"&*\"\n11) \"selectors\"\n12) (empty array)"}},
		},
		{
			Name: "ACL DELUSER", Since: "0.1.0", Complexity: "O(N), N users", Arity: -3, Flags: forOperators | FlagSession,
			Summary: "Deletes users and closes their connections.", Args: []Arg{{Name: "username", Multiple: true}},
			Reply: "Integer: how many there were.", run: runACLDelUser,
			Examples: []Example{{"ACL SETUSER web on", "OK"}, {"ACL DELUSER web nobody", "(integer) 1"}},
			Refusals: []Refusal{{"ACL DELUSER default", "ERR The 'default' user cannot be removed"}},
		},
		{
			Name: "ACL LIST", Since: "0.1.0", Complexity: "O(N), N users", Arity: 2, Flags: forOperators,
			Summary: "Lists the users with their rules, as the file has them.", Reply: "Array of lines.", run: runACLList,
			Examples: []Example{{"ACL LIST", `1) "user default on nopass ~* &* +@all"`}},
		},
		{
			Name: "ACL USERS", Since: "0.1.0", Complexity: "O(N), N users", Arity: 2, Flags: forOperators,
			Summary: "Lists the names of the users.", Reply: "Array of names.", run: runACLUsers,
			Examples: []Example{{"ACL USERS", `1) "default"`}},
		},
		{
			Name: "ACL WHOAMI", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagLoading | FlagStale,
			Summary: "Tells as whom this connection is logged in.", Reply: "Bulk string: the user's name.", run: runWhoAmI,
			Examples: []Example{{"ACL WHOAMI", `"default"`}},
		},
		{
			Name: "ACL CAT", Since: "0.1.0", Complexity: "O(N), N commands", Arity: -2, Flags: FlagLoading | FlagStale,
			Summary: "Lists the categories, or the commands of one.", Args: []Arg{{Name: "category", Optional: true}},
			Reply: "Array of names.", run: runACLCat,
			Examples: []Example{{"ACL CAT read", " 1) \"rl.peek\"\n 2) \"rl.inspect\"\n..."}},
			Refusals: []Refusal{{"ACL CAT nosuch", "ERR Unknown category 'nosuch'"}},
		},
		{
			Name: "ACL DRYRUN", Since: "0.1.0", Complexity: "O(N), N arguments", Arity: -4, Flags: forOperators,
			Summary: "Tells whether a user could have a command done.",
			Args:    []Arg{{Name: "username"}, {Name: "command"}, {Name: "arg", Optional: true, Multiple: true}},
			Reply:   "Simple string OK, or a bulk string that says what is missing.", run: runACLDryRun,
			Examples: []Example{{"ACL DRYRUN default FLUSHALL", "OK"}},
			Refusals: []Refusal{
				{"ACL DRYRUN nobody PING", "ERR User 'nobody' not found"},
				{"ACL DRYRUN default nosuch", "ERR Command 'nosuch' not found"},
			},
		},
		{
			Name: "ACL GENPASS", Since: "0.1.0", Complexity: "O(1)", Arity: -2, Flags: FlagLoading | FlagStale,
			Summary: "Makes a password by chance.", Args: []Arg{{Name: "bits", Type: "integer", Optional: true, Summary: "1 to 4096, 256 where not given"}},
			Reply: "Bulk string of hexadecimal digits.", run: runACLGenPass,
			Refusals: []Refusal{{"ACL GENPASS 0", "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096"}},
		},
		{
			Name: "ACL LOG", Since: "0.1.0", Complexity: "O(N), N entries", Arity: -2, Flags: forOperators,
			Summary: "Tells what was refused lately, and to whom.",
			Details: "At most 128 entries are remembered, and 10 are told where no number is given. Like ones within a minute are one.",
			Args:    []Arg{{Name: "count", Type: "oneof", Optional: true, Args: []Arg{{Name: "count", Type: "integer"}, {Name: "reset", Type: "pure-token", Token: "RESET"}}}},
			Reply:   "Array of maps: count, reason (auth, command or key), context, object, username, age-seconds, client-info, entry-id, timestamp-created, timestamp-last-updated. OK for RESET.", run: runACLLog,
			Examples: []Example{{"ACL LOG", "(empty array)"}, {"ACL LOG RESET", "OK"}},
			Refusals: []Refusal{{"ACL LOG all", "ERR count must be a whole number from 0 to 128, got 'all', or RESET"}},
		},
		{
			Name: "ACL LOAD", Since: "0.1.0", Complexity: "O(N), N users", Arity: 2, Flags: forOperators | FlagSession,
			Summary: "Reads the users from the file, all or nothing.",
			Details: "Users that are not in the file are deleted and their connections closed; default stays as it is where the file does not have it.",
			Reply:   "Simple string OK.", run: runACLLoad,
			Refusals: []Refusal{{"ACL LOAD", "ERR no file of users is configured; start the server with --acl-file PATH"}},
		},
		{
			Name: "ACL SAVE", Since: "0.1.0", Complexity: "O(N), N users", Arity: 2, Flags: forOperators,
			Summary: "Writes the users to the file.", Reply: "Simple string OK.", run: runACLSave,
			Refusals: []Refusal{{"ACL SAVE", "ERR no file of users is configured; start the server with --acl-file PATH"}},
		},
	},
}}

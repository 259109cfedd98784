package server

// The rows of the commands about a connection: what clients send when they
// connect, before they ask anything about a limit.

// always are the flags of a command that is answered whatever happens.
const always = FlagFast | FlagLoading | FlagStale

var connectionCommands = []*Command{
	{
		Name: "PING", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Answers, so that one sees that the server does.",
		Arity:   -1, Flags: always | FlagMulti,
		Args:     []Arg{{Name: "message", Optional: true}},
		Reply:    "Simple string PONG, or the message as a bulk string.",
		run:      runPing,
		Examples: []Example{{"PING", "PONG"}, {"PING hello", `"hello"`}},
	},
	{
		Name: "ECHO", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Sends a message back.",
		Arity:   2, Flags: always | FlagMulti,
		Args:     []Arg{{Name: "message"}},
		Reply:    "Bulk string: the message.",
		run:      runEcho,
		Examples: []Example{{"ECHO hello", `"hello"`}},
	},
	{
		Name: "HELLO", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Chooses RESP2 or RESP3 and tells what server this is.",
		Details: "AUTH logs in as the command AUTH does. Nothing is changed unless all options are right. " +
			"`version` is the version of Redis whose protocol and replies clients may expect; INFO tells Sluice's own as `sluice_version`.",
		Arity: -1, Flags: always | FlagNoAuth | FlagSession,
		Args: []Arg{{Name: "options", Type: "block", Optional: true, Args: []Arg{
			{Name: "protover", Type: "integer", Summary: "2 or 3"},
			{Name: "auth", Type: "block", Token: "AUTH", Optional: true, Args: []Arg{{Name: "username"}, {Name: "password"}}},
			{Name: "clientname", Token: "SETNAME", Optional: true},
		}}},
		Reply: "Map: server, version, proto, id, mode, role, modules.",
		run:   runHello,
		Examples: []Example{
			{"HELLO 2", " 1) \"server\"\n 2) \"redis\"\n 3) \"version\"\n 4) \"" + RedisVersion + "\"\n 5) \"proto\"\n 6) (integer) 2\n 7) \"id\"\n 8) (integer) 1\n 9) \"mode\"\n10) \"standalone\"\n11) \"role\"\n12) \"master\"\n13) \"modules\"\n14) (empty array)"},
		},
		Refusals: []Refusal{
			{"HELLO 4", "NOPROTO unsupported protocol version"},
			{"HELLO x", "ERR Protocol version is not an integer or out of range"},
			{"HELLO 3 AUTH root secret", errWrongPass},
			{"HELLO 3 SETNAME 'a b'", "ERR Client names cannot contain spaces, newlines or special characters."},
			{"HELLO 3 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"},
		},
	},
	{
		Name: "AUTH", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Logs in as a user, as default where none is named.",
		Details: "A user that needs no password, as default does until `requirepass` or ACL SETUSER gives it one, takes any. Wrong passwords are " +
			"logged with the peer's address and answered the later, the more of them come from there.",
		Arity: -2, Flags: always | FlagNoAuth | FlagSession,
		Args:     []Arg{{Name: "username", Optional: true}, {Name: "password"}},
		Reply:    "Simple string OK.",
		run:      runAuth,
		Examples: []Example{{"AUTH default secret", "OK"}},
		Refusals: []Refusal{
			{"AUTH secret", errNoPassword},
			{"AUTH root secret", errWrongPass},
		},
	},
	{
		Name: "SELECT", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Accepts a database number from 0 to 15 and changes nothing.",
		Details: "All sixteen numbers are names for one and the same key space, for clients that are configured with a number.",
		Arity:   2, Flags: always | FlagMulti,
		Args:     []Arg{{Name: "index", Type: "integer", Summary: "0 to 15"}},
		Reply:    "Simple string OK.",
		run:      runSelect,
		Examples: []Example{{"RL.ALLOW user:42 gcra 10 10s", "1) (integer) 1\n2) (integer) 10\n3) (integer) 9\n4) (integer) 0\n5) (integer) 1000\n6) (integer) 0"}, {"SELECT 15", "OK"}, {"EXISTS user:42", "(integer) 1"}},
		Refusals: []Refusal{
			{"SELECT 16", "ERR DB index is out of range"},
			{"SELECT one", "ERR value is not an integer or out of range"},
		},
	},
	{
		Name: "RESET", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Puts the connection back as it was when it was opened: RESP2, no name, the user default if that needs no password.",
		Details: "It is about the connection. To make a key fresh use RL.RESET.",
		Arity:   1, Flags: always | FlagNoAuth | FlagSession,
		Reply:    "Simple string RESET.",
		run:      runReset,
		Examples: []Example{{"CLIENT SETNAME worker", "OK"}, {"RESET", "RESET"}, {"CLIENT GETNAME", "(nil)"}},
	},
	{
		Name: "QUIT", Group: "connection", Since: "0.1.0", Complexity: "O(1)",
		Summary: "Closes the connection after all replies have been sent.",
		Arity:   -1, Flags: always | FlagNoAuth,
		Reply:    "Simple string OK.",
		run:      runQuit,
		Examples: []Example{{"QUIT", "OK"}},
	},
	{
		Name: "CLIENT", Group: "connection", Since: "0.1.0", Complexity: "Depends on the subcommand.",
		Summary: "Tells and sets what is known about a connection.",
		Arity:   -2,
		Sub: append([]*Command{
			{
				Name: "CLIENT ID", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: always,
				Summary: "Tells the number of the connection.",
				Reply:   "Integer: 1 for the first since the start, and so on.", run: runClientID,
				Examples: []Example{{"CLIENT ID", "(integer) 1"}},
			},
			{
				Name: "CLIENT GETNAME", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: always,
				Summary: "Tells the name that CLIENT SETNAME or HELLO gave the connection.",
				Reply:   "Bulk string: the name; nil where none was given.", run: runClientGetName,
				Examples: []Example{{"CLIENT GETNAME", "(nil)"}},
			},
			{
				Name: "CLIENT SETNAME", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: always,
				Summary: "Gives the connection a name.",
				Args:    []Arg{{Name: "connection-name", Summary: "printable, without spaces; an empty one takes the name away"}},
				Reply:   "Simple string OK.", run: runClientSetName,
				Examples: []Example{{"CLIENT SETNAME worker-7", "OK"}, {"CLIENT GETNAME", `"worker-7"`}},
				Refusals: []Refusal{{"CLIENT SETNAME 'a b'", "ERR Client names cannot contain spaces, newlines or special characters."}},
			},
			{
				Name: "CLIENT SETINFO", Since: "0.1.0", Complexity: "O(1)", Arity: 4, Flags: always,
				Summary: "Tells the server which library, in which version, a client uses.",
				Args: []Arg{{Name: "attr", Type: "oneof", Args: []Arg{
					{Name: "libname", Token: "LIB-NAME"}, {Name: "libver", Token: "LIB-VER"},
				}}},
				Reply: "Simple string OK.", run: runClientSetInfo,
				Examples: []Example{{"CLIENT SETINFO LIB-NAME go-redis", "OK"}, {"CLIENT SETINFO LIB-VER 9.23.0", "OK"}},
				Refusals: []Refusal{
					{"CLIENT SETINFO LIB-OWNER me", "ERR Unrecognized option 'LIB-OWNER', it must be LIB-NAME or LIB-VER"},
					{"CLIENT SETINFO LIB-NAME 'a b'", "ERR lib-name cannot contain spaces, newlines or special characters."},
				},
			},
		}, clientRows...),
		Refusals: []Refusal{{"CLIENT MAINT_NOTIFICATIONS ON", "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."}},
	},
}

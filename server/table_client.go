package server

// The rows of CLIENT beyond names: connections as others see them, and what a client
// may ask of its own.

// isSession are the flags of a command that changes how the next ones are treated.
const isSession = always | FlagSession

var clientRows = []*Command{
	{
		Name: "CLIENT INFO", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: always,
		Summary: "Describes the connection.", Reply: "Verbatim string (RESP2: bulk string): a line of field=value.", run: runClientInfo,
	},
	{
		Name: "CLIENT LIST", Since: "0.1.0", Complexity: "O(N), N connections", Arity: -2, Flags: FlagAdmin | FlagLoading | FlagStale,
		Summary: "Describes connections.",
		Args:    []Arg{{Name: "filter", Type: "oneof", Optional: true, Args: []Arg{{Name: "type", Token: "TYPE"}, {Name: "id", Type: "integer", Token: "ID", Multiple: true}}}},
		Reply:   "Verbatim string (RESP2: bulk string): a line for each.", run: runClientList,
		Refusals: []Refusal{{"CLIENT LIST TYPE strange", "ERR Unknown client type 'strange'"}, {"CLIENT LIST ID x", "ERR Invalid client ID"}, {"CLIENT LIST ALL", "ERR syntax error, it must be TYPE type or ID id [id ...]"}},
	},
	{
		Name: "CLIENT KILL", Since: "0.1.0", Complexity: "O(N), N connections", Arity: -3, Flags: FlagAdmin | FlagLoading | FlagStale,
		Summary: "Closes connections.",
		Args: []Arg{{Name: "filter", Type: "oneof", Args: []Arg{{Name: "address"}, {Name: "filters", Type: "block", Multiple: true, Args: []Arg{
			{Name: "client-id", Type: "integer", Token: "ID", Optional: true}, {Name: "address", Token: "ADDR", Optional: true}, {Name: "address", Token: "LADDR", Optional: true},
			{Name: "type", Token: "TYPE", Optional: true}, {Name: "username", Token: "USER", Optional: true}, {Name: "seconds", Token: "MAXAGE", Optional: true}, {Name: "yes/no", Token: "SKIPME", Optional: true},
		}}}}},
		Reply: "Integer: how many; OK where one address was given.", run: runClientKill,
		Examples: []Example{{"CLIENT KILL TYPE normal", "(integer) 0"}},
		Refusals: []Refusal{
			{"CLIENT KILL 192.0.2.1:5", "ERR No such client"},
			{"CLIENT KILL ID 0", "ERR client-id should be greater than 0"},
			{"CLIENT KILL ID", "ERR No such client"},
			{"CLIENT KILL USER nobody", "ERR No such user 'nobody'"},
			{"CLIENT KILL SKIPME maybe", "ERR SKIPME must be yes or no"},
		},
	},
	{
		Name: "CLIENT REPLY", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: isSession,
		Summary: "Says whether replies are wanted: ON, OFF, or not the next one (SKIP).",
		Args:    []Arg{{Name: "action", Type: "oneof", Args: []Arg{{Name: "on", Type: "pure-token", Token: "ON"}, {Name: "off", Type: "pure-token", Token: "OFF"}, {Name: "skip", Type: "pure-token", Token: "SKIP"}}}},
		Reply:   "OK for ON; none for the others.", run: runClientReply,
		Examples: []Example{{"CLIENT REPLY ON", "OK"}},
		Refusals: []Refusal{{"CLIENT REPLY NEVER", "ERR CLIENT REPLY must be ON, OFF or SKIP, got 'NEVER'"}},
	},
	{
		Name: "CLIENT PAUSE", Since: "0.1.0", Complexity: "O(1)", Arity: -3, Flags: FlagAdmin | FlagLoading | FlagStale | FlagSession,
		Summary: "Has commands of all connections wait, but for those about connections and for operators.",
		Args: []Arg{{Name: "timeout", Type: "integer", Summary: "milliseconds"}, {Name: "mode", Type: "oneof", Optional: true, Args: []Arg{
			{Name: "write", Type: "pure-token", Token: "WRITE"}, {Name: "all", Type: "pure-token", Token: "ALL"},
		}}},
		Reply: "Simple string OK.", run: runClientPause,
		Examples: []Example{{"CLIENT PAUSE 0 WRITE", "OK"}, {"CLIENT UNPAUSE", "OK"}},
		Refusals: []Refusal{{"CLIENT PAUSE 10 READ", "ERR the mode of CLIENT PAUSE must be WRITE or ALL, got 'READ'"}},
	},
	{
		Name: "CLIENT UNPAUSE", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: FlagAdmin | FlagLoading | FlagStale | FlagSession,
		Summary: "Ends a pause.", Reply: "Simple string OK.", run: runClientUnpause,
	},
	clientToggle("CLIENT NO-EVICT"),
	clientToggle("CLIENT NO-TOUCH"),
	{
		Name: "CLIENT TRACKING", Since: "0.1.0", Complexity: "O(1)", Arity: -3, Flags: isSession,
		Summary: "Has the server push what has changed to a client that caches, in RESP3.",
		Details: "An answer about a limit changes by itself as time goes by. So each key is told to have changed right after it was read, and nothing is ever stale in a client's cache.",
		Args: []Arg{{Name: "status", Type: "oneof", Args: []Arg{{Name: "on", Type: "pure-token", Token: "ON"}, {Name: "off", Type: "pure-token", Token: "OFF"}}},
			{Name: "optin", Type: "pure-token", Token: "OPTIN", Optional: true}, {Name: "optout", Type: "pure-token", Token: "OPTOUT", Optional: true},
			{Name: "noloop", Type: "pure-token", Token: "NOLOOP", Optional: true}, {Name: "bcast", Type: "pure-token", Token: "BCAST", Optional: true},
			{Name: "prefix", Token: "PREFIX", Optional: true, Multiple: true}},
		Reply: "Simple string OK.", run: runClientTracking,
		Examples: []Example{{"CLIENT TRACKING OFF", "OK"}},
		Refusals: []Refusal{
			{"CLIENT TRACKING ON", "ERR CLIENT TRACKING needs RESP3, in which what changed can be pushed; say HELLO 3 first"},
			{"CLIENT TRACKING ON REDIRECT 5", "ERR REDIRECT is not supported: use HELLO 3, and what changed is pushed on the connection itself"},
			{"CLIENT TRACKING MAYBE", "ERR CLIENT TRACKING must be ON or OFF, got 'MAYBE'"},
		},
	},
	{
		Name: "CLIENT CACHING", Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: always,
		Summary: "Says whether the keys of the next command are cached.",
		Args:    []Arg{{Name: "mode", Type: "oneof", Args: []Arg{{Name: "yes", Type: "pure-token", Token: "YES"}, {Name: "no", Type: "pure-token", Token: "NO"}}}},
		Reply:   "Simple string OK.", run: runClientCaching,
		Refusals: []Refusal{{"CLIENT CACHING YES", "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"}},
	},
	{
		Name: "CLIENT TRACKINGINFO", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: always,
		Summary: "Tells how keys are tracked.", Reply: "Map: flags, redirect, prefixes.", run: runClientTrackingInfo,
		Examples: []Example{{"CLIENT TRACKINGINFO", "1) \"flags\"\n2) 1) off\n3) \"redirect\"\n4) (integer) -1\n5) \"prefixes\"\n6) (empty array)"}},
	},
	{
		Name: "CLIENT GETREDIR", Since: "0.1.0", Complexity: "O(1)", Arity: 2, Flags: always,
		Summary: "Tells where what changed is pushed to.", Reply: "Integer: 0 for this connection, -1 for nowhere.", run: runClientGetRedir,
		Examples: []Example{{"CLIENT GETREDIR", "(integer) -1"}},
	},
}

// clientToggle is a command that is taken and changes nothing.
func clientToggle(name string) *Command {
	return &Command{
		Name: name, Since: "0.1.0", Complexity: "O(1)", Arity: 3, Flags: always,
		Summary: "Is taken and changes nothing: no connection or key is thrown away for having been used less.",
		Args:    []Arg{{Name: "enabled", Type: "oneof", Args: []Arg{{Name: "on", Type: "pure-token", Token: "ON"}, {Name: "off", Type: "pure-token", Token: "OFF"}}}},
		Reply:   "Simple string OK.", run: runClientToggle,
		Examples: []Example{{name + " on", "OK"}},
		Refusals: []Refusal{{name + " maybe", "ERR it must be on or off, got 'maybe'"}},
	}
}

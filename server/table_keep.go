package server

// The rows of the commands that save what the server keeps, and end it.

var keepCommands = []*Command{
	{
		Name: "SAVE", Group: "server", Since: "0.1.0", Complexity: "O(N), N keys", Arity: 1, Flags: FlagAdmin,
		Summary: "Writes a snapshot and waits for it. Other connections are served meanwhile.",
		Reply:   "OK; an error if it could not be written, and then the last snapshot and the journal stay.",
		run:     runSave,
	},
	{
		Name: "BGSAVE", Group: "server", Since: "0.1.0", Complexity: "O(1); the snapshot is O(N), N keys", Arity: -1, Flags: FlagAdmin,
		Summary: "Begins a snapshot and returns; INFO persistence tells how it went.",
		Args:    []Arg{{Name: "schedule", Type: "pure-token", Token: "SCHEDULE", Optional: true}},
		Reply:   "Simple string: Background saving started; an error if a snapshot is being written already.",
		run:     runBackgroundSave,
	},
	{
		Name: "LASTSAVE", Group: "server", Since: "0.1.0", Complexity: "O(1)", Arity: 1, Flags: FlagReadonly | FlagFast | FlagStale,
		Summary: "Tells when the last snapshot that worked was begun.",
		Reply:   "Integer: Unix time in seconds; 0 if there is none.",
		run:     runLastSave,
	},
	{
		Name: "SHUTDOWN", Group: "server", Since: "0.1.0", Complexity: "O(N) with a snapshot, N keys", Arity: -1,
		Flags:   FlagAdmin | FlagLoading,
		Summary: "Ends the server; everything that the journal is owed is written first.",
		Details: "A snapshot is written as well, unless NOSAVE is given, nothing is kept, or the data are still being loaded. If it fails the server goes on.",
		Args: []Arg{{Name: "save", Type: "oneof", Optional: true, Args: []Arg{
			{Name: "nosave", Type: "pure-token", Token: "NOSAVE"}, {Name: "save", Type: "pure-token", Token: "SAVE"},
		}}},
		Reply: "None: the connection is closed. An error if the server goes on.",
		run:   runShutdown,
	},
}

// Package server speaks the Redis protocol: connections, the command table,
// replies.
//
// Where to look:
//
//	server.go       listeners and connections, start and end
//	session.go      one connection: from what was read to what is written
//	descriptor_*.go how a session reads from its socket and writes to it
//	tend.go         connections that are closed for what they do not do
//	reader.go       requests out of bytes
//	memo.go         the short way for a request that repeats
//	command.go      the table: what a row is, look-up, arity, usage
//	table_*.go      the rows, one file a group
//	reply.go        RESP2 and RESP3
//
//	limits.go       arguments and replies of the limiter commands
//	together.go     all or nothing over several keys
//	settle.go       ids, reservations; permits.go: permits
//	throttle.go     the names that other limiters use
//	inspect.go      RL.INSPECT
//	keyspace.go     the commands that Redis users know for keys
//	scan.go         those that go over all keys; glob.go: their patterns
//
//	access.go       logging in, and the check of a request against a user's rules
//	acl.go          the ACL commands; peers.go: addresses, strangers, guesses
//	connection.go   HELLO, CLIENT, PING and other commands about a connection
//	client.go       CLIENT LIST, INFO and KILL
//	modes.go        what few connections are in: replies that are off, tracking, pauses
//	multi.go        transactions; monitor.go: MONITOR and SLOWLOG
//	answers.go      what tools ask a Redis server; FCALL
//	introspect.go   COMMAND; docs.go: COMMAND DOCS; help.go: RL.HELP
//	info.go         the table of statistics, which INFO prints
//	metrics.go      the metrics; metrics_table.go: their rows; measure.go: counting
//	watch.go        who is limited, and why
//	canary.go       whether limiting works, found out by being limited
//	admin.go        probes, metrics and profiles over HTTP; control.go: the control plane
//	settings.go     CONFIG, which tells and changes the settings (internal/settings)
//	clock.go        TIME and the test clock
//	keep.go         what is saved, and what is answered while it is loaded
//
// How it is tested: the examples of every row run (examples_test.go), transcripts
// in testdata show behaviour (transcript_test.go says how they are written), and
// docs/commands.md is generated (docs_test.go).
//
// A new command is one row and one pair of parse and write (or one run).
package server

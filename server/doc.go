// Package server speaks the Redis protocol: connections, the command table,
// replies.
//
// Where to look:
//
//	server.go       listeners and connections, start and end
//	session.go      one connection: from what was read to what is written
//	reader.go       requests out of bytes
//	memo.go         the short way for a request that repeats
//	command.go      the table: what a row is, look-up, arity, usage
//	table_*.go      the rows, one file a group
//	limits.go       arguments and replies of the limiter commands
//	keyspace.go     the commands that Redis users know for keys
//	connection.go   HELLO, CLIENT, PING and other commands about a connection
//	introspect.go   COMMAND, INFO, CONFIG, RL.HELP
//	reply.go        RESP2 and RESP3
//
// A new command is one row and one pair of parse and write (or one run).
package server

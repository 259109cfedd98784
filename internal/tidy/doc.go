// Package tidy keeps the house in order. It has nothing to run: its test reads every Go file of the module and complains
// about what the design rules out and the compiler lets pass: an import that points the wrong way, a second place that
// asks what time it is, a float in a decision, a function too long to read.
//
//	source.go    finds and parses the files
//	house.go     which package may import which
//	core.go      what decisions and the shard's core must not contain
//	style.go     what holds for every file: time and chance, sizes, comments
//	decisions.go the pages of docs/decisions and their table of contents
//
// A rule is a function from a file to complaints, with a row in the table of rules. A rule that cannot fail is worse than
// none, so rules_test.go holds at least one snippet that each rule must catch and one that it must let pass; a rule
// without them fails the test. An exception is a row in a table, with its reason; there are few and they are meant to
// stay few. To change what is ruled, change the design first.
package tidy

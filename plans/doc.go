// Package plans holds what a caller may name instead of spelling it out: plans
// (several limits under one name, with prices of endpoints and exceptions for
// single keys) and rules (which plan a gateway's request falls under, and whose).
//
// Nothing here decides, counts or keeps time. A Book is the whole of it, checked
// and immutable: the server reads one behind an atomic pointer and swaps the
// pointer when plans change. What can be wrong is found when a text is read or a
// book is made, never when a call looks something up.
//
//	text ── ParseFile ──► File ─┐
//	                            ├─ NewBook ──► Book ── Plan ──► For, Cost
//	text ── ParsePlan ──► Plan ─┤                  └─ Match, AppendKey
//	text ── ParseRule ──► Rule ─┘ (Set: by command)
//
// # What a book promises
//
//  1. A plan has at least one limit, every limit is legal, and a limit's name
//     means one kind of thing (units, money or permits) in all plans: the state of
//     a limit is named after the limit and the key, whatever the plan is called.
//  2. Every plan that a rule names is there.
//  3. For each request one rule is the most specific, or all of the most specific
//     ones say enforce: all.
//  4. Equal sets of plans and rules have equal versions, on every machine.
//  5. Looking something up neither allocates nor takes longer the more there is.
//
// # Who wins
//
// What a command has set stands in front of what the file says under the same
// name, also after the file is read again, until the command's is deleted: then
// the file's is there again. A Redis user knows this from CONFIG SET.
//
// # Where things are
//
//	error.go    an error that shows the place
//	node.go     a text as a tree; yaml.go makes it, with cut.go where it is long
//	reader.go   fields, names and values, with what would be right
//	terms.go    what a text says about one limit; terms_read.go reads it
//	plan.go     plans; read.go reads them, override.go finds a key's own terms
//	state.go    what the state of a key's limit is named
//	write.go    canonical forms
//	rule.go     rules; pattern.go says what they match, conflict.go when two cannot
//	            be put in order, tree.go finds them, path.go reads a path
//	identity.go whom a rule counts, address.go the IP address among them
//	file.go     the configuration file
//	book.go     all of it together; change.go makes the next one
package plans

// Package access decides who may do what: users with passwords, and rules over commands and keys, in the notation of
// Redis 7's ACL.
//
//	catalog.go  the commands that rules speak of, as numbers and sets
//	user.go     a user: what it may do, and how that is asked
//	rules.go    rules as text, read into a user and written out again
//	users.go    all users, under names; logging in
//	file.go     the file that they are kept in
//
// A User never changes. A rule makes another one, which an Account, the name that sessions hold, then points to. So
// whoever asks needs no lock, and a changed rule is felt by sessions that are logged in already.
//
// Passwords are kept as their SHA-256 and compared in constant time. That is right for long random passwords, as
// ACL GENPASS makes them, and does not make a short one safe from somebody who reads the file.
package access

// With -tags invariants what the comments that begin "Invariant:" say is checked while the code runs.

//go:build invariants

package persistence

const invariants = true

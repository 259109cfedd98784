// Without -tags invariants the checks cost nothing.

//go:build !invariants

package persistence

const invariants = false

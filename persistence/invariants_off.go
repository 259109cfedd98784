// Without -tags invariants the checks that comments beginning "Invariant:" name are compiled away and cost nothing.

//go:build !invariants

package persistence

const invariants = false

// Without -tags invariants the checks cost nothing.

//go:build !invariants

package shard

const invariants = false

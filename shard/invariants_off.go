// Without -tags invariants nobody walks over a core while it works,
// and the checks cost nothing.

//go:build !invariants

package shard

const invariants = false

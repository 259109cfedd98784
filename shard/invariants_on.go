// With -tags invariants a core walks over itself while it works and panics where something does not hold; verify.go says
// what must.

//go:build invariants

package shard

const invariants = true

//go:build !unmeasured

package shard

// With this file decisions are counted and watched: in every server but the one that `make
// bench-metrics` builds to find out what they cost.

const counting = true

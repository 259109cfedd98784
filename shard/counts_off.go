//go:build unmeasured

package shard

// With this file no decision is counted or watched: only in the server that
// `make bench-metrics` builds to find out what metrics cost.

const counting = false

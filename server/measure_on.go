//go:build !unmeasured

package server

// With this file metrics are measured: in every server but the one that `make
// bench-metrics` builds to find out what they cost.

const measuring = true

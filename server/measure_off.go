//go:build unmeasured

package server

// With this file nothing is measured, INFO and SLOWLOG included: only in the server that
// `make bench-metrics` builds to find out what metrics cost.

const measuring = false

// Package server without its guards, for make bench-guards to compare with; see
// guarded.go.

//go:build unguarded

package server

const guarded = false

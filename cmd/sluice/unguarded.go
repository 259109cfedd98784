// A server without guards is for benchmarks of package server, and there is no binary of
// one: this file does not compile.

//go:build unguarded

package main

const _ int = "the tag unguarded is for make bench-guards"

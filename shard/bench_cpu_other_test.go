//go:build !linux

package shard

import "time"

var testsBegan = time.Now()

// processTime and threadTime are the time that has gone by, where processor time is
// not known.
func processTime() time.Duration { return time.Since(testsBegan) }
func threadTime() time.Duration  { return time.Since(testsBegan) }

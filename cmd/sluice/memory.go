package main

// How --max-memory is shared out. The tables of keys get all but a reserve:
// connections and what the garbage collector has not collected yet live there, and
// the collector is told to keep to it. A table holds no pointers, so collecting more
// often because memory is tight costs a few milliseconds of one core, however large
// the table is.

import (
	"os"
	"runtime/debug"

	"sluice/persistence"
)

// memoryReserveMinBytes is the least that is left for all but the tables.
const memoryReserveMinBytes = 8 << 20

// tableBytes is what of --max-memory the tables of keys may take.
func tableBytes(memory int64) int64 {
	return memory - max(memory/10, memoryReserveMinBytes)
}

// heldBytes is how much of --max-memory may wait to be durable.
func heldBytes(memory int64) int64 {
	return min(max(memory/20, memoryReserveMinBytes/2), persistence.HeldBytesMax)
}

// limitMemory tells the runtime to keep to --max-memory, unless the environment says
// otherwise.
func limitMemory(memory int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
}

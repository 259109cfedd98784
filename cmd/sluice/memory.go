package main

// How much memory there is (the machine's, or less where a cgroup says so) and how
// --max-memory is shared out. The tables of keys get all but a reserve: connections
// and what the garbage collector has not collected yet live there, and the collector
// is told to keep to it. A table holds no pointers, so collecting more often because
// memory is tight costs a few milliseconds of one core, however large the table is.

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"sluice/persistence"
)

// memory reads --max-memory: a size, or a share of what there is.
func memory(text string) (int64, error) {
	wrong := fmt.Errorf("--max-memory must be a size such as 2GiB, at least %s, or a share such as 75%%, got %q",
		humanize.IBytes(MemoryMinBytes), text)
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.Atoi(share)
		if err != nil || percent < 1 || percent > 100 {
			return 0, wrong
		}
		there, err := memoryThere()
		if err != nil {
			return 0, fmt.Errorf("--max-memory: how much memory there is cannot be found out (%w); give a size such as 2GiB", err)
		}
		return max(there/100*int64(percent), MemoryMinBytes), nil
	}
	n, err := size(text)
	if err != nil || n < MemoryMinBytes {
		return 0, wrong
	}
	return n, nil
}

// memoryThere is the memory of the machine or of the cgroup, whichever is less.
func memoryThere() (int64, error) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var total int64
	for line := range bytes.Lines(info) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "MemTotal:" {
			total, err = strconv.ParseInt(string(fields[1]), 10, 64)
			total <<= 10
		}
	}
	if err != nil || total == 0 {
		return 0, fmt.Errorf("/proc/meminfo has no MemTotal")
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return total, nil
}

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

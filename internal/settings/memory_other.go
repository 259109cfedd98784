//go:build !darwin

package settings

// The memory of a machine with Linux. Systems that tell of it otherwise have a file of their
// own, as macOS has.

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
)

// machineMemory is the memory of the machine, as Linux tells it.
func machineMemory(root fs.FS) (int64, error) {
	info, err := fs.ReadFile(root, "proc/meminfo")
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
	return total, nil
}

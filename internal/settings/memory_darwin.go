package settings

// The memory of a Mac, which has no /proc: without it the default of max-memory, a share,
// would not be known, and no server would start.

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// machineMemory is the memory of the machine.
func machineMemory(fs.FS) (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err
}

//go:build linux || darwin

// Boot time where the kernel has a clock of it; which one that is stands in boot_linux.go and boot_darwin.go.

package clock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// kernelBoot reads the kernel's boot time by system call.
func kernelBoot() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(bootClockID, &t); err != nil {
		return 0, fmt.Errorf("read boot time: %w", err)
	}
	return uint64(t.Nano()), nil
}

// Which of the kernel's clocks counts suspended time: on Linux that is CLOCK_BOOTTIME, since 2.6.39.
// CLOCK_MONOTONIC, which Go's timers use, stops in suspend there.

package clock

import "golang.org/x/sys/unix"

const bootClockID = unix.CLOCK_BOOTTIME

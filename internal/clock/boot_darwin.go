// Which of the kernel's clocks counts suspended time: on macOS that is CLOCK_MONOTONIC.
// Go's own monotonic time there is another one, which stops in sleep, so the arithmetic of os.go is needed all the same.

package clock

import "golang.org/x/sys/unix"

const bootClockID = unix.CLOCK_MONOTONIC

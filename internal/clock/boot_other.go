//go:build !linux && !darwin

// Systems that the client runs on and the server does not: no clock of theirs is known here to count suspended time.

package clock

import "errors"

// kernelBoot says that there is no such clock.
func kernelBoot() (uint64, error) {
	return 0, errors.New("no clock of this system is known to count the time for which it is suspended")
}

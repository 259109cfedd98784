//go:build unix

package server

// What the process has used of its processors, for INFO cpu. The system is asked: the
// runtime's own estimate lags behind by a collection.

import "golang.org/x/sys/unix"

// processorSeconds are the seconds that the process has run, in the system's code and
// in its own.
func processorSeconds() (system, user float64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Stime.Nano()) / nanosPerSecond, float64(u.Utime.Nano()) / nanosPerSecond
}

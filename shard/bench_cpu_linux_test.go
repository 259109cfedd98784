package shard

import (
	"syscall"
	"time"
	"unsafe"
)

// processTime is the processor time that all threads have had.
func processTime() time.Duration { return clockTime(2) }

// threadTime is the processor time that the calling thread has had, which must be
// locked to its goroutine. What a busy machine does meanwhile is not in it.
func threadTime() time.Duration { return clockTime(3) }

// clockTime reads a clock by its number in clock_gettime(2).
func clockTime(id uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, err := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(t.Nano())
}

//go:build !linux

package bench

// The generator and the watching of servers are Linux's: epoll and /proc. Elsewhere they say so.

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"
)

var errNotLinux = errors.New("sluice bench needs Linux: it works with epoll and /proc")

// Run fails: it needs Linux.
func (l *Load) Run(context.Context) (*Outcome, error) { return nil, errNotLinux }

func cpuTime(int) (time.Duration, error) { return 0, errNotLinux }
func residentBytes(int) (int64, error)   { return 0, errNotLinux }
func dieWithUs(*exec.Cmd)                {}
func filesMax() int                      { return 256 }
func kernel() string                     { return runtime.GOOS }
func processor() string                  { return runtime.GOARCH }

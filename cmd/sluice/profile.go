package main

// Profiles of the server from its start to its end, for whoever looks for what it spends its time on: serve --profile DIR,
// or sluice bench --profile DIR, which hands it on.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profiled runs f and leaves cpu-PID.pprof and allocs-PID.pprof in a directory; an empty dir leaves nothing.
func profiled(dir string, f func() error) error {
	if dir == "" {
		return f()
	}
	create := func(kind string) (*os.File, error) {
		return os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", kind, os.Getpid())))
	}
	file, err := create("cpu")
	if err != nil {
		return faultError{fmt.Errorf("--profile: %w", err)}
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return faultError{errors.Join(err, file.Close())}
	}
	err = f()
	pprof.StopCPUProfile()
	err = errors.Join(err, file.Close())
	if file, failed := create("allocs"); failed == nil {
		err = errors.Join(err, pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
	} else {
		err = errors.Join(err, failed)
	}
	return err
}

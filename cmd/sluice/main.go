// Command sluice is the rate limiter server and its tools.
//
// This is the only code that knows every package: it reads flags, puts the parts
// together and ends them in order.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitFault = 1 // something failed at run time
	exitUsage = 2 // a flag or argument was wrong
)

// usageError is an error in how the program was called.
type usageError struct{ error }

func main() {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A rate limiter server that speaks the Redis protocol",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (%s --help lists the flags)", err, c.CommandPath())}
	})
	root.AddCommand(serveCommand(), versionCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sluice: "+err.Error())
		os.Exit(status(err))
	}
}

// status is the exit status for an error. What cobra finds wrong before a
// command runs has no type of ours, and is always about usage.
func status(err error) int {
	var fault faultError
	if errors.As(err, &fault) {
		return exitFault
	}
	return exitUsage
}

// faultError is an error at run time.
type faultError struct{ error }

func (e faultError) Unwrap() error { return e.error }
func (e usageError) Unwrap() error { return e.error }

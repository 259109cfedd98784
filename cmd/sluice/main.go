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

// faultError is an error at run time. Every other error is about how the program
// was called: what cobra finds wrong has no type of ours.
type faultError struct{ error }

func (e faultError) Unwrap() error { return e.error }

func main() {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A rate limiter server that speaks the Redis protocol",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help lists the flags)", err, c.CommandPath())
	})
	root.AddCommand(serveCommand(), dataCommand(), versionCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sluice: "+err.Error())
		os.Exit(status(err))
	}
}

func status(err error) int {
	var fault faultError
	if errors.As(err, &fault) {
		return exitFault
	}
	return exitUsage
}

// Command sluice is the rate limiter server and its tools.
//
// This is the only code that knows every package: it reads flags, puts the parts
// together and ends them in order.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serveCommand(), dataCommand(), versionCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sluice: "+oneLine(err.Error()))
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

// kinds says what a flag takes, by the name of its type.
var kinds = map[string]string{
	"int":      "a whole number",
	"uint64":   "a whole number of 0 or more",
	"duration": "a duration such as 5m or 30s",
	"bool":     "true or false",
}

// flagError says what a flag takes that was given something else.
func flagError(c *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) && kinds[wrong.GetFlag().Value.Type()] != "" {
		return fmt.Errorf("--%s must be %s, got %q", wrong.GetFlag().Name, kinds[wrong.GetFlag().Value.Type()], wrong.GetValue())
	}
	return fmt.Errorf("%w (%s --help lists the flags)", err, c.CommandPath())
}

// oneLine joins the lines of a message.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

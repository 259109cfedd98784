// Command sluice is the rate limiter server and its tools.
//
// This is the only code that knows every package: it reads flags, puts the parts
// together and ends them in order.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/algorithms"
	"sluice/internal/settings"
	"sluice/plans"
)

// Exit statuses.
const (
	exitFault  = 1 // something failed at run time
	exitUsage  = 2 // a flag or argument was wrong
	exitConfig = 3 // the file or the environment was wrong
)

// faultError is an error at run time, configError one in what the program was
// configured with. Every other error is about how the program was called: what
// cobra finds wrong has no type of ours.
type (
	faultError  struct{ error }
	configError struct{ error }
)

func (e faultError) Unwrap() error  { return e.error }
func (e configError) Unwrap() error { return e.error }

// Groups of commands in the help.
const (
	groupServer  = "server"
	groupOperate = "operate"
	groupFiles   = "files"
	groupBinary  = "binary"
)

func main() {
	if err := rootCommand().Execute(); err != nil {
		for _, one := range each(err) {
			fmt.Fprintln(os.Stderr, "sluice: "+told(one))
		}
		os.Exit(status(err))
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A rate limiter server that speaks the Redis protocol",
		Long:          "Sluice is a rate limiter server that speaks the Redis protocol.\n\nExit statuses: 0 all is well, 1 a failure at run time, 2 wrong usage, 3 wrong configuration.",
		Example:       "  sluice serve\n  redis-cli -p 6380 RL.ALLOW user:42 token_bucket 10 1s 1",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupOperate, Title: "A server that runs:"},
		&cobra.Group{ID: groupFiles, Title: "Files:"},
		&cobra.Group{ID: groupBinary, Title: "This program:"},
	)
	root.SetHelpCommandGroupID(groupBinary)
	root.SetCompletionCommandGroupID(groupBinary)
	grouped := func(id string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	grouped(groupServer, serveCommand(), configCommand())
	grouped(groupOperate, reloadCommand(), healthcheckCommand(), topCommand())
	grouped(groupFiles, checkCommand(), dataCommand())
	grouped(groupBinary, versionCommand(), manCommand(), benchCommand())
	return root
}

// each is an error by itself, or all settings that are wrong.
func each(err error) []error {
	var wrong settings.Errors
	if errors.As(err, &wrong) {
		return wrong
	}
	return []error{err}
}

// told is an error as a person reads it: on one line, or, where it is about a file,
// with the place in it.
func told(err error) string {
	var wrong *plans.Error
	if errors.As(err, &wrong) {
		return wrong.Detail()
	}
	return oneLine(meantCommand.ReplaceAllString(err.Error(), "; did you mean \"$1\"?"))
}

// meantCommand is how cobra tells, on lines of their own, of the command that is most
// like one that there is not.
var meantCommand = regexp.MustCompile(`(?s)\n\nDid you mean this\?\n\t(\S+).*`)

func status(err error) int {
	var fault faultError
	var config configError
	switch {
	case errors.As(err, &fault):
		return exitFault
	case errors.As(err, &config):
		return exitConfig
	}
	return exitUsage
}

// flagError says what a flag takes that was given something else.
func flagError(c *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if _, ours := wrong.GetFlag().Value.(settingFlag); ours {
			return fmt.Errorf("--%s %w", wrong.GetFlag().Name, errors.Unwrap(wrong))
		}
	}
	hint := c.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := algorithms.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "? " + hint
		}
	}
	return fmt.Errorf("%w (%s)", err, hint)
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

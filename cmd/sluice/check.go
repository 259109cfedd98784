package main

// sluice check: a configuration file, read as a server reads it, but without the
// environment and flags, so that it says the same on every machine.

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sluice/internal/settings"
	"sluice/plans"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE",
		Short:   "Say what is wrong with a configuration file",
		Long:    "Reads a configuration file as the server does and says what is wrong with it, with line, column and what would be right. The environment and flags are not looked at. Exit status 3: something is wrong.",
		Example: "  sluice check sluice.yaml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("one file is wanted, such as: sluice check sluice.yaml")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			book, err := checkFile(args[0])
			if err != nil {
				return configError{err}
			}
			f := book.File()
			fmt.Fprintf(c.OutOrStdout(), "%s is right: %d plans, %d rules, %d settings; version %016x\n",
				args[0], len(f.Plans), len(f.Rules), len(f.Server), book.Version())
			return nil
		},
	}
}

// checkFile makes a book of a file, with nothing but the file.
func checkFile(path string) (*plans.Book, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	server, err := plans.ParseServer(path, text)
	if err != nil {
		return nil, err
	}
	config, err := settings.Load(settings.Given{File: server})
	if err != nil {
		return nil, err
	}
	file, err := plans.Parser{LogLimitMax: config.SlidingLogMax}.ParseFile(path, text)
	if err != nil {
		return nil, err
	}
	return plans.NewBook(file, plans.Set{})
}

package main

// sluice config: what a server would run with, and where each value comes from.

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/internal/settings"
)

func configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Show the configuration that a server would run with",
		Example: "  sluice config show --origin",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("sluice config wants a command: show")
			}
			return fmt.Errorf("sluice config has no command %q, only show", args[0])
		},
	}
	flags := settingFlags{}
	var origin, standard bool
	show := &cobra.Command{
		Use:   "show",
		Short: "Show every setting, from defaults, file, environment and flags",
		Example: "  sluice config show --origin --config sluice.yaml\n" +
			"  sluice config show --default > sluice.yaml",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if standard {
				if origin || len(flags) > 0 {
					return errors.New("--default shows a file of defaults: it goes with no other flag")
				}
				return settings.WriteDefault(c.OutOrStdout())
			}
			config, err := flags.load()
			if err != nil {
				return err
			}
			if origin {
				return config.WriteOrigins(c.OutOrStdout())
			}
			return config.WriteFile(c.OutOrStdout())
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "list each value with where it comes from")
	show.Flags().BoolVar(&standard, "default", false, "print a file with all that can be set, explained")
	flags.add(show)
	c.AddCommand(show)
	return c
}

package main

// sluice man: manual pages of every command, from the same texts as the help.

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages into a directory",
		Example: "  sluice man ./man && man ./man/sluice-serve.1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("one directory is wanted, such as: sluice man ./man")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return faultError{err}
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			head := &doc.GenManHeader{Section: "1", Source: "sluice " + version, Manual: "Sluice"}
			if err := doc.GenManTree(root, head, args[0]); err != nil {
				return faultError{err}
			}
			return nil
		},
	}
}

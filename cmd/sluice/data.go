package main

// sluice data: looking at and mending a directory that no server holds.

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sluice/persistence"
)

func dataCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "Check or repair a directory of state",
		Example: "  sluice data check ./sluice-data\n" +
			"  sluice data repair ./sluice-data",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("sluice data wants a command: check or repair")
			}
			return fmt.Errorf("sluice data has no command %q, only check and repair", args[0])
		},
	}
	c.AddCommand(
		&cobra.Command{
			Use:     "check DIR",
			Short:   "Report what a directory holds and whether a server would start from it; changes nothing",
			Example: "  sluice data check ./sluice-data",
			Args:    oneDirectory,
			RunE: func(c *cobra.Command, args []string) error {
				report, err := persistence.Check(persistence.OS{}, args[0])
				if err != nil {
					return faultError{err}
				}
				printReport(c.OutOrStdout(), report)
				if len(report.Problems) > 0 {
					return faultError{errors.New("a server would not start from this directory; `sluice data repair DIR` mends it")}
				}
				return nil
			},
		},
		&cobra.Command{
			Use:     "repair DIR",
			Short:   "Make a damaged directory fit to start from; the damaged files are kept beside the mended ones",
			Example: "  sluice data repair ./sluice-data",
			Args:    oneDirectory,
			RunE: func(c *cobra.Command, args []string) error {
				report, err := persistence.Repair(persistence.OS{}, args[0])
				if err != nil {
					return faultError{err}
				}
				printReport(c.OutOrStdout(), report)
				return nil
			},
		},
	)
	return c
}

// oneDirectory refuses all but one argument.
func oneDirectory(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one directory is wanted, such as: %s ./sluice-data", c.CommandPath())
	}
	return nil
}

func printReport(w io.Writer, r persistence.Report) {
	fmt.Fprintf(w, "%s: %d records", r.Dir, r.Records)
	if r.LastTime > 0 {
		fmt.Fprintf(w, ", the last of %s", time.Unix(0, int64(r.LastTime)).UTC().Format(time.RFC3339))
	}
	fmt.Fprintln(w)
	for _, f := range r.Files {
		fmt.Fprintf(w, "  %s: %s, %d bytes, %d frames, %d records\n", f.Name, f.State, f.Bytes, f.Frames, f.Records)
		for _, gap := range f.Gaps {
			fmt.Fprintf(w, "    unreadable: %s\n", gap)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  problem: %v\n", p)
	}
	for _, name := range r.Kept {
		fmt.Fprintf(w, "  kept: %s\n", name)
	}
	if r.Mended != "" {
		fmt.Fprintf(w, "  written: %s\n", r.Mended)
	}
}

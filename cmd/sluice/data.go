package main

// sluice data: looking at and mending a directory that no server holds.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
					return faultError{advised(err, args[0])}
				}
				printReport(c.OutOrStdout(), report)
				if len(report.Problems) > 0 {
					return faultError{fmt.Errorf("a server would not start from this directory; %s", mends(report))}
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
					return faultError{advised(err, args[0])}
				}
				printReport(c.OutOrStdout(), report)
				if len(report.Problems) == 0 {
					fmt.Fprintln(c.OutOrStdout(), "  nothing to mend")
				}
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

// mends says what makes a directory fit to start from. What repair refuses to touch comes first.
func mends(r persistence.Report) string {
	for _, problem := range r.Problems {
		if what := letBe(problem, r.Dir); what != "" {
			return what
		}
	}
	return fmt.Sprintf("`sluice data repair %s` mends it", r.Dir)
}

// letBe says what to do about a file that neither a start nor repair touches; "" where
// an error is not about one.
func letBe(err error, dir string) string {
	var foreign *persistence.ForeignError
	var newer *persistence.VersionError
	switch {
	case errors.As(err, &foreign):
		return fmt.Sprintf("move %s out of %s and try again", filepath.Base(foreign.Path), dir)
	case errors.As(err, &newer):
		return "start the version that wrote it"
	}
	return ""
}

// advised is an error about a directory of state with what can be done about it, where
// something is known; every other error is as it was.
func advised(err error, dir string) error {
	var locked *persistence.LockedError
	var damage *persistence.DamageError
	var missing *persistence.MissingError
	what := letBe(err, dir)
	switch {
	case what != "":
		what = "nothing was changed: " + what
	case errors.As(err, &locked):
		what = "stop that server, or choose another directory with --dir"
	case errors.As(err, &damage), errors.As(err, &missing):
		what = fmt.Sprintf("nothing was changed: `sluice data check %[1]s` reports, `sluice data repair %[1]s` mends and keeps the damaged file", dir)
	case errors.Is(err, fs.ErrPermission):
		what = fmt.Sprintf("%s and what is in it must belong to the user that runs this, uid %d", dir, os.Getuid())
	case errors.Is(err, syscall.ENOSPC):
		what = "make room, or choose another directory with --dir"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, what)
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

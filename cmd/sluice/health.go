package main

// sluice healthcheck: for containers, which have nothing else in them that could
// ask, and for scripts that want an exit status.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func healthcheckCommand() *cobra.Command {
	to := &peer{}
	c := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Say by the exit status whether a server is ready",
		Long:    "Asks a server whether it decides calls. Exit status 0: it does; 1: it cannot be reached, or is loading its data.",
		Example: "  sluice healthcheck --server 127.0.0.1:6380 --timeout 1s",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// A look at a key: it needs the data, and changes nothing.
			_, err := to.ask(c.Context(), "EXISTS", "healthcheck")
			if refused, ok := asRefusal(err); ok && strings.HasPrefix(refused.text, "NOAUTH") {
				return nil // it answers; whoever asks may not know the password
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), "ready")
			return nil
		},
	}
	to.addFlags(c)
	return c
}

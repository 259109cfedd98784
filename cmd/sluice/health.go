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
			said := "ready"
			if refused, ok := asRefusal(err); ok && strings.HasPrefix(refused.text, "NOAUTH") {
				// Whoever asks may not know the password.
				said, err = "it answers, and whether it is ready it tells those who are logged in", nil
			}
			if err == nil {
				fmt.Fprintln(c.OutOrStdout(), said)
			}
			return err
		},
	}
	to.addFlags(c)
	return c
}

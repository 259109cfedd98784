package main

// sluice serve: its flags are the settings. run.go starts and ends the server that
// they describe.

import (
	"os"

	"github.com/spf13/cobra"
)

func serveCommand() *cobra.Command {
	flags := settingFlags{}
	var profile string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Example: "  sluice serve\n" +
			"  sluice serve --config /etc/sluice/sluice.yaml\n" +
			"  sluice serve --listen 127.0.0.1:6380 --dir /var/lib/sluice --journal always",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			config, err := flags.load()
			if err != nil {
				return err
			}
			return profiled(profile, (&service{configuration: config, flags: flags, environ: os.Environ()}).run)
		},
	}
	flags.add(c)
	c.Flags().StringVar(&profile, "profile", "", "`directory` for profiles of CPU and allocations, written at the end")
	c.Flags().MarkHidden("profile")
	return c
}

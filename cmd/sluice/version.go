package main

// sluice version: what this binary is, for bug reports and for scripts that must
// know what they talk to.

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sluice/server"
)

// version is the release; the linker may set it.
var version = "0.1.0-dev"

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sluice version --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !asJSON {
				fmt.Fprintf(c.OutOrStdout(), "sluice %s %s %s/%s%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, revision())
				return nil
			}
			out := json.NewEncoder(c.OutOrStdout())
			out.SetIndent("", "  ")
			return out.Encode(struct {
				Version  string `json:"version"`
				Redis    string `json:"redis"`
				Go       string `json:"go"`
				OS       string `json:"os"`
				Arch     string `json:"arch"`
				Revision string `json:"revision,omitempty"`
			}{version, server.RedisVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH, built()})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// revision is the commit that the binary was built from, after a blank, where Go
// knows it.
func revision() string {
	if r := built(); r != "" {
		return " " + r
	}
	return ""
}

func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

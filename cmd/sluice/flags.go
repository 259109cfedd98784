package main

// The flags that come from the table of settings, and the Config that they make
// together with the environment and the file.

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/access"
	"sluice/internal/settings"
	"sluice/plans"
)

// settingFlags are those that were given, by name.
type settingFlags map[string]string

// settingFlag is one of them, as pflag wants it.
type settingFlag struct {
	row *settings.Row
	to  settingFlags
}

func (f settingFlag) String() string { return f.to[f.row.Name] }
func (f settingFlag) Type() string {
	if f.row.Toggle() {
		return "bool"
	}
	return f.row.Arg
}
func (f settingFlag) Set(text string) error {
	if err := f.row.Check(text); err != nil {
		return err
	}
	f.to[f.row.Name] = text
	return nil
}

// flagGroup is the annotation that says under which title a flag stands.
const flagGroup = "group"

// add gives a command the flags of the table.
func (to settingFlags) add(c *cobra.Command) {
	for i := range settings.Rows {
		r := &settings.Rows[i]
		if r.Secret {
			continue
		}
		f := c.Flags().VarPF(settingFlag{r, to}, r.Name, "", r.Summary)
		f.DefValue = r.Default
		if r.Said != "" {
			f.DefValue = r.Said
		}
		f.Annotations = map[string][]string{flagGroup: {r.Group}}
		if r.Toggle() {
			f.NoOptDefVal = "true"
		}
	}
	c.Flags().SortFlags = false
	c.SetUsageFunc(usage)
}

// usage prints what a command takes, its flags under the titles of their groups.
func usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	titles := append([]string{""}, settings.Groups...)
	for _, title := range titles {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		set.SortFlags = false
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if group := f.Annotations[flagGroup]; title == "" && group == nil || len(group) > 0 && group[0] == title {
				set.AddFlag(f)
			}
		})
		if !set.HasFlags() {
			continue
		}
		if title == "" {
			title = "Flags"
		}
		fmt.Fprintf(w, "\n%s:\n%s", title, set.FlagUsages())
	}
	fmt.Fprintf(w, "\nEach setting can also stand in the environment, as SLUICE_MAX_MEMORY, and in the file, as max_memory.\n")
	return nil
}

// configuration is the Config and the file that it was read from; nil: none.
type configuration struct {
	*settings.Config
	file  *plans.File
	users *access.Users
}

// load reads the file, where there is one, and makes the Config. Whatever is wrong
// in the environment or the file is a configError.
func (to settingFlags) load() (configuration, error) {
	path, given := to["config"]
	if !given {
		path = os.Getenv(settings.ByName("config").Env())
	}
	file, config, err := readFile(path, to)
	var users *access.Users
	if err == nil {
		users, err = makeUsers(config)
	}
	if err == nil {
		return configuration{config, file, users}, nil
	}
	return configuration{}, blamed(err)
}

// blamed is a configError, unless a flag is to blame.
func blamed(err error) error {
	var wrong *settings.Error
	if errors.As(err, &wrong) && wrong.Origin.Source == settings.Flag {
		return err
	}
	return configError{err}
}

// readFile reads settings and, with them known, the rest of a file.
func readFile(path string, to settingFlags) (*plans.File, *settings.Config, error) {
	given := settings.Given{Environ: os.LookupEnv, Flags: to}
	if path == "" {
		config, err := settings.Load(given)
		return nil, config, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the file of --config cannot be read: %w", err)
	}
	if given.File, err = plans.ParseServer(path, text); err != nil {
		return nil, nil, err
	}
	config, err := settings.Load(given)
	if err != nil {
		return nil, nil, err
	}
	file, err := plans.Parser{LogLimitMax: config.SlidingLogMax}.ParseFile(path, text)
	if err != nil {
		return nil, nil, err
	}
	if _, err := plans.NewBook(file, plans.Set{}); err != nil {
		return nil, nil, err
	}
	return file, config, nil
}

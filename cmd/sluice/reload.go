package main

// Reading the configuration again while the server runs: on SIGHUP, and by CONFIG
// RELOAD, which sluice reload sends. All of it holds then, or, if anything is wrong,
// nothing changes. What differs is logged.

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sluice/plans"
	"sluice/server"
)

// reload reads everything again. Its error says what is wrong, and is logged.
func (f *service) reload() error {
	f.notifyReloading()
	err := f.reread()
	f.live.Reloaded(err)
	status := f.decides
	if err != nil {
		status += " by the old configuration: " + oneLine(err.Error())
		for _, one := range each(err) {
			f.log.Error("the configuration was not read again; everything stays as it is", "error", told(one))
		}
	}
	f.notify("READY=1\nSTATUS=" + status)
	return err
}

func (f *service) reread() error {
	n, err := f.flags.load()
	if err != nil {
		return err
	}
	before := f.server.Book().File()
	if err := f.takeFile(n.file); err != nil {
		return err
	}
	if f.certificates != nil {
		if err := f.certificates.load(); err != nil {
			return errors.Join(err, f.takeFile(before))
		}
	}
	list, err := f.live.Reload(n.Config)
	if err != nil {
		return errors.Join(err, f.takeFile(before))
	}
	for _, d := range list {
		switch {
		case d.Held:
			f.log.Warn("setting differs, and what CONFIG SET has said holds until the server ends", "setting", d.Name, "is", d.Was, "will be", d.Is)
		case d.Live:
			f.log.Info("setting changed", "setting", d.Name, "was", d.Was, "is", d.Is)
		default:
			f.log.Warn("setting differs and holds from the next start on", "setting", d.Name, "is", d.Was, "will be", d.Is)
		}
	}
	f.tellHidden()
	f.log.Info("configuration read again", "file", n.Config.File, "differences", len(list))
	return nil
}

// takeFile has the server use a file's plans and rules, and logs what that changes.
func (f *service) takeFile(file *plans.File) error {
	changes, err := f.server.SetFile(file)
	if err != nil {
		return err
	}
	for _, c := range changes {
		what := "plan"
		if c.Rule {
			what = "rule"
		}
		f.log.Info(what+" "+c.What, what, c.Name)
	}
	if len(changes) > 0 {
		f.log.Info("plans and rules hold", "version", fmt.Sprintf("%016x", f.server.Book().Version()), "plans", len(f.server.Book().PlanNames()), "rules", len(f.server.Book().RuleNames()))
	}
	return nil
}

// tellHidden logs which plans and rules of the file do not hold, because a command has
// set others of their names.
func (f *service) tellHidden() {
	plans, rules := f.server.Book().Hidden()
	for _, name := range plans {
		f.log.Warn("a plan of the file does not hold: a command has set one of that name, until RL.PLAN DEL", "plan", name)
	}
	for _, name := range rules {
		f.log.Warn("a rule of the file does not hold: a command has set one of that name, until RL.RULE DEL", "rule", name)
	}
}

// reloadOn reloads on every SIGHUP until the channel is closed.
func (f *service) reloadOn(hangups <-chan os.Signal, quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-hangups:
			_ = f.reload() // it has logged its error
		}
	}
}

func reloadCommand() *cobra.Command {
	to := &peer{}
	c := &cobra.Command{
		Use:     "reload",
		Short:   "Have a server read its configuration file again",
		Long:    "Has a server read its configuration file again, as SIGHUP does, and says what came of it. Exit status 3: something in the file is wrong, and nothing has changed.",
		Example: "  sluice reload --server 127.0.0.1:6380",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := to.ask(c.Context(), "CONFIG", "RELOAD")
			if refused, ok := asRefusal(err); ok && strings.HasPrefix(refused.text, server.NothingChanged) {
				return configError{refused}
			}
			if err == nil {
				fmt.Fprintln(c.OutOrStdout(), "read again; the log tells what differs")
			}
			return err
		},
	}
	to.addFlags(c)
	return c
}

package settings

// A Config for people: as a list with origins, and as a file with comments.

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteOrigins lists every setting with its value and where that came from.
func (c *Config) WriteOrigins(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i := range Rows {
		r := &Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, quoted(c.shown(r)), c.Origin(r.Name))
	}
	return t.Flush()
}

// WriteFile writes the section server as a file has it: what was given as it is,
// what was not as comments.
func (c *Config) WriteFile(w io.Writer) error {
	_, err := io.WriteString(w, "server:\n"+c.rows(func(r *Row) bool { return c.Origin(r.Name).Source == Default }))
	return err
}

// preface explains the file that WriteDefault writes.
const preface = `## The configuration of Sluice, with all that can be set and its defaults.
##
## sluice serve --config sluice.yaml reads it, sluice check sluice.yaml says what is
## wrong with it. SIGHUP and sluice reload read it again: all of it holds then, or, if
## something is wrong, nothing changes. Flags (--max-memory) beat the environment
## (SLUICE_MAX_MEMORY), which beats this file.
##
## Lines with two # explain. Take one # away to set what stands behind it.

## Plans: named sets of limits, every one of which must pass.
##   RL.ALLOW user:42 @pro
# plans:
#   pro:
#     limits:
#       rpm:      {algorithm: sliding_counter, limit: 600, window: 1m}
#       burst:    {algorithm: token_bucket, limit: 20, window: 1s, burst: 40}
#       spend:    {algorithm: budget, limit: 25.00, window: day, tz: Europe/Paris}
#       inflight: {algorithm: concurrency, limit: 8, window: 30s}
#     costs: {search: 10, health: 1}      # units by ENDPOINT; 1 where nothing is said
#     overrides:                          # exact beats the longest pattern
#       "user:42": {rpm: {limit: 5000}}
#       "trial:*": {rpm: {limit: 60}}
#   anonymous:
#     limits:
#       rpm: {algorithm: sliding_counter, limit: 60, window: 1m}

## Rules: which requests count under which plan, and for whom. The most specific
## match wins.
##   RL.REQUEST METHOD GET PATH /api/orders USER 42
# rules:
#   - {name: api, match: "/api/", per: user, plan: pro, anonymous_plan: anonymous}
#   - {name: everybody, match: "/", per: ip, plan: anonymous}

## Addresses: whose word about the client's address is taken, and how much of an
## IPv6 address is one client.
# addresses:
#   trusted_proxies: [10.0.0.0/8]
#   ipv6_prefix: 64

`

// WriteDefault writes a file that says everything and changes nothing.
func WriteDefault(w io.Writer) error {
	c := NewLive(nil).Config()
	_, err := io.WriteString(w, preface+"## Settings. Those marked (live) change when the file is read again.\nserver:\n"+
		c.rows(func(*Row) bool { return true }))
	return err
}

// rows writes the settings that can stand in a file, some of them as comments.
func (c *Config) rows(comment func(*Row) bool) string {
	var b strings.Builder
	group := ""
	for i := range Rows {
		r := &Rows[i]
		if r.Outside {
			continue
		}
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n  ### %s\n", group)
		}
		about, mark := r.Summary, ""
		if r.Said != "" {
			about += "; by default " + r.Said
		}
		if r.Live {
			about += " (live)"
		}
		if comment(r) {
			mark = "# "
		}
		fmt.Fprintf(&b, "  ## %s\n  %s%s: %s\n", about, mark, r.Key(), quoted(c.value(r)))
	}
	return b.String()
}

// value is what the file says of a setting: an example where the default is empty.
func (c *Config) value(r *Row) string {
	if r.Example != "" && c.Origin(r.Name).Source == Default {
		return r.Example
	}
	return c.shown(r)
}

// quoted writes a value so that YAML takes it as a text where it has to.
func quoted(text string) string {
	if text == "" || strings.ContainsAny(text, ":#%{}[]&*!|>'\"`@, ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

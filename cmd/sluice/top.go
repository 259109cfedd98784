package main

// sluice top: who is limited, live in a terminal. It asks what RL.TOP, RL.DENIALS and
// INFO tell, once a second, and draws it over what it drew before.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// TopRowsMax is how many keys of each kind are shown.
const TopRowsMax = 50

func topCommand() *cobra.Command {
	to := &peer{}
	var once bool
	var every time.Duration
	var rows int
	c := &cobra.Command{
		Use:     "top",
		Short:   "Show who is limited, live",
		Example: "  sluice top --server 127.0.0.1:6380\n  sluice top --once --rows 20",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if rows < 1 || rows > TopRowsMax {
				return fmt.Errorf("--rows must be from 1 to %d, got %d", TopRowsMax, rows)
			}
			if every < 100*time.Millisecond {
				return fmt.Errorf("--every must be at least 100ms, got %v", every)
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			client, err := to.dial()
			if err != nil {
				return err
			}
			defer client.Close()
			t := &topScreen{client: client, rows: rows}
			if once {
				return t.draw(ctx, c.OutOrStdout())
			}
			return t.live(ctx, c.OutOrStdout(), every)
		},
	}
	to.addFlags(c)
	c.Flags().BoolVar(&once, "once", false, "print once and end")
	c.Flags().DurationVar(&every, "every", time.Second, "`time` between two looks")
	c.Flags().IntVar(&rows, "rows", 10, "`number` of keys and denials to show")
	return c
}

// topScreen is what has been drawn, and what is needed for rates.
type topScreen struct {
	client *redis.Client
	rows   int
	before map[string]string // INFO of the last look
}

// live draws until it is interrupted.
func (t *topScreen) live(ctx context.Context, w io.Writer, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var b bytes.Buffer
		err := t.draw(ctx, &b)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		// To the upper left corner, and clear what is below.
		fmt.Fprintf(w, "\x1b[H\x1b[2J%s", &b)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// draw asks once and prints what there is.
func (t *topScreen) draw(ctx context.Context, w io.Writer) error {
	info, err := t.client.Info(ctx).Result()
	if err != nil {
		return said(t.client, err)
	}
	now := fieldsOf(info)
	fmt.Fprintf(w, "Sluice %s at %s, up %s s\n", now["sluice_version"], t.client.Options().Addr, now["uptime_in_seconds"])
	fmt.Fprintf(w, "decisions/s %s allowed, %s denied; %s clients; %s\n\n",
		t.rate(now, "decisions_allowed"), t.rate(now, "decisions_denied"), now["connected_clients"], keysOf(now))
	t.before = now
	for _, of := range []struct{ title, kind string }{{"DENIED MOST", "DENIED"}, {"CHARGED MOST (estimate)", "HOT"}} {
		if err := t.table(ctx, w, of.title, []string{"key", "plan", "limit", "algorithm", "count", "error"}, "RL.TOP", of.kind, "COUNT", t.rows); err != nil {
			return err
		}
	}
	return t.table(ctx, w, "LAST DENIALS", []string{"time_ms", "key", "plan", "limit", "cost", "retry_after_ms", "client"}, "RL.DENIALS", "COUNT", t.rows)
}

// table asks for a list of maps and prints some fields of each.
func (t *topScreen) table(ctx context.Context, w io.Writer, title string, columns []string, words ...any) error {
	reply, err := t.client.Do(ctx, words...).Slice()
	if err != nil {
		return said(t.client, err)
	}
	fmt.Fprintln(w, title)
	tabs := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tabs, "  "+strings.Join(columns, "\t"))
	for _, item := range reply {
		pairs, ok := item.([]any)
		if !ok {
			return faultError{errors.New("the server's reply has another shape: its version is not that of this program")}
		}
		values := make(map[string]string)
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i+1] != nil {
				values[fmt.Sprint(pairs[i])] = printable(fmt.Sprint(pairs[i+1]))
			}
		}
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = values[column]
		}
		fmt.Fprintln(tabs, "  "+strings.Join(cells, "\t"))
	}
	fmt.Fprintln(tabs)
	return tabs.Flush()
}

// printable makes a key safe for a terminal: it may hold anything.
func printable(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return quoted[1 : len(quoted)-1]
}

// rate is by how much a counter goes up in a second.
func (t *topScreen) rate(now map[string]string, name string) string {
	then, err := strconv.ParseFloat(t.before[name], 64)
	if err != nil {
		return "-"
	}
	is, _ := strconv.ParseFloat(now[name], 64)
	from, _ := strconv.ParseFloat(t.before["server_time_usec"], 64)
	to, _ := strconv.ParseFloat(now["server_time_usec"], 64)
	if to <= from {
		return "-"
	}
	return strconv.FormatFloat((is-then)/(to-from)*1e6, 'f', 0, 64)
}

// fieldsOf reads INFO.
func fieldsOf(info string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

func keysOf(info map[string]string) string {
	keys, _, _ := strings.Cut(strings.TrimPrefix(info["db0"], "keys="), ",")
	if keys == "" {
		keys = "0"
	}
	return keys + " keys"
}

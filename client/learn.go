package client

// What a plan's limits are, for the time when the server is away. Only the server knows
// them; so whoever uses a plan has the server explain it, beside the calls and not more
// often than every LearnInterval. Of a plan's limits the one that bound last stands for
// the plan, or the one that gives least.

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// LearnInterval is how often the server is asked what a plan's limits are.
const LearnInterval = time.Minute

// lesson is what is known of a plan.
type lesson struct {
	at     time.Duration
	limits map[string]Limit // by name
}

// learn has a plan explained, unless that was done a moment ago.
func (c *Client) learn(l Limit) {
	if l.algorithm != plan {
		return
	}
	now := c.watch.Elapsed()
	known, ok := c.lessons.Load(l.text)
	if ok && now-known.(*lesson).at < LearnInterval {
		return
	}
	next := &lesson{at: now}
	if ok {
		next.limits = known.(*lesson).limits
	}
	if !ok {
		if _, taken := c.lessons.LoadOrStore(l.text, next); taken {
			return
		}
	} else if !c.lessons.CompareAndSwap(l.text, known, next) {
		return
	}
	c.spawn(func() {
		c.beside(func(ctx context.Context) {
			if list, err := c.Explain(ctx, "", l, 0); err == nil {
				c.lessons.Store(l.text, &lesson{at: now, limits: lessonOf(list)})
			}
		})
	})
}

// lessonOf are the limits that can be enforced here.
func lessonOf(list []Explained) map[string]Limit {
	limits := map[string]Limit{}
	for _, e := range list {
		if l := e.asLimit(); e.Mode == "enforce" && l.err() == nil {
			limits[e.Name] = l
		}
	}
	return limits
}

// asLimit is the limit as a call would have it; a wrong one for what cannot be had, such
// as permits.
func (e *Explained) asLimit() Limit {
	for a, name := range algorithmNames {
		if name == "" || name != e.Algorithm || algorithm(a) == budget {
			continue
		}
		for p, name := range periodNames {
			if name == e.Window && name != "" {
				return FixedWindow(e.Limit, time.Hour).Calendar(Period(p), "")
			}
		}
		l := rate(algorithm(a), e.Limit, parseWindow(e.Window))
		if e.Burst > 0 {
			l = l.Burst(e.Burst)
		}
		return l
	}
	return Limit{}
}

// windowUnits are the units of windows, the ones that end like others first.
var windowUnits = []struct {
	name string
	unit time.Duration
}{
	{"ms", time.Millisecond}, {"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
}

// parseWindow reads a window as the server shows it, such as 1h30m; 0 for what is none.
func parseWindow(text string) (sum time.Duration) {
	for text != "" {
		digits := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 1 {
			return 0
		}
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		text = text[digits:]
		unit := time.Duration(0)
		for _, u := range windowUnits {
			if rest, ok := strings.CutPrefix(text, u.name); ok {
				unit, text = u.unit, rest
				break
			}
		}
		if err != nil || unit == 0 || n > int64(WindowMax/unit) {
			return 0
		}
		sum += time.Duration(n) * unit
	}
	return sum
}

// standIn is the limit that stands for a plan.
func (c *Client) standIn(name, bound string) Limit {
	known, ok := c.lessons.Load(name)
	if !ok || len(known.(*lesson).limits) == 0 {
		return c.planLimit
	}
	limits := known.(*lesson).limits
	if l, ok := limits[bound]; ok {
		return l
	}
	least := c.planLimit
	slowest := 0.0
	for _, l := range limits {
		if pace := float64(l.units) / float64(l.length()); slowest == 0 || pace < slowest {
			least, slowest = l, pace
		}
	}
	return least
}

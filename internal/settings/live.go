package settings

// The Config of a running server. Who decides anything reads it through an atomic
// pointer; who changes it makes a new one, whole. What a command has set holds until
// the server ends, over what a file says that is read later.

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"sluice/algorithms"
)

// Live is the Config that holds now.
type Live struct {
	config atomic.Pointer[Config]

	mu       sync.Mutex // one change at a time
	watchers []func(*Config)
	reloads  Reloads
}

// Reloads is what came of reading the configuration again.
type Reloads struct {
	Right, Wrong uint64 // how often it worked, and did not
	Error        error  // of the last time; nil: it worked, or there was none
}

// Reloads tells what came of it so far.
func (l *Live) Reloads() Reloads {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reloads
}

// Reloaded says that the configuration was read again, or why it was not.
func (l *Live) Reloaded(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reloads.Error = err
	if err != nil {
		l.reloads.Wrong++
	} else {
		l.reloads.Right++
	}
}

// NewLive begins with a Config; nil is the defaults.
func NewLive(c *Config) *Live {
	if c == nil {
		var err error
		if c, err = Load(Given{}); err != nil {
			panic(err) // the defaults are ours
		}
	}
	l := &Live{}
	l.config.Store(c)
	return l
}

// Config is what holds now.
func (l *Live) Config() *Config { return l.config.Load() }

// Watch has a function called with every Config that comes to hold, and with the one
// that does.
func (l *Live) Watch(f func(*Config)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = append(l.watchers, f)
	f(l.Config())
}

// Shown is the value of a setting by its name, for those who may look; false if
// there is none.
func (l *Live) Shown(name string) (string, bool) {
	r := byName[name]
	if r == nil {
		return "", false
	}
	return l.Config().shown(r), true
}

// Set changes settings as CONFIG SET does, all or none: names and values by turns.
func (l *Live) Set(pairs ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.Config().clone()
	seen := make(map[string]bool)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := canonical(strings.ToLower(pairs[i])), pairs[i+1]
		r := byName[name]
		switch {
		case r == nil:
			return notLive(name)
		case !r.Live:
			return fmt.Errorf("%s is read at start only; set it with %s, and start again", name, r.ways())
		case seen[name]:
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := c.set(r, value, Origin{Command, "CONFIG SET"}); err != nil {
			return err
		}
	}
	if err := c.contradiction(nil); err != nil {
		return err
	}
	l.hold(c)
	return nil
}

// ways says how a setting is set at start.
func (r *Row) ways() string {
	switch flag := "--" + r.Name; {
	case r.Secret:
		return r.Env() + " or in the file"
	case r.Outside:
		return flag + " or " + r.Env()
	default:
		return flag + ", " + r.Env() + " or in the file"
	}
}

// notLive says that there is no setting of a name, and which may be meant.
func notLive(name string) error {
	var names []string
	for i := range Rows {
		if Rows[i].Live {
			names = append(names, Rows[i].Name)
		}
	}
	if near := algorithms.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no setting '%s', did you mean '%s'?", algorithms.Show([]byte(name)), near)
	}
	return fmt.Errorf("there is no setting '%s' that can be changed, only %s", algorithms.Show([]byte(name)), strings.Join(names, ", "))
}

// Difference is a setting that another Config says otherwise.
type Difference struct {
	Name, Was, Is string
	Live          bool // it holds from now on; else from the next start on
	Held          bool // a command has set it, so it stays
}

// Reload takes what another Config says of the settings that can be changed while
// the server runs, and lists what differs. Those that a command has set stay.
func (l *Live) Reload(n *Config) (list []Difference, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.Config()
	c := was.clone()
	for i := range Rows {
		r := &Rows[i]
		of := n.given[r.Name]
		if was.Text(r.Name) == of.text {
			continue
		}
		held := was.Origin(r.Name).Source == Command
		list = append(list, Difference{r.Name, was.shown(r), n.shown(r), r.Live, held})
		if r.Live && !held {
			if err := c.set(r, of.text, of.from); err != nil {
				return nil, err
			}
		}
	}
	if err := c.contradiction(nil); err != nil {
		return nil, err
	}
	l.hold(c)
	return list, nil
}

func (c *Config) clone() *Config {
	n := *c
	n.given = maps.Clone(c.given)
	return &n
}

// hold makes a Config the one that holds.
func (l *Live) hold(c *Config) {
	l.config.Store(c)
	for _, f := range l.watchers {
		f(c)
	}
}

package settings

// One Config out of all that says something: defaults, then the file, then the
// environment, then flags, each beating what came before. Every value is checked
// where it comes from, also one that is beaten: a wrong line in a file is wrong
// whatever the flags say.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/algorithms"
	"sluice/plans"
)

// Given is what there is beside the defaults.
type Given struct {
	File    *plans.File                      // nil: none
	Environ func(name string) (string, bool) // nil: none
	Flags   map[string]string                // by the name of the setting
}

// Error is a value, not from a file, that is wrong. Those from files are
// *plans.Error.
type Error struct {
	Name    string
	Origin  Origin
	Message string // goes on from the name: "must be …, got …"
}

func (e *Error) Error() string {
	return e.Origin.named(e.Name) + " " + e.Message
}

// named is what a setting is called where it was given.
func (o Origin) named(name string) string {
	switch o.Source {
	case Environment, Flag:
		return o.Place
	}
	return name
}

// Load makes a Config. Its error names the first value that is wrong, and where it
// came from.
func Load(g Given) (*Config, error) {
	c := &Config{given: make(map[string]given, len(Rows))}
	for i := range Rows {
		if err := c.set(&Rows[i], Rows[i].Default, Origin{}); err != nil {
			return nil, err
		}
	}
	if err := c.setFile(g.File); err != nil {
		return nil, err
	}
	if g.Environ != nil {
		for i := range Rows {
			if text, there := g.Environ(Rows[i].Env()); there {
				if err := c.set(&Rows[i], text, Origin{Environment, Rows[i].Env()}); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Flags)) {
		if err := c.set(byName[name], g.Flags[name], Origin{Flag, "--" + name}); err != nil {
			return nil, err
		}
	}
	return c, c.contradiction(g.File)
}

// set gives a row a value.
func (c *Config) set(r *Row, text string, from Origin) error {
	if err := r.field(c, text); err != nil {
		return &Error{Name: r.Name, Origin: from, Message: err.Error()}
	}
	c.given[r.Name] = given{text, from}
	return nil
}

// setFile takes what the section server of a file says.
func (c *Config) setFile(f *plans.File) error {
	if f == nil {
		return nil
	}
	for _, s := range f.Server {
		r := byName[canonical(s.Name)]
		switch {
		case r == nil:
			return f.ErrorAt(s, unknown(s.Name))
		case r.Outside:
			return f.ErrorAt(s, "cannot be set in a file; use "+r.ways())
		case c.given[r.Name].from.Source == File:
			return f.ErrorAt(s, fmt.Sprintf("is given twice, first in %s", c.given[r.Name].from.Place))
		}
		place := fmt.Sprintf("%s:%d", f.Name, f.ErrorAt(s, "").Line)
		if err := c.set(r, strings.Join(s.Values, ","), Origin{File, place}); err != nil {
			return f.ErrorAt(s, err.(*Error).Message)
		}
	}
	return nil
}

// unknown says that a file's setting is none.
func unknown(name string) string {
	var keys []string
	for i := range Rows {
		if !Rows[i].Outside {
			keys = append(keys, Rows[i].Key())
		}
	}
	if near := algorithms.Nearest(strings.ToLower(name), keys); near != "" {
		return fmt.Sprintf("there is no such setting, did you mean '%s'?", near)
	}
	return "there is no such setting; `sluice config show --default` lists them"
}

// contradiction says which settings may not be what they are together. It names all
// of them, with their origins where they are not the defaults.
func (c *Config) contradiction(f *plans.File) error {
	for _, rule := range contradictions {
		wrong := rule.wrong(c)
		if wrong == "" {
			continue
		}
		var others []string
		for _, name := range rule.names[1:] {
			if from := c.Origin(name); from.Source != Default {
				others = append(others, fmt.Sprintf("%s is from the %s", name, from))
			}
		}
		if others != nil {
			wrong += " (" + strings.Join(others, ", ") + ")"
		}
		if f != nil && c.Origin(rule.names[0]).Source == File {
			if i := slices.IndexFunc(f.Server, func(s plans.Setting) bool { return canonical(s.Name) == rule.names[0] }); i >= 0 {
				return f.ErrorAt(f.Server[i], wrong)
			}
		}
		return &Error{Name: rule.names[0], Origin: c.Origin(rule.names[0]), Message: wrong}
	}
	return nil
}

// Stray lists the variables of an environment that look like misspelt settings, each
// with the one that may be meant. Others that begin with SLUICE_ are left alone: a
// cluster sets some of its own for a service of that name.
func Stray(environ []string) (list [][2]string) {
	names := make([]string, len(Rows))
	for i := range Rows {
		names[i] = Rows[i].Env()
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(names, name) {
			continue
		}
		for _, of := range names {
			// The prefix is no likeness.
			if algorithms.Nearest(name[len(EnvPrefix):], []string{of[len(EnvPrefix):]}) != "" {
				list = append(list, [2]string{name, of})
				break
			}
		}
	}
	return list
}

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

// Errors are all values that are wrong, where there are several.
type Errors []error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i := range e {
		texts[i] = e[i].Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap is for package errors.
func (e Errors) Unwrap() []error { return e }

// Load makes a Config. Its error names every value that is wrong, and where it came
// from; or, where each is right by itself, what contradicts what.
func Load(g Given) (*Config, error) {
	c := &Config{given: make(map[string]given, len(Rows))}
	var wrong Errors
	set := func(r *Row, text string, from Origin) {
		if err := c.set(r, text, from); err != nil {
			wrong = append(wrong, err)
		}
	}
	for i := range Rows {
		set(&Rows[i], Rows[i].Default, Origin{})
	}
	if g.File != nil {
		wrong = append(wrong, c.setFile(g.File)...)
	}
	if g.Environ != nil {
		for i := range Rows {
			if text, there := g.Environ(Rows[i].Env()); there {
				set(&Rows[i], text, Origin{Environment, Rows[i].Env()})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Flags)) {
		set(byName[name], g.Flags[name], Origin{Flag, "--" + name})
	}
	switch len(wrong) {
	case 0:
		return c, c.contradiction(g.File)
	case 1:
		return nil, wrong[0]
	}
	return nil, wrong
}

// set gives a row a value.
func (c *Config) set(r *Row, text string, from Origin) error {
	if err := r.field(c, text); err != nil {
		return &Error{Name: r.Name, Origin: from, Message: err.Error()}
	}
	if was := c.given[r.Name]; was.from.Source == File && was.text != text && (from.Source == Environment || from.Source == Flag) {
		c.beaten = append(c.beaten, Beaten{r.Name, was.from, from})
	}
	c.given[r.Name] = given{text, from}
	return nil
}

// Beaten is a setting of the file that does not hold, because something stronger says
// otherwise.
type Beaten struct {
	Name     string
	From, By Origin
}

// Beaten lists the settings of the file that do not hold.
func (c *Config) Beaten() []Beaten { return c.beaten }

// setFile takes what the section server of a file says, and tells what is wrong with it.
func (c *Config) setFile(f *plans.File) (wrong []error) {
	for _, s := range f.Server {
		if message := c.setLine(f, s); message != "" {
			wrong = append(wrong, f.ErrorAt(s, message))
		}
	}
	return wrong
}

// setLine takes one setting of a file; "" if nothing is wrong with it.
func (c *Config) setLine(f *plans.File, s plans.Setting) string {
	r := byName[canonical(s.Name)]
	switch {
	case r == nil:
		return unknown(s.Name)
	case r.Outside:
		return "cannot be set in a file; use " + r.ways()
	case c.given[r.Name].from.Source == File:
		return fmt.Sprintf("is given twice, first in %s", c.given[r.Name].from.Place)
	case s.Values == nil && !s.List:
		// Nothing would be kept where dir is a word that was forgotten.
		return `has no value: give it one, or "" for none`
	}
	place := fmt.Sprintf("%s:%d", f.Name, f.ErrorAt(s, "").Line)
	if err := c.set(r, strings.Join(s.Values, ","), Origin{File, place}); err != nil {
		return err.(*Error).Message
	}
	return ""
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

package plans

// The configuration file. It has four sections, each of which may be missing:
//
//	plans:      {pro: {limits: {…}, costs: {…}, overrides: {…}}, …}
//	rules:      [{name: …, match: …, per: …, plan: …}, …]
//	addresses:  {trusted_proxies: [10.0.0.0/8], ipv6_prefix: 64}
//	server:     settings, which this package hands on as they are written

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// PlansMax is how many plans there may be.
	PlansMax = 100_000
	// RulesMax is how many rules there may be.
	RulesMax = 100_000
)

// File is a configuration file that has been read and is right by itself: what its
// plans and rules are to each other, and to what commands have set, NewBook checks.
type File struct {
	Name      string
	Plans     []*Plan // by name
	Rules     []*Rule // by name
	Addresses Addresses
	Server    []Setting // in the order of the file

	src *source
}

// Setting is a field of the section server. One inside a mapping has the mapping's
// name before its own: tls.cert.
type Setting struct {
	Name   string
	Values []string // one, or as many as a list has; none for an empty field
	List   bool     // it is written as a list

	at place
}

// ErrorAt makes the error that says that something is wrong with a setting.
func (f *File) ErrorAt(s Setting, message string) *Error {
	return f.src.errorAt(s.at, "server."+s.Name, message)
}

var sections = []string{"plans", "rules", "addresses", "server"}

// ParseFile reads a configuration file; name is what errors call it. The error is
// an *Error.
func ParseFile(name string, text []byte) (*File, error) { return Parser{}.ParseFile(name, text) }

// ParseFile reads a configuration file.
func (p Parser) ParseFile(name string, text []byte) (*File, error) {
	return p.parseFile(name, text, sections)
}

// ParseServer reads the section server of a configuration file and looks at nothing
// else. It is for settings that decide how the rest is to be read.
func ParseServer(name string, text []byte) (*File, error) {
	return Parser{}.parseFile(name, text, []string{"server"})
}

// parseFile reads some sections of a file.
func (p Parser) parseFile(name string, text []byte, wanted []string) (*File, error) {
	n, src, err := parse(name, text, FileBytesMax, cutLevels)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, src: src}
	r := p.reader(src)
	if n.shape == empty {
		return f, nil
	}
	r.fields(n, "the file", sections, func(s pair) {
		if s.value.shape == empty || !slices.Contains(wanted, s.name) {
			return
		}
		switch s.name {
		case "plans":
			f.Plans = r.filePlans(s.value)
		case "rules":
			f.Rules = r.fileRules(s.value)
		case "addresses":
			f.Addresses = r.addresses(s.value)
		case "server":
			f.Server = r.settings(s.value, "", nil)
		}
	})
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

func (r *reader) filePlans(n *node) []*Plan {
	if len(n.pairs) > PlansMax {
		r.fail(n.at, "there may be at most %d plans, got %d", PlansMax, len(n.pairs))
	}
	list := make([]*Plan, 0, len(n.pairs))
	r.fields(n, "plans", nil, func(p pair) {
		if r.name(p.at, "a plan's name", p.name); r.err == nil {
			list = append(list, r.plan(p.value, p.name))
		}
	})
	slices.SortFunc(list, func(a, b *Plan) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (r *reader) fileRules(n *node) []*Rule {
	if n.shape != list {
		r.fail(n.at, "rules must be a list such as [{name: api, match: /api/, per: user, plan: pro}], got %s", n.described())
	}
	if len(n.items) > RulesMax {
		r.fail(n.at, "there may be at most %d rules, got %d", RulesMax, len(n.items))
	}
	rules := make([]*Rule, 0, len(n.items))
	named := make(map[string]*Rule, len(n.items))
	for i, item := range n.items {
		if r.err != nil {
			return nil
		}
		r.in(step{item: i + 1}, func() {
			rule := r.rule(item, "")
			if first := named[rule.Name]; first != nil && r.err == nil {
				r.fail(rule.at.name, "rule '%s' is there twice, first in line %d", rule.Name, first.at.name.line)
			}
			named[rule.Name] = rule
			rules = append(rules, rule)
		})
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

// settings reads a section without knowing what may be in it.
func (r *reader) settings(n *node, before string, to []Setting) []Setting {
	r.fields(n, strings.TrimSuffix("server."+before, "."), nil, func(p pair) {
		s := Setting{Name: before + p.name, at: p.at}
		switch p.value.shape {
		case mapping:
			to = r.settings(p.value, s.Name+".", to)
			return
		case scalar:
			s.Values = []string{p.value.text}
		case list:
			s.List = true
			for i, item := range p.value.items {
				r.in(step{item: i + 1}, func() {
					s.Values = append(s.Values, r.text(item, fmt.Sprintf("%s must be a list of words", p.name)))
				})
			}
		}
		to = append(to, s)
	})
	return to
}

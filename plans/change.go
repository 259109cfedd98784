package plans

// Changes of a book, each a new book, and what differs between two of them.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WithFile is the book with another file; what commands have set stays.
func (b *Book) WithFile(file *File) (*Book, error) { return NewBook(file, b.set) }

// WithPlan is the book with a plan set by command.
func (b *Book) WithPlan(p *Plan) (*Book, error) {
	return b.replaced(with(b.set.Plans, p.Name, p), p.Name, p)
}

// replaced is the book with other plans set, of which one, that may be nil now,
// differs. Only what can be wrong with that one is looked at, so that setting many
// plans one after the other stays bearable.
func (b *Book) replaced(set map[string]*Plan, name string, p *Plan) (*Book, error) {
	n := *b
	n.set.Plans = set
	if was := b.plans[name]; was != nil {
		n.plansVersion -= was.version
	}
	if p == nil {
		n.plans = without(b.plans, name)
		for _, rule := range b.RuleNames() {
			if r := b.rules[rule]; r.Plan == name || r.Anonymous == name {
				return nil, &Error{Message: fmt.Sprintf("rule '%s' names plan '%s': take the rule back, or give it another plan, first", rule, name)}
			}
		}
	} else {
		n.plans = with(b.plans, name, p)
		n.plansVersion += p.version
		if err := n.checkKindsOf(p); err != nil {
			return nil, err
		}
	}
	if len(n.plans) > PlansMax {
		return nil, tooMany(len(n.plans), len(n.rules))
	}
	n.stamp()
	return &n, nil
}

// checkKindsOf is checkKinds for one plan, all others being right.
func (b *Book) checkKindsOf(p *Plan) *Error {
	var other *Plan
	limit := ""
	for _, q := range b.plans {
		for i := range p.Limits {
			l := &p.Limits[i]
			if own := q.limit(l.Name); own != nil && own.Kind() != l.Kind() && (other == nil || q.Name < other.Name) {
				other, limit = q, l.Name
			}
		}
	}
	if other == nil {
		return nil
	}
	return p.kindError(limit, other)
}

// WithRule is the book with a rule set by command.
func (b *Book) WithRule(r *Rule) (*Book, error) {
	return NewBook(b.file, Set{Plans: b.set.Plans, Rules: with(b.set.Rules, r.Name, r)})
}

// WithoutPlan is the book without the plan of that name that a command has set. A
// plan of the file of that name is there again.
func (b *Book) WithoutPlan(name []byte) (*Book, error) {
	if b.PlanSource(name) != FromCommand {
		return nil, b.notSet("plan", name, b.PlanSource(name))
	}
	var behind *Plan
	if i, ok := slices.BinarySearchFunc(b.file.Plans, string(name), func(p *Plan, name string) int { return strings.Compare(p.Name, name) }); ok {
		behind = b.file.Plans[i]
	}
	return b.replaced(without(b.set.Plans, string(name)), string(name), behind)
}

// WithoutRule is the book without the rule of that name that a command has set. A
// rule of the file of that name is there again.
func (b *Book) WithoutRule(name []byte) (*Book, error) {
	if b.RuleSource(name) != FromCommand {
		return nil, b.notSet("rule", name, b.RuleSource(name))
	}
	return NewBook(b.file, Set{Plans: b.set.Plans, Rules: without(b.set.Rules, string(name))})
}

func (b *Book) notSet(what string, name []byte, source Source) error {
	if source == FromFile {
		return &Error{Message: fmt.Sprintf("%s '%s' is in the file %s: take it out there", what, show(string(name)), b.file.Name)}
	}
	return &Error{Message: fmt.Sprintf("no such %s '%s'", what, show(string(name)))}
}

// PlanSource says where the plan of a name comes from.
func (b *Book) PlanSource(name []byte) Source {
	return sourceOf(b.plans, b.set.Plans, name)
}

// RuleSource says where the rule of a name comes from.
func (b *Book) RuleSource(name []byte) Source {
	return sourceOf(b.rules, b.set.Rules, name)
}

// Hidden lists the plans and rules of the file that do not hold, because commands have
// set others of their names.
func (b *Book) Hidden() (plans, rules []string) {
	if b.file == nil {
		return nil, nil
	}
	for _, p := range b.file.Plans {
		if set := b.set.Plans[p.Name]; set != nil && set.Version() != p.Version() {
			plans = append(plans, p.Name)
		}
	}
	for _, r := range b.file.Rules {
		if set := b.set.Rules[r.Name]; set != nil && set.Version() != r.Version() {
			rules = append(rules, r.Name)
		}
	}
	return plans, rules
}

func sourceOf[V any](all, set map[string]*V, name []byte) Source {
	switch {
	case set[string(name)] != nil:
		return FromCommand
	case all[string(name)] != nil:
		return FromFile
	}
	return Nowhere
}

func with[V any](m map[string]*V, name string, v *V) map[string]*V {
	n := maps.Clone(m)
	if n == nil {
		n = make(map[string]*V)
	}
	n[name] = v
	return n
}

func without[V any](m map[string]*V, name string) map[string]*V {
	n := maps.Clone(m)
	delete(n, name)
	return n
}

// Change is something that differs between two books.
type Change struct {
	Rule bool // it is a rule, else a plan
	Name string
	What string // "added", "changed" or "removed"
}

// Changes lists what the book has that an older one had not: plans, then rules, by
// name.
func (b *Book) Changes(older *Book) []Change {
	list := changes(nil, false, older.plans, b.plans, (*Plan).Version)
	return changes(list, true, older.rules, b.rules, (*Rule).Version)
}

func changes[V any](list []Change, isRule bool, was, is map[string]*V, version func(*V) uint64) []Change {
	both := make(map[string]bool, len(is))
	for name := range was {
		both[name] = true
	}
	for name := range is {
		both[name] = true
	}
	for _, name := range sortedNames(both) {
		what := "changed"
		switch {
		case was[name] == nil:
			what = "added"
		case is[name] == nil:
			what = "removed"
		case was[name] == is[name] || version(was[name]) == version(is[name]):
			continue
		}
		list = append(list, Change{Rule: isRule, Name: name, What: what})
	}
	return list
}

package plans

// The book: every plan and every rule that holds at this moment, from the file and
// from commands. A server keeps one behind an atomic pointer. A change is a new
// book, made and checked beside the old one; where it is not right, there is an
// error and no book.

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/algorithms"
)

// Book is all plans and rules. It is immutable, and so is everything in it.
type Book struct {
	file  *File
	set   Set
	plans map[string]*Plan
	rules map[string]*Rule
	tree  *tree

	plansVersion, rulesVersion, version uint64
}

// Set is what commands have defined: it stands in front of what the file says
// under the same name. Its maps are not changed, neither by books nor by others.
type Set struct {
	Plans map[string]*Plan
	Rules map[string]*Rule
}

// Source says where the plan or rule of a name comes from.
type Source uint8

const (
	// Nowhere: there is none of that name.
	Nowhere Source = iota
	// FromFile: it is in the configuration file.
	FromFile
	// FromCommand: a command has set it, over that of the file if there is one.
	FromCommand
)

// NewBook makes a book of a file, which may be nil, and of what commands have set.
// The error is an *Error.
func NewBook(file *File, set Set) (*Book, error) {
	if file == nil {
		file = &File{}
	}
	b := &Book{file: file, set: set}
	b.plans = make(map[string]*Plan, len(file.Plans)+len(set.Plans))
	for _, p := range file.Plans {
		b.plans[p.Name] = p
	}
	maps.Copy(b.plans, set.Plans)
	b.rules = make(map[string]*Rule, len(file.Rules)+len(set.Rules))
	for _, r := range file.Rules {
		b.rules[r.Name] = r
	}
	maps.Copy(b.rules, set.Rules)
	if err := b.check(); err != nil {
		return nil, err
	}
	b.count()
	return b, nil
}

// check sees to what plans and rules are to each other, and makes the tree.
func (b *Book) check() *Error {
	if len(b.plans) > PlansMax || len(b.rules) > RulesMax {
		return tooMany(len(b.plans), len(b.rules))
	}
	if err := b.checkKinds(); err != nil {
		return err
	}
	if err := b.checkRules(); err != nil {
		return err
	}
	rules := make([]*Rule, 0, len(b.rules))
	for _, name := range sortedNames(b.rules) {
		rules = append(rules, b.rules[name])
	}
	var err *Error
	b.tree, err = newTree(rules)
	return err
}

func tooMany(plans, rules int) *Error {
	return &Error{Message: fmt.Sprintf("there may be at most %d plans and %d rules, got %d and %d", PlansMax, RulesMax, plans, rules)}
}

// checkRules sees to it that every plan that a rule names is there.
func (b *Book) checkRules() *Error {
	for _, r := range b.rules {
		if b.plans[r.Plan] == nil || r.Anonymous != "" && b.plans[r.Anonymous] == nil {
			return b.planError()
		}
	}
	return nil
}

// planError says which rule, the first by name, names a plan that is not there.
func (b *Book) planError() *Error {
	for _, name := range sortedNames(b.rules) {
		r := b.rules[name]
		at, field, plan := r.at.plan, "plan", r.Plan
		if b.plans[plan] != nil {
			at, field, plan = r.at.anonymous, "anonymous_plan", r.Anonymous
		}
		if plan == "" || b.plans[plan] != nil {
			continue
		}
		hint := ""
		if near := algorithms.Nearest(plan, b.PlanNames()); near != "" {
			hint = ", did you mean '" + near + "'?"
		}
		return r.errorAt(at, field, fmt.Sprintf("rule '%s' names plan '%s', which does not exist%s", r.Name, plan, hint))
	}
	return nil
}

// checkKinds sees to it that a limit's name means one kind of limit in all plans:
// two of different kinds would be two types of state under one name.
func (b *Book) checkKinds() *Error {
	kinds := make(map[string]algorithms.Kind)
	for _, p := range b.plans {
		for i := range p.Limits {
			l := &p.Limits[i]
			kind, known := kinds[l.Name]
			if known && kind != l.Kind() {
				return b.kindError(l.Name)
			}
			kinds[l.Name] = l.Kind()
		}
	}
	return nil
}

// kindError says which plans disagree on a limit: the first by name, and the first
// that differs from it.
func (b *Book) kindError(limit string) *Error {
	var first, differs *Plan
	for _, name := range b.PlanNames() {
		p := b.plans[name]
		l := p.limit(limit)
		switch {
		case l == nil || differs != nil:
		case first == nil:
			first = p
		case first.limit(limit).Kind() != l.Kind():
			differs = p
		}
	}
	return differs.kindError(limit, first)
}

// kindError says that a limit of the plan is of another kind than in another plan.
func (p *Plan) kindError(limit string, other *Plan) *Error {
	l := p.limit(limit)
	path := []step{{name: "plans"}, {name: p.Name}, {name: "limits"}, {name: limit}}
	if p.src.file == "" {
		path = path[2:]
	}
	return p.src.errorAt(l.at, fieldPath(path...), fmt.Sprintf("limit '%s' counts %s in plan '%s' and %s in plan '%s': a key keeps its state from plan to plan under the limit's name, so a name must mean one kind of limit",
		limit, kindName(l.Kind()), p.Name, kindName(other.limit(limit).Kind()), other.Name))
}

// count makes the versions. Sums do not depend on an order.
func (b *Book) count() {
	for _, p := range b.plans {
		b.plansVersion += p.version
	}
	for _, r := range b.rules {
		b.rulesVersion += r.version
	}
	b.stamp()
}

// stamp makes the version of the whole.
func (b *Book) stamp() {
	a := b.file.Addresses
	trusted := make([]string, len(a.Trusted))
	for i, network := range a.Trusted {
		trusted[i] = network.String()
	}
	slices.Sort(trusted)
	if a.IPv6Prefix == 0 {
		a.IPv6Prefix = IPv6PrefixDefault
	}
	form := binary.BigEndian.AppendUint64(nil, b.plansVersion)
	form = binary.BigEndian.AppendUint64(form, b.rulesVersion)
	form = fmt.Appendf(form, "%d %s", a.IPv6Prefix, strings.Join(trusted, " "))
	b.version = versionOf("book", "", form)
}

// Version is a number made of all that the book says: equal books have equal
// versions on every machine, wherever their plans and rules come from.
func (b *Book) Version() uint64 { return b.version }

// PlansVersion is the version of the plans alone, 0 if there are none.
func (b *Book) PlansVersion() uint64 { return b.plansVersion }

// RulesVersion is the version of the rules alone, 0 if there are none.
func (b *Book) RulesVersion() uint64 { return b.rulesVersion }

// Plan returns a plan by its name, nil if there is none.
func (b *Book) Plan(name []byte) *Plan { return b.plans[string(name)] }

// Rule returns a rule by its name, nil if there is none.
func (b *Book) Rule(name []byte) *Rule { return b.rules[string(name)] }

// PlanNames lists the plans.
func (b *Book) PlanNames() []string { return sortedNames(b.plans) }

// RuleNames lists the rules.
func (b *Book) RuleNames() []string { return sortedNames(b.rules) }

// PlanOf returns the plan of a rule of the book, or the one it has for requests
// that lack an identity.
func (b *Book) PlanOf(r *Rule, anonymous bool) *Plan {
	if anonymous && r.Anonymous != "" {
		return b.plans[r.Anonymous]
	}
	return b.plans[r.Plan]
}

// Match appends the rules that apply to a request, most specific first, and returns
// the longer slice: none; the most specific one that matches; or, if that says
// enforce: all, every one that does. An ambiguous path is read in every way (see
// Request), and what applies to any reading applies.
func (b *Book) Match(dst []*Rule, q *Request) []*Rule { return b.tree.match(dst, q) }

// AppendKey writes the key that a rule counts an identity under, as
// Addresses.AppendKey with the book's addresses.
func (b *Book) AppendKey(dst []byte, r *Rule, id *Identity) (key []byte, anonymous bool, err error) {
	return b.file.Addresses.AppendKey(dst, r, id)
}

// File is the file of the book, an empty one if it was made without.
func (b *Book) File() *File { return b.file }

// Set is what commands have set, for those who write it down.
func (b *Book) Set() Set { return b.set }

// LimitNames lists the names that limits have in any plan.
func (b *Book) LimitNames() []string {
	names := make(map[string]bool)
	for _, p := range b.plans {
		for i := range p.Limits {
			names[p.Limits[i].Name] = true
		}
	}
	return sortedNames(names)
}

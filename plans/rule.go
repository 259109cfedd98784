package plans

// Rules: which plan a request of a gateway falls under, and whose it is. A rule
// names its plan; the Book it is in knows that the plan is there.

import (
	"slices"
	"strconv"
	"strings"

	"sluice/algorithms"
)

// ScopesMax is how many parts the key of a rule may be made of.
const ScopesMax = 8

// The scopes that a rule can count by itself. Every other one is the name of an
// attribute.
const (
	ScopeUser   = "user"
	ScopeAPIKey = "api_key"
	ScopeIP     = "ip"
	ScopeGlobal = "global"
)

var scopeNames = []string{ScopeUser, ScopeAPIKey, ScopeIP, ScopeGlobal}

// Rule says which plan requests fall under and what their key is made of. It is
// immutable.
type Rule struct {
	Name      string
	Match     string   // the pattern, as written
	Per       []string // the scopes of the key, in order; one at least
	Plan      string   // the plan's name
	Anonymous string   // the plan where an identity is missing; "": Plan
	Cost      uint64   // what a request costs unless it says so itself
	All       bool     // enforce: all: with this rule every other rule that matches applies

	pattern pattern
	version uint64
	src     *source
	field   string // path to the rule in its source
	at      rulePlaces
}

// rulePlaces are where in the source a rule's fields stand.
type rulePlaces struct {
	name, match, plan, anonymous place
}

// Version is a number made of the rule's name and contents: equal rules have equal
// versions on every machine.
func (r *Rule) Version() uint64 { return r.version }

// errorAt makes the error for a field of the rule.
func (r *Rule) errorAt(at place, field, message string) *Error {
	if r.field != "" {
		field = r.field + "." + field
	}
	return r.src.errorAt(at, field, message)
}

// AppendJSON writes the rule's canonical form, from which ParseRule makes an equal
// rule.
func (r *Rule) AppendJSON(dst []byte) []byte {
	word := func(name, value string) {
		dst = append(dst, `,"`...)
		dst = append(dst, name...)
		dst = append(dst, `":`...)
		dst = appendString(dst, value)
	}
	dst = appendString(append(dst, `{"match":`...), r.Match)
	if len(r.Per) == 1 && slices.Contains(scopeNames, r.Per[0]) {
		word("per", r.Per[0])
	} else {
		dst = append(dst, `,"per":[`...)
		for i, scope := range r.Per {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, scope)
		}
		dst = append(dst, ']')
	}
	word("plan", r.Plan)
	if r.Anonymous != "" {
		word("anonymous_plan", r.Anonymous)
	}
	if r.Cost != 1 {
		dst = strconv.AppendUint(append(dst, `,"cost":`...), r.Cost, 10)
	}
	if r.All {
		word("enforce", "all")
	}
	return append(dst, '}')
}

// ParseRule reads one rule, JSON or YAML, as a command or a request gives it. The
// text may repeat the name. The error is an *Error.
func ParseRule(name string, text []byte) (*Rule, error) { return Parser{}.ParseRule(name, text) }

// ParseRule reads one rule.
func (p Parser) ParseRule(name string, text []byte) (*Rule, error) {
	n, src, err := parse("", text, TextBytesMax, cutLevels)
	if err != nil {
		return nil, err
	}
	r := p.reader(src)
	if r.name(place{}, "a rule's name", name); r.err != nil {
		return nil, r.err
	}
	rule := r.rule(n, name)
	if r.err != nil {
		return nil, r.err
	}
	return rule, nil
}

var (
	ruleFields   = []string{"name", "match", "per", "plan", "anonymous_plan", "cost", "enforce"}
	enforceNames = []string{"first", "all"}
)

// rule reads the rule that a mapping describes; name is the one it must have, ""
// if the text is to say it.
func (r *reader) rule(n *node, name string) *Rule {
	rule := &Rule{Name: name, Cost: 1, src: r.src, field: r.field()}
	r.fields(n, "a rule", ruleFields, func(f pair) { r.ruleField(rule, f, name) })
	for _, missing := range []struct{ field, value, hint string }{
		{"name", rule.Name, "small letters, digits, '.', '_' and '-'"},
		{"match", rule.Match, "a pattern such as /api/ or POST /api/orders"},
		{"per", strings.Join(rule.Per, ""), "whom the rule counts: user, api_key, ip, global, or a list"},
		{"plan", rule.Plan, "the name of a plan"},
	} {
		if missing.value == "" {
			r.fail(n.at, "%s is missing: %s", missing.field, missing.hint)
		}
	}
	if rule.Anonymous != "" && !rule.canMiss() {
		r.in(step{name: "anonymous_plan"}, func() {
			r.fail(rule.at.anonymous, "anonymous_plan goes with a rule that counts a user, an api_key or an attribute, which may be missing")
		})
	}
	if r.err == nil {
		rule.version = versionOf("rule", rule.Name, rule.AppendJSON(nil))
	}
	return rule
}

func (r *reader) ruleField(rule *Rule, f pair, name string) {
	switch f.name {
	case "name":
		text := r.text(f.value, "a rule's name must be a word")
		if r.name(f.value.at, "a rule's name", text); name != "" && text != name {
			r.fail(f.value.at, "this is rule '%s', the text says '%s'", name, show(text))
		}
		rule.Name, rule.at.name = text, f.value.at
	case "match":
		rule.Match, rule.at.match = r.text(f.value, "match must be a pattern such as /api/ or POST /api/orders"), f.value.at
		var err error
		if rule.pattern, err = parsePattern(rule.Match); err != nil {
			r.fail(f.value.at, "%s", err)
		}
	case "per":
		rule.Per = r.scopes(f.value)
	case "plan":
		rule.Plan, rule.at.plan = r.planName(f.value, "plan"), f.value.at
	case "anonymous_plan":
		rule.Anonymous, rule.at.anonymous = r.planName(f.value, "anonymous_plan"), f.value.at
	case "cost":
		rule.Cost = r.whole(f.value, "cost", 1, algorithms.UnitsMax)
	case "enforce":
		rule.All = r.word(f.value, "enforce", enforceNames) == 1
	}
}

func (r *reader) planName(n *node, field string) string {
	name := r.text(n, field+" must be the name of a plan")
	r.name(n.at, field, name)
	return name
}

// scopes reads what a rule counts by: a word, or a list of words and attributes.
func (r *reader) scopes(n *node) (scopes []string) {
	if n.shape != list {
		return []string{scopeNames[r.perWord(n)]}
	}
	if len(n.items) < 1 || len(n.items) > ScopesMax {
		r.fail(n.at, "per must list 1 to %d scopes, got %d", ScopesMax, len(n.items))
	}
	for i, item := range n.items {
		r.in(step{item: i + 1}, func() {
			scope := r.text(item, "a scope must be user, api_key, ip or the name of an attribute")
			r.name(item.at, "a scope", scope)
			switch {
			case scope == ScopeGlobal && len(n.items) > 1:
				r.fail(item.at, "global stands alone: it counts all requests together")
			case slices.Contains(scopes, scope):
				r.fail(item.at, "scope '%s' is there twice", scope)
			case !slices.Contains(scopeNames, scope):
				for _, known := range scopeNames {
					if strings.NewReplacer("-", "_", ".", "_").Replace(scope) == known || strings.ReplaceAll(known, "_", "") == scope {
						r.fail(item.at, "unknown scope '%s', did you mean '%s'?", scope, known)
					}
				}
			}
			scopes = append(scopes, scope)
		})
	}
	return scopes
}

// perWord reads a single scope. An attribute goes in brackets, so that a misspelt
// user is not taken for one.
func (r *reader) perWord(n *node) int {
	const legal = "per must be user, api_key, ip, global, or a list such as [api_key, model]"
	text := r.text(n, legal)
	if i := slices.Index(scopeNames, text); i >= 0 {
		return i
	}
	if near := algorithms.Nearest(strings.ToLower(text), scopeNames); near != "" {
		r.fail(n.at, "unknown scope '%s', did you mean '%s'? An attribute goes in brackets", show(text), near)
	}
	r.fail(n.at, "%s, got %s", legal, n.described())
	return 0
}

// canMiss says whether the rule counts by something that a request may lack, other
// than the IP.
func (r *Rule) canMiss() bool {
	return slices.ContainsFunc(r.Per, func(scope string) bool { return scope != ScopeIP && scope != ScopeGlobal })
}

package plans

// Exceptions from a plan: other limits for one key, or for all keys that begin
// alike. Each holds the plan's limits ready with its own terms put in, so that
// finding the exception is all there is to do for a call.
//
// An exact key is found in a map. Patterns are sorted by what stands before the
// '*'. Of all patterns that a key begins with, the longest is the greatest that is
// not above the key in that order, or one that it begins with in turn: any pattern
// between the longest and the key has to begin with the longest. So each pattern
// knows the longest one that it begins with, and a look-up is a binary search and
// a few steps up.

import (
	"slices"
	"strings"
)

// override is the exception for one key or pattern.
type override struct {
	pattern string  // as written
	given   []given // by name
	limits  []Limit // the plan's, with what is given put in
}

// given are the terms that an override gives for a limit of its plan.
type given struct {
	name  string
	terms terms
}

// overrides are all exceptions of a plan.
type overrides struct {
	all      []*override // by pattern
	exact    map[string]*override
	prefixes []prefix // by prefix
}

// prefix is a pattern without its '*'.
type prefix struct {
	text     string
	up       int // the longest other prefix that text begins with; -1: none
	override *override
}

// newOverrides makes the exceptions ready to be found.
func newOverrides(all []*override) overrides {
	o := overrides{all: all}
	slices.SortFunc(o.all, func(a, b *override) int { return strings.Compare(a.pattern, b.pattern) })
	for _, v := range o.all {
		text, isPattern := strings.CutSuffix(v.pattern, "*")
		if isPattern {
			o.prefixes = append(o.prefixes, prefix{text: text, override: v})
			continue
		}
		if o.exact == nil {
			o.exact = make(map[string]*override)
		}
		o.exact[v.pattern] = v
	}
	slices.SortFunc(o.prefixes, func(a, b prefix) int { return strings.Compare(a.text, b.text) })
	for i := range o.prefixes {
		up := i - 1
		for up >= 0 && !strings.HasPrefix(o.prefixes[i].text, o.prefixes[up].text) {
			up = o.prefixes[up].up
		}
		o.prefixes[i].up = up
	}
	return o
}

// find returns the exception for a key, nil if there is none.
func (o *overrides) find(key []byte) *override {
	if len(o.exact) > 0 {
		if v := o.exact[string(key)]; v != nil {
			return v
		}
	}
	low, high := 0, len(o.prefixes) // the first prefix above the key
	for low < high {
		middle := int(uint(low+high) >> 1)
		if o.prefixes[middle].text > string(key) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	for i := low - 1; i >= 0; i = o.prefixes[i].up {
		if p := &o.prefixes[i]; len(p.text) <= len(key) && p.text == string(key[:len(p.text)]) {
			return p.override
		}
	}
	return nil
}

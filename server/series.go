package server

// Series: under which numbers the shards count the decisions of plans. A number stands
// for a limit of a plan, asked for by a rule or not; the limits of a plan have numbers
// that follow one another. Numbers are given on first use and never to anything else,
// so counters go on when plans change.

import (
	"strings"
	"sync"
	"sync/atomic"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

// SeriesMax is how many limits of plans are counted apart, each under each rule. What
// is beyond is counted under its algorithm alone.
const SeriesMax = 4096

// series gives the numbers.
type series struct {
	// known holds a uint32 for each use, as long as the book is the same.
	known atomic.Pointer[sync.Map]

	mu     sync.Mutex
	first  map[string]uint32 // by what is counted: rule, plan, limits
	labels []seriesLabels    // of number shard.SeriesMin and those that follow
}

type use struct {
	rule *plans.Rule
	plan *plans.Plan
}

type seriesLabels struct {
	plan, limit, rule string
	algorithm         algorithms.ID
}

// forget is called when there is another book.
func (s *series) forget() { s.known.Store(new(sync.Map)) }

// of is the number of a plan's first limit, under a rule that may be nil; 0: there is
// none left.
func (s *series) of(rule *plans.Rule, plan *plans.Plan) uint32 {
	known := s.known.Load()
	if n, ok := known.Load(use{rule, plan}); ok {
		return n.(uint32)
	}
	n := s.give(rule, plan)
	known.Store(use{rule, plan}, n)
	return n
}

// give finds the numbers of a plan's limits, or takes new ones.
func (s *series) give(rule *plans.Rule, plan *plans.Plan) uint32 {
	ruleName := ""
	if rule != nil {
		ruleName = rule.Name
	}
	counted := []string{ruleName, plan.Name}
	for i := range plan.Limits {
		counted = append(counted, plan.Limits[i].Name, plan.Limits[i].Algorithm.String())
	}
	name := strings.Join(counted, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.first[name]; ok {
		return n
	}
	if len(s.labels)+len(plan.Limits) > SeriesMax {
		return 0
	}
	if s.first == nil {
		s.first = make(map[string]uint32)
	}
	n := uint32(shard.SeriesMin + len(s.labels))
	s.first[name] = n
	for i := range plan.Limits {
		l := &plan.Limits[i]
		s.labels = append(s.labels, seriesLabels{plan.Name, l.Name, ruleName, l.Algorithm})
	}
	return n
}

// all are the labels of the numbers that have been given.
func (s *series) all() []seriesLabels {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.labels[:len(s.labels):len(s.labels)]
}

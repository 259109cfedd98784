package algorithms

// The registry: one row an algorithm. Names, options, documentation and the
// model that decides all come from here; laws, fuzzing, benchmarks and the
// reference range over it.

import (
	"slices"
	"strings"
)

// ID names an algorithm on disk. An id is never reused.
type ID uint8

// The algorithms. The numbers are on disk.
const (
	TokenBucket    ID = 1
	GCRA           ID = 2
	LeakyBucket    ID = 3
	FixedWindow    ID = 4
	SlidingLog     ID = 5
	SlidingCounter ID = 6
	Budget         ID = 7
	Concurrency    ID = 8
)

// Kind says what an algorithm counts. States convert into each other within a
// kind; a key of one kind is of the wrong type for a call of another.
type Kind uint8

const (
	// Rate: units per window.
	Rate Kind = iota
	// Money: millionths per window, written as decimals.
	Money
	// Permits: units held at once.
	Permits
)

// Options are the options that an algorithm takes, as a set of bits.
type Options uint8

const (
	// OptionBurst: BURST n, a capacity other than the limit.
	OptionBurst Options = 1 << iota
	// OptionAlign: ALIGN EPOCH|FIRST|JITTER, where windows begin.
	OptionAlign
	// OptionCalendar: the window may be day, week, month or year, with TZ zone
	// and, for months, ANCHOR day.
	OptionCalendar
)

// Algorithm is a row of the registry.
type Algorithm struct {
	ID      ID
	Kind    Kind
	Name    string   // as TYPE and INSPECT say it
	Short   []string // further names that callers may use
	Options Options
	Summary string // one sentence: what it does
	When    string // one sentence: when to use it

	model model
}

// model is how a load decays; doc.go says what the functions mean. All of them
// are pure in the State; only charge changes the log that a sliding log hands in.
type model struct {
	settle  func(s State, l *Limit, t uint64, log *Log) (State, uint64)
	until   func(s State, l *Limit, x uint64, log *Log) int64
	freshAt func(s State, l *Limit) uint64
	adopt   func(s State, was, l *Limit, used, keyHash uint64) State
	charge  func(s State, l *Limit, cost uint64, log *Log) State
	legal   func(s State, l *Limit) bool
	delay   func(s State, l *Limit) int64 // nil: an admitted call never waits
	mark    func(s State, l *Limit) uint64
	back    func(s State, l *Limit, mark, units uint64, log *Log) State
}

var registry = [...]Algorithm{
	{
		ID: TokenBucket, Name: "token_bucket", Short: []string{"tb"}, Options: OptionBurst,
		Summary: "Starts with the burst free and earns limit/window; a call passes when its cost is free.",
		When:    "The default: a steady rate with room for bursts.",
		model:   meter,
	},
	{
		ID: GCRA, Name: "gcra", Options: OptionBurst,
		Summary: "The generic cell rate algorithm; gives the same answers as token_bucket.",
		When:    "You come from redis-cell or another GCRA limiter and want its name.",
		model:   meter,
	},
	{
		ID: LeakyBucket, Name: "leaky_bucket", Short: []string{"lb"}, Options: OptionBurst,
		Summary: "A queue as deep as the burst that drains at limit/window; an admitted call is told how long to wait.",
		When:    "Work should leave at an even rate, such as calls to a partner's API.",
		model:   queue,
	},
	{
		ID: FixedWindow, Name: "fixed_window", Short: []string{"fw"}, Options: OptionAlign | OptionCalendar,
		Summary: "Counts the units of each window; the count starts again at the window's end.",
		When:    "Quotas that people read as “so many an hour”; up to twice the limit can pass across an edge.",
		model:   window,
	},
	{
		ID: SlidingLog, Name: "sliding_log", Short: []string{"sl"},
		Summary: "Remembers every charge: exactly limit units in any window, wherever it is laid.",
		When:    "The exact answer is worth 16 bytes or more a call: small limits, logins, payments.",
		model:   slidingLog,
	},
	{
		ID: SlidingCounter, Name: "sliding_counter", Short: []string{"sc"},
		Summary: "Weighs the window before by what still overlaps: an estimate of sliding_log from two counts.",
		When:    "Large limits without edges, in constant memory.",
		model:   counter,
	},
	{
		ID: Budget, Kind: Money, Name: "budget", Options: OptionCalendar,
		Summary: "Counts decimals, such as dollars, per window; a plain duration begins with the first charge.",
		When:    "Money and other fractions, per calendar day or month above all.",
		model:   window,
	},
	{
		ID: Concurrency, Kind: Permits, Name: "concurrency",
		Summary: "Counts what is held at the same time; a permit frees itself after the window, its time to live.",
		When:    "Work that must not run too often at once; in plans and RL.ACQUIRE.",
		model:   permits,
	},
}

// byID finds a row by its id; rows of ids that do not exist are nil.
var byID = func() (t [256]*Algorithm) {
	for i := range registry {
		t[registry[i].ID] = &registry[i]
	}
	return t
}()

// byName finds an id by any of its names, in lower case with underscores.
var byName = func() map[string]ID {
	m := make(map[string]ID)
	for i := range registry {
		m[registry[i].Name] = registry[i].ID
		for _, s := range registry[i].Short {
			m[s] = registry[i].ID
		}
	}
	return m
}()

// All returns the rows of the registry in the order of their ids. The caller
// must not change them.
func All() []Algorithm { return registry[:] }

// Rates returns the rows that count units per window.
func Rates() []Algorithm { return registry[:rates] }

// rates is how many rows are of the kind Rate; they come first.
var rates = slices.IndexFunc(registry[:], func(a Algorithm) bool { return a.Kind != Rate })

// Of returns the row of an id, nil for an id that is not in the registry.
func Of(id ID) *Algorithm { return byID[id] }

// String is the algorithm's name.
func (id ID) String() string {
	if a := byID[id]; a != nil {
		return a.Name
	}
	return "unknown"
}

// nameBytesMax bounds what Lookup looks at; every name is shorter.
const nameBytesMax = 24

// Lookup finds an algorithm by name: any case, '-' or '_', long or short.
func Lookup(name []byte) (ID, bool) {
	var buf [nameBytesMax]byte
	if len(name) > len(buf) {
		return 0, false
	}
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '-':
			c = '_'
		}
		buf[i] = c
	}
	id, ok := byName[string(buf[:len(name)])]
	return id, ok
}

// Names lists the long names of all algorithms.
func Names() []string {
	names := make([]string, len(registry))
	for i := range registry {
		names[i] = registry[i].Name
	}
	return names
}

// join writes a list as people do: "a, b and c".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

package server

// The limiter commands: how their arguments become operations, and how answered
// operations become replies.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

const (
	// GroupsMax is how many groups RL.MALLOW takes.
	GroupsMax = 1000
	// KeyBytesMax is the longest key that a caller may choose.
	KeyBytesMax = 65_536
)

// show and nearest serve every error text of the server.
var (
	show    = algorithms.Show
	nearest = algorithms.Nearest
)

// TagHash is the hash that decides on which shard a key lives.
func TagHash(key []byte) uint64 { return xxhash.Sum64(shard.Tag(key)) }

// add appends an operation on a key to the session's batch.
func (s *session) add(key []byte) *shard.Op { return addTo(s.batch, key) }

// addTo appends an operation on a key to a batch.
func addTo(b *shard.Batch, key []byte) *shard.Op {
	hash := xxhash.Sum64(key)
	tagHash := hash
	if tag := shard.Tag(key); len(tag) != len(key) {
		tagHash = xxhash.Sum64(tag)
	}
	op := b.Add(tagHash)
	op.Key, op.Call.KeyHash = key, hash
	return op
}

// checkKey refuses keys that are too long.
func checkKey(key []byte) error {
	if len(key) > KeyBytesMax {
		return fmt.Errorf("ERR key must be at most %d bytes, got %d", KeyBytesMax, len(key))
	}
	return nil
}

// question says how a command reads its cost.
type question struct {
	kind      shard.Kind
	costLeast uint64
}

var (
	askAllow = question{shard.Allow, 1}
	askPeek  = question{shard.Peek, 0}
)

// amount reads a number of units as an algorithm counts them: whole, or, where they
// are money, as a decimal.
func amount(name string, text []byte, id algorithms.ID, least uint64) (uint64, error) {
	if algorithms.Of(id).Kind == algorithms.Money {
		return algorithms.ParseDecimal(name, text, least)
	}
	return algorithms.ParseWhole(name, text, least, algorithms.UnitsMax)
}

// cost reads a cost.
func (q question) cost(text []byte, id algorithms.ID) (uint64, error) {
	n, err := amount("cost", text, id, q.costLeast)
	if err == nil {
		return n, nil
	}
	hint := ""
	if q.costLeast == 1 && strings.Trim(string(text), "0") == "" && len(text) > 0 {
		hint = "; to look without spending use RL.PEEK"
	}
	return 0, fmt.Errorf("ERR %w%s", err, hint)
}

// one parses key algorithm limit window [cost] [options], or key @plan ….
func (q question) one(s *session, args [][]byte) error {
	key, rest := args[1], args[2:]
	if err := checkKey(key); err != nil {
		return err
	}
	if isPlan(rest[0]) {
		return q.onePlan(s, args)
	}
	if len(rest) < 3 {
		return byCommand[strings.ToUpper(string(args[0]))].arityError()
	}
	spec, err := parseSpec(rest)
	if err != nil {
		return err
	}
	if err := notPermits(spec.Algorithm); err != nil {
		return err
	}
	cost := unitOf(spec.Algorithm)
	rest = rest[3:]
	if len(rest) > 0 && !isWord(rest[0]) {
		if cost, err = q.cost(rest[0], spec.Algorithm); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return s.ask(q.kind, key, spec, cost)
	}
	return q.withOptions(s, args, spec, cost, rest)
}

// withOptions goes on where options follow the cost.
func (q question) withOptions(s *session, args [][]byte, spec algorithms.Spec, cost uint64, rest [][]byte) error {
	s.again = remembering{}
	if err := parseOptions(&spec, rest, options{again: &s.again}); err != nil {
		return err
	}
	if s.again.name == nil {
		return s.ask(q.kind, args[1], spec, cost)
	}
	if q.kind == shard.Peek {
		return errors.New("ERR IDEMPOTENT is for RL.ALLOW; a look may be repeated anyway")
	}
	first := len(s.batch.Ops)
	if err := s.ask(q.kind, args[1], spec, cost); err != nil {
		return err
	}
	s.rememberCall(first, args)
	return nil
}

// rememberCall gives RL.ALLOW the id that it has brought.
func (s *session) rememberCall(first int, args [][]byte) {
	s.remember(first, &s.again, args[1], s.questionOf(withoutID(args, s.again.name)), asCall)
}

// parseCharge parses key algorithm limit window amount for RL.REFUND and RL.DEBIT.
func parseCharge(kind shard.Kind) func(*session, [][]byte) error {
	return func(s *session, args [][]byte) error {
		if err := checkKey(args[1]); err != nil {
			return err
		}
		if isPlan(args[2]) {
			return s.parsePlanCharge(kind, args)
		}
		if len(args) < 6 {
			return byCommand[strings.ToUpper(string(args[0]))].arityError()
		}
		spec, err := parseSpec(args[2:])
		if err != nil {
			return err
		}
		if err := notPermits(spec.Algorithm); err != nil {
			return err
		}
		n, err := amount("amount", args[5], spec.Algorithm, 1)
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		if err := parseOptions(&spec, args[6:], options{}); err != nil {
			return err
		}
		return s.ask(kind, args[1], spec, n)
	}
}

// ask adds an operation under the limit that a spec describes.
func (s *session) ask(kind shard.Kind, key []byte, spec algorithms.Spec, cost uint64) error {
	limit, err := algorithms.NewLimit(spec, s.server.logLimitMax)
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	op := s.add(key)
	op.Kind = kind
	op.Call.Limit, op.Call.Cost = s.limit(limit), cost
	return nil
}

// unitOf is the cost of a call that does not say any.
func unitOf(id algorithms.ID) uint64 {
	if algorithms.Of(id).Kind == algorithms.Money {
		return algorithms.Millionths
	}
	return 1
}

// notPermits refuses permits where nobody could give them back.
func notPermits(id algorithms.ID) error {
	if algorithms.Of(id).Kind == algorithms.Permits {
		return errors.New("ERR concurrency is for RL.ACQUIRE, RL.ALLOWALL and plans, which know how a permit is given back")
	}
	return nil
}

// isPlan says whether a word names a plan.
func isPlan(word []byte) bool { return len(word) > 0 && word[0] == '@' }

// parseSpec reads algorithm, limit and window.
func parseSpec(args [][]byte) (spec algorithms.Spec, err error) {
	id, ok := algorithms.Lookup(args[0])
	if !ok {
		return spec, unknownAlgorithm(args[0])
	}
	spec.Algorithm = id
	if spec.Units, err = amount("limit", args[1], id, 1); err != nil {
		return spec, fmt.Errorf("ERR %w", err)
	}
	if align, ok := algorithms.ParseCalendar(args[2]); ok {
		spec.Align = align
		return spec, nil
	}
	if spec.Window, err = algorithms.ParseDuration("window", args[2], algorithms.WindowMaxNanos); err != nil {
		more := ""
		if a := algorithms.Of(id); a.Options&algorithms.OptionCalendar != 0 {
			more = "; " + a.Name + " also takes day, week, month and year"
		}
		return spec, fmt.Errorf("ERR %w%s", err, more)
	}
	return spec, nil
}

func unknownAlgorithm(name []byte) error {
	if near := nearest(strings.ReplaceAll(strings.ToLower(string(name)), "-", "_"), algorithms.Names()); near != "" {
		return fmt.Errorf("ERR unknown algorithm '%s', did you mean '%s'?", show(name), near)
	}
	return fmt.Errorf("ERR unknown algorithm '%s', it must be one of %s", show(name), strings.Join(algorithms.Names(), ", "))
}

// optionWords are the options of a limit.
var optionWords = []string{"BURST", "ALIGN", "TZ", "ANCHOR"}

// isWord says whether what follows the window is meant as an option, right or
// wrong, and not as a cost.
func isWord(word []byte) bool {
	return len(word) > 0 && (word[0] >= 'A' && word[0] <= 'Z' || word[0] >= 'a' && word[0] <= 'z')
}

// aligns are the values of ALIGN.
var aligns = []struct {
	name  string
	align algorithms.Align
}{
	{"EPOCH", algorithms.AlignEpoch},
	{"FIRST", algorithms.AlignFirst},
	{"JITTER", algorithms.AlignJitter},
}

// options are what only some commands have besides the options of a limit.
type options struct {
	again *remembering // takes IDEMPOTENT id [TTL d]; nil: there is none
	words []string     // more, the value of which parse reads
	parse func(word string, rest [][]byte) (took int, err error)
}

// list lists all words.
func (o *options) list() []string {
	list := slices.Clone(optionWords)
	if o.again != nil {
		list = append(list, idempotentWord)
	}
	return append(list, o.words...)
}

// parseOptions reads the options after the cost: those of a limit, and more.
func parseOptions(spec *algorithms.Spec, rest [][]byte, more options) error {
	var buf [commandNameBytesMax]byte
	var seen uint64
	for len(rest) > 0 {
		word := capitals(&buf, rest[0])
		own := indexOf(optionWords, word)
		other := indexOf(more.words, word)
		again := more.again != nil && string(word) == idempotentWord
		bit := uint64(1) << (own + 1) // none is its own
		switch {
		case own >= 0:
		case other >= 0:
			bit = 2 << (len(optionWords) + other)
		case !again:
			return unknownOption(rest[0], more.list())
		}
		if len(rest) < 2 {
			return fmt.Errorf("ERR %s wants a value after it", string(word))
		}
		if seen&bit != 0 {
			return fmt.Errorf("ERR %s is given twice", string(word))
		}
		seen |= bit
		took, err := 2, error(nil)
		switch {
		case again:
			took, err = more.again.parseIdempotent(rest)
		case own >= 0:
			err = parseOption(spec, optionWords[own], rest[1])
		default:
			took, err = more.parse(more.words[other], rest)
		}
		if err != nil {
			return err
		}
		rest = rest[took:]
	}
	return nil
}

// is says whether a word is an option's, in whatever case.
func is(word []byte, option string) bool {
	return len(word) == len(option) && strings.EqualFold(string(word), option)
}

// indexOf is where a word stands in a list, -1 if it does not.
func indexOf(list []string, word []byte) int {
	for i := range list {
		if list[i] == string(word) {
			return i
		}
	}
	return -1
}

// parseOption reads one option of a limit.
func parseOption(spec *algorithms.Spec, word string, text []byte) error {
	switch word {
	case "ALIGN":
		return parseAlign(spec, text)
	case "TZ":
		zone, err := algorithms.ParseZone(string(text))
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		spec.Zone, spec.ZoneSet = zone, true
	case "ANCHOR":
		n, err := algorithms.ParseWhole("anchor", text, 1, 31)
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		spec.Anchor = uint8(n)
	default:
		n, err := algorithms.ParseWhole("burst", text, 1, algorithms.UnitsMax)
		if err != nil {
			return fmt.Errorf("ERR %w", err)
		}
		spec.Burst = n
	}
	return nil
}

func parseAlign(spec *algorithms.Spec, text []byte) error {
	if spec.AlignSet = true; spec.Align.IsCalendar() {
		return nil // NewLimit says that the two do not go together
	}
	for _, a := range aligns {
		if strings.EqualFold(a.name, string(text)) {
			spec.Align = a.align
			return nil
		}
	}
	return fmt.Errorf("ERR ALIGN must be EPOCH, FIRST or JITTER, got '%s'", show(text))
}

func unknownOption(word []byte, words []string) error { return unknownOptionOf(word, words, "window") }

// unknownOptionOf says which options there are, and after what a cost would stand, if
// it has a place of its own.
func unknownOptionOf(word []byte, words []string, after string) error {
	if near := nearest(strings.ToUpper(string(word)), words); near != "" {
		return fmt.Errorf("ERR unknown option '%s', did you mean '%s'?", show(word), near)
	}
	if after != "" {
		after = "; a cost comes right after the " + after
	}
	return fmt.Errorf("ERR unknown option '%s', the options are %s%s", show(word), strings.Join(words, ", "), after)
}

// writeDecision is the reply of RL.ALLOW and RL.PEEK.
func writeDecision(s *session, out []byte, ops []shard.Op) []byte {
	if a := ops[0].Again; a != nil {
		if out, done := s.appendAgain(out, a); done {
			return out
		}
	}
	return s.appendGroup(out, ops)
}

// parseMany parses the groups of RL.MALLOW.
func parseMany(s *session, args [][]byte) error {
	rest := args[1:]
	first := len(s.batch.Ops)
	for group := 1; len(rest) > 0; group++ {
		if group > GroupsMax {
			return fmt.Errorf("ERR at most %d groups in one RL.MALLOW", GroupsMax)
		}
		size := groupSize(rest)
		if len(rest) < size {
			return fmt.Errorf("ERR group %d is short: a group is key algorithm limit window cost, or key @plan cost", group)
		}
		at := len(s.batch.Ops)
		if err := parseGroup(s, rest[:size], false); err != nil {
			return inGroup(group, err)
		}
		if len(s.batch.Ops)-first > LimitsPerCallMax {
			return errManyLimits()
		}
		s.server.namePermits(s.batch.Ops[at:], "")
		rest = rest[size:]
	}
	return nil
}

// groupSize is how many words the first of some groups has.
func groupSize(rest [][]byte) int {
	if len(rest) > 1 && isPlan(rest[1]) {
		return 3
	}
	return 5
}

// groupKeys are the keys of RL.MALLOW: every group's first word.
func groupKeys(args [][]byte) (keys [][]byte) {
	for rest := args[1:]; len(rest) > 0; rest = rest[min(groupSize(rest), len(rest)):] {
		keys = append(keys, rest[0])
	}
	return keys
}

// parseGroup parses one group, of RL.MALLOW or of a command that knows what to do
// with permits.
func parseGroup(s *session, g [][]byte, permits bool) error {
	if err := checkKey(g[0]); err != nil {
		return err
	}
	if isPlan(g[1]) {
		c, err := s.parsePlan(g[1:], askAllow, 0, nil)
		if err == nil {
			s.addPlan(g[0], &c)
		}
		return err
	}
	spec, err := parseSpec(g[1:])
	if err != nil {
		return err
	}
	if !permits {
		if err := notPermits(spec.Algorithm); err != nil {
			return err
		}
	}
	cost, err := askAllow.cost(g[4], spec.Algorithm)
	if err != nil {
		return err
	}
	return s.ask(shard.Allow, g[0], spec, cost)
}

// inGroup says in which group of a command an error is, after its code.
func inGroup(group int, err error) error {
	code, text, _ := strings.Cut(err.Error(), " ")
	return fmt.Errorf("%s group %d: %s", code, group, text)
}

func writeMany(s *session, out []byte, ops []shard.Op) []byte {
	groups := 0
	for i := 0; i < len(ops); i += groupOf(ops[i:]) {
		groups++
	}
	out = redcon.AppendArray(out, groups)
	for ; groups > 0; groups-- {
		n := groupOf(ops)
		out = s.appendGroup(out, ops[:n])
		ops = ops[n:]
	}
	return out
}

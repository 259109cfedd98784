package server

// The limiter commands: how their arguments become operations, and how answered
// operations become replies.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// GroupsMax is how many groups RL.MALLOW takes.
const GroupsMax = 1000

// show and nearest serve every error text of the server.
var (
	show    = algorithms.Show
	nearest = algorithms.Nearest
)

// TagHash is the hash that decides on which shard a key lives.
func TagHash(key []byte) uint64 { return xxhash.Sum64(shard.Tag(key)) }

// add appends an operation on a key to the batch.
func (s *session) add(key []byte) *shard.Op {
	hash := xxhash.Sum64(key)
	tagHash := hash
	if tag := shard.Tag(key); len(tag) != len(key) {
		tagHash = xxhash.Sum64(tag)
	}
	op := s.batch.Add(tagHash)
	op.Key, op.Call.KeyHash = key, hash
	return op
}

// checkKey refuses keys that are too long.
func checkKey(key []byte) error {
	if len(key) > shard.KeyBytesMax {
		return fmt.Errorf("ERR key must be at most %d bytes, got %d", shard.KeyBytesMax, len(key))
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

// cost reads a cost.
func (q question) cost(text []byte) (uint64, error) {
	n, err := algorithms.ParseWhole("cost", text, q.costLeast, algorithms.UnitsMax)
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
		return noPlan(rest[0])
	}
	if len(rest) < 3 {
		return byCommand[strings.ToUpper(string(args[0]))].arityError()
	}
	spec, err := parseSpec(rest)
	if err != nil {
		return err
	}
	cost := uint64(1)
	rest = rest[3:]
	if len(rest) > 0 && !isWord(rest[0]) {
		if cost, err = q.cost(rest[0]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if err := parseOptions(&spec, rest); err != nil {
		return err
	}
	limit, err := algorithms.NewLimit(spec, s.server.logLimitMax)
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	op := s.add(key)
	op.Kind = q.kind
	op.Call.Limit, op.Call.Cost = s.limit(limit), cost
	return nil
}

// isPlan says whether a word names a plan.
func isPlan(word []byte) bool { return len(word) > 0 && word[0] == '@' }

func noPlan(word []byte) error {
	return fmt.Errorf("NOPLAN no such plan '%s'", show(word[1:]))
}

// parseSpec reads algorithm, limit and window.
func parseSpec(args [][]byte) (spec algorithms.Spec, err error) {
	id, ok := algorithms.Lookup(args[0])
	if !ok {
		return spec, unknownAlgorithm(args[0])
	}
	spec.Algorithm = id
	if spec.Units, err = algorithms.ParseWhole("limit", args[1], 1, algorithms.UnitsMax); err != nil {
		return spec, fmt.Errorf("ERR %w", err)
	}
	if spec.Window, err = algorithms.ParseDuration("window", args[2], algorithms.WindowMaxNanos); err != nil {
		return spec, fmt.Errorf("ERR %w", err)
	}
	return spec, nil
}

func unknownAlgorithm(name []byte) error {
	if near := nearest(strings.ReplaceAll(strings.ToLower(string(name)), "-", "_"), algorithms.Names()); near != "" {
		return fmt.Errorf("ERR unknown algorithm '%s', did you mean '%s'?", show(name), near)
	}
	return fmt.Errorf("ERR unknown algorithm '%s', it must be one of %s", show(name), strings.Join(algorithms.Names(), ", "))
}

// optionWords are the options of RL.ALLOW and RL.PEEK.
var optionWords = []string{"BURST", "ALIGN"}

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

// parseOptions reads the options after the cost.
func parseOptions(spec *algorithms.Spec, rest [][]byte) error {
	for len(rest) > 0 {
		word := strings.ToUpper(string(rest[0]))
		if len(rest) < 2 && (word == "BURST" || word == "ALIGN") {
			return fmt.Errorf("ERR %s wants a value after it", word)
		}
		switch word {
		case "BURST":
			if spec.Burst != 0 {
				return errors.New("ERR BURST is given twice")
			}
			n, err := algorithms.ParseWhole("burst", rest[1], 1, algorithms.UnitsMax)
			if err != nil {
				return fmt.Errorf("ERR %w", err)
			}
			spec.Burst = n
		case "ALIGN":
			if spec.AlignSet {
				return errors.New("ERR ALIGN is given twice")
			}
			if err := parseAlign(spec, rest[1]); err != nil {
				return err
			}
		default:
			return unknownOption(rest[0])
		}
		rest = rest[2:]
	}
	return nil
}

func parseAlign(spec *algorithms.Spec, text []byte) error {
	for _, a := range aligns {
		if strings.EqualFold(a.name, string(text)) {
			spec.Align, spec.AlignSet = a.align, true
			return nil
		}
	}
	return fmt.Errorf("ERR ALIGN must be EPOCH, FIRST or JITTER, got '%s'", show(text))
}

func unknownOption(word []byte) error {
	if near := nearest(strings.ToUpper(string(word)), optionWords); near != "" {
		return fmt.Errorf("ERR unknown option '%s', did you mean '%s'?", show(word), near)
	}
	return fmt.Errorf("ERR unknown option '%s', the options are %s; a cost is a whole number right after the window", show(word), strings.Join(optionWords, " and "))
}

// writeDecision is the reply of RL.ALLOW and RL.PEEK.
func writeDecision(s *session, out []byte, ops []shard.Op) []byte {
	return s.appendOutcome(out, &ops[0])
}

// parseMany parses the groups of RL.MALLOW.
func parseMany(s *session, args [][]byte) error {
	rest := args[1:]
	for group := 1; len(rest) > 0; group++ {
		if group > GroupsMax {
			return fmt.Errorf("ERR at most %d groups in one RL.MALLOW", GroupsMax)
		}
		size := groupSize(rest)
		if len(rest) < size {
			return fmt.Errorf("ERR group %d is short: a group is key algorithm limit window cost, or key @plan cost", group)
		}
		if err := parseGroup(s, rest[:size]); err != nil {
			return inGroup(group, err)
		}
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

func parseGroup(s *session, g [][]byte) error {
	if err := checkKey(g[0]); err != nil {
		return err
	}
	if isPlan(g[1]) {
		return noPlan(g[1])
	}
	spec, err := parseSpec(g[1:])
	if err != nil {
		return err
	}
	cost, err := askAllow.cost(g[4])
	if err != nil {
		return err
	}
	limit, err := algorithms.NewLimit(spec, s.server.logLimitMax)
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	op := s.add(g[0])
	op.Kind = shard.Allow
	op.Call.Limit, op.Call.Cost = s.limit(limit), cost
	return nil
}

// inGroup says in which group of a command an error is, after its code.
func inGroup(group int, err error) error {
	code, text, _ := strings.Cut(err.Error(), " ")
	return fmt.Errorf("%s group %d: %s", code, group, text)
}

func writeMany(s *session, out []byte, ops []shard.Op) []byte {
	out = redcon.AppendArray(out, len(ops))
	for i := range ops {
		out = s.appendOutcome(out, &ops[i])
	}
	return out
}

// writeInspect is the map of RL.INSPECT.
func writeInspect(s *session, out []byte, ops []shard.Op) []byte {
	if !ops[0].Found {
		return appendNil(out, s.proto)
	}
	v := ops[0].View
	pairs := 7
	a := algorithms.Of(v.Limit.Algorithm)
	aligned, logged := a.Options&algorithms.OptionAlign != 0, a.ID == algorithms.SlidingLog
	if aligned || logged {
		pairs++
	}
	out = appendMap(out, s.proto, pairs)
	out = redcon.AppendBulkString(out, "algorithm")
	out = redcon.AppendBulkString(out, a.Name)
	out = appendPair(out, "limit", int64(v.Limit.Units))
	out = appendPair(out, "burst", int64(v.Limit.Burst))
	out = appendPair(out, "window_ms", int64(v.Limit.Window/nanosPerMilli))
	out = appendPair(out, "used", int64(v.Used))
	out = appendPair(out, "remaining", int64(v.Remaining()))
	out = appendPair(out, "reset_after_ms", v.ResetAfter())
	if aligned {
		out = redcon.AppendBulkString(out, "align")
		out = redcon.AppendBulkString(out, aligns[v.Limit.Align].name)
	}
	if logged {
		out = appendPair(out, "runs", int64(v.Runs))
	}
	return out
}

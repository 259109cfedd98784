package server

// Who is limited, and why: RL.TOP and RL.DENIALS, and the same over HTTP. The shards
// remember it (shard/watch.go) in bounded memory; here their answers become one.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

const (
	// TopCountDefault and TopCountMax are how many keys RL.TOP tells.
	TopCountDefault = 10
	TopCountMax     = 1000
	// DenialsCountDefault is how many denials RL.DENIALS tells.
	DenialsCountDefault = 10
)

// labelsOf says what a series stands for.
func (s *Server) labelsOf(n uint32) seriesLabels {
	if n < shard.SeriesMin {
		return seriesLabels{algorithm: algorithms.ID(n)}
	}
	if all := s.series.all(); int(n-shard.SeriesMin) < len(all) {
		return all[n-shard.SeriesMin]
	}
	return seriesLabels{}
}

// heavy is a key that is denied or charged often.
type heavy struct {
	Key       string `json:"key"`
	Plan      string `json:"plan,omitempty"`
	Limit     string `json:"limit,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Algorithm string `json:"algorithm"`
	Count     uint64 `json:"count"`
	Over      uint64 `json:"error"`
}

// shownKey is a key as it is told, with … where it is cut.
func shownKey(key []byte, cut bool) string {
	if cut {
		return string(key) + "…"
	}
	return string(key)
}

// top lists the keys that are denied most, or charged most, heaviest first; of one
// plan, or of all where plan is "".
func (s *Server) top(denied bool, plan string, count int) []heavy {
	list := []heavy{}
	s.shards.Each(func(_ int, c *shard.Core, now uint64) {
		c.Heaviest(now, denied, func(h *shard.Heavy) {
			of := s.labelsOf(h.Series())
			if plan == "" || of.plan == plan {
				list = append(list, heavy{shownKey(h.Key(), h.Cut()), of.plan, of.limit, of.rule, of.algorithm.String(), h.Count, h.Over})
			}
		})
	})
	slices.SortFunc(list, func(a, b heavy) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key)) })
	return list[:min(count, len(list))]
}

// limited is a call that was denied.
type limited struct {
	Time      uint64 `json:"time_ms"`
	Key       string `json:"key"`
	Plan      string `json:"plan,omitempty"`
	Limit     string `json:"limit,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Algorithm string `json:"algorithm"`
	Cost      any    `json:"cost"`
	Wait      int64  `json:"retry_after_ms"`
	Client    uint32 `json:"client"`

	number uint64
	shard  int
}

// lastDenials lists the last calls that were denied, newest first; of one key and its
// states under plans, or of all where key is nil.
func (s *Server) lastDenials(key []byte, count int) []limited {
	list := []limited{}
	var states []byte
	if key != nil {
		states = append(plans.AppendStateBase(nil, key), '#')
	}
	s.shards.Each(func(n int, c *shard.Core, _ uint64) {
		met := 0
		c.Denials(func(d *shard.Denial) bool {
			if key == nil || isOf(d, key, states) {
				of := s.labelsOf(d.Series())
				list = append(list, limited{
					d.Time / nanosPerMilli, shownKey(d.Key(), d.Cut()), of.plan, of.limit, of.rule, of.algorithm.String(),
					amountOf(d.Cost, algorithms.Of(of.algorithm).Kind), d.Wait, d.Client, d.Number, n,
				})
				met++
			}
			return met < count
		})
	})
	slices.SortFunc(list, func(a, b limited) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.shard, b.shard), cmp.Compare(b.number, a.number))
	})
	return list[:min(count, len(list))]
}

// isOf says whether a denial is of a key, or of one of its states. Of long keys the
// beginnings are compared.
func isOf(d *shard.Denial, key, states []byte) bool {
	met := d.Key()
	if d.Cut() {
		return bytes.HasPrefix(key, met) || bytes.HasPrefix(states, met) || bytes.HasPrefix(met, states)
	}
	return bytes.Equal(met, key) || bytes.HasPrefix(met, states)
}

// watchOptions reads PLAN or KEY, and COUNT.
func watchOptions(rest [][]byte, word string, countMax int) (value []byte, count int, err error) {
	for ; len(rest) > 0; rest = rest[2:] {
		if len(rest) < 2 {
			return nil, 0, fmt.Errorf("ERR %s wants a value after it", show(rest[0]))
		}
		switch option := strings.ToUpper(string(rest[0])); {
		case option == word && value == nil:
			value = rest[1]
		case option == "COUNT" && count == 0:
			n, err := algorithms.ParseWhole("COUNT", rest[1], 1, uint64(countMax))
			if err != nil {
				return nil, 0, fmt.Errorf("ERR %w", err)
			}
			count = int(n)
		case option == word || option == "COUNT":
			return nil, 0, fmt.Errorf("ERR %s is given twice", option)
		default:
			return nil, 0, fmt.Errorf("ERR unknown option '%s', the options are %s, COUNT", show(rest[0]), word)
		}
	}
	return value, count, nil
}

// topKind reads DENIED or HOT.
func topKind(word string) (denied bool, err error) {
	switch strings.ToUpper(word) {
	case "DENIED":
		return true, nil
	case "HOT":
		return false, nil
	}
	return false, fmt.Errorf("it must be DENIED or HOT, got '%s'", show([]byte(word)))
}

// runTop is RL.TOP DENIED|HOT [PLAN p] [COUNT n].
func runTop(s *session, out []byte, args [][]byte) ([]byte, error) {
	denied, err := topKind(string(args[1]))
	if err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	plan, count, err := watchOptions(args[2:], "PLAN", TopCountMax)
	if err != nil {
		return nil, err
	}
	if plan != nil && s.server.Book().Plan(plan) == nil {
		return nil, noPlan(plan)
	}
	if count == 0 {
		count = TopCountDefault
	}
	list := s.server.top(denied, string(plan), count)
	out = redcon.AppendArray(out, len(list))
	for _, h := range list {
		out = appendFields(out, s.proto, []field{
			text("key", h.Key), textOrNil("plan", h.Plan, h.Plan != ""), textOrNil("limit", h.Limit, h.Limit != ""),
			textOrNil("rule", h.Rule, h.Rule != ""), text("algorithm", h.Algorithm), number("count", h.Count), number("error", h.Over),
		})
	}
	return out, nil
}

// runDenials is RL.DENIALS [KEY k] [COUNT n].
func runDenials(s *session, out []byte, args [][]byte) ([]byte, error) {
	key, count, err := watchOptions(args[1:], "KEY", shard.DenialsMax)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		count = DenialsCountDefault
	}
	list := s.server.lastDenials(key, count)
	out = redcon.AppendArray(out, len(list))
	for _, d := range list {
		out = appendFields(out, s.proto, []field{
			number("time_ms", d.Time), text("key", d.Key), textOrNil("plan", d.Plan, d.Plan != ""), textOrNil("limit", d.Limit, d.Limit != ""),
			textOrNil("rule", d.Rule, d.Rule != ""), text("algorithm", d.Algorithm), text("cost", fmt.Sprint(d.Cost)),
			number("retry_after_ms", uint64(d.Wait)), number("client", uint64(d.Client)),
		})
	}
	return out, nil
}

// getTop is GET /top?kind=denied&plan=p&count=n.
func (s *Server) getTop(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	kind := cmp.Or(q.Get("kind"), "denied")
	denied, err := topKind(kind)
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, "wrong-request", "kind", strings.ToLower(err.Error()))
		return
	}
	if plan := q.Get("plan"); plan != "" && s.Book().Plan([]byte(plan)) == nil {
		s.noPlan(w, plan)
		return
	}
	count, err := countOf(q.Get("count"), TopCountDefault, TopCountMax)
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, "wrong-request", "count", err.Error())
		return
	}
	answer(w, http.StatusOK, map[string]any{"kind": strings.ToLower(kind), "keys": s.top(denied, q.Get("plan"), count)})
}

// getDenials is GET /denials?key=k&count=n.
func (s *Server) getDenials(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	count, err := countOf(q.Get("count"), DenialsCountDefault, shard.DenialsMax)
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, "wrong-request", "count", err.Error())
		return
	}
	var key []byte
	if q.Has("key") {
		key = []byte(q.Get("key"))
	}
	answer(w, http.StatusOK, map[string]any{"denials": s.lastDenials(key, count)})
}

// countOf reads how many are asked for.
func countOf(text string, standard, most int) (int, error) {
	if text == "" {
		return standard, nil
	}
	n, err := algorithms.ParseWhole("count", []byte(text), 1, uint64(most))
	if err != nil {
		return 0, errors.New(err.Error())
	}
	return int(n), nil
}

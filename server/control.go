package server

// The control plane: what RL.PLAN, RL.EXPLAIN and RL.REQUEST do, for those who speak
// HTTP and JSON. openapi.yaml describes it; a test holds the two together.
//
// What is wrong with a request is told as RFC 9457 has it, with the field and, in a
// text, the line.

import (
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

// CheckBytesMax is how long the body of POST /check may be.
const CheckBytesMax = 64 << 10

//go:embed openapi.yaml
var openAPI []byte

// route is one thing that can be asked.
type route struct {
	pattern string
	answer  func(s *Server, w http.ResponseWriter, r *http.Request)
}

// controlRoutes is the table.
var controlRoutes = []route{
	{"GET /limits", (*Server).listPlans},
	{"GET /limits/{plan}", (*Server).getPlan},
	{"PUT /limits/{plan}", (*Server).putPlan},
	{"DELETE /limits/{plan}", (*Server).deletePlan},
	{"GET /keys/{key...}", (*Server).getKey},
	{"POST /check", (*Server).check},
	{"POST /reload", (*Server).postReload},
	{"GET /top", (*Server).getTop},
	{"GET /denials", (*Server).getDenials},
}

// control is the control plane.
func (s *Server) control() http.Handler {
	mux := http.NewServeMux()
	for _, route := range controlRoutes {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			if why := s.loading.Load(); why != nil {
				problem(w, http.StatusServiceUnavailable, "loading", "", s.unready())
				return
			}
			route.answer(s, w, r)
		})
	}
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openAPI) // nobody is left to tell
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, "not-found", "", fmt.Sprintf("there is nothing to %s at %s; /openapi.yaml tells what there is", r.Method, r.URL.Path))
	})
	return mux
}

func (s *Server) noPlan(w http.ResponseWriter, name string) {
	problem(w, http.StatusNotFound, "no-plan", "plan", fmt.Sprintf("there is no plan '%s'", show([]byte(name))))
}

func sourceName(source plans.Source) string {
	if source == plans.FromCommand {
		return "command"
	}
	return "file"
}

// listPlans answers the names of the plans, and where each is from.
func (s *Server) listPlans(w http.ResponseWriter, _ *http.Request) {
	type listed struct {
		Plan   string `json:"plan"`
		Source string `json:"source"`
	}
	book := s.Book()
	list := []listed{}
	for _, name := range book.PlanNames() {
		list = append(list, listed{name, sourceName(book.PlanSource([]byte(name)))})
	}
	answer(w, http.StatusOK, map[string]any{"version": fmt.Sprintf("%016x", book.Version()), "plans": list})
}

// getPlan answers a plan, in the form in which it can be set.
func (s *Server) getPlan(w http.ResponseWriter, r *http.Request) {
	p := s.Book().Plan([]byte(r.PathValue("plan")))
	if p == nil {
		s.noPlan(w, r.PathValue("plan"))
		return
	}
	answer(w, http.StatusOK, json.RawMessage(p.AppendJSON(nil)))
}

// putPlan sets a plan, in JSON or YAML.
func (s *Server) putPlan(w http.ResponseWriter, r *http.Request) {
	text, ok := body(w, r, plans.TextBytesMax)
	if !ok {
		return
	}
	s.changed(w, s.SetPlan(r.PathValue("plan"), text), http.StatusUnprocessableEntity, r)
}

// deletePlan takes a plan back that was set.
func (s *Server) deletePlan(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("plan")
	if s.Book().Plan([]byte(name)) == nil {
		s.noPlan(w, name)
		return
	}
	s.changed(w, s.DeletePlan(name), http.StatusConflict, r)
}

// changed answers what came of a change.
func (s *Server) changed(w http.ResponseWriter, err error, status int, r *http.Request) {
	var notKept *NotKeptError
	switch {
	case err == nil:
		s.log.Info("changed by the control plane", "request", r.Method+" "+r.URL.Path, "from", r.RemoteAddr)
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &notKept):
		problem(w, http.StatusServiceUnavailable, "not-kept", "", "the change could not be made durable, so it was not made: "+line(err.Error()))
	default:
		problemIn(w, status, "wrong-plan", err)
	}
}

// body reads what came with a request.
func body(w http.ResponseWriter, r *http.Request, bytesMax int64) (text []byte, ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bytesMax))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		problem(w, http.StatusRequestEntityTooLarge, "too-long", "", fmt.Sprintf("a body may have at most %d bytes", bytesMax))
	case err != nil:
		problem(w, http.StatusBadRequest, "unread", "", "the body could not be read")
	}
	return text, err == nil
}

// standing is how a limit stands for a key.
type standing struct {
	Limit      string `json:"limit_name,omitempty"`
	State      string `json:"state"`
	Algorithm  string `json:"algorithm"`
	Units      any    `json:"limit"`
	Window     string `json:"window"`
	Used       any    `json:"used"`
	Remaining  any    `json:"remaining"`
	ResetAfter int64  `json:"reset_after_ms"`
	// Where a plan was named.
	Allowed    *bool  `json:"allowed,omitempty"`
	RetryAfter *int64 `json:"retry_after_ms,omitempty"`
	Mode       string `json:"mode,omitempty"`
	Source     string `json:"source,omitempty"`
	Error      string `json:"error,omitempty"`
}

// amountOf is a number of units, money in decimals.
func amountOf(n uint64, kind algorithms.Kind) any {
	if kind == algorithms.Money {
		return algorithms.FormatDecimal(n)
	}
	return n
}

// getKey answers how every limit stands that a key has; with ?plan= every limit of
// that plan.
func (s *Server) getKey(w http.ResponseWriter, r *http.Request) {
	key := []byte(r.PathValue("key"))
	if err := checkKey(key); err != nil {
		problem(w, http.StatusBadRequest, "wrong-key", "key", strings.TrimPrefix(err.Error(), "ERR "))
		return
	}
	list := []standing{}
	if name := r.URL.Query().Get("plan"); name != "" {
		p := s.Book().Plan([]byte(name))
		if p == nil {
			s.noPlan(w, name)
			return
		}
		for _, e := range s.Explain(p, key, 1, 0) {
			list = append(list, e.standing())
		}
	} else {
		list = s.standings(key)
	}
	answer(w, http.StatusOK, map[string]any{"key": string(key), "limits": list})
}

func (e *Explained) standing() standing {
	l, d := e.Limit, &e.Decision
	kind := l.Kind()
	st := standing{
		Limit: l.Name, State: e.State, Algorithm: l.Algorithm.String(), Units: amountOf(l.Units, kind), Window: string(plans.AppendWindow(nil, &l.Limit)),
		Used: amountOf(e.Used, kind), Remaining: amountOf(d.Remaining, kind), ResetAfter: d.ResetAfter,
		Allowed: &d.Allowed, RetryAfter: &d.RetryAfter, Mode: l.Mode.String(), Source: e.Source(),
	}
	if e.Undecided {
		st.Error = errWrongType
	}
	return st
}

// standings looks at the key itself and at its states under every limit that a plan
// has; those that are fresh are left out.
func (s *Server) standings(key []byte) []standing {
	names := s.Book().LimitNames()
	w := s.works.Get().(*work)
	defer s.works.Put(w)
	defer w.empty()
	views := make([]shard.View, len(names)+1)
	states := make([]string, len(names)+1)
	for i := range views {
		state := key
		if i > 0 {
			state = plans.AppendStateName(nil, key, []byte(names[i-1]))
		}
		op := addTo(w.batch, state)
		op.Kind, op.View, states[i] = shard.Look, &views[i], string(state)
	}
	s.shards.Run(w.batch)
	list := []standing{}
	for i := range w.batch.Ops {
		if !w.batch.Ops[i].Found {
			continue
		}
		v := &views[i]
		kind := v.Limit.Kind()
		st := standing{
			State: states[i], Algorithm: v.Limit.Algorithm.String(), Units: amountOf(v.Limit.Units, kind), Window: string(plans.AppendWindow(nil, &v.Limit)),
			Used: amountOf(v.Used, kind), Remaining: amountOf(v.Remaining(), kind), ResetAfter: v.ResetAfter,
		}
		if i > 0 {
			st.Limit = names[i-1]
		}
		list = append(list, st)
	}
	return list
}

// postReload reads the configuration again.
func (s *Server) postReload(w http.ResponseWriter, _ *http.Request) {
	if s.reload == nil {
		problem(w, http.StatusConflict, "no-file", "", "this server has nothing to read again")
		return
	}
	if err := s.reload(); err != nil {
		problemIn(w, http.StatusUnprocessableEntity, "wrong-configuration", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

package server

// POST /check: a gateway's question in JSON. The answer is that of RL.REQUEST.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/algorithms"
	"sluice/plans"
)

// checkRequest is the question.
type checkRequest struct {
	Method     string            `json:"method"`
	Path       string            `json:"path"`
	Host       string            `json:"host"`
	User       string            `json:"user"`
	APIKey     string            `json:"api_key"`
	IP         string            `json:"ip"`
	Attributes map[string]string `json:"attributes"`
	Cost       *json.Number      `json:"cost"`
	Spend      *string           `json:"spend"` // a decimal; JSON's numbers would lose digits
	ID         string            `json:"id"`
}

// checkFields are its fields, for suggestions.
var checkFields = []string{"method", "path", "host", "user", "api_key", "ip", "attributes", "cost", "spend", "id"}

// checkReply is the answer. What no rule or limit stands behind is null.
type checkReply struct {
	Allowed    bool              `json:"allowed"`
	Rule       *string           `json:"rule"`
	Key        *string           `json:"key"`
	Plan       *string           `json:"plan"`
	LimitName  *string           `json:"limit_name"`
	Limit      any               `json:"limit"`
	Remaining  any               `json:"remaining"`
	RetryAfter int64             `json:"retry_after_ms"`
	ResetAfter int64             `json:"reset_after_ms"`
	Delay      int64             `json:"delay_ms"`
	Headers    map[string]string `json:"headers"`
	ID         string            `json:"id,omitempty"`
	Permits    []string          `json:"permits,omitempty"`
}

// fieldError says which field of a question is wrong.
type fieldError struct{ field, detail string }

func (e *fieldError) Error() string { return e.field + ": " + e.detail }

// check answers a question.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	text, ok := body(w, r, CheckBytesMax)
	if !ok {
		return
	}
	q, err := parseCheck(text)
	var wrong *fieldError
	if errors.As(err, &wrong) {
		problem(w, http.StatusUnprocessableEntity, "wrong-request", wrong.field, wrong.detail)
		return
	}
	v, err := s.Decide(q)
	switch {
	case errors.Is(err, ErrUndecided):
		problem(w, http.StatusServiceUnavailable, "undecided", "", line(err.Error()))
	case err != nil:
		problem(w, http.StatusUnprocessableEntity, "wrong-request", "", strings.TrimPrefix(err.Error(), "ERR "))
	default:
		answer(w, http.StatusOK, v.reply())
	}
}

// parseCheck reads a question. The error is a *fieldError.
func parseCheck(text []byte) (*Request, error) {
	var c checkRequest
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &fieldError{"", "nothing may follow the object"}
	}
	for _, must := range [][2]string{{"method", c.Method}, {"path", c.Path}} {
		if must[1] == "" {
			return nil, &fieldError{must[0], "must be given, as in {\"method\": \"GET\", \"path\": \"/api/orders\", \"user\": \"42\"}"}
		}
	}
	q := &Request{Method: []byte(c.Method), Path: []byte(c.Path), Host: []byte(c.Host)}
	q.Identity.User, q.Identity.APIKey, q.Identity.IP = []byte(c.User), []byte(c.APIKey), []byte(c.IP)
	if len(c.Attributes) > AttributesMax {
		return nil, &fieldError{"attributes", fmt.Sprintf("there may be at most %d, got %d", AttributesMax, len(c.Attributes))}
	}
	for name, value := range c.Attributes {
		q.Identity.Attributes = append(q.Identity.Attributes, plans.Attribute{Name: []byte(name), Value: []byte(value)})
	}
	var err error
	if c.Cost != nil {
		if q.Cost, err = algorithms.ParseWhole("cost", []byte(c.Cost.String()), 1, algorithms.UnitsMax); err != nil {
			return nil, &fieldError{"cost", err.Error()}
		}
	}
	if c.Spend != nil {
		if q.Spend, err = algorithms.ParseDecimal("spend", []byte(*c.Spend), 0); err != nil {
			return nil, &fieldError{"spend", err.Error()}
		}
	}
	if c.ID != "" {
		if q.Permit, err = parseID([]byte(c.ID)); err != nil {
			return nil, &fieldError{"id", strings.TrimPrefix(err.Error(), "ERR ")}
		}
	}
	return q, nil
}

// jsonError says in words of ours what the decoder found.
func jsonError(err error) *fieldError {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		detail := "there is no such field, only " + strings.Join(checkFields, ", ")
		if near := nearest(name, checkFields); near != "" {
			detail = "there is no such field, did you mean '" + near + "'?"
		}
		return &fieldError{name, detail}
	}
	switch {
	case errors.As(err, &kind):
		legal := map[string]string{"map": "an object of texts", "string": "a text in quotes", "Number": "a whole number", "struct": "an object"}
		want := legal[kind.Type.Kind().String()]
		if kind.Type.Name() == "Number" {
			want = legal["Number"]
		}
		return &fieldError{kind.Field, fmt.Sprintf("must be %s, got a %s", want, kind.Value)}
	case errors.As(err, &syntax):
		return &fieldError{"", fmt.Sprintf("the body is not JSON: %v, after %d bytes", err, syntax.Offset)}
	}
	return &fieldError{"", "the body must be a JSON object such as {\"method\": \"GET\", \"path\": \"/api/orders\", \"user\": \"42\"}"}
}

// reply is the verdict as JSON has it.
func (v *Verdict) reply() checkReply {
	d := &v.Decision
	kind := algorithms.Rate
	if v.Limit != nil {
		kind = v.Limit.Kind()
	}
	c := checkReply{
		Allowed: v.Allowed, Limit: amountOf(d.Limit, kind), Remaining: amountOf(d.Remaining, kind),
		RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter, Delay: d.Delay,
		Headers: make(map[string]string), ID: v.Permit, Permits: v.Permits,
	}
	if v.Rule != nil {
		c.Rule, c.Key, c.Plan = &v.Rule.Name, &v.Key, &v.Plan.Name
	}
	if v.Limit != nil {
		c.LimitName = &v.LimitName
	}
	for _, h := range v.Headers() {
		c.Headers[h.Name] = h.Value
	}
	return c
}

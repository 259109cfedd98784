package server

// Answers of the control plane: JSON, and errors as RFC 9457 has them, which name the
// field that is wrong.

import (
	"encoding/json"
	"errors"
	"net/http"

	"sluice/plans"
)

// problemReply is an error. Type is a name that programs can tell apart.
type problemReply struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// problem answers with an error.
func problem(w http.ResponseWriter, status int, kind, field, detail string) {
	problemIs(w, problemReply{Type: kind, Status: status, Field: field, Detail: detail})
}

// problemIn answers with what is wrong in a text that came with the request.
func problemIn(w http.ResponseWriter, status int, kind string, err error) {
	p := problemReply{Type: kind, Status: status, Detail: err.Error()}
	var at *plans.Error
	if errors.As(err, &at) {
		p.Detail, p.Field, p.Line, p.Column = at.Message, at.Field, at.Line, at.Column
	}
	problemIs(w, p)
}

func problemIs(w http.ResponseWriter, p problemReply) {
	p.Type, p.Title = "urn:sluice:problem:"+p.Type, http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // nobody is left to tell
}

// answer answers with a value.
func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // nobody is left to tell
}

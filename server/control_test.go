package server

// The control plane: each row is a request and what comes back, in order, on one
// server.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sluice/plans"
)

func TestControl(t *testing.T) {
	r := adminRig(t, map[string]string{"admin-token": aToken})
	f, err := plans.ParseFile("sluice.yaml", []byte("plans: {free: {limits: {rpm: {algorithm: fixed_window, limit: 2, window: 1h}}}}\nrules: [{name: api, match: /api/, per: user, plan: free}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetFile(f); err != nil {
		t.Fatal(err)
	}
	w := r.dial()
	const pro = `{"limits":{"day":{"algorithm":"budget","limit":"25.5","window":"day"},"rpm":{"algorithm":"fixed_window","limit":10,"window":"1h"}}}`
	for _, row := range []struct {
		method, path, body string
		status             int
		want               string // what the body contains
	}{
		{"GET", "/limits", "", 200, `"plans":[{"plan":"free","source":"file"}]`},
		{"PUT", "/limits/pro", pro, 204, ""},
		{"GET", "/limits/pro", "", 200, `{"limits":{"day":{"algorithm":"budget","limit":"25.5","window":"day"},"rpm":{"algorithm":"fixed_window","limit":10,"window":"1h"}}}`},
		{"GET", "/limits", "", 200, `{"plan":"pro","source":"command"}`},
		{"PUT", "/limits/simple", `{"rate": 10, "capacity": 50}`, 204, ""},
		{"GET", "/limits/simple", "", 200, `"burst":50`},
		{"PUT", "/limits/yaml", "limits:\n  rpm: {algorithm: gcra, limit: 5, window: 1s}\n", 204, ""},
		{"DELETE", "/limits/yaml", "", 204, ""},
		{"DELETE", "/limits/yaml", "", 404, `"field":"plan"`},
		{"DELETE", "/limits/free", "", 409, "plan 'free' is in the file sluice.yaml: take it out there"},
		{"GET", "/limits/nothing", "", 404, "there is no plan 'nothing'"},
		{"PUT", "/limits/pro", "{\"limits\": {\n\"rpm\": {\"algorithm\": \"fixed_windw\", \"limit\": 10, \"window\": \"1h\"}}}", 422,
			`"detail":"unknown algorithm 'fixed_windw', did you mean 'fixed_window'?","field":"limits.rpm.algorithm","line":2,"column":22}`},
		{"PUT", "/limits/Pro", pro, 422, "must be made of small letters"},
		{"PUT", "/limits/pro", "", 422, "wrong-plan"},
		{"PUT", "/limits/pro", strings.Repeat(" ", plans.TextBytesMax+1), 413, "a body may have at most"},

		{"GET", "/keys/k", "", 200, `{"key":"k","limits":[]}`},
		{"GET", "/keys/k?plan=pro", "", 200, `"limit_name":"day","state":"{k}#day","algorithm":"budget","limit":"25.5","window":"day","used":"0","remaining":"25.5","reset_after_ms":0,"allowed":true,"retry_after_ms":0,"mode":"enforce","source":"plan"}`},
		{"RESP", "RL.ALLOW k @pro SPEND 1.5", "", 0, ""},
		{"RESP", "RL.ALLOW k token_bucket 10 10s 4", "", 0, ""},
		{"RESP", "RL.ALLOW a/b token_bucket 10 10s 4", "", 0, ""},
		{"GET", "/keys/k", "", 200, `{"key":"k","limits":[{"state":"k","algorithm":"token_bucket","limit":10,"window":"10s","used":4,"remaining":6,"reset_after_ms":4000},` +
			`{"limit_name":"day","state":"{k}#day","algorithm":"budget","limit":"25.5","window":"day","used":"1.5","remaining":"24","reset_after_ms":57600000},` +
			`{"limit_name":"rpm","state":"{k}#rpm","algorithm":"fixed_window","limit":10,"window":"1h","used":1,"remaining":9,"reset_after_ms":3600000}]}`},
		{"GET", "/keys/a%2Fb", "", 200, `"state":"a/b"`},
		{"GET", "/keys/a/b", "", 200, `"state":"a/b"`},
		{"GET", "/keys/k?plan=nothing", "", 404, "there is no plan 'nothing'"},
		{"GET", "/keys/" + strings.Repeat("k", KeyBytesMax+1), "", 400, `"field":"key"`},

		{"POST", "/check", `{"method":"GET","path":"/api/x","user":"7"}`, 200,
			`{"allowed":true,"rule":"api","key":"api|user:7","plan":"free","limit_name":"rpm","limit":2,"remaining":1,"retry_after_ms":0,"reset_after_ms":3600000,"delay_ms":0,"headers":{"RateLimit":`},
		{"POST", "/check", `{"method":"GET","path":"/api/x","user":"7","cost":2}`, 200, `"allowed":false,`},
		{"POST", "/check", `{"method":"GET","path":"/api/x","user":"7","cost":2}`, 200, `"Retry-After":"3600"`},
		{"POST", "/check", `{"method":"GET","path":"/other","user":"7"}`, 200, `"allowed":true,"rule":null,"key":null,"plan":null,"limit_name":null`},
		{"POST", "/check", `{"method":"GET","path":"/api/x"}`, 422, `IP address`},
		{"POST", "/check", `{"method":"GET","path":"/api/x","usr":"7"}`, 422, `"detail":"there is no such field, did you mean 'user'?","field":"usr"}`},
		{"POST", "/check", `{"method":"GET"}`, 422, `"field":"path"}`},
		{"POST", "/check", `{"method":"GET","path":"/","user":7}`, 422, `"detail":"must be a text in quotes, got a number","field":"user"}`},
		{"POST", "/check", `{"method":"GET","path":"/","cost":1.5}`, 422, `"field":"cost"}`},
		{"POST", "/check", `{"method":"GET","path":"/","cost":"many"}`, 422, `wrong-request`},
		{"POST", "/check", `{"method":"GET","path":"/","spend":"1.2345678"}`, 422, `"field":"spend"}`},
		{"POST", "/check", `{"method":"GET","path":"/"} {}`, 422, "nothing may follow"},
		{"POST", "/check", `{"method":`, 422, "must be a JSON object"},
		{"POST", "/check", `{method}`, 422, "the body is not JSON"},
		{"POST", "/check", `[]`, 422, "must be an object"},
		{"POST", "/check", strings.Repeat(" ", CheckBytesMax+1), 413, "a body may have at most"},

		{"POST", "/reload", "", 409, "nothing to read again"},
		{"GET", "/openapi.yaml", "", 200, "openapi: 3.1.0"},
		{"GET", "/check", "", 404, "there is nothing to GET at /check"},
		{"PATCH", "/limits/pro", "", 404, "not-found"},
	} {
		if row.method == "RESP" {
			w.line(t, row.path)
			continue
		}
		got := r.get(row.method, row.path, here, aToken, row.body)
		if got.Code != row.status || !strings.Contains(got.Body.String(), row.want) {
			t.Errorf("%s %.60s %.80s\n got %d %.600s\nwant %d %s", row.method, row.path, row.body, got.Code, got.Body, row.status, row.want)
		}
		if got.Code >= 400 {
			var p problemReply
			if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || p.Status != got.Code || p.Detail == "" || got.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %.60s: no problem: %v %s", row.method, row.path, err, got.Body)
			}
		}
	}
	if got := r.get("PUT", "/limits/pro", here, another, pro); got.Code != 401 {
		t.Errorf("without the token: %d", got.Code)
	}
	r.SetLoading(&Loading{Done: 1, Total: 2})
	if got := r.get("GET", "/limits", here, aToken, ""); got.Code != 503 || !strings.Contains(got.Body.String(), "loading, 1 of 2 bytes") {
		t.Errorf("while loading: %d %s", got.Code, got.Body)
	}
	r.SetLoading(nil)
}

// A reload that fails says where.
func TestControlReload(t *testing.T) {
	r := adminRig(t, map[string]string{"admin-token": aToken})
	var wrong error
	r.reload = func() error { return wrong }
	if got := r.get("POST", "/reload", here, aToken, ""); got.Code != 204 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	_, wrong = plans.ParseFile("sluice.yaml", []byte("plan: {}"))
	got := r.get("POST", "/reload", here, aToken, "")
	var p problemReply
	if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || got.Code != 422 || p.Line != 1 || p.Column != 1 || !strings.Contains(p.Detail, "did you mean 'plans'") {
		t.Errorf("%v, %d %+v", err, got.Code, p)
	}
	wrong = errors.New("plainly wrong")
	if got := r.get("POST", "/reload", here, aToken, ""); got.Code != 422 || !strings.Contains(got.Body.String(), "plainly wrong") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// The description has every route, and no other.
func TestOpenAPI(t *testing.T) {
	described := make(map[string]bool)
	path := ""
	for line := range strings.Lines(string(openAPI)) {
		indent, word, _ := strings.Cut(strings.TrimRight(line, "\n"), strings.TrimSpace(line))
		_ = word
		text := strings.TrimSuffix(strings.TrimSpace(line), ":")
		switch {
		case indent == "  " && strings.HasPrefix(text, "/"):
			path = text
		case indent == "    " && path != "" && strings.Contains(" get put post delete ", " "+text+" "):
			described[strings.ToUpper(text)+" "+path] = true
		case indent == "" && text == "components":
			path = ""
		}
	}
	for _, route := range controlRoutes {
		name := strings.Replace(route.pattern, "...", "", 1)
		if !described[name] {
			t.Errorf("openapi.yaml does not describe %s", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("openapi.yaml describes %s, which there is not", name)
	}
}

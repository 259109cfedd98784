package server

// Who is limited, and why: by key, plan and rule, over RESP and HTTP.

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	r := adminRig(t, map[string]string{"admin-token": aToken})
	if err := r.SetPlan("pro", []byte("limits: {rpm: {algorithm: fixed_window, limit: 1, window: 1h}, money: {algorithm: budget, limit: 1.5, window: 1h}}")); err != nil {
		t.Fatal(err)
	}
	if err := r.SetRule("api", []byte("{match: /api/, per: user, plan: pro}")); err != nil {
		t.Fatal(err)
	}
	w := r.dial()
	for _, line := range []string{
		"RL.ALLOW k @pro", "RL.ALLOW k @pro", "RL.ALLOW k @pro", "RL.ALLOW k token_bucket 1 10s", "RL.ALLOW k token_bucket 1 10s",
		"RL.REQUEST METHOD GET PATH /api/ USER 7", "RL.REQUEST METHOD GET PATH /api/ USER 7",
		"RL.ALLOW j @pro SPEND 2.25", "RL.PEEK k @pro", "RL.CLOCK ADVANCE 5ms", "RL.ALLOW other token_bucket 1 10s 2", "FLUSHALL",
	} {
		w.line(t, line)
	}
	get := func(path string, into any) {
		t.Helper()
		got := r.get("GET", path, here, aToken, "")
		if err := json.Unmarshal(got.Body.Bytes(), into); err != nil || got.Code != 200 {
			t.Fatalf("%s: %d, %v: %s", path, got.Code, err, got.Body)
		}
	}
	var top struct{ Keys []heavy }
	get("/top", &top)
	want := []heavy{
		{"{k}#rpm", "pro", "rpm", "", "fixed_window", 2, 0}, {"k", "", "", "", "token_bucket", 1, 0}, {"other", "", "", "", "token_bucket", 1, 0},
		{"{api|user:7}#rpm", "pro", "rpm", "api", "fixed_window", 1, 0}, {"{j}#money", "pro", "money", "", "budget", 1, 0},
	}
	if len(top.Keys) != len(want) {
		t.Errorf("%+v", top.Keys)
	}
	for i := range min(len(want), len(top.Keys)) {
		if top.Keys[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, top.Keys[i], want[i])
		}
	}
	get("/top?plan=pro&count=2&kind=DENIED", &top)
	if len(top.Keys) != 2 || top.Keys[0].Plan != "pro" || top.Keys[1].Plan != "pro" {
		t.Errorf("%+v", top.Keys)
	}

	var denials struct{ Denials []limited }
	get("/denials?count=100", &denials)
	if len(denials.Denials) != 6 || denials.Denials[0].Key != "other" || denials.Denials[0].Wait != -1 || denials.Denials[0].Time != 1800000000005 || denials.Denials[0].Client == 0 {
		t.Errorf("%+v", denials.Denials)
	}
	get("/denials?key=k&count=100", &denials)
	if len(denials.Denials) != 3 {
		t.Errorf("of k: %+v", denials.Denials)
	}
	get("/denials?key=j", &denials)
	if len(denials.Denials) != 1 || denials.Denials[0].Cost != "2.25" || denials.Denials[0].Limit != "money" {
		t.Errorf("of j: %+v", denials.Denials)
	}
	get("/denials?key=nobody", &denials)
	if len(denials.Denials) != 0 {
		t.Errorf("of nobody: %+v", denials.Denials)
	}
	for path, field := range map[string]string{"/top?kind=cold": "kind", "/top?count=0": "count", "/denials?count=x": "count"} {
		if got := r.get("GET", path, here, aToken, ""); got.Code != 422 || !strings.Contains(got.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if got := len(w.line(t, "RL.DENIALS KEY k").list); got != 3 {
		t.Errorf("RL.DENIALS tells %d", got)
	}
	if got := len(w.line(t, "RL.TOP denied plan pro count 3").list); got != 3 {
		t.Errorf("RL.TOP tells %d", got)
	}
}

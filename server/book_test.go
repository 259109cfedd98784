package server

// The book behind the commands: files, what commands have set over them, and what is
// there again after a start.

import (
	"strings"
	"testing"

	"sluice/plans"
)

const bookFile = `
plans:
  pro: {limits: {rpm: {algorithm: sliding_counter, limit: 600, window: 1m}}}
  anonymous: {limits: {rpm: {algorithm: fixed_window, limit: 2, window: 1m}}}
rules:
  - {name: api, match: /api/, per: user, plan: pro, anonymous_plan: anonymous}
addresses: {trusted_proxies: [10.0.0.0/8], ipv6_prefix: 56}
`

// setFile puts a file's text in its place.
func (r *rig) setFile(text string) []plans.Change {
	r.t.Helper()
	f, err := r.Parser().ParseFile("sluice.yaml", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	changes, err := r.SetFile(f)
	if err != nil {
		r.t.Fatal(err)
	}
	return changes
}

func TestFileAndCommands(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	if changes := r.setFile(bookFile); len(changes) != 3 {
		t.Errorf("changes %v", changes)
	}
	w.want(t, "RL.PLAN LIST", `["anonymous" "pro"]`)
	w.want(t, "RL.PLAN DEL pro", "-ERR plan 'pro' is in the file sluice.yaml: take it out there")
	w.want(t, "RL.RULE DEL api", "-ERR rule 'api' is in the file sluice.yaml: take it out there")
	// What a command has set stands in front of the file's until it is taken back.
	w.want(t, "RL.PLAN SET pro '{limits: {rpm: {algorithm: sliding_counter, limit: 7, window: 1m}}}'", "+OK")
	w.want(t, "RL.ALLOW k @pro", `[1 7 6 0 120000 0 "rpm"]`)
	if changes := r.setFile(strings.Replace(bookFile, "600", "700", 1)); len(changes) != 0 {
		t.Errorf("changes %v", changes)
	}
	w.want(t, "RL.ALLOW k @pro", `[1 7 5 0 120000 0 "rpm"]`)
	w.want(t, "RL.PLAN DEL pro", "+OK")
	w.want(t, "RL.ALLOW k @pro", `[1 700 697 0 120000 0 "rpm"]`)
	// A file that does not go with what commands have set changes nothing.
	w.want(t, "RL.PLAN SET busy '{limits: {n: {algorithm: concurrency, limit: 5, window: 1m}}}'", "+OK")
	version := r.Book().Version()
	f, err := r.Parser().ParseFile("sluice.yaml", []byte("plans: {a: {limits: {n: {algorithm: gcra, limit: 5, window: 1m}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetFile(f); err == nil || !strings.Contains(err.Error(), "counts permits in plan 'busy'") || r.Book().Version() != version {
		t.Errorf("a file whose limit is of another kind: %v", err)
	}
}

// Of a list of addresses that counts which no trusted proxy has added, and of IPv6 the
// network (G26).
func TestTrustedProxies(t *testing.T) {
	r := newRig(t, 2)
	w := r.dial()
	r.setFile(bookFile)
	key := func(address string) string {
		v := w.line(t, "RL.REQUEST METHOD GET PATH /api/ IP '"+address+"'")
		if v.kind != '*' {
			t.Fatal(v)
		}
		return v.list[5].text
	}
	for address, want := range map[string]string{
		"203.0.113.9":                         "api|ip:203.0.113.9",
		"203.0.113.9, 10.0.0.1":               "api|ip:203.0.113.9",
		"198.51.100.1, 203.0.113.9,10.9.9.9":  "api|ip:203.0.113.9",
		"10.0.0.1, 10.0.0.2":                  "api|ip:10.0.0.1",
		"::ffff:203.0.113.9, ::ffff:10.0.0.1": "api|ip:203.0.113.9",
		"2001:db8:1:2ff::1":                   "api|ip:2001:db8:1:200::/56",
	} {
		if got := key(address); got != want {
			t.Errorf("%s counts as %s, want %s", address, got, want)
		}
	}
}

// What commands have set is there again, also where it would not be taken any more.
func TestRestoredBook(t *testing.T) {
	r := newRig(t, 3)
	w := r.dial()
	w.want(t, "RL.PLAN SET big '{limits: {n: {algorithm: sliding_log, limit: 100000, window: 1d}}, costs: {search: 3}, overrides: {\"vip:*\": {n: {limit: 7}}}}'", "+OK")
	w.want(t, "RL.PLAN SET gone '{rate: 1, capacity: 1}'", "+OK")
	w.want(t, "RL.PLAN DEL gone", "+OK")
	w.want(t, "RL.RULE SET api '{match: /api/, per: [user, model], plan: big, enforce: all, cost: 2}'", "+OK")
	version := r.Book().Version()
	r.book.Store(newBook())
	r.logLimitMax = 10
	if err := r.RestoreBook(); err != nil {
		t.Fatal(err)
	}
	if r.Book().Version() != version {
		t.Error("another book is there after the start")
	}
	w.want(t, "RL.PLAN LIST", `["big"]`)
	w.want(t, "RL.ALLOW vip:1 @big ENDPOINT search", `[1 7 4 0 86400000 0 "n"]`)
	if err := r.shards.Note("plan/broken", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := r.RestoreBook(); err == nil || !strings.Contains(err.Error(), "plan/broken") {
		t.Errorf("a broken note: %v", err)
	}
}

// The control plane's way in: the same answers without a connection.
func TestDecideAndExplain(t *testing.T) {
	r := newRig(t, 2)
	r.setFile(bookFile)
	q := Request{Method: []byte("GET"), Path: []byte("/api/x"), Identity: plans.Identity{IP: []byte("192.0.2.1")}}
	for i, want := range []bool{true, true, false} {
		v, err := r.Decide(&q)
		if err != nil || v.Allowed != want || v.Plan.Name != "anonymous" || v.LimitName != "rpm" || v.Decision.Limit != 2 {
			t.Fatalf("call %d: %+v, %v", i, v, err)
		}
	}
	list := r.Explain(r.Book().Plan([]byte("anonymous")), []byte("api|ip:192.0.2.1"), 1, 0)
	if len(list) != 1 || list[0].Used != 2 || list[0].Decision.Allowed || list[0].State != "{api|ip:192.0.2.1}#rpm" || list[0].Source() != "plan" {
		t.Errorf("explained: %+v", list)
	}
	q.Identity.IP = nil
	if _, err := r.Decide(&q); err == nil || !strings.Contains(err.Error(), "neither that nor an IP address") {
		t.Errorf("without an identity: %v", err)
	}
	if err := r.SetPlan("pro", []byte("{}")); err == nil {
		t.Error("a plan without limits was set")
	}
}

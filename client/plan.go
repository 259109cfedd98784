package client

// Plans and rules: what the server knows under a name, and the gateway's question that
// is answered by them.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Explained is how one limit of a plan stands for a key.
type Explained struct {
	Name, Algorithm, Window string
	Limit, Used, Remaining  int64 // units; with Money millionths
	Burst                   int64 // where it is not the limit, else 0
	Money                   bool
	Allowed                 bool
	RetryAfter, ResetAfter  time.Duration
	Mode                    string // enforce, shadow or off
	Source                  string // plan, or override
	Override                string // which of the plan's overrides
	Key                     string // of the state, which Reset and Holders take
	// Problem is why nothing is known: the state is of another kind than the limit.
	Problem string
}

// Explain shows how every limit of a plan stands for a key, and what a call of that
// cost would be told. Spend and Endpoint may say more.
func (c *Client) Explain(ctx context.Context, key string, l Limit, cost int64, opts ...CallOption) ([]Explained, error) {
	if l.algorithm != plan && l.err() == nil {
		return nil, fmt.Errorf("%w: Explain looks at a Plan, got %s", ErrInvalid, l)
	}
	args, err := command("RL.EXPLAIN", key, l, cost, 0, 0, opts)
	if err != nil {
		return nil, err
	}
	var list []Explained
	err = c.maps(ctx, key, args, func(f *fields) { list = append(list, f.explained()) })
	return list, err
}

func (f *fields) explained() (e Explained) {
	e = Explained{
		Name: f.text("name"), Algorithm: f.text("algorithm"), Window: f.text("window"),
		Mode: f.text("mode"), Source: f.text("source"), Override: f.optional("override"), Key: f.text("key"),
	}
	e.Limit = f.units("limit", &e.Money)
	if f.has("burst") {
		e.Burst = f.integer("burst", 1, UnitsMax)
	}
	if f.has("error") {
		e.Problem = f.text("error")
		return e
	}
	e.Used, e.Remaining = f.units("used", &e.Money), f.units("remaining", &e.Money)
	e.Allowed = f.integer("allowed", 0, 1) == 1
	e.RetryAfter, e.ResetAfter = f.wait("retry_after_ms", -1), f.wait("reset_after_ms", 0)
	return e
}

// Request is a gateway's question: may this HTTP request pass, by the server's rules?
type Request struct {
	Method, Path string
	Host         string            // may be empty
	User, APIKey string            // who it is, where that is known
	IP           string            // the peer's address, or a list as X-Forwarded-For has it
	Attributes   map[string]string // for rules that count by others
	Cost         int64             // units; 0: what the rule says
	Spend        int64             // millionths
	ID           string            // of the permit, where a plan takes one; "": the server makes one
}

// Verdict is the answer to a Request.
type Verdict struct {
	Decision
	// Rule, Plan and Key say what decided; all are empty where no rule matches.
	Rule, Plan, Key string
	// Headers are header fields for the response.
	Headers map[string]string
	// Permits are the keys that Release takes with the permit that was taken (ID).
	Permits []string
}

// words is the request as arguments of RL.REQUEST.
func (q *Request) words() ([]any, error) {
	if q.Method == "" || q.Path == "" {
		return nil, fmt.Errorf("%w: a Request must have a Method and a Path", ErrInvalid)
	}
	if q.Cost < 0 || q.Cost > UnitsMax || q.Spend < 0 || q.Spend > UnitsMax {
		return nil, fmt.Errorf("%w: Cost and Spend must be from 0 to %d, got %d and %d", ErrInvalid, int64(UnitsMax), q.Cost, q.Spend)
	}
	args := []any{"RL.REQUEST", "METHOD", q.Method, "PATH", q.Path}
	for _, more := range []struct{ word, value string }{
		{"HOST", q.Host}, {"USER", q.User}, {"APIKEY", q.APIKey}, {"IP", q.IP}, {"ID", q.ID},
	} {
		if more.value != "" {
			args = append(args, more.word, more.value)
		}
	}
	for name, value := range q.Attributes {
		args = append(args, "ATTR", name, value)
	}
	if q.Cost > 0 {
		args = append(args, "COST", q.Cost)
	}
	if q.Spend > 0 {
		args = append(args, "SPEND", decimal(q.Spend))
	}
	return args, nil
}

// Request has the server decide an HTTP request by its rules. While the server is away
// the answer follows OnFailure; with FailLocal each identity has 60 units a minute in each
// process.
func (c *Client) Request(ctx context.Context, q Request) (Verdict, error) {
	args, err := q.words()
	if err != nil {
		return Verdict{}, err
	}
	var named []CallOption
	if q.ID != "" {
		named = append(named, ID(q.ID))
	}
	reply, err := c.askFor(ctx, q.User+q.APIKey+q.IP, c.timeout, args, unwanted(named, func(reply any) (commands [][]any) {
		v, _ := judged(reply)
		for _, key := range v.Permits {
			commands = append(commands, []any{"RL.RELEASE", key, v.ID})
		}
		return commands
	}))
	if isAway(err) && !c.closed.Load() {
		return c.requestAway(q), nil
	}
	if err != nil {
		return Verdict{}, err
	}
	v, err := judged(reply)
	if err == nil {
		c.counted(v.Key, v.Decision)
	}
	return v, err
}

// judged is RL.REQUEST's reply.
func judged(reply any) (v Verdict, err error) {
	f := readFields("RL.REQUEST", reply)
	d := &v.Decision
	d.Allowed = f.integer("allowed", 0, 1) == 1
	v.Rule, v.Key, v.Plan, d.LimitName = f.text("rule"), f.text("key"), f.text("plan"), f.text("limit_name")
	d.Limit, d.Remaining = f.units("limit", &d.Money), f.units("remaining", &d.Money)
	d.RetryAfter, d.ResetAfter, d.Delay = f.wait("retry_after_ms", -1), f.wait("reset_after_ms", 0), f.wait("delay_ms", 0)
	d.ID = f.optional("id")
	if f.err == nil {
		headers := readFields("RL.REQUEST", f.values["headers"])
		v.Headers = make(map[string]string, len(headers.values))
		for name := range headers.values {
			v.Headers[name] = headers.text(name)
		}
		f.err = headers.err
	}
	if f.err == nil && d.ID != "" {
		r := read("RL.REQUEST", f.values["permits"])
		for r.more() {
			v.Permits = append(v.Permits, r.text("a permit's key"))
		}
		f.err = r.err
	}
	if f.err != nil {
		return Verdict{}, f.err
	}
	return v, nil
}

// requestAway decides a request without the server, under the name of who it is.
func (c *Client) requestAway(q Request) Verdict {
	who := "user:" + q.User
	switch {
	case q.User != "":
	case q.APIKey != "":
		who = "api_key:" + q.APIKey
	default:
		who = "ip:" + network(q.IP)
	}
	p, h := c.table.part(who)
	p.mu.Lock()
	defer p.mu.Unlock()
	d := c.degrade(p, c.entry(p, h, who, requests), max(1, q.Cost), c.now())
	return Verdict{Decision: d, Key: who}
}

// network is what of an address is one customer's: of IPv6 the first 64 bits, as with the
// server, or whoever has many addresses would have as many limits.
func network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.Prefix(64) // it has so many
	return prefix.String()
}

// requests is the plan under which requests are decided without the server.
var requests = Plan("\x00requests")

// ReleasePermit gives the permits of a verdict back: Permits and ID say which. One that
// cannot be given back keeps none of the others.
func (c *Client) ReleasePermit(ctx context.Context, v Verdict) (err error) {
	for _, key := range v.Permits {
		_, failed := c.Release(ctx, key, v.ID)
		err = errors.Join(err, failed)
	}
	return err
}

// SetPlan sets a plan, in JSON or YAML; it takes effect whole with the next decision. Where
// the server has several nodes each is told; if one cannot be, the error says so, and
// SetPlan may be called again.
func (c *Client) SetPlan(ctx context.Context, name, text string) error {
	return c.define(ctx, "RL.PLAN", "SET", name, text)
}

// DeletePlan takes back a plan that SetPlan has set.
func (c *Client) DeletePlan(ctx context.Context, name string) error {
	return c.define(ctx, "RL.PLAN", "DEL", name)
}

// PlanText is a plan in JSON.
func (c *Client) PlanText(ctx context.Context, name string) (string, error) {
	return c.definition(ctx, "RL.PLAN", name)
}

// Plans lists the plans by name.
func (c *Client) Plans(ctx context.Context) ([]string, error) { return c.texts(ctx, "RL.PLAN", "LIST") }

// SetRule sets a rule, in JSON or YAML; it takes effect with the next request.
func (c *Client) SetRule(ctx context.Context, name, text string) error {
	return c.define(ctx, "RL.RULE", "SET", name, text)
}

// DeleteRule takes back a rule that SetRule has set.
func (c *Client) DeleteRule(ctx context.Context, name string) error {
	return c.define(ctx, "RL.RULE", "DEL", name)
}

// RuleText is a rule in JSON.
func (c *Client) RuleText(ctx context.Context, name string) (string, error) {
	return c.definition(ctx, "RL.RULE", name)
}

// Rules lists the rules by name.
func (c *Client) Rules(ctx context.Context) ([]string, error) { return c.texts(ctx, "RL.RULE", "LIST") }

// define has every node of the server define something, or forget it.
func (c *Client) define(ctx context.Context, args ...any) error {
	return c.eachNode(ctx, func(n *node) error {
		reply, err := c.askNode(ctx, n, max(c.timeout, ManageTimeout), args, nil)
		if err != nil {
			return err
		}
		if reply != "OK" {
			return &ReplyError{Command: fmt.Sprint(args[0]), Want: "OK", Got: fmt.Sprintf("%#v", reply)}
		}
		return nil
	})
}

func (c *Client) definition(ctx context.Context, command, name string) (string, error) {
	reply, err := c.manage(ctx, "", command, "GET", name)
	if err != nil {
		return "", err
	}
	r := read(command, []any{reply})
	return r.text("a text"), r.err
}

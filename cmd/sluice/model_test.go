package main

// A model beside the server: connections charge several limits at once, reserve and
// settle, lease and return, take permits and give them back, and the server is killed
// again and again. Every call has an id or a holder of its own and is repeated until
// it is answered, so the model knows what
// must be used to the unit: nothing is charged on a denial, nothing half, nothing
// twice, nothing above a limit.
//
// The server runs under the test clock, so nothing ends by itself but when the model
// says so: then every permit and every reservation that is left must end.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	modelClients  = 8
	modelAccounts = 6
	modelLimit    = 1500 // of an account; a window that does not end
	modelPermits  = 5
)

// modelPlan is what some calls go by. What is said twice changes nothing about it.
const modelPlan = `{"limits":{"n":{"algorithm":"fixed_window","limit":1500,"window":"33333d"},"later":{"algorithm":"fixed_window","limit":%d,"window":"1h","mode":"shadow"}},"costs":{"two":2}}`

// modelTime is how long the model is checked: 10 s, or as many as are asked for.
func modelTime(t testing.TB) time.Duration {
	text := os.Getenv("SLUICE_MODEL_SECONDS")
	if text == "" {
		return 10 * time.Second
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SLUICE_MODEL_SECONDS: %v", err)
	}
	return time.Duration(n) * time.Second
}

// model is what must be so.
type model struct {
	t testing.TB

	mu   sync.Mutex
	used map[string]int64 // of accounts, by the name of the state
	held map[string]bool  // permits
	asks int
	plan int // what the shadow limit was set to last
}

// modelClient is one connection's part of it: the call that has not been answered.
type modelClient struct {
	*model
	n    int
	r    *rand.Rand
	next int
	todo []modelCall // a call, and what is to be called after it
	sent int         // how often the call was sent that is answered now
}

// modelCall is a call, and what its answer means. It may be sent again.
type modelCall struct {
	line     string
	answered func(c *modelClient, reply string)
	sent     int // how often
}

// modelAccount names an account's state, and the words of a group that charges it.
func modelAccount(i int, cost int64) (state, group string) {
	if i%2 == 0 {
		return fmt.Sprint("account:", i), fmt.Sprintf("account:%d fixed_window %d 33333d %d", i, modelLimit, cost)
	}
	return fmt.Sprintf("{account:%d}#n", i), fmt.Sprintf("account:%d @model %d", i, cost)
}

// id makes an id that nobody has used.
func (c *modelClient) id() string {
	c.next++
	return fmt.Sprintf("c%d.%d", c.n, c.next)
}

// charge notes what was charged.
func (m *model) charge(state string, units int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used[state] += units; m.used[state] > modelLimit || m.used[state] < 0 {
		m.t.Errorf("%s: %d units were granted of %d", state, m.used[state], modelLimit)
	}
}

// choose makes the next call.
func (c *modelClient) choose() modelCall {
	switch c.r.IntN(12) {
	case 0, 1, 2:
		return c.reserve()
	case 10, 11:
		return c.lease()
	case 3, 4:
		return c.acquire()
	case 5:
		return c.define()
	}
	return c.allowAll()
}

// allowAll charges a few accounts, all or nothing.
func (c *modelClient) allowAll() modelCall {
	line := "RL.ALLOWALL"
	charges := make(map[string]int64)
	for _, i := range c.r.Perm(modelAccounts)[:1+c.r.IntN(4)] {
		cost := 1 + c.r.Int64N(5)
		state, group := modelAccount(i, cost)
		line += " " + group
		charges[state] = cost
	}
	return modelCall{line: line + " IDEMPOTENT " + c.id() + " TTL 1h", answered: func(c *modelClient, reply string) {
		switch {
		case strings.HasPrefix(reply, "[1 0 "):
			for state, cost := range charges {
				c.charge(state, cost)
			}
		case !strings.HasPrefix(reply, "[0 "):
			c.t.Errorf("%s: %s", line, reply)
		}
	}}
}

// reserve reserves, and settles at what was reserved or less, twice.
func (c *modelClient) reserve() modelCall {
	amount, id := 1+c.r.Int64N(8), c.id()
	state, group := modelAccount(c.r.IntN(modelAccounts), amount)
	return modelCall{line: "RL.RESERVE " + group + " TTL 1h ID " + id, answered: func(c *modelClient, reply string) {
		if !strings.HasSuffix(reply, " "+id+"]") {
			return
		}
		c.charge(state, amount)
		settle, back := "RL.CANCEL "+id, amount
		if c.r.IntN(4) > 0 {
			actual := c.r.Int64N(amount + 1)
			settle, back = fmt.Sprintf("RL.COMMIT %s %d", id, actual), amount-actual
		}
		first := ""
		// What comes back may be granted to others at once, before the answer is here.
		c.todo = append(c.todo,
			modelCall{line: "PING", answered: func(c *modelClient, _ string) { c.charge(state, -back) }},
			modelCall{line: settle, answered: func(_ *modelClient, reply string) { first = reply }},
			modelCall{line: settle, answered: func(c *modelClient, reply string) {
				if reply != first || reply[0] != '[' {
					c.t.Errorf("%s: %s, and again: %s", settle, first, reply)
				}
			}})
	}}
}

// lease leases what there is, and returns it or lets it count as spent. One that was
// asked for more than once, because the answer was lost, may have been granted each
// time; whatever the holder has is returned then.
func (c *modelClient) lease() modelCall {
	want, holder := 1+c.r.Int64N(20), c.id()
	i := c.r.IntN(modelAccounts)
	state, group := modelAccount(i, want)
	key := fmt.Sprint("account:", i)
	return modelCall{line: "RL.LEASE " + group + " TTL 1h HOLDER " + holder, answered: func(c *modelClient, reply string) {
		var granted int64
		if _, err := fmt.Sscanf(reply, "[%d ", &granted); err != nil || granted > want {
			c.t.Errorf("RL.LEASE %s: %s", group, reply)
		}
		back := func(n int64) modelCall {
			return modelCall{line: fmt.Sprintf("RL.RETURN %s %s %d", key, holder, n), answered: func(*modelClient, string) {}}
		}
		switch {
		case c.sent > 1:
			c.todo = append(c.todo, back(1_000_000))
		case granted > 0:
			c.charge(state, granted)
			if c.r.IntN(4) > 0 {
				c.todo = append(c.todo,
					modelCall{line: "PING", answered: func(c *modelClient, _ string) { c.charge(state, -granted) }},
					back(granted+1))
			}
		}
	}}
}

// acquire takes a permit, and mostly gives it back.
func (c *modelClient) acquire() modelCall {
	id := c.id()
	return modelCall{line: fmt.Sprintf("RL.ACQUIRE permits %d 1h ID %s", modelPermits, id), answered: func(c *modelClient, reply string) {
		if !strings.HasPrefix(reply, "[1 ") {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.held[id] = true; len(c.held) > modelPermits {
			c.t.Errorf("%d permits are held of %d", len(c.held), modelPermits)
		}
		if c.r.IntN(50) == 0 {
			return // its holder is gone
		}
		c.todo = append(c.todo,
			modelCall{line: "PING", answered: func(c *modelClient, _ string) {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.held, id)
			}},
			modelCall{line: "RL.RELEASE permits " + id, answered: func(*modelClient, string) {}})
	}}
}

// define changes what does not matter about the plan.
func (c *modelClient) define() modelCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n > 0 {
		return modelCall{line: "PING", answered: func(*modelClient, string) {}}
	}
	n := 1 + c.r.IntN(1000)
	c.plan = n
	return modelCall{line: "RL.PLAN SET model " + fmt.Sprintf(modelPlan, n), answered: func(c *modelClient, reply string) {
		if reply != "+OK" {
			c.t.Errorf("RL.PLAN SET: %s", reply)
		}
	}}
}

// call works until the connection breaks or nothing more is wanted. What has not been
// answered is sent again next time.
func (c *modelClient) call(conn *client, more func() bool) {
	defer conn.conn.Close()
	for {
		if len(c.todo) == 0 {
			if !more() {
				return
			}
			c.todo = append(c.todo, c.choose())
		}
		c.todo[0].sent++
		now := c.todo[0]
		if _, err := conn.conn.Write(request(nil, strings.Fields(now.line)...)); err != nil {
			return
		}
		reply, err := conn.reply()
		if err != nil {
			return
		}
		c.todo, c.sent = c.todo[1:], now.sent
		now.answered(c, reply)
		c.mu.Lock()
		c.asks++
		c.mu.Unlock()
	}
}

// compare holds the server against the model. Nobody calls meanwhile.
func (m *model) compare(conn *client) {
	for i := range modelAccounts {
		state, _ := modelAccount(i, 1)
		if got := inspected(conn, state, "used"); got != m.used[state] {
			m.t.Errorf("%s: %d units are used, want %d", state, got, m.used[state])
		}
	}
	var held []string
	for id := range m.held {
		held = append(held, id)
	}
	slices.Sort(held)
	var got []string
	for _, holder := range strings.Split(strings.Trim(conn.ask("RL.HOLDERS permits"), "[]"), "] [") {
		if id, _, ok := strings.Cut(holder, " "); ok {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, held) {
		m.t.Errorf("permits %v are held, want %v", got, held)
	}
	if m.plan > 0 {
		want := fmt.Sprintf(`"later":{"algorithm":"fixed_window","limit":%d,`, m.plan)
		if plan := conn.ask("RL.PLAN GET model"); !strings.Contains(plan, want) {
			m.t.Errorf("the plan is %s, want %s in it", plan, want)
		}
	}
}

// inspected is a number of RL.INSPECT, 0 for a fresh key.
func inspected(conn *client, key, field string) int64 {
	words := strings.Fields(strings.Trim(conn.ask("RL.INSPECT "+key), "[]"))
	for i, w := range words[:len(words)-1] {
		if w == field {
			n, err := strconv.ParseInt(words[i+1], 10, 64)
			if err != nil {
				conn.t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// watch looks at the accounts all the while: never is more used than the limit.
func (m *model) watch(conn *client, more func() bool) {
	defer conn.conn.Close()
	for i := 0; more(); i++ {
		state, _ := modelAccount(i%modelAccounts, 1)
		if _, err := conn.conn.Write(request(nil, "RL.PEEK", state, "fixed_window", "9000000000000000", "33333d", "1")); err != nil {
			return
		}
		reply, err := conn.reply()
		if err != nil {
			return
		}
		var allowed, limit, remaining int64
		if _, err := fmt.Sscanf(reply, "[%d %d %d", &allowed, &limit, &remaining); err != nil || limit-remaining > modelLimit {
			m.t.Errorf("%s: %s", state, reply)
		}
	}
}

func TestModel(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	flags := []string{"--dir", dir, "--journal", "always", "--test-clock", "--snapshot-every", "0"}
	m := &model{t: t}
	clients := make([]*modelClient, modelClients)
	for n := range clients {
		clients[n] = &modelClient{model: m, n: n, r: rand.New(rand.NewPCG(7, uint64(100+n)))}
	}
	rounds, begun := 0, time.Now()
	p := start(t, append(flags, "--shards", "4")...)
	for ; time.Since(begun) < modelTime(t) && !t.Failed(); rounds++ {
		p = m.round(p, clients, r, func() *process {
			return start(t, append(flags, "--shards", strconv.Itoa(1+r.IntN(5)))...)
		})
	}
	p.terminate()
	t.Logf("%d rounds, %d calls answered", rounds, m.asks)
}

// round has the clients call from nothing, kills the server twice meanwhile, and lets
// them finish what they have begun.
func (m *model) round(p *process, clients []*modelClient, r *rand.Rand, again func() *process) *process {
	conn := p.dial()
	m.used, m.held = make(map[string]int64), make(map[string]bool)
	conn.ask("FLUSHALL")
	conn.want("RL.PLAN SET model "+fmt.Sprintf(modelPlan, max(m.plan, 1)), "+OK")
	m.plan = max(m.plan, 1)
	left := 2
	for more := true; more; {
		m.mu.Lock()
		goal := m.asks + 200 + r.IntN(2000)
		m.mu.Unlock()
		reached := func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.asks >= goal
		}
		more = left > 0
		wanted := func() bool { return more && !m.t.Failed() }
		var group sync.WaitGroup
		for _, c := range clients {
			conn := p.dial()
			group.Go(func() { c.call(conn, wanted) })
		}
		if more {
			conn := p.dial()
			group.Go(func() { m.watch(conn, wanted) })
			if r.IntN(2) == 0 {
				p.dial().conn.Write(request(nil, "BGSAVE"))
			}
			p.until("there were some calls", func() bool { return reached() || m.t.Failed() })
			p.kill()
		}
		group.Wait()
		if left--; more {
			p = again()
		}
	}
	conn = p.dial()
	m.compare(conn)
	// Whoever is left without his holder ends by himself.
	conn.want("RL.CLOCK ADVANCE 1h", "+OK")
	conn.want("RL.HOLDERS permits", "[]")
	m.held = make(map[string]bool)
	m.compare(conn)
	return p
}

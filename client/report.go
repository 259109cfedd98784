package client

// Reports: what was spent here, and what was admitted without the server, by key and
// window. A report is a running total with a number, so it may be sent again and again;
// the server keeps the one with the highest number. Reports wait in an outbox that is
// bounded and never holds a decision up; one that is newer takes the older one's place.

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ReportsMax is how many reports may wait to be sent. What comes after that stays with
// its key, and is lost only if the key has to make room for others meanwhile.
const ReportsMax = 1 << 16

// report is a holder's running total for a key and a window.
type report struct {
	key, holder     string
	window          int64 // its start in ms since 1970
	seq             uint64
	spent, degraded int64
}

// about is what a report is about.
type about struct {
	key, holder string
	window      int64
}

// outbox is reports that wait.
type outbox struct {
	mu      sync.Mutex
	waiting map[about]report
	lost    uint64
}

// put lets a report wait, and says whether there was room.
func (o *outbox) put(r report) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = make(map[about]report)
	}
	a := about{r.key, r.holder, r.window}
	if _, there := o.waiting[a]; !there && len(o.waiting) >= ReportsMax {
		return false
	}
	o.waiting[a] = r
	return true
}

// len is how many reports wait.
func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// all returns what waits.
func (o *outbox) all() []report {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]report, 0, len(o.waiting))
	for _, r := range o.waiting {
		list = append(list, r)
	}
	return list
}

// sent takes out a report that has arrived, unless there is a newer one.
func (o *outbox) sent(r report, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := about{r.key, r.holder, r.window}
	if o.waiting[a].seq == r.seq {
		delete(o.waiting, a)
	}
	if lost {
		o.lost++
	}
}

// dropped is how many reports were lost.
func (o *outbox) dropped() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// lose counts reports that will not be sent.
func (o *outbox) lose(n uint64) {
	o.mu.Lock()
	o.lost += n
	o.mu.Unlock()
}

// report puts what an entry has spent since the last time into the outbox, under its
// part's lock.
func (c *Client) report(e *entry) {
	for _, l := range []*lease{&e.cur, &e.ahead} {
		if l.granted > l.left && l.window != unaccounted {
			e.tally.in(l.window, func(*sums) {})
		}
	}
	if len(e.tally) == 0 {
		return
	}
	if e.holder == "" {
		e.name(c)
	}
	e.tally.take(e.key, e.holder, e.unsettled, c.outbox.put)
}

// unsettled is what was spent of leases that have not ended, in a window.
func (e *entry) unsettled(window int64) (n int64) {
	for _, l := range []*lease{&e.cur, &e.ahead} {
		if l.window == window {
			n += l.granted - l.left
		}
	}
	return n
}

// flush sends what waits, to the nodes that answer.
func (c *Client) flush(ctx context.Context) {
	byNode := map[*node][]report{}
	for _, r := range c.outbox.all() {
		if n, err := c.nodeOf(ctx, r.key); err == nil && !n.away.Load() {
			byNode[n] = append(byNode[n], r)
		}
	}
	for n, list := range byNode {
		for len(list) > 0 {
			some := list[:min(len(list), pipelineMax)]
			list = list[len(some):]
			c.sendReports(ctx, n, some)
		}
	}
}

func (c *Client) sendReports(ctx context.Context, n *node, list []report) {
	replies, _ := n.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, r := range list {
			args := []any{"RL.REPORT", r.holder, r.seq, r.key, r.window, r.spent}
			if r.degraded > 0 {
				args = append(args, "DEGRADED", r.degraded)
			}
			p.Do(ctx, args...)
		}
		return nil
	})
	for i, reply := range replies {
		err := n.judge("RL.REPORT", reply.Err())
		if isAway(err) {
			return
		}
		if err != nil {
			c.log.Warn("a report was refused", "key", list[i].key, "spent", list[i].spent, "degraded", list[i].degraded, "why", err)
		}
		c.outbox.sent(list[i], err != nil)
	}
}

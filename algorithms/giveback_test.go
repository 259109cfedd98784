package algorithms

// What goes back: units of a charge, for every algorithm, and permits by their ids.
// The laws of giving back are beside those of spending: nothing is minted by it, and
// nothing is lost that still counts.

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// A charge that is taken back at once leaves what was used before it. Taken back later,
// while nobody called, it leaves no less than if it had never been made, and frees no
// more than was asked for. A permit goes back by its id only.
func TestLawGivingBackMintsNothing(t *testing.T) {
	law(t, func(h *history) error {
		return live(h, func(k *key, s step, d Decision) error {
			if was := k.stored.Limit; s.peek || !d.Allowed || s.call.Limit.Algorithm == Concurrency || was != nil && *was != *s.call.Limit {
				return nil // what is used decays otherwise under another limit
			}
			now := k.settled(s.call.Now)
			charged := k.clone()
			charged.ask(s)
			mark, back := Mark(&charged.stored), 1+h.span(s.call.Cost-1)
			at := min(now+pick(h, 0, 0, 1, h.span(2*s.call.Limit.Window)), endOfTime+year)
			without, before := Used(&k.stored, at), Used(&charged.stored, at)
			after := GiveBack(&charged.stored, at, mark, back)
			switch {
			case after > before || before-after > back:
				return fmt.Errorf("%d used, after %d came back %d", before, back, after)
			case after < without:
				return fmt.Errorf("%d used after %d came back, %d without the charge", after, back, without)
			case at == s.call.Now && after != before-back:
				return fmt.Errorf("%d of %d used after %d came back at once", after, before, back)
			case after > 0 && s.call.Limit.Algorithm == SlidingLog && charged.stored.Log.firstEnd() <= charged.stored.State.At:
				return fmt.Errorf("a run is left that ended before %d", charged.stored.State.At)
			case GiveBack(&charged.stored, charged.stored.FreshAt, mark, back) != 0:
				return fmt.Errorf("used after all has ended")
			}
			return nil
		})
	})
}

// firstEnd is the end of the first run that the log has.
func (g *Log) firstEnd() uint64 { return g.runs[g.head].End }

// Permits against a list of them, searched from end to end.
func TestPermitsTwin(t *testing.T) {
	a := Of(Concurrency)
	for number := range uint64(300) {
		h := newHistory(1, number, a)
		k, now := newKey(), startOfTests
		var list []Permit
		for n := range 100 {
			l := h.limits[h.IntN(len(h.limits))]
			now += pick(h, 0, 0, 1, h.span(l.Window))
			list = slices.DeleteFunc(list, func(p Permit) bool { return p.End <= now })
			id := fmt.Sprint(h.IntN(20))
			at := slices.IndexFunc(list, func(p Permit) bool { return p.ID == id })
			switch {
			case at < 0 && h.IntN(2) == 0:
				d := Decision{}
				if Allow(&Call{Limit: l, Cost: 1 + h.span(l.Burst-1), Now: now}, &k.stored, &d); d.Allowed {
					k.stored.Log.Name(id, d.Remaining)
					used := uint64(0)
					for _, p := range list {
						used += p.Units
					}
					list = append(list, Permit{ID: id, Left: d.Remaining, Units: l.Burst - d.Remaining - used, End: now + l.Window, TTL: l.Window})
				}
			case k.stored.Limit == nil:
			case h.IntN(2) == 0:
				if ok := Release(&k.stored, now, id); ok != (at >= 0) {
					t.Fatalf("history %d, step %d: released %v, held %v", number, n, ok, at >= 0)
				}
				if at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
			default:
				ttl := pick(h, 0, 1+h.span(l.Window), WindowMaxNanos)
				if ok := Renew(&k.stored, now, id, ttl); ok != (at >= 0) {
					t.Fatalf("history %d, step %d: renewed %v, held %v", number, n, ok, at >= 0)
				}
				if at >= 0 {
					p := list[at]
					p.End = now + cmp.Or(ttl, p.TTL)
					list = append(slices.Delete(list, at, at+1), p)
				}
			}
			if s := k.stored.State; k.stored.Limit != nil && s.A > s.At+WindowMaxNanos {
				t.Fatalf("history %d, step %d: a permit ends at %d, too long after the state's own %d", number, n, s.A, s.At)
			}
			if err := samePermits(k, now, list); err != nil {
				t.Fatalf("history %d, step %d: %v", number, n, err)
			}
		}
	}
}

// samePermits compares what a key holds with a list.
func samePermits(k *key, now uint64, list []Permit) error {
	slices.SortStableFunc(list, func(a, b Permit) int {
		switch {
		case a.End < b.End:
			return -1
		case a.End > b.End:
			return 1
		}
		return 0
	})
	used, last := uint64(0), uint64(0)
	for _, p := range list {
		used += p.Units
		last = p.End
		if got, ok := k.stored.Log.Permit(p.ID, now); !ok || got != p {
			return fmt.Errorf("permit %+v, want %+v", got, p)
		}
	}
	var got []Permit
	k.stored.Log.Permits(now, func(p Permit) { got = append(got, p) })
	if !slices.Equal(got, list) {
		return fmt.Errorf("%v, want %v", got, list)
	}
	if n := Used(&k.stored, now); n != used || used > 0 && k.stored.FreshAt != last {
		return fmt.Errorf("%d used until %d, want %d until %d", n, k.stored.FreshAt, used, last)
	}
	return nil
}

package client

// What an entry has spent, by window: running totals that are reported from time to
// time. A window that is over waits in the entry until the next look at it.

// sums are running totals of one window, in units.
type sums struct {
	window   int64 // its start in ms since 1970
	spent    int64
	degraded int64
	seq      uint64 // of the last report
	told     struct{ spent, degraded int64 }
}

// changed says whether there is something that no report has said yet.
func (s *sums) changed() bool { return s.spent != s.told.spent || s.degraded != s.told.degraded }

// tally is the totals of the windows that are not over, or not reported. There is one
// for nearly all the time, and two or three around a window's end.
type tally []sums

// in changes the totals of a window.
func (t *tally) in(window int64, change func(*sums)) {
	for i := range *t {
		if s := &(*t)[i]; s.window == window {
			change(s)
			return
		}
	}
	s := sums{window: window}
	change(&s)
	*t = append(*t, s)
}

// changed is how many windows no report has said all about.
func (t tally) changed() (n uint64) {
	for i := range t {
		if t[i].changed() {
			n++
		}
	}
	return n
}

// take moves what has changed into reports, and forgets windows that are over. unsettled is
// what was spent of leases that have not ended.
func (t *tally) take(key, holder string, unsettled func(window int64) int64, put func(report) bool) {
	kept := (*t)[:0]
	newest := int64(-1 << 62)
	for i := range *t {
		newest = max(newest, (*t)[i].window)
	}
	for _, s := range *t {
		spent := s.spent + unsettled(s.window)
		if spent != s.told.spent || s.degraded != s.told.degraded {
			if put(report{key: key, holder: holder, window: s.window, seq: s.seq + 1, spent: spent, degraded: s.degraded}) {
				s.seq++
				s.told.spent, s.told.degraded = spent, s.degraded
			}
		}
		if s.window == newest || s.changed() {
			kept = append(kept, s)
		}
	}
	*t = kept
}

package algorithms

// Periods: the window of the clock in which a charge is accounted, for keepers that
// sum what was charged. Where windows have edges it is the window that the charge
// counts in. A model without edges, such as the meter, is accounted in windows of
// the same length that are aligned to the epoch.

// Period is the window that a call is accounted in: it covers the instant of the
// call, or that of the state if that is later, and its end is not part of it. k is
// what the key stores, before the call or after it. Instants are nanoseconds since
// 1970; a window that began before counts from there.
func Period(c *Call, k *Stored) (start, end uint64) {
	l, t := c.Limit, c.Now
	if k.Limit != nil {
		t = max(t, k.State.At)
	}
	if l.Align.IsCalendar() {
		first, end := calendarWindow(l, t)
		return begin(first, l.Zone.location()), end
	}
	end = windowEnd(l, t, c.KeyHash)
	if k.Limit != nil && k.State.A > t && continues(k.Limit, l) {
		end = k.State.A
	}
	return end - min(end, l.Window), end
}

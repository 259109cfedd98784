package algorithms

// The fixed window, and the budget, which counts millionths in the same way: a count that starts again at the window's end.
//
//	A   the end of the window, an instant
//	B   units charged in it
//	C   not used
//
// The end is stored and not the start because the first window of a shifted
// alignment may begin before 1970.

var window = model{
	settle:  settleWindow,
	until:   untilWindow,
	freshAt: func(s State, _ *Limit) uint64 { return s.A },
	adopt:   adoptWindow,
	charge: func(s State, _ *Limit, cost uint64, _ *Log) State {
		return State{At: s.At, A: s.A, B: plus(s.B, cost)}
	},
	mark: func(s State, _ *Limit) uint64 { return s.A },
	back: func(s State, _ *Limit, mark, units uint64, _ *Log) State {
		if mark == Newest || mark == s.A {
			s.B -= min(s.B, units)
		}
		return s
	},
	legal: func(s State, l *Limit) bool {
		return s.A > s.At && s.A-s.At <= l.Window && s.B <= unitsStoredMax && s.C == 0
	},
}

func settleWindow(s State, _ *Limit, t uint64, _ *Log) (State, uint64) {
	s.At = t
	if t >= s.A {
		s.B = 0
	}
	return s, s.B
}

// untilWindow: a count only falls at the window's end, and then to nothing.
func untilWindow(s State, _ *Limit, _ uint64, _ *Log) int64 { return Millis(s.A - s.At) }

// adoptWindow counts what is used in the window of l that covers the instant.
// A window that began with its first call goes on when only the limit changed.
func adoptWindow(s State, was, l *Limit, used, keyHash uint64) State {
	end := windowEnd(l, s.At, keyHash)
	if used > 0 && continues(was, l) {
		end = s.A
	}
	return State{At: s.At, A: end, B: used}
}

// continues says whether a window that began with its first call under one limit
// goes on under another.
func continues(was, l *Limit) bool {
	return l.Align == AlignFirst && was.Align == AlignFirst && was.Algorithm == l.Algorithm && was.Window == l.Window
}

// windowEnd is the end of the window of l that covers t.
func windowEnd(l *Limit, t, keyHash uint64) uint64 {
	switch l.Align {
	case AlignDay, AlignWeek, AlignMonth, AlignYear:
		_, end := calendarWindow(l, t)
		return end
	case AlignFirst:
		return t + l.Window
	case AlignJitter:
		shift := keyHash % (l.Window / millisecond) * millisecond
		if t < shift {
			// The window before the first one that begins after 1970;
			// shift < Window, so it covers t.
			return shift
		}
		return t - (t-shift)%l.Window + l.Window
	default:
		return t - t%l.Window + l.Window
	}
}

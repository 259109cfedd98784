package algorithms

// The sliding counter: an estimate of the sliding log from two counts on
// epoch-aligned windows. With left nanoseconds of the current window to go,
// used × W = previous × left + current × W, compared as whole numbers.
//
//	A   the end of the current window, an instant
//	B   units charged in the current window
//	C   units charged in the window before
//
// The estimate falls evenly to the window's end, where the current count takes
// the place of the previous one, and evenly again through the next window. A
// wait can therefore reach into the window after this one.

var counter = model{
	settle:  settleCounter,
	until:   untilCounter,
	freshAt: freshAtCounter,
	adopt: func(s State, _, l *Limit, used, _ uint64) State {
		return State{At: s.At, A: s.At - s.At%l.Window + l.Window, B: used}
	},
	charge: func(s State, _ *Limit, cost uint64, _ *Log) State {
		s.B = plus(s.B, cost)
		return s
	},
	mark: func(s State, _ *Limit) uint64 { return s.A },
	back: backCounter,
	legal: func(s State, l *Limit) bool {
		return s.A > s.At && s.A-s.At <= l.Window && s.B <= unitsStoredMax && s.C <= unitsStoredMax
	},
}

func settleCounter(s State, l *Limit, t uint64, _ *Log) (State, uint64) {
	s.At = t
	if t >= s.A {
		s.B, s.C = 0, s.B
		s.A += l.Window
		if t >= s.A {
			return State{At: t}, 0
		}
	}
	return s, plus(s.B, mul(s.C, s.A-t).divUp(l.Window))
}

func untilCounter(s State, l *Limit, x uint64, _ *Log) int64 {
	left := s.A - s.At
	if s.B <= x {
		// The previous count is not 0 here, or nothing would have to fall.
		return Millis(left - mul(x-s.B, l.Window).div(s.C))
	}
	return Millis(left + l.Window - mul(x, l.Window).div(s.B))
}

func freshAtCounter(s State, l *Limit) uint64 {
	if s.B > 0 {
		return s.A + l.Window
	}
	return s.A
}

// backCounter takes units from the count that they were charged to, which may have
// become the previous one; the newest are in the current count.
func backCounter(s State, l *Limit, mark, units uint64, _ *Log) State {
	if mark == Newest || mark == s.A {
		n := min(s.B, units)
		s.B -= n
		units -= n
	}
	if mark == Newest || mark+l.Window == s.A {
		s.C -= min(s.C, units)
	}
	return s
}

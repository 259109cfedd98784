package algorithms

// The meter: token_bucket, gcra and leaky_bucket. It fills by the cost of each
// call and drains at limit/window; a bucket's free tokens are the room that is
// left in it. The level is kept as used × window, a 128-bit whole number, so
// draining is elapsed × limit and a decision is a comparison. Only what people
// read (remaining, waits) is divided.
//
//	A, B   level = used × Window, high and low word
//	C      the instant of the charge that found the key fresh: who gives back what
//	       was charged before that has nothing to give
//
// Between two windows the level is scaled by W'/W and rounded up to the next
// whole level, 1/W' of a unit. Every later comparison is between whole levels,
// so the rounding of one change of window is never seen.

var meter = model{
	settle:  settleMeter,
	until:   untilMeter,
	freshAt: freshAtMeter,
	adopt:   adoptMeter,
	charge:  chargeMeter,
	mark:    func(s State, _ *Limit) uint64 { return s.C },
	back:    backMeter,
	legal: func(s State, l *Limit) bool {
		return s.C <= s.At && level(s).div(l.Window) <= unitsStoredMax
	},
}

// queue is the meter read from the other side: an admitted call waits for the
// work queued before it.
var queue = func() model {
	q := meter
	q.delay = func(s State, l *Limit) int64 { return level(s).millisUp(l.Units) }
	return q
}()

func level(s State) wide { return wide{s.A, s.B} }

func settleMeter(s State, l *Limit, t uint64, _ *Log) (State, uint64) {
	v := level(s).sub(mul(t-s.At, l.Units))
	return State{At: t, A: v.hi, B: v.lo, C: s.C}, v.divUp(l.Window)
}

func untilMeter(s State, l *Limit, x uint64, _ *Log) int64 {
	return level(s).sub(mul(x, l.Window)).millisUp(l.Units)
}

func freshAtMeter(s State, l *Limit) uint64 {
	return plus(s.At, level(s).divUp(l.Units))
}

func adoptMeter(s State, was, l *Limit, used, _ uint64) State {
	switch {
	case used == 0:
		return State{At: s.At, C: s.At}
	case isMeter(was):
		v := level(s).scaleUp(l.Window, was.Window)
		return State{At: s.At, A: v.hi, B: v.lo, C: s.C}
	default:
		v := mul(used, l.Window)
		return State{At: s.At, A: v.hi, B: v.lo, C: s.At}
	}
}

// isMeter says whether a state under l is a level. The three names are one
// model, so changing between them keeps the fraction of a unit.
func isMeter(l *Limit) bool {
	return l.Algorithm == TokenBucket || l.Algorithm == GCRA || l.Algorithm == LeakyBucket
}

func chargeMeter(s State, l *Limit, cost uint64, _ *Log) State {
	v := level(s).add(mul(cost, l.Window))
	return State{At: s.At, A: v.hi, B: v.lo, C: s.C}
}

func backMeter(s State, l *Limit, mark, units uint64, _ *Log) State {
	if mark != Newest && mark != s.C {
		return s
	}
	v := level(s).sub(mul(units, l.Window))
	return State{At: s.At, A: v.hi, B: v.lo, C: s.C}
}

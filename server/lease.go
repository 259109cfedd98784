package server

// Leases: RL.LEASE, RL.RETURN, RL.REPORT, RL.USAGE. A client takes units at once and
// decides with them on its own; what it does not need it returns, and what it spent it
// reports. What is counted on the way is in package shard.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/algorithms"
	"sluice/shard"
)

// leaseTTLDefault is how long a lease lasts unless said otherwise: 60 s.
const leaseTTLDefault = 60_000 * nanosPerMilli

// leasing keeps what an operation says about leases. As with limits, the array may
// move as it grows.
func (s *session) leasing(l shard.Leasing) *shard.Leasing {
	s.leasings = append(s.leasings, l)
	return &s.leasings[len(s.leasings)-1]
}

// leaseLimitsMax is how many limits of a plan can be leased at once.
const leaseLimitsMax = 16

// parseLease parses RL.LEASE key algorithm limit window want [options], or key @plan
// want [options].
func parseLease(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	if isPlan(args[2]) {
		return s.parsePlanLease(args)
	}
	if len(args) < 6 {
		return byCommand["RL.LEASE"].arityError()
	}
	spec, err := parseSpec(args[2:])
	if err != nil {
		return err
	}
	if algorithms.Of(spec.Algorithm).Kind == algorithms.Permits {
		return errors.New("ERR permits of a concurrency limit are leases already; RL.ACQUIRE takes them")
	}
	l := shard.Leasing{Key: args[1], TTL: leaseTTLDefault, Min: 1}
	if err := parseWant(&l, &spec, args[5:]); err != nil {
		return err
	}
	if err := s.ask(shard.Lease, args[1], spec, l.Min); err != nil {
		return err
	}
	s.batch.Ops[len(s.batch.Ops)-1].Leasing = s.leasing(l)
	s.batch.Join(1)
	return nil
}

// parsePlanLease parses key @plan want [options]: the least of the plan's limits,
// charged to all of its rates.
func (s *session) parsePlanLease(args [][]byte) error {
	plan, err := planOf(s.server.Book(), args[2])
	if err != nil {
		return err
	}
	l := shard.Leasing{Key: args[1], TTL: leaseTTLDefault, Min: 1}
	whole := algorithms.Spec{Algorithm: algorithms.TokenBucket}
	spec := whole
	if err := parseWant(&l, &spec, args[3:]); err != nil {
		return err
	}
	if spec != whole {
		return errors.New("ERR options of a limit do not go with a plan, which says them itself")
	}
	c := planCall{plan: plan, kind: shard.Lease, cost: l.Min, series: s.server.series.of(nil, plan)}
	ops := s.addPlan(args[1], &c)
	if len(ops) > leaseLimitsMax {
		return fmt.Errorf("ERR plan '%s' has %d limits, and at most %d can be leased at once", show(args[2][1:]), len(ops), leaseLimitsMax)
	}
	for i := range ops {
		if ops[i].Call.Limit.Kind() == algorithms.Permits {
			return fmt.Errorf("ERR plan '%s' has a concurrency limit, whose permits cannot be leased; RL.ALLOW takes them", show(args[2][1:]))
		}
	}
	ops[0].Leasing = s.leasing(l)
	return nil
}

// parseWant reads want [MIN n] [TTL d] [HOLDER id], and options of a limit.
func parseWant(l *shard.Leasing, spec *algorithms.Spec, rest [][]byte) (err error) {
	if l.Want, err = amount("want", rest[0], spec.Algorithm, 1); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if err := parseOptions(spec, rest[1:], leaseOptions(l, spec.Algorithm)); err != nil {
		return err
	}
	if l.Min > l.Want {
		return fmt.Errorf("ERR MIN must be at most want, '%s'", show(rest[0]))
	}
	return nil
}

// leaseOptions are the options MIN n, TTL d and HOLDER id.
func leaseOptions(l *shard.Leasing, id algorithms.ID) options {
	return options{words: []string{"MIN", "TTL", "HOLDER"}, parse: func(word string, rest [][]byte) (took int, err error) {
		switch word {
		case "MIN":
			l.Min, err = amount("MIN", rest[1], id, 1)
		case "TTL":
			l.TTL, err = algorithms.ParseDuration("TTL", rest[1], algorithms.WindowMaxNanos)
		default:
			l.Holder = rest[1]
			return 2, checkHolder(rest[1])
		}
		if err != nil {
			return 0, fmt.Errorf("ERR %w", err)
		}
		return 2, nil
	}}
}

func checkHolder(name []byte) error {
	if len(name) < 1 || len(name) > shard.HolderBytesMax {
		return fmt.Errorf("ERR holder must have 1 to %d bytes, got %d", shard.HolderBytesMax, len(name))
	}
	return nil
}

// writeLease is granted, limit, remaining, retry_after_ms, reset_after_ms, valid_ms,
// server_time_ms, window_start_ms, holders, granted_total.
func writeLease(s *session, out []byte, ops []shard.Op) []byte {
	ops = ops[:groupOf(ops)]
	l := ops[0].Leasing
	if l.Trouble != 0 {
		return s.appendFailure(out, troubleText(l.Trouble))
	}
	if l.Full {
		return s.appendFailure(out, errNoLeaseRoom)
	}
	d, retry, refused := leaseDecision(ops)
	if refused != nil {
		return s.appendOutcome(out, refused)
	}
	out = redcon.AppendArray(out, 10)
	out = appendAmount(out, l.Granted, l.Money)
	out = appendAmount(out, d.Limit, l.Money)
	out = appendAmount(out, d.Remaining, l.Money)
	out = redcon.AppendInt(out, retry)
	out = redcon.AppendInt(out, d.ResetAfter)
	out = redcon.AppendInt(out, int64(l.Valid/nanosPerMilli))
	out = redcon.AppendInt(out, int64(l.Now/nanosPerMilli))
	out = redcon.AppendInt(out, int64(l.Start))
	out = redcon.AppendInt(out, int64(l.Holders))
	return appendAmount(out, l.Total, l.Money)
}

// leaseDecision is what a lease tells of its limits: the decision of the one that
// binds most of those that are charged, and the longest wait of all. An operation that
// was not decided or is not durable stands for all.
func leaseDecision(ops []shard.Op) (d *algorithms.Decision, retry int64, refused *shard.Op) {
	var most *shard.Op
	for i := range ops {
		op := &ops[i]
		if op.Shadow {
			continue
		}
		if op.Refused() || op.Unsaved {
			return nil, 0, op
		}
		if uint64(op.Decision.RetryAfter) > uint64(retry) { // Never is the longest
			retry = op.Decision.RetryAfter
		}
		if !op.Free && (most == nil || binds(op, most)) {
			most = op
		}
	}
	if most == nil {
		return &free, retry, nil
	}
	return &most.Decision, retry, nil
}

// appendAmount writes units: a number, or money as a decimal.
func appendAmount(out []byte, n uint64, money bool) []byte {
	if money {
		return redcon.AppendBulkString(out, algorithms.FormatDecimal(n))
	}
	return redcon.AppendInt(out, int64(n))
}

// parseReturn parses RL.RETURN key holder n.
func parseReturn(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	if err := checkHolder(args[2]); err != nil {
		return err
	}
	n, err := algorithms.ParseAmount("n", args[3])
	if err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if n.Whole == 0 && n.Fraction == 0 {
		return fmt.Errorf("ERR n out of range: it must be above 0, got '%s'", show(args[3]))
	}
	op := s.add(args[1])
	op.Kind, op.Leasing = shard.Return, s.leasing(shard.Leasing{Holder: args[2], Spent: n})
	return nil
}

// writeReturn is how many units were taken back.
func writeReturn(s *session, out []byte, ops []shard.Op) []byte {
	l := ops[0].Leasing
	switch {
	case l.Trouble != 0:
		return s.appendFailure(out, troubleText(l.Trouble))
	case ops[0].Unsaved:
		return s.appendFailure(out, s.unsaved())
	}
	return appendAmount(out, l.Taken, l.Money)
}

// parseReport parses RL.REPORT holder seq key window_start_ms spent [DEGRADED n].
func parseReport(s *session, args [][]byte) (err error) {
	l := shard.Leasing{Holder: args[1]}
	if err := checkHolder(args[1]); err != nil {
		return err
	}
	if l.Seq, err = algorithms.ParseWhole("seq", args[2], 0, algorithms.UnitsMax); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if err := checkKey(args[3]); err != nil {
		return err
	}
	if l.Start, err = algorithms.ParseWhole("window_start_ms", args[4], 0, algorithms.UnitsMax); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if l.Spent, err = algorithms.ParseAmount("spent", args[5]); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if rest := args[6:]; len(rest) > 0 {
		if len(rest) != 2 || !strings.EqualFold(string(rest[0]), "DEGRADED") {
			return fmt.Errorf("ERR RL.REPORT takes DEGRADED n after what was spent, got '%s'", show(rest[0]))
		}
		if l.Degraded, err = algorithms.ParseAmount("DEGRADED", rest[1]); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
	}
	op := s.add(args[3])
	op.Kind, op.Leasing = shard.Report, s.leasing(l)
	return nil
}

// writeReport is 1 where the report counts, 0 where a later one does already.
func writeReport(s *session, out []byte, ops []shard.Op) []byte {
	op := &ops[0]
	switch {
	case op.Leasing.Trouble != 0:
		return s.appendFailure(out, troubleText(op.Leasing.Trouble))
	case op.Full:
		return s.appendFailure(out, errNoLeaseRoom)
	case op.Unsaved:
		return s.appendFailure(out, s.unsaved())
	case op.Found:
		return redcon.AppendInt(out, 1)
	}
	return redcon.AppendInt(out, 0)
}

// parseUsage parses RL.USAGE key [COUNT n].
func parseUsage(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	count := uint64(shard.UsageWindowsMax)
	if rest := args[2:]; len(rest) > 0 {
		if len(rest) != 2 || !strings.EqualFold(string(rest[0]), "COUNT") {
			return fmt.Errorf("ERR RL.USAGE takes COUNT n after the key, got '%s'", show(rest[0]))
		}
		var err error
		if count, err = algorithms.ParseWhole("COUNT", rest[1], 1, shard.UsageWindowsMax); err != nil {
			return fmt.Errorf("ERR %w", err)
		}
	}
	op := s.add(args[1])
	op.Kind, op.Leasing = shard.Tell, s.leasing(shard.Leasing{Count: int(count)})
	return nil
}

// writeUsage is an array of maps, the newest window first.
func writeUsage(s *session, out []byte, ops []shard.Op) []byte {
	l := ops[0].Leasing
	kind := algorithms.Rate
	if l.Money {
		kind = algorithms.Money
	}
	out = redcon.AppendArray(out, len(l.Usage))
	for i := range l.Usage {
		u := &l.Usage[i]
		out = appendFields(out, s.proto, []field{
			number("window_start_ms", u.Start),
			units("authorised", u.Authorised, kind),
			units("spent", u.Spent, kind),
			units("degraded", u.Degraded, kind),
			number("holders", uint64(u.Holders)),
		})
	}
	return out
}

const errNoLeaseRoom = "OOM no room for one lease or report more; this call changed nothing"

// troubleText is the error for what stood in the way.
func troubleText(t shard.Trouble) string {
	switch t {
	case shard.Crowded:
		return fmt.Sprintf("ERR the key has too many holders: at most %d can have leases of it out, and %d can share a window", shard.HoldersPerKeyMax, shard.HoldersPerWindowMax)
	case shard.NotWhole:
		return "ERR the key does not count such an amount: decimals are for budgets, up to 9007199254.740991, and everything else is counted in whole units"
	case shard.Early:
		return "ERR window_start_ms is ahead of the server's time; RL.LEASE tells both"
	default:
		return "ERR the window is closed: reports are taken for as long after its end as it lasted, at least an hour, and for the 1024 newest windows of a key"
	}
}

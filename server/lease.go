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

// parseLease parses RL.LEASE key algorithm limit window want [options].
func parseLease(s *session, args [][]byte) error {
	if err := checkKey(args[1]); err != nil {
		return err
	}
	if isPlan(args[2]) {
		return errors.New("ERR a lease is of one limit: key algorithm limit window want")
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
	if l.Want, err = amount("want", args[5], spec.Algorithm, 1); err != nil {
		return fmt.Errorf("ERR %w", err)
	}
	if err := parseOptions(&spec, args[6:], leaseOptions(&l, spec.Algorithm)); err != nil {
		return err
	}
	if l.Min > l.Want {
		return fmt.Errorf("ERR MIN must be at most want, '%s'", show(args[5]))
	}
	if err := s.ask(shard.Lease, args[1], spec, l.Min); err != nil {
		return err
	}
	s.batch.Ops[len(s.batch.Ops)-1].Leasing = s.leasing(l)
	s.batch.Join(1)
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
	l := ops[0].Leasing
	if l.Trouble != 0 {
		return appendError(out, troubleText(l.Trouble))
	}
	op := &ops[0]
	if op.Full && op.Decision.Allowed {
		return appendError(out, errNoLeaseRoom)
	}
	if op.Refused() || op.Unsaved {
		return s.appendOutcome(out, op)
	}
	d := &op.Decision
	out = redcon.AppendArray(out, 10)
	out = appendAmount(out, l.Granted, l.Money)
	out = appendAmount(out, d.Limit, l.Money)
	out = appendAmount(out, d.Remaining, l.Money)
	out = redcon.AppendInt(out, d.RetryAfter)
	out = redcon.AppendInt(out, d.ResetAfter)
	out = redcon.AppendInt(out, int64(l.Valid/nanosPerMilli))
	out = redcon.AppendInt(out, int64(l.Now/nanosPerMilli))
	out = redcon.AppendInt(out, int64(l.Start))
	out = redcon.AppendInt(out, int64(l.Holders))
	return appendAmount(out, l.Total, l.Money)
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
		return appendError(out, troubleText(l.Trouble))
	case ops[0].Unsaved:
		return appendError(out, s.unsaved())
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
		return appendError(out, troubleText(op.Leasing.Trouble))
	case op.Full:
		return appendError(out, errNoLeaseRoom)
	case op.Unsaved:
		return appendError(out, s.unsaved())
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

package server

// RL.PLAN and RL.RULE: what commands define. Both are read and written in one form,
// JSON; what they mean is package plans'.

import "github.com/tidwall/redcon"

// runPlanSet is RL.PLAN SET name text.
func runPlanSet(s *session, out []byte, args [][]byte) ([]byte, error) {
	if err := s.server.SetPlan(string(args[2]), args[3]); err != nil {
		return nil, errBook("plan", args[2], err)
	}
	return redcon.AppendOK(out), nil
}

// runPlanGet is RL.PLAN GET name.
func runPlanGet(s *session, out []byte, args [][]byte) ([]byte, error) {
	p := s.server.Book().Plan(args[2])
	if p == nil {
		return nil, noPlan(args[2])
	}
	return redcon.AppendBulk(out, p.AppendJSON(nil)), nil
}

// runPlanDel is RL.PLAN DEL name.
func runPlanDel(s *session, out []byte, args [][]byte) ([]byte, error) {
	if s.server.Book().Plan(args[2]) == nil {
		return nil, noPlan(args[2])
	}
	if err := s.server.DeletePlan(string(args[2])); err != nil {
		return nil, errBook("plan", args[2], err)
	}
	return redcon.AppendOK(out), nil
}

// runPlanList is RL.PLAN LIST.
func runPlanList(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return appendStrings(out, s.server.Book().PlanNames()), nil
}

// runRuleSet is RL.RULE SET name text.
func runRuleSet(s *session, out []byte, args [][]byte) ([]byte, error) {
	if err := s.server.SetRule(string(args[2]), args[3]); err != nil {
		return nil, errBook("rule", args[2], err)
	}
	return redcon.AppendOK(out), nil
}

// runRuleGet is RL.RULE GET name.
func runRuleGet(s *session, out []byte, args [][]byte) ([]byte, error) {
	r := s.server.Book().Rule(args[2])
	if r == nil {
		return nil, noRule(args[2])
	}
	return redcon.AppendBulk(out, r.AppendJSON(nil)), nil
}

// runRuleDel is RL.RULE DEL name.
func runRuleDel(s *session, out []byte, args [][]byte) ([]byte, error) {
	if s.server.Book().Rule(args[2]) == nil {
		return nil, noRule(args[2])
	}
	if err := s.server.DeleteRule(string(args[2])); err != nil {
		return nil, errBook("rule", args[2], err)
	}
	return redcon.AppendOK(out), nil
}

// runRuleList is RL.RULE LIST.
func runRuleList(s *session, out []byte, _ [][]byte) ([]byte, error) {
	return appendStrings(out, s.server.Book().RuleNames()), nil
}

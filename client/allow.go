package client

// Allow, the call that everything else is about: one question, one answer, and the
// cost spent if the answer is yes.

import "context"

// Allow decides whether a call of that cost may pass, and spends the cost if it may.
// A denial is a Decision, not an error.
func (c *Client) Allow(ctx context.Context, key string, l Limit, cost int64, opts ...CallOption) (Decision, error) {
	args, err := command("RL.ALLOW", key, l, cost, 1, optIdempotent, opts)
	if err != nil {
		return Decision{}, err
	}
	reply, err := c.ask(ctx, key, args...)
	if err != nil {
		return Decision{}, err
	}
	return answer("RL.ALLOW", reply, l)
}

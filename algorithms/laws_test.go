package algorithms

// The laws, one test each, for every algorithm in the registry.

import (
	"fmt"
	"testing"
)

func TestLaw1Exact(t *testing.T) {
	law(t, func(h *history) error {
		w, steps, d := newTwins(), []step{}, Decision{}
		for range h.calls {
			s := h.next(w.key, &d)
			steps = append(steps, s)
			var err error
			if d, err = w.ask(s); err != nil {
				least := shrink(steps, disagree)
				return fmt.Errorf("%w\n%s", disagree(least), transcript(least))
			}
		}
		return nil
	})
}

// law runs f over the histories of every algorithm.
func law(t *testing.T, f func(h *history) error) {
	for i := range All() {
		a := &All()[i]
		t.Run(a.Name, func(t *testing.T) { histories(t, a, f) })
	}
}

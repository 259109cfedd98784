// Package algorithms holds the decisions: pure functions from a limit, a
// stored state, an instant and a cost to a decision and the next state.
//
// There is no clock here, no lock, no goroutine, no log and nothing that can
// fail: a Limit that exists is legal (NewLimit validates), and every instant
// is an argument. Whoever keeps the states (package shard) calls Allow or Peek
// and stores what comes back.
//
// # The model
//
// Every algorithm is a load that decays. It answers a few questions about a
// stored state, and one frame in decide.go turns the answers into a decision,
// the same for all:
//
//	settle   what is left of the state at t, and how many units that is (rounded up)
//	until    how long from t until at most x units are used, in milliseconds
//	freshAt  the instant from which nothing is used
//	adopt,   the state re-expressed under another limit, and
//	charge   the state with a cost added
//	legal    whether a state that was read from somewhere can be one of this model
//
// A call passes exactly when used + cost ≤ capacity. The capacity, the cost and
// the threshold are whole numbers, so rounding used up to a whole unit never
// changes a comparison: ⌈u⌉ + c ≤ B if and only if u + c ≤ B.
//
// # The laws
//
// These hold for every algorithm in the registry; laws_test.go ranges over it.
//
//  1. Exact: the answer equals rational arithmetic on nanoseconds. Products are
//     held in 128 bits, nothing is ever a float, no remainder is dropped.
//  2. Forgetting: from the instant a state is fresh-equal it decides as fresh.
//  3. Denial is free: a denied call changes nothing.
//  4. Looking is free: Peek changes nothing.
//  5. Tight retry: after the wait the call passes, one millisecond earlier not.
//  6. Time never pays backwards: an instant before the state's own counts as
//     the state's own.
//  7. Nothing minted, nothing forgiven: a state decays under the limit it was
//     last charged with; a call under another limit is judged on what that
//     leaves as used, and only a call that passes stores its own limit.
//  8. Bounded: no allocation but the amortised growth of a sliding log.
//
// # Adding an algorithm
//
// One file with its model and one row in registry.go, with an id that is
// written to disk and therefore never reused.
package algorithms

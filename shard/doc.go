// Package shard keeps the state of limiter keys and decides on it.
//
// A Core is the synchronous heart: a table of 64-byte entries without pointers,
// the key bytes, a timing wheel for expiry, and Step, which decides a batch at
// one instant. It has no goroutine, channel, lock or clock; time is an argument.
//
// A Shard puts an owner around a core (loop.go). Exactly one goroutine owns a
// core at a time: the shard's own, or, while that has nothing to do, the
// goroutine of a connection to which the shard is lent for one batch. So no
// state is ever locked and no command pays for a hop that nobody needs.
//
// A Set is all shards of a server. A Batch carries the operations of one
// connection to them, one part a shard, whatever the number of commands.
//
//	Batch ─ part ─▶ Shard ─▶ Core.Step ─▶ index ─▶ entry ─▶ algorithms
//	                              │
//	                              └──────▶ wheel, keys, limits, logs
//
// # Contract
//
//  1. An entry never moves: its slot number is its name while it lives. Scans
//     and snapshots walk the slots and meet every key that lives throughout
//     exactly once.
//  2. An entry whose expiry has come is the same as no entry, whether the wheel
//     has reached it or not. Sweeping only frees memory.
//  3. A decision that is denied, and a look, change no entry.
//  4. Order is promised between operations of one batch on one key.
//  5. A panic in a core ends the process, whoever owns the core at that moment: it
//     may be half changed. Nothing else in here ends it.
package shard

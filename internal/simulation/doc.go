// Package simulation runs the real parts of the server on a simulated disk and clock,
// in one goroutine from a seed, beside a model that cannot be wrong because it does
// nothing clever: a list of every state that each key has had.
//
// A world is some shard cores with their ledgers, a persistence.Store on a
// faultfs.FS, and the sequence in which a journal mode performs their steps: spend,
// take records, write, sync, acknowledge; export, rename, remove. It is crashed by
// taking an image of the disk (a killed process leaves all that was written, a power
// loss what was synced and of the rest what chance decides) and by starting another
// world from it. What comes back must be, key for key, a state that the key has had,
// and none older than what was promised when the image was taken.
//
// There is nothing here but tests; `make crash` runs more of them.
package simulation

// Package persistence keeps records on disk: a journal with group commit, snapshots that are written while the journal goes
// on, and recovery. It knows records, not what they mean. It imports nothing of this module and nothing but the standard
// library, and reads no clock: server times are arguments, elapsed time comes from a function.
//
// # From submit to disk and back
//
//	shards ──Submit──▶ Committer ──▶ queue ──▶ Store ──▶ FS ──▶ journal-…, snapshot-…
//	                   goroutine     what is   where     the
//	                                 not yet   frames    seam
//	                                 durable   go
//
// A caller opens a Store, replays it, and hands it to a Committer:
//
//	store, err := persistence.Open(persistence.OS{}, dir, persistence.Options{Address: "127.0.0.1:6380"})
//	recovery, err := store.Replay(table.Apply, log.Progress)
//	committer := persistence.NewCommitter(store, persistence.Config{Mode: persistence.EverySec, Clock: elapsed, Ticks: ticks})
//
//	batch := persistence.AppendRecord(committer.Buffer(), kind, key, value)
//	committer.Submit(now, batch, done)
//
//	snapshot, err := committer.BeginSnapshot(now) // then, slot after slot:
//	err = snapshot.Append(now, records)
//	saved, err := snapshot.Commit()
//
// Store and queue have no goroutine, lock or clock; tests drive them through every failure of a disk in memory (package
// faultfs). Committer puts one goroutine around them.
//
// # Formats
//
// All integers are little-endian. Version 1:
//
//	journal     header 48 B │ frame │ frame │ …
//	snapshot    header 48 B │ frame │ frame │ … │ footer 28 B
//
//	header       0 magic, 8 B: SLUICEJL or SLUICESN
//	             8 version u32
//	            12 reserved u32, zero
//	            16 generation u64; in a snapshot the one that replay continues with
//	            24 server time u64, ns since 1970, at which the file was begun
//	            32 seal: length u64, bytes of the generation before that count; 0 in the first and in a snapshot
//	            40 seal: checksum u32 of its last frame, or of its header if it has none
//	            44 CRC-32C u32 of bytes 0–43
//
//	frame        0 length u32 of the records
//	             4 CRC-32C u32, seeded with the header's, of: offset of the frame u64, length, lag, time, records
//	             8 lag u32, bytes before the frame that were not known to be durable; 2^32−1: unknown
//	            12 server time u64, ns since 1970
//	            20 records; none in a mark, which only says what time it was
//
//	record       kind, 1 B │ key length, uvarint │ value length, uvarint │ key │ value
//
//	footer       0 magic, 8 B: SLUICEOK
//	             8 number of records u64
//	            16 offset of the footer u64
//	            24 CRC-32C u32, seeded with the header's, of bytes 0–23
//
// A record costs 3 bytes beyond key and value when both are shorter than 128 bytes.
//
// A later version gets a new number; files of all versions since the first are kept in testdata and must load. A file of a
// newer version is refused, untouched.
//
// # What holds
//
//  1. A batch lies in one frame: after a crash all of it is there or nothing.
//  2. What is replayed is what was appended up to some frame. No frame that was durable is behind that one.
//  3. A generation's header is durable before its first frame is written. So a generation without a whole header is empty.
//  4. A header's seal covers durable bytes only. So a generation that has a successor is whole up to its seal, and a tear
//     there is damage; what lies behind the seal is dead. Once a successor may exist nothing is appended any more.
//  5. A frame's lag is counted from the last sync that worked. So a whole frame behind a broken one tells whether the
//     broken one was durable once: damage, or else a torn tail.
//  6. A snapshot gets its name when it is durable and the journal is durable up to now; what it supersedes is removed when
//     its name is durable. At every moment the directory holds one snapshot with all that follows it.
//  7. A start that is refused changes nothing. Files with other names, of newer versions or not of ours are never changed
//     or removed.
//  8. Under Always nothing is acknowledged that is not durable. After a failed sync everything since the last good one is
//     written again, to a new generation, before anything else is acknowledged.
//
// # Recovery
//
// The newest snapshot, which must be whole, then the generations from its own on. Only the end of the newest generation
// may be torn; Recovery.Cuts says what was cut. Everything else that is wrong refuses the start: *DamageError,
// *MissingError, *VersionError, *ForeignError. Check reports on a directory, Repair saves what can be saved.
//
// # Caveats
//
// Damage to the last frame that was written before a crash looks like a tear, and is cut and reported like one. An orderly
// Close ends the journal with a mark, so that nothing before it can be taken for a tear.
//
// Under EverySec and OSDecides the tail that a power loss may take is as long as what was written since the last sync. A
// whole frame in it behind a broken one is cut as well, because what is replayed is a prefix.
//
// A newest generation that someone removes is not missed: nothing follows it that would say so.
//
// If a sync fails and the process ends before the disk works again, the next start reads from the kernel's memory what may
// not be on the disk, and cannot tell. While the process lives it does not trust those pages.
//
// A loss of batches (the disk failed for longer than memory lasts) leaves some keys at an earlier state on disk until the
// snapshot that is then asked for; Stats.SnapshotNeeded says so.
package persistence

// What a directory holds, by name:
//
//	sluice.lock            who has the directory open
//	snapshot-0000000007    the current snapshot: everything before generation 7
//	journal-0000000007     generation 7, and those after it
//	snapshot.tmp           a snapshot that is being written; left by a crash, removed at the next start
//	*.damaged-1            what repair kept of a damaged file; never read
//
// Any other name is not ours, and is neither read nor touched.

package persistence

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	lockName = "sluice.lock"
	tempName = "snapshot.tmp"
	// generationDigitsMin keeps a listing sorted up to ten thousand million generations. Longer numbers work as well.
	generationDigitsMin = 10
)

// fileName is the name of the file of this kind and generation.
func fileName(kind fileKind, generation uint64) string {
	return fmt.Sprintf("%s-%0*d", kind, generationDigitsMin, generation)
}

// parseName reads a name that fileName makes, and refuses every other.
func parseName(name string) (kind fileKind, generation uint64, ok bool) {
	prefix, digits, ok := strings.Cut(name, "-")
	if !ok {
		return 0, 0, false
	}
	if prefix == snapshotFile.String() {
		kind = snapshotFile
	}
	generation, err := strconv.ParseUint(digits, 10, 63)
	return kind, generation, err == nil && generation > 0 && fileName(kind, generation) == name
}

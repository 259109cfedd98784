// The table of rules. A new rule is a row here, a function in one of the files beside this one, and rows in rules_test.go
// that show what it catches and what it lets pass.

package tidy

// rule is something that holds for each file by itself.
type rule struct {
	name  string
	check func(*source) []string // complaints, each with its place
}

var rules = []rule{
	{"import direction", importDirection},
	{"record only", recordOnly},
	{"no float", noFloat},
	{"no lock", noLock},
	{"no goroutine", noGoroutine},
	{"no reaching out", noReachingOut},
	{"one clock", oneClock},
	{"seeded chance", seededChance},
	{"no dot import", noDotImport},
	{"file size", fileSize},
	{"function size", funcSize},
	{"opens with prose", opensWithProse},
	{"documented", documented},
	{"no promise", noPromise},
	{"reason to sleep", reasonToSleep},
}

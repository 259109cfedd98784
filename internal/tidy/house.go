// Who may import whom. Imports point one way: decisions and records know nobody, the shard knows them, the server knows
// the shard, the command line knows everybody. What speaks to the outside (RESP, hashing, metrics) is known to the server
// and to nobody below it, so that the core can be run, simulated and reasoned about without any of it.

package tidy

import (
	"go/token"
	"slices"
	"strings"
)

// room is a directory of the house, with everything below it that has no room of its own, and what may be brought in.
// The standard library may be brought in everywhere.
type room struct {
	dir    string
	ours   []string // directories of ours, with everything below them
	theirs []string // other people's packages, with everything below them
}

const (
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag" // cobra's own
	goRedis    = "github.com/redis/go-redis/v9"
	goYAML     = "github.com/goccy/go-yaml"
	googleGRPC = "google.golang.org/grpc"
	googlePB   = "google.golang.org/protobuf"
	googleRPC  = "google.golang.org/genproto/googleapis/rpc"
	gonum      = "gonum.org/v1"
	humanize   = "github.com/dustin/go-humanize"
	hdr        = "github.com/HdrHistogram/hdrhistogram-go"
	prometheus = "github.com/prometheus"
	redigo     = "github.com/gomodule/redigo"
	rueidis    = "github.com/redis/rueidis"
	redcon     = "github.com/tidwall/redcon"
	sys        = "golang.org/x/sys"
	systemd    = "github.com/coreos/go-systemd/v22"
	xxhash     = "github.com/cespare/xxhash/v2"
)

// house is DESIGN's import direction.
var house = []room{
	{dir: "algorithms"},
	{dir: "persistence", theirs: []string{sys}},
	{dir: "plans", ours: []string{"algorithms"}, theirs: []string{goYAML}},
	{dir: "shard", ours: []string{"algorithms", "persistence"}},
	{dir: "server",
		ours:   []string{"shard", "plans", "algorithms", "persistence", "internal"},
		theirs: []string{redcon, xxhash, prometheus, sys}},
	{dir: "client", ours: []string{"internal/clock"}, theirs: []string{goRedis}},
	{dir: "client/grpc", ours: []string{"client"}, theirs: []string{googleGRPC, googleRPC, googlePB}},
	{dir: "client/metrics", ours: []string{"client"}, theirs: []string{prometheus}},
	// A server for the tests of those who use the client.
	{dir: "client/sluicetest",
		ours: []string{"client", "server", "shard", "plans", "algorithms", "internal/clock"}, theirs: []string{goRedis}},
	{dir: "examples", ours: []string{"client"}, theirs: []string{goRedis}},
	{dir: "bench", ours: []string{"client"}, theirs: []string{goRedis, redcon, xxhash, hdr, sys}},
	{dir: "bench/draw", ours: []string{"bench"}, theirs: []string{gonum}},
	{dir: "cmd",
		ours:   []string{"algorithms", "persistence", "plans", "shard", "server", "client", "bench", "internal"},
		theirs: []string{cobra, pflag, goYAML, goRedis, humanize, sys, systemd}},
	{dir: "internal", theirs: []string{sys}},
	{dir: "internal/clienttest", theirs: []string{goRedis, redigo, rueidis}},
	{dir: "internal/keeper", ours: []string{"algorithms", "shard", "persistence"}},
	{dir: "internal/settings", ours: []string{"algorithms", "persistence", "plans", "shard", "internal/clock"}, theirs: []string{humanize, sys}},
	{dir: "internal/simulation",
		ours: []string{"algorithms", "persistence", "plans", "shard", "server", "client", "internal"}},
}

// inTests may be brought in by the tests of every room, beside what the room itself may.
var inTests = struct{ ours, theirs []string }{
	ours:   []string{"internal"},
	theirs: []string{"pgregory.net/rapid", "go.uber.org/goleak"},
}

// clientTests are the rooms whose tests also talk to a server as a user would.
var clientTests = []string{"server", "cmd"}

// roomOf returns the innermost room that a directory lies in, nil if the house has none for it.
func roomOf(dir string) *room {
	var found *room
	for i := range house {
		if r := &house[i]; within(dir, r.dir) && (found == nil || len(r.dir) > len(found.dir)) {
			found = r
		}
	}
	return found
}

// importDirection complains about an import that the file's room may not bring in, and about a file in no room.
func importDirection(s *source) (complaints []string) {
	r := roomOf(s.dir)
	if r == nil {
		return []string{s.at(s.ast.Package, "directory %q has no place in the house: give it a row in internal/tidy/house.go that says what it may import", s.dir)}
	}
	ours, theirs := append([]string{r.dir}, r.ours...), r.theirs
	if s.test {
		ours, theirs = append(ours, inTests.ours...), slices.Concat(theirs, inTests.theirs)
		if s.in(clientTests...) {
			theirs = append(theirs, goRedis)
		}
	}
	for imported, pos := range s.imports {
		permitted := theirs
		name := imported
		switch {
		case within(imported, module):
			permitted, name = ours, strings.TrimPrefix(imported, module+"/")
		case !strings.Contains(strings.Split(imported, "/")[0], "."):
			continue // the standard library
		}
		if !slices.ContainsFunc(permitted, func(p string) bool { return within(name, p) }) {
			complaints = append(complaints, s.at(pos, "%s must not import %q: imports point one way (internal/tidy/house.go)", r.dir, imported))
		}
	}
	return complaints
}

// recordOnly complains when shard or server use anything of persistence but its records: the shard declares the journal
// that it writes to, and only the command line puts the two together.
func recordOnly(s *source) (complaints []string) {
	if s.test || !s.in("shard", "server") {
		return nil
	}
	s.uses(module+"/persistence", func(name string, pos token.Pos) {
		if !strings.Contains(name, "Record") {
			complaints = append(complaints, s.at(pos, "persistence.%s: shard and server know persistence's records only (names with Record in them)", name))
		}
	})
	return complaints
}

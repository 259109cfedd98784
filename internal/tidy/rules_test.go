// What each rule catches and what it lets pass.

package tidy

import (
	"fmt"
	"strings"
	"testing"
)

// snippet is a file that a rule is shown.
type snippet struct {
	rule  string
	path  string
	code  string // after the package clause
	catch string // what a complaint must say; "" if the rule must let the file pass
}

// lines returns n lines of nothing.
func lines(n int) string { return strings.Repeat("\n", n) }

// imports writes an import of each path, used or not: the rules only parse.
func imports(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "import %q\n", p)
	}
	return b.String()
}

var houseSnippets = []snippet{
	{"import direction", "algorithms/a.go", imports("math/bits", "fmt"), ""},
	{"import direction", "algorithms/a.go", imports("sluice/shard"), `algorithms must not import "sluice/shard"`},
	{"import direction", "algorithms/a.go", imports("sluice/internal/clock"), "must not import"},
	{"import direction", "algorithms/a.go", imports("pgregory.net/rapid"), "must not import"},
	{"import direction", "algorithms/a_test.go", imports("pgregory.net/rapid", "sluice/algorithms", "sluice/internal/clock"), ""},
	{"import direction", "algorithms/a_test.go", imports("sluice/shard"), "must not import"},
	{"import direction", "algorithms/a_test.go", imports("github.com/redis/go-redis/v9"), "must not import"},
	{"import direction", "persistence/a.go", imports("golang.org/x/sys/unix", "os"), ""},
	{"import direction", "persistence/a.go", imports("sluice/algorithms"), "must not import"},
	{"import direction", "plans/a.go", imports("sluice/algorithms", "github.com/goccy/go-yaml/ast"), ""},
	{"import direction", "plans/a.go", imports("sluice/shard"), "must not import"},
	{"import direction", "shard/a.go", imports("sluice/algorithms", "sluice/persistence"), ""},
	{"import direction", "shard/a.go", imports("sluice/plans"), "must not import"},
	{"import direction", "shard/a.go", imports("github.com/cespare/xxhash/v2"), "must not import"},
	{"import direction", "shard/a.go", imports("sluice/shardkeeper"), "must not import"},
	{"import direction", "server/a.go", imports("sluice/shard", "sluice/internal/clock", "github.com/tidwall/redcon", "github.com/prometheus/client_golang/prometheus"), ""},
	{"import direction", "server/a.go", imports("sluice/cmd/sluice"), "must not import"},
	{"import direction", "server/a.go", imports("github.com/redis/go-redis/v9"), "must not import"},
	{"import direction", "server/a_test.go", imports("github.com/redis/go-redis/v9"), ""},
	{"import direction", "client/a.go", imports("github.com/redis/go-redis/v9"), ""},
	{"import direction", "client/a.go", imports("sluice/server"), "must not import"},
	{"import direction", "client/middleware/a.go", imports("net/http", "sluice/client"), ""},
	{"import direction", "client/middleware/a.go", imports("sluice/server"), "must not import"},
	{"import direction", "client/grpc/a.go", imports("sluice/client/middleware", "google.golang.org/grpc/codes"), ""},
	{"import direction", "client/middleware/a.go", imports("google.golang.org/grpc/codes"), "must not import"},
	{"import direction", "client/metrics/a.go", imports("sluice/client", "github.com/prometheus/client_golang/prometheus"), ""},
	{"import direction", "client/a.go", imports("github.com/prometheus/client_golang/prometheus"), "must not import"},
	{"import direction", "client/sluicetest/a.go", imports("sluice/client", "sluice/server", "sluice/shard"), ""},
	{"import direction", "client/sluicetest/a.go", imports("sluice/persistence"), "must not import"},
	{"import direction", "bench/draw/a.go", imports("gonum.org/v1/plot", "sluice/bench"), ""},
	{"import direction", "bench/a.go", imports("gonum.org/v1/plot"), "must not import"},
	{"import direction", "bench/a.go", imports("sluice/shard"), "must not import"},
	{"import direction", "cmd/sluice/a.go", imports("sluice/server", "sluice/bench", "github.com/spf13/cobra"), ""},
	{"import direction", "cmd/sluice/a.go", imports("github.com/prometheus/client_golang/prometheus"), "must not import"},
	{"import direction", "internal/clock/a.go", imports("golang.org/x/sys/unix"), ""},
	{"import direction", "internal/clock/a.go", imports("sluice/shard"), "must not import"},
	{"import direction", "internal/simulation/a.go", imports("sluice/server", "sluice/internal/clock"), ""},
	{"import direction", "internal/simulation/a.go", imports("sluice/cmd/sluice"), "must not import"},
	{"import direction", "utils/a.go", "", `directory "utils" has no place`},
	{"import direction", "a.go", "", "has no place"},

	{"record only", "shard/a.go", imports("sluice/persistence") + "var r persistence.Record", ""},
	{"record only", "shard/a.go", imports("sluice/persistence") + "var j persistence.Journal", "persistence.Journal"},
	{"record only", "server/a.go", "import p \"sluice/persistence\"\nvar _ = p.Open()", "persistence.Open"},
	{"record only", "server/a_test.go", imports("sluice/persistence") + "var j persistence.Journal", ""},
	{"record only", "cmd/sluice/a.go", imports("sluice/persistence") + "var j persistence.Journal", ""},
}

var coreSnippets = []snippet{
	{"no float", "algorithms/a.go", imports("math", "math/bits") + "const a = math.MaxInt64 + 1_000\nvar h, l = bits.Mul64(1, 2)", ""},
	{"no float", "algorithms/a.go", "func f(x float64) {}", "float64"},
	{"no float", "shard/a.go", "type t struct{ x []float32 }", "float32"},
	{"no float", "shard/loop.go", "var x = 0.5", "0.5"},
	{"no float", "algorithms/a.go", "var second = 1e9", "1e9"},
	{"no float", "algorithms/a.go", "var x = 2i", "2i"},
	{"no float", "algorithms/a.go", imports("math") + "var x = uint64(math.Ceil(y))", "math.Ceil"},
	{"no float", "algorithms/a.go", imports("math") + "const x = math.MaxFloat64", "math.MaxFloat64"},
	{"no float", "algorithms/a_test.go", "var x float64", ""},
	{"no float", "bench/a.go", "var x float64", ""},

	{"no lock", "shard/a.go", imports("sync") + "var m sync.Mutex", "sync.Mutex"},
	{"no lock", "shard/loop.go", imports("sync") + "var m sync.RWMutex", "sync.RWMutex"},
	{"no lock", "algorithms/a.go", "import s \"sync\"\nvar m s.Map", "sync.Map"},
	{"no lock", "shard/loop.go", imports("sync") + "var g sync.WaitGroup", ""},
	{"no lock", "shard/a_test.go", imports("sync") + "var m sync.Mutex", ""},
	{"no lock", "server/a.go", imports("sync") + "var m sync.Mutex", ""},

	{"no goroutine", "shard/core.go", "func f() { go f() }", "go statement"},
	{"no goroutine", "algorithms/a.go", "type t struct{ c chan int }", "channel type"},
	{"no goroutine", "algorithms/a.go", "func f() { x <- 1 }", "send"},
	{"no goroutine", "algorithms/a.go", "var y = <-x", "receive"},
	{"no goroutine", "shard/core.go", "func f() { select {} }", "select"},
	{"no goroutine", "shard/core.go", "var y = !x", ""},
	{"no goroutine", "shard/loop_sequencer.go", "func f() { go f(); x <- 1 }", ""},
	{"no goroutine", "algorithms/loop.go", "func f() { go f() }", "go statement"},
	{"no goroutine", "shard/core_test.go", "func f() { go f() }", ""},

	{"no reaching out", "shard/core.go", imports("log/slog"), "log/slog"},
	{"no reaching out", "algorithms/a.go", imports("context"), "context"},
	{"no reaching out", "algorithms/a.go", imports("fmt", "errors"), ""},
	{"no reaching out", "shard/loop.go", imports("context"), ""},
}

var styleSnippets = []snippet{
	{"one clock", "server/a.go", imports("time") + "var t = time.Now()", "time.Now"},
	{"one clock", "server/a.go", imports("time") + "var now = time.Now", "time.Now"},
	{"one clock", "cmd/sluice/a.go", imports("time") + "var d = time.Since(t)", "time.Since"},
	{"one clock", "shard/a.go", "import clock \"time\"\nvar d = clock.Until(t)", "time.Until"},
	{"one clock", "internal/clock/server.go", imports("golang.org/x/sys/unix") + "var e = unix.ClockGettime(1, nil)", "unix.ClockGettime"},
	{"one clock", "internal/clock/os.go", imports("time") + "var t = time.Now()", ""},
	{"one clock", "server/a_test.go", imports("time") + "var t = time.Now()", ""},
	{"one clock", "bench/a.go", imports("time") + "var t = time.Now()", ""},
	{"one clock", "server/a.go", imports("time") + "var d = 5 * time.Second", ""},

	{"seeded chance", "client/a.go", imports("math/rand/v2") + "var n = rand.IntN(5)", "rand.IntN"},
	{"seeded chance", "shard/a_test.go", imports("math/rand") + "var n = rand.Int()", "rand.Int"},
	{"seeded chance", "shard/a_test.go", "import r \"math/rand\"\nfunc f() { r.Seed(1) }", "rand.Seed"},
	{"seeded chance", "shard/a_test.go", imports("math/rand/v2") + "var r *rand.Rand = rand.New(rand.NewPCG(1, 2))", ""},
	{"seeded chance", "shard/a_test.go", imports("math/rand/v2") + "func f() {\n\tlawSeed := rand.Uint64()\n}", ""},
	{"seeded chance", "shard/a_test.go", imports("math/rand/v2") + "func f() {\n\tkey := rand.Uint64()\n}", "rand.Uint64"},
	{"seeded chance", "cmd/sluice/a.go", imports("math/rand/v2") + "func f() {\n\tseed := rand.Uint64()\n}", ""},
	{"seeded chance", "cmd/sluice/a.go", imports("math/rand/v2") + "var r = rand.NewPCG(rand.Uint64(), 0)", "rand.Uint64"},
	{"seeded chance", "client/a.go", imports("math/rand/v2") + "func f() {\n\tseed := rand.Uint64()\n}", "rand.Uint64"},
	{"seeded chance", "server/a.go", imports("crypto/rand") + "var s = rand.Text()", ""},

	{"no dot import", "server/a_test.go", "import . \"time\"", "dot import"},
	{"no dot import", "server/a.go", "import _ \"time/tzdata\"", ""},

	{"file size", "server/a.go", lines(fileLinesMax), "at most 500"},
	{"file size", "server/a.go", lines(fileLinesMax - 2), ""},
	{"file size", "server/a_test.go", lines(fileLinesMax), ""},
	{"file size", "server/a_test.go", lines(testFileLinesMax), "at most 1000"},

	{"function size", "server/a.go", "func f() {" + lines(funcLinesMax) + "}", "f has 71 lines, at most 70"},
	{"function size", "server/a.go", "func f() {" + lines(funcLinesMax-1) + "}", ""},
	{"function size", "server/a.go", "var f = func() {" + lines(funcLinesMax) + "}", "function literal"},
	{"function size", "server/a.go", "var f = []int{" + lines(funcLinesMax) + "}", ""},
	{"function size", "server/a_test.go", "func f() {" + lines(funcLinesMax) + "}", ""},
	{"function size", "server/a_test.go", "func f() {" + lines(testFuncLinesMax) + "}", "at most 200"},

	{"opens with prose", "server/a.go", "import \"fmt\"", "does not open with prose"},
	{"opens with prose", "server/a.go", "// One line.\n\nimport \"fmt\"", "does not open with prose"},
	{"opens with prose", "server/a.go", "// One line of twelve words that say what it is and why.\n\nimport \"fmt\"", ""},
	{"opens with prose", "server/a.go", "// Two lines,\n// right after the package clause.\n\nimport \"fmt\"", ""},
	{"opens with prose", "server/a.go", "// f is documented,\n// the file is not.\nfunc f() {}", "does not open with prose"},
	{"opens with prose", "server/a.go", "// t is documented,\n// the file is not.\ntype t int", "does not open with prose"},
	{"opens with prose", "server/a.go", "import \"fmt\"\n\n// Too late\n// to begin.\n\nvar x int", "does not open with prose"},
	{"opens with prose", "server/a_test.go", "", ""},

	{"documented", "server/a.go", "func F() {}", "F is exported"},
	{"documented", "server/a.go", "// F does.\nfunc F() {}\nfunc f() {}", ""},
	{"documented", "server/a.go", "func (t *T[K]) M() {}", "M is exported"},
	{"documented", "server/a.go", "func (t *t) M() {}", ""},
	{"documented", "server/a.go", "type T int", "T is exported"},
	{"documented", "server/a.go", "// Types.\ntype (\n\tT int\n\tU int\n)", "U is exported"},
	{"documented", "server/a.go", "const A, B = 1, 2", "B is exported"},
	{"documented", "server/a.go", "// The limits.\nconst (\n\tA = 1\n\tB = 2\n)\nvar C = 1 // is one", ""},
	{"documented", "server/a.go", "const (\n\t// A and B go together.\n\tA = 1\n\tB = 2\n)", ""},
	{"documented", "server/a.go", "const (\n\t// A is one.\n\tA = 1\n\n\tB = 2\n)", "B is exported"},
	{"documented", "server/a.go", "func (e *E) Error() string { return \"\" }", ""},
	{"documented", "server/a.go", "func Error() string { return \"\" }", "Error is exported"},
	{"documented", "internal/clock/a.go", "func F() {}", ""},
	{"documented", "server/a_test.go", "func F() {}", ""},

	{"no promise", "server/a.go", "// TODO: the rest", "TODO"},
	{"no promise", "server/a_test.go", "/* a\n FIXME */", "FIXME"},
	{"no promise", "server/a.go", "var x = 1 // XXX", "XXX"},
	{"no promise", "server/a.go", "var hack = \"HACK\" // TODOS, xxxxx", ""},

	{"reason to sleep", "server/a_test.go", imports("time") + "func f() { time.Sleep(1) }", "time.Sleep"},
	{"reason to sleep", "server/a_test.go", imports("time") + "func f() {\n\ttime.Sleep(1) // reason:\n}", "time.Sleep"},
	{"reason to sleep", "server/a_test.go", imports("time") + "func f() {\n\ttime.Sleep(1) // reason: another process\n}", ""},
	{"reason to sleep", "server/a_test.go", imports("time") + "func f() {\n\t// reason: another process\n\ttime.Sleep(1)\n}", ""},
	{"reason to sleep", "server/a_test.go", imports("time") + "func f() {\n\t// reason: another process\n\n\ttime.Sleep(1)\n}", "time.Sleep"},
	{"reason to sleep", "server/a.go", imports("time") + "func f() { time.Sleep(1) }", ""},
}

func TestRules(t *testing.T) {
	caught, passed := map[string]int{}, map[string]int{}
	for _, table := range [][]snippet{houseSnippets, coreSnippets, styleSnippets} {
		for i, row := range table {
			s := parsed(t, row.path, "package p\n"+row.code+"\n")
			complaints := checkOf(t, row.rule)(s)
			switch all := strings.Join(complaints, "\n"); {
			case row.catch == "" && all != "":
				t.Errorf("row %d, %s: complains about %s:\n%s\n%s", i, row.rule, row.path, row.code, all)
			case row.catch == "":
				passed[row.rule]++
			case !strings.Contains(all, row.catch):
				t.Errorf("row %d, %s: should say %q about %s:\n%s\nsays %q", i, row.rule, row.catch, row.path, row.code, all)
			case !strings.HasPrefix(all, row.path+":"):
				t.Errorf("row %d, %s: the complaint does not begin with its place: %s", i, row.rule, all)
			default:
				caught[row.rule]++
			}
		}
	}
	for _, rule := range rules {
		if caught[rule.name] == 0 || passed[rule.name] == 0 {
			t.Errorf("%s: caught %d snippets and let %d pass; it needs one of each at least", rule.name, caught[rule.name], passed[rule.name])
		}
	}
}

// Openings that stand before the package clause, which the rows cannot show.
func TestOpensWithProseBeforeThePackage(t *testing.T) {
	for _, row := range []struct {
		text string
		fine bool
	}{
		{"// Package p is one line.\npackage p\n", true},
		{"// Command p is one line.\npackage main\n", true},
		{"// The file, in two lines,\n// before the clause.\n\npackage p\n", true},
		{"// One line.\n\npackage p\n", false},
		{"//go:build linux\n\npackage p\n", false},
		{"//go:build linux\n\n// The file, in two lines,\n// behind a directive.\n\npackage p\n", true},
		{"// Code generated by hand. DO NOT EDIT.\n\npackage p\n", true},
	} {
		if got := len(opensWithProse(parsed(t, "p/a.go", row.text))) == 0; got != row.fine {
			t.Errorf("fine: %v, want %v:\n%s", got, row.fine, row.text)
		}
	}
}

func TestGeneratedFilesHaveNoSize(t *testing.T) {
	text := "// Code generated by hand. DO NOT EDIT.\n\npackage p\n\nfunc f() {" + lines(fileLinesMax) + "}\n"
	s := parsed(t, "p/a.go", text)
	if got := append(fileSize(s), funcSize(s)...); len(got) > 0 {
		t.Error(got)
	}
}

func TestCommandsNeedNoComments(t *testing.T) {
	if got := documented(parsed(t, "cmd/x/a.go", "package main\n\nfunc F() {}\n")); len(got) > 0 {
		t.Error(got)
	}
}

// load reads a module of its own: files that a build tag leaves out count, broken ones are an error.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":               "module sluice\n\ngo 1.26\n",
		"algorithms/a.go":      "package algorithms\n",
		"algorithms/inv.go":    "//go:build invariants\n\npackage algorithms\n",
		"algorithms/a_test.go": "package algorithms\n",
		"algorithms/x_test.go": "package algorithms_test\n",
	}
	write(t, dir, files)
	sources, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != len(files)-1 {
		t.Errorf("read %d files, want %d", len(sources), len(files)-1)
	}
	write(t, dir, map[string]string{"algorithms/broken.go": "package algorithms\n\nfunc {"})
	if _, err := load(dir); err == nil {
		t.Error("a file that does not parse went unnoticed")
	}
}

func TestRoomOf(t *testing.T) {
	for dir, want := range map[string]string{
		"internal": "internal", "internal/clock": "internal", "internal/simulation/disk": "internal/simulation", "cmd/sluice": "cmd",
	} {
		if got := roomOf(dir); got == nil || got.dir != want {
			t.Errorf("%s lies in %v, want %s", dir, got, want)
		}
	}
	if got := roomOf("serverless"); got != nil {
		t.Errorf("serverless lies in %v", got)
	}
}

func TestDecisionsCatches(t *testing.T) {
	const contents = "| [0001](0001-a.md) | A |\n| [0002](0002-b.md) | B |\n"
	for _, row := range []struct {
		names []string
		catch string
	}{
		{[]string{"README.md", "0001-a.md", "0002-b.md"}, ""},
		{[]string{"0001-a.md", "0003-c.md"}, "does not link to 0003-c.md"},
		{[]string{"0001-a.md", "0001-b.md"}, "0001-a.md has that number"},
		{[]string{"notes.md"}, "pages are called NNNN-title.md"},
	} {
		if got := strings.Join(decisions(row.names, contents), "\n"); !strings.Contains(got, row.catch) || (row.catch == "") != (got == "") {
			t.Errorf("%v: says %q, want %q", row.names, got, row.catch)
		}
	}
}

// What holds for every file: time and chance are arguments, nothing is too long to read, and every file says what it is.

package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// The sizes of files and functions, in lines, first to last.
const (
	fileLinesMax     = 500
	funcLinesMax     = 70
	testFileLinesMax = 1000
	testFuncLinesMax = 200
)

// clockFile is the one file that reads the machine's clocks.
const clockFile = "internal/clock/os.go"

// clockExceptions are the places, beside tests and clockFile, that may read a clock, each with its reason.
var clockExceptions = map[string]string{
	"internal/clock/boot_unix.go": "the half of clockFile that not every system has",
	"bench":                       "measures with a stopwatch, decides nothing",
}

// clockReaders are the functions that read a clock, by package.
var clockReaders = map[string][]string{
	"time":                  {"Now", "Since", "Until"},
	"syscall":               {"Gettimeofday", "Time"},
	"golang.org/x/sys/unix": {"ClockGettime", "Gettimeofday", "Time"},
}

// oneClock complains about a clock read anywhere but in the one file.
func oneClock(s *source) (complaints []string) {
	if s.test || s.path == clockFile {
		return nil
	}
	for place := range clockExceptions {
		if s.path == place || s.in(place) {
			return nil
		}
	}
	for imported, readers := range clockReaders {
		s.uses(imported, func(name string, pos token.Pos) {
			if slices.Contains(readers, name) {
				complaints = append(complaints, s.at(pos, "%s.%s: time is an argument; only %s reads a clock", imported, name, clockFile))
			}
		})
	}
	return complaints
}

// seededChance complains about the random numbers of math/rand that nobody seeded, in tests too: what they found could not
// be found again. Making a generator from a seed is fine, and so is drawing the seed in a test or where the program starts.
func seededChance(s *source) (complaints []string) {
	fine := []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}
	drawn := seedLines(s)
	for _, imported := range []string{"math/rand", "math/rand/v2"} {
		s.uses(imported, func(name string, pos token.Pos) {
			if !slices.Contains(fine, name) && !drawn[s.line(pos)] {
				complaints = append(complaints, s.at(pos, "rand.%s is seeded by chance: make a generator from a seed (tests and cmd may draw it: seed := rand.Uint64()) and show the seed", name))
			}
		})
	}
	return complaints
}

// seedLines returns the lines of a test or a command on which something whose name ends in "seed" is assigned.
func seedLines(s *source) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok && (s.test || s.in("cmd")) {
			if id, ok := assign.Lhs[0].(*ast.Ident); ok && strings.HasSuffix(strings.ToLower(id.Name), "seed") {
				lines[s.line(assign.Pos())] = true
			}
		}
		return true
	})
	return lines
}

// noDotImport complains about dot imports: the other rules know a package's names by what stands before the dot.
func noDotImport(s *source) (complaints []string) {
	for _, spec := range s.ast.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			complaints = append(complaints, s.at(spec.Pos(), "dot import of %s: names must show where they come from", spec.Path.Value))
		}
	}
	return complaints
}

// fileSize complains about a file that is too long.
func fileSize(s *source) []string {
	limit := fileLinesMax
	if s.test {
		limit = testFileLinesMax
	}
	if s.generated || s.lines <= limit {
		return nil
	}
	return []string{s.at(s.ast.Package, "%d lines, at most %d: split it by what it does", s.lines, limit)}
}

// funcSize complains about functions that are too long, the ones inside others included.
func funcSize(s *source) (complaints []string) {
	limit := funcLinesMax
	if s.test {
		limit = testFuncLinesMax
	}
	if s.generated {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		name := "function literal"
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = n.Name.Name
		case *ast.FuncLit:
		default:
			return true
		}
		lines := s.line(n.End()) - s.line(n.Pos()) + 1
		if lines > limit {
			complaints = append(complaints, s.at(n.Pos(), "%s has %d lines, at most %d", name, lines, limit))
		}
		return true
	})
	return complaints
}

// opensWithProse complains about a file that does not begin by saying what it is: with the package's documentation, or with
// a comment of two lines or twelve words, at least, before or right after the package clause.
func opensWithProse(s *source) []string {
	if s.test || s.generated {
		return nil
	}
	for _, group := range s.ast.Comments {
		if isOpening(s.ast, group) && isProse(s.ast, group) {
			return nil
		}
	}
	return []string{s.at(s.ast.Package, "the file does not open with prose: two lines or twelve words, at least, that say what it is and why this way")}
}

// isOpening says whether a comment stands before the package clause, or after it and before everything else without being
// the documentation of what follows.
func isOpening(file *ast.File, group *ast.CommentGroup) bool {
	if group.End() < file.Package {
		return true
	}
	if len(file.Decls) == 0 {
		return true
	}
	first := file.Decls[0]
	if gen, ok := first.(*ast.GenDecl); ok && gen.Tok != token.IMPORT && gen.Doc == group {
		return false
	}
	if fn, ok := first.(*ast.FuncDecl); ok && fn.Doc == group {
		return false
	}
	return group.End() < first.Pos()
}

// isProse says whether a comment is text enough. Directives such as //go:build are no text.
func isProse(file *ast.File, group *ast.CommentGroup) bool {
	text := strings.TrimSpace(group.Text())
	if group == file.Doc && (strings.HasPrefix(text, "Package ") || strings.HasPrefix(text, "Command ")) {
		return true
	}
	return strings.Count(text, "\n") >= 1 || len(strings.Fields(text)) >= 12
}

// plainMethods mean the same on every type, so that a comment could say nothing new.
var plainMethods = []string{"Error", "String", "Unwrap"}

// documented complains about exported names without a comment in the packages that others read: all but commands and
// internal/.
func documented(s *source) (complaints []string) {
	if s.test || s.generated || s.in("internal") || s.ast.Name.Name == "main" {
		return nil
	}
	missing := func(name *ast.Ident) {
		complaints = append(complaints, s.at(name.Pos(), "%s is exported and has no comment", name.Name))
	}
	for _, decl := range s.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			plain := decl.Recv != nil && slices.Contains(plainMethods, decl.Name.Name)
			if decl.Name.IsExported() && decl.Doc == nil && exportedReceiver(decl) && !plain {
				missing(decl.Name)
			}
		case *ast.GenDecl:
			for _, name := range undocumented(s, decl) {
				missing(name)
			}
		}
	}
	return complaints
}

// exportedReceiver says whether a function is no method, or one of an exported type.
func exportedReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		exported = exported || ok && id.IsExported()
		return !ok && !exported
	})
	return exported
}

// undocumented returns the exported types, constants and variables of a declaration that no comment covers: neither one
// before or behind the line nor, unless it is a type among several, one of the whole group. A comment before a constant or
// variable also covers those on the lines that follow it without a gap.
func undocumented(s *source, decl *ast.GenDecl) (names []*ast.Ident) {
	coveredTo := 0 // the last line that a comment covers
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			covered := spec.Doc != nil || spec.Comment != nil || decl.Doc != nil && len(decl.Specs) == 1
			if spec.Name.IsExported() && !covered {
				names = append(names, spec.Name)
			}
		case *ast.ValueSpec:
			if spec.Doc != nil || coveredTo > 0 && s.line(spec.Pos()) == coveredTo+1 {
				coveredTo = s.line(spec.End())
				continue
			}
			if decl.Doc != nil || spec.Comment != nil {
				continue
			}
			for _, name := range spec.Names {
				if name.IsExported() {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

var promise = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// noPromise complains about comments that put work off: it belongs in an issue.
func noPromise(s *source) (complaints []string) {
	for _, group := range s.ast.Comments {
		for _, comment := range group.List {
			if word := promise.FindString(comment.Text); word != "" {
				complaints = append(complaints, s.at(comment.Pos(), "%s: do it, or file an issue", word))
			}
		}
	}
	return complaints
}

// reasonToSleep complains about a test that sleeps without a comment "// reason: …" on the line or on the one above.
func reasonToSleep(s *source) (complaints []string) {
	if !s.test {
		return nil
	}
	reasons := map[int]bool{}
	for _, group := range s.ast.Comments {
		for _, comment := range group.List {
			if text, ok := strings.CutPrefix(comment.Text, "// reason:"); ok && strings.TrimSpace(text) != "" {
				reasons[s.line(comment.Pos())] = true
			}
		}
	}
	s.uses("time", func(name string, pos token.Pos) {
		line := s.line(pos)
		if name == "Sleep" && !reasons[line] && !reasons[line-1] {
			complaints = append(complaints, s.at(pos, "time.Sleep in a test: turn the clock instead, or say why with // reason: …"))
		}
	})
	return complaints
}

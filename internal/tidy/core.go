// What decisions and the shard's core must be free of, so that they give the same answer every time and everywhere: floats,
// locks, goroutines, channels, logs, metrics and contexts. shard/loop*.go put the goroutine around the core.

package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// core are the directories where decisions are made and kept.
var core = []string{"algorithms", "shard"}

// isCore says whether a file belongs to the decisions or to the shard; tests may do what they like.
func isCore(s *source) bool { return !s.test && s.in(core...) }

// isLoop says whether a file is one of those that put a goroutine around the shard's core.
func isLoop(s *source) bool {
	return s.in("shard") && strings.HasPrefix(path.Base(s.path), "loop")
}

// noFloat complains about floating point in the core: types, constants written as floats (also 1e9, which makes a float of
// what it is assigned to) and package math, but for the bounds of its integers.
func noFloat(s *source) (complaints []string) {
	if !isCore(s) {
		return nil
	}
	const law = "no floating point takes part in a decision"
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			switch n.Name {
			case "float32", "float64", "complex64", "complex128":
				complaints = append(complaints, s.at(n.Pos(), "%s: %s", n.Name, law))
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				complaints = append(complaints, s.at(n.Pos(), "%s: %s; write whole numbers out", n.Value, law))
			}
		}
		return true
	})
	s.uses("math", func(name string, pos token.Pos) {
		if !strings.HasPrefix(name, "MaxInt") && !strings.HasPrefix(name, "MaxUint") && !strings.HasPrefix(name, "MinInt") {
			complaints = append(complaints, s.at(pos, "math.%s: %s", name, law))
		}
	})
	return complaints
}

// noLock complains about locks in the core and in the shard's loop: a shard's state is touched by its goroutine alone.
func noLock(s *source) (complaints []string) {
	if !isCore(s) {
		return nil
	}
	s.uses("sync", func(name string, pos token.Pos) {
		switch name {
		case "Mutex", "RWMutex", "Cond", "Map":
			complaints = append(complaints, s.at(pos, "sync.%s: no lock on the way of a command; a shard's state belongs to its goroutine", name))
		}
	})
	return complaints
}

// noGoroutine complains about goroutines and channels in the core.
func noGoroutine(s *source) (complaints []string) {
	if !isCore(s) || isLoop(s) {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go statement"
		case *ast.ChanType:
			what = "channel type"
		case *ast.SendStmt:
			what = "send"
		case *ast.SelectStmt:
			what = "select"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				what = "receive"
			}
		}
		if what != "" {
			complaints = append(complaints, s.at(n.Pos(), "%s: the core is synchronous; goroutines and channels live in shard/loop*.go", what))
		}
		return true
	})
	return complaints
}

// noReachingOut complains when the core imports what logs, counts for an onlooker or cancels.
func noReachingOut(s *source) (complaints []string) {
	if !isCore(s) || isLoop(s) {
		return nil
	}
	for imported, pos := range s.imports {
		for _, banned := range []string{"context", "expvar", "log"} {
			if within(imported, banned) {
				complaints = append(complaints, s.at(pos, "%q: the core takes arguments and returns answers; logs, metrics and contexts belong to its callers", imported))
			}
		}
	}
	return complaints
}

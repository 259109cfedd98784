// The files of the module, found with `go list` and parsed. Files that a build tag leaves out today are read as well:
// `go list` names them, and what they say holds under the tag.

package tidy

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the module's path, with which every import of ours begins.
const module = "sluice"

// source is one Go file, parsed.
type source struct {
	path      string // from the module's root, with slashes
	dir       string // the directory part of path, "." for the root
	test      bool   // a _test.go file
	generated bool   // marked "Code generated … DO NOT EDIT."
	lines     int
	fset      *token.FileSet
	ast       *ast.File
}

// parse reads one file's text.
func parse(name string, text []byte) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{
		path:      name,
		dir:       path.Dir(name),
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(file),
		lines:     fset.File(file.Pos()).LineCount(),
		fset:      fset,
		ast:       file,
	}, nil
}

// in says whether the file lies in one of the directories or below.
func (s *source) in(dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(s.dir, dir) })
}

// within says whether a slash-separated path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// line returns the line of a place in the file.
func (s *source) line(pos token.Pos) int { return s.fset.Position(pos).Line }

// at makes a complaint about a place in the file.
func (s *source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.line(pos), fmt.Sprintf(format, args...))
}

// imports yields the path and the place of each import.
func (s *source) imports(yield func(string, token.Pos) bool) {
	for _, spec := range s.ast.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && !yield(imported, spec.Pos()) {
			return
		}
	}
}

// nameOf returns the name under which the file knows a package, "" if it does not import it. A dot import is named ".".
func (s *source) nameOf(imported string) string {
	for _, spec := range s.ast.Imports {
		if spec.Path.Value != strconv.Quote(imported) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		name := path.Base(imported)
		if isMajor(name) {
			name = path.Base(path.Dir(imported))
		}
		return name
	}
	return ""
}

// isMajor says whether the last part of an import path is a major version, as in math/rand/v2.
func isMajor(name string) bool {
	number, found := strings.CutPrefix(name, "v")
	_, err := strconv.Atoi(number)
	return found && err == nil
}

// uses calls f for each name of an imported package that the file mentions, as in time.Now.
func (s *source) uses(imported string, f func(name string, pos token.Pos)) {
	local := s.nameOf(imported)
	if local == "" {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == local {
				f(selector.Sel.Name, selector.Pos())
			}
		}
		return true
	})
}

// listed is what is wanted of `go list -json`.
type listed struct {
	Dir            string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	TestGoFiles    []string
	XTestGoFiles   []string
}

// load reads all Go files of the module below root.
func load(root string) ([]*source, error) {
	modules, err := modules(root)
	if err != nil {
		return nil, err
	}
	var sources []*source
	for _, dir := range modules {
		more, err := loadModule(root, dir)
		if err != nil {
			return nil, err
		}
		sources = append(sources, more...)
	}
	return sources, nil
}

// modules returns the directories of the module and of those inside of it, such as the
// one for gRPC, which keeps its dependencies to itself.
func modules(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && full != root && (entry.Name() == "testdata" || entry.Name()[0] == '.'):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			dirs = append(dirs, filepath.Dir(full))
		}
		return nil
	})
	return dirs, err
}

// loadModule parses the files of one module.
func loadModule(root, dir string) ([]*source, error) {
	command := exec.Command("go", "list", "-e", "-json=Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	command.Dir = dir
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var sources []*source
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return sources, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			s, err := read(root, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			sources = append(sources, s)
		}
	}
}

// read parses a file below root.
func read(root, full string) (*source, error) {
	relative, err := filepath.Rel(root, full)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	return parse(filepath.ToSlash(relative), text)
}

// walk names all Go files of the module below root, whatever `go list` thinks of them: it holds load to account, and it makes the go
// tool notice a new file or directory, so that it does not repeat a cached result.
func walk(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if full != root && (name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && name[0] != '.' && name[0] != '_' {
			relative, err := filepath.Rel(root, full)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(relative))
		}
		return nil
	})
	return names, err
}

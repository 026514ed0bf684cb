package wire_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// TestFormatNamesAreNotCompared: what differs between formats stands in their
// Properties. Code that compares names of formats has to be changed for every
// new format; a row of a table that names the format it is about has not.
func TestFormatNamesAreNotCompared(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ownFile(path) {
			return nil
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, found := range comparisons(f, f.Name.Name == "wire") {
			t.Errorf("%s: %s: use a property of the format (wire.Properties)", set.Position(found.at), found.what)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("looked at %d files: %v", files, err)
	}
}

// TestComparisonsAreFound: the test above can fail.
func TestComparisonsAreFound(t *testing.T) {
	for code, want := range map[string]int{
		`_ = m.wire == wire.Ollama`:                      1,
		`_ = wire.Chat != format`:                        1,
		`_ = codec.Format == "messages"`:                 1,
		`switch m.wire { case wire.Chat, wire.Gemini: }`: 2,
		`switch c.Format { case "ollama": }`:             1,
		`_ = map[string]int{wire.Chat: 1}[m.wire]`:       1,
		`_ = Vendor{Wires: []string{wire.Chat}}`:         0,
		`_ = info.Kind != "chat"`:                        0,
		`_ = role == wire.Feature("x")`:                  0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+code+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := comparisons(f, false); len(got) != want {
			t.Errorf("%s: %d comparisons, not %d", code, len(got), want)
		}
	}
}

// ownFile reports whether a file may know names of formats: it belongs to one, or to the test that compares two builds.
func ownFile(path string) bool {
	dir := filepath.ToSlash(filepath.Dir(path))
	format, found := strings.CutPrefix(dir, "../wire/internal/")
	return found && slices.Contains(wire.Formats(), format) || dir == "../internal/differential"
}

type comparison struct {
	at   token.Pos
	what string
}

// comparisons returns where a file compares something with the name of a
// format, switches by it, or keeps a map by it. inside says that the file is of
// package wire itself.
func comparisons(f *ast.File, inside bool) []comparison {
	var out []comparison
	note := func(e ast.Expr, subject ast.Expr) {
		if name, ok := formatName(e, subject, inside); ok {
			out = append(out, comparison{e.Pos(), fmt.Sprintf("the name of the format %s is compared", name)})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				note(n.X, n.Y)
				note(n.Y, n.X)
			}
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					note(e, n.Tag)
				}
			}
		case *ast.CompositeLit:
			if _, isMap := n.Type.(*ast.MapType); !isMap {
				return true
			}
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					note(pair.Key, nil)
				}
			}
		}
		return true
	})
	return out
}

// formatName returns the format that e names: by its constant, or by its text
// where it is compared with something that is called a wire or a format.
func formatName(e, subject ast.Expr, inside bool) (string, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		name := strings.ToLower(e.Name)
		return name, inside && ast.IsExported(e.Name) && slices.Contains(wire.Formats(), name)
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		name := strings.ToLower(e.Sel.Name)
		return name, ok && pkg.Name == "wire" && slices.Contains(wire.Formats(), name)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && slices.Contains(wire.Formats(), text) && isFormat(subject)
	}
	return "", false
}

func isFormat(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "wire") || strings.HasSuffix(name, "format")
}

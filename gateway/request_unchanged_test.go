package gateway_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRequestsDoNotChange checks that no step of the gateway assigns a field of a client's request: only the methods of
// exchange.Request do, each once.
func TestRequestsDoNotChange(t *testing.T) {
	const exchange, vendorapi = "github.com/toolpost/toolpost/gateway/internal/exchange", "github.com/toolpost/toolpost/internal/vendorapi"
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports, checked := make(map[string]string), []pkg{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "github.com/toolpost/toolpost/gateway") && p.ImportPath != exchange {
			checked = append(checked, p)
		}
	}
	fset := token.NewFileSet()
	load := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	fields := make(map[types.Object]bool)
	for _, name := range [][2]string{{exchange, "Request"}, {exchange, "Services"}, {vendorapi, "Endpoint"}} {
		from, err := load.Import(name[0])
		if err != nil {
			t.Fatal(err)
		}
		s := from.Scope().Lookup(name[1]).Type().Underlying().(*types.Struct)
		for field := range s.Fields() {
			fields[field] = true
		}
	}
	for _, p := range checked {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection), Types: make(map[ast.Expr]types.TypeAndValue)}
		if _, err := (&types.Config{Importer: load}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				assigned := []ast.Expr{}
				switch n := n.(type) {
				case *ast.AssignStmt:
					assigned = n.Lhs
				case *ast.IncDecStmt:
					assigned = append(assigned, n.X)
				}
				for _, e := range assigned {
					for sel, ok := e.(*ast.SelectorExpr); ok && info.Selections[sel] != nil; sel, ok = sel.X.(*ast.SelectorExpr) {
						if fields[info.Selections[sel].Obj()] {
							t.Errorf("%s: %s of the request is changed", fset.Position(sel.Pos()), sel.Sel.Name)
						}
						if _, pointer := info.Types[sel.X].Type.(*types.Pointer); pointer {
							break
						}
					}
				}
				return true
			})
		}
	}
}

package apicheck

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAliasesShowTheirFields: 'go doc' shows nothing of a struct of an internal package that a public name stands for, so the
// comment of the name lists its fields.
func TestAliasesShowTheirFields(t *testing.T) {
	const module = "github.com/toolpost/toolpost/"
	root := filepath.Join("..", "..")
	aliases := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "internal" || name == "testdata" || name == "cmd" || name == "docs" || strings.HasPrefix(name, ".") && len(name) > 2 {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		imports := make(map[string]string)
		for _, i := range file.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			name := p[strings.LastIndex(p, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = p
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				target, ok := spec.Type.(*ast.SelectorExpr)
				if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
					continue
				}
				pkg := imports[target.X.(*ast.Ident).Name]
				if !strings.HasPrefix(pkg, module) || !strings.Contains(pkg, "internal") {
					continue
				}
				aliases++
				doc := spec.Doc.Text()
				if doc == "" {
					doc = gen.Doc.Text()
				}
				for _, field := range fieldsOf(t, filepath.Join(root, strings.TrimPrefix(pkg, module)), target.Sel.Name) {
					if !strings.Contains(doc, "\n\t"+field) {
						t.Errorf("%s: the comment of %s has no line %q", path, spec.Name.Name, field)
					}
				}
			}
		}
		return nil
	})
	if err != nil || aliases < 5 {
		t.Errorf("%d aliases, %v", aliases, err)
	}
}

// fieldsOf returns the exported fields of a struct with their types.
func fieldsOf(t *testing.T, dir, name string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, f := range body.Fields.List {
				var b bytes.Buffer
				if err := printer.Fprint(&b, fset, f.Type); err != nil {
					t.Fatal(err)
				}
				for _, id := range f.Names {
					if id.IsExported() {
						list = append(list, id.Name+" "+b.String())
					}
				}
			}
			return false
		})
	}
	return list
}

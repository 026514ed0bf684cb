// Package apicheck lists the exported names of the module in the form of Go's own api files, for the
// test that compares them with api/current.txt.
package apicheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// skipped are folders whose packages promise nothing to other modules.
var skipped = []string{"internal", "cmd", "docs", "testdata", "bench", "conformance", "deploy", "api"}

// Surface returns a line for each exported name of the packages below root, sorted.
func Surface(root string) ([]string, error) {
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root && (slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found, err := surfaceOf(path, filepath.ToSlash(rel))
		lines = append(lines, found...)
		return err
	})
	slices.Sort(lines)
	return slices.Compact(lines), err
}

// surfaceOf returns the lines of one folder, as Linux on amd64 sees it.
func surfaceOf(dir, name string) ([]string, error) {
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", false
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &surface{prefix: "pkg " + name + ", ", set: token.NewFileSet()}
	for _, file := range files {
		ok, err := ctx.MatchFile(dir, filepath.Base(file))
		if err != nil {
			return nil, err
		}
		if !ok || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == "main" {
			return nil, nil
		}
		for _, d := range f.Decls {
			p.decl(d)
		}
	}
	return p.lines, nil
}

// surface collects the lines of a package.
type surface struct {
	prefix string
	set    *token.FileSet
	lines  []string
}

func (p *surface) add(format string, args ...any) {
	p.lines = append(p.lines, p.prefix+fmt.Sprintf(format, args...))
}

// text prints a node on one line.
func (p *surface) text(n any) string {
	if n == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, p.set, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (p *surface) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		p.function(d)
	case *ast.GenDecl:
		var typ ast.Expr // of the constant before, which the next one repeats
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				p.typeSpec(s)
			case *ast.ValueSpec:
				if s.Type != nil || len(s.Values) > 0 {
					typ = s.Type
				}
				p.values(d.Tok, s, typ)
			}
		}
	}
}

func (p *surface) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		p.add("func %s%s%s", d.Name.Name, p.typeParams(d.Type.TypeParams), p.signature(d.Type))
		return
	}
	recv := p.text(d.Recv.List[0].Type)
	if base, _, _ := strings.Cut(strings.TrimPrefix(recv, "*"), "["); ast.IsExported(base) {
		p.add("method (%s) %s%s", recv, d.Name.Name, p.signature(d.Type))
	}
}

// signature returns parameters and results without their names.
func (p *surface) signature(t *ast.FuncType) string {
	out := "(" + strings.Join(p.types(t.Params), ", ") + ")"
	switch results := p.types(t.Results); len(results) {
	case 0:
	case 1:
		out += " " + results[0]
	default:
		out += " (" + strings.Join(results, ", ") + ")"
	}
	return out
}

// types returns the type of each field of a list.
func (p *surface) types(list *ast.FieldList) []string {
	if list == nil {
		return nil
	}
	var out []string
	for _, f := range list.List {
		for range max(len(f.Names), 1) {
			out = append(out, p.typeText(f.Type))
		}
	}
	return out
}

// typeText returns a type. Functions lose the names of their parameters.
func (p *surface) typeText(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + p.signature(f)
	}
	return p.text(e)
}

func (p *surface) typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var out []string
	for _, f := range list.List {
		for _, n := range f.Names {
			out = append(out, n.Name+" "+p.text(f.Type))
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (p *surface) typeSpec(s *ast.TypeSpec) {
	if !s.Name.IsExported() {
		return
	}
	name := s.Name.Name + p.typeParams(s.TypeParams)
	switch t := s.Type.(type) {
	case *ast.StructType:
		p.add("type %s struct", name)
		p.fields(name, t)
	case *ast.InterfaceType:
		p.methods(name, t)
	default:
		is := " "
		if s.Assign.IsValid() {
			is = " = "
		}
		p.add("type %s%s%s", name, is, p.typeText(s.Type))
	}
}

func (p *surface) fields(name string, t *ast.StructType) {
	for _, f := range t.Fields.List {
		if len(f.Names) == 0 {
			embedded := p.text(f.Type)
			base := strings.TrimPrefix(embedded, "*")
			if ast.IsExported(base[strings.LastIndex(base, ".")+1:]) {
				p.add("type %s struct, embedded %s", name, embedded)
			}
		}
		for _, n := range f.Names {
			if n.IsExported() {
				p.add("type %s struct, %s %s", name, n.Name, p.typeText(f.Type))
			}
		}
	}
}

func (p *surface) methods(name string, t *ast.InterfaceType) {
	var names []string
	for _, f := range t.Methods.List {
		if len(f.Names) == 0 {
			names = append(names, p.text(f.Type))
			continue
		}
		method := f.Names[0].Name
		if !ast.IsExported(method) {
			names = append(names, "unexported methods")
			continue
		}
		names = append(names, method)
		if sig, ok := f.Type.(*ast.FuncType); ok {
			p.add("type %s interface, %s%s", name, method, p.signature(sig))
		}
	}
	slices.Sort(names)
	p.add("type %s interface { %s }", name, strings.Join(slices.Compact(names), ", "))
}

func (p *surface) values(kind token.Token, s *ast.ValueSpec, typ ast.Expr) {
	for _, n := range s.Names {
		switch {
		case !n.IsExported():
		case typ != nil:
			p.add("%s %s %s", kind, n.Name, p.typeText(typ))
		default:
			p.add("%s %s", kind, n.Name)
		}
	}
}

// TopLevel counts the package-level names in lines: constants, variables, functions and types.
func TopLevel(lines []string) int {
	names := make(map[string]bool)
	for _, line := range lines {
		pkg, rest, _ := strings.Cut(line, ", ")
		words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ([", r) })
		if len(words) > 1 && words[0] != "method" {
			names[pkg+"."+words[1]] = true
		}
	}
	return len(names)
}

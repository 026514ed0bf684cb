package requirements

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// code is the Go code in a document: fences, and text in backquotes.
var (
	fence     = regexp.MustCompile("(?s)```go[^\n]*\n(.*?)```")
	inline    = regexp.MustCompile("`([^`\n]+)`")
	qualified = regexp.MustCompile(`(^|[^\w./"$-])([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	literal   = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)\{([^{}]*)`)
	key       = regexp.MustCompile(`\b([A-Z]\w*):`)
)

// public returns the packages that programs import: those of api/current.txt.
func public(t *testing.T) (dirs []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "api/current.txt")) {
		dir, _, _ := strings.Cut(strings.TrimPrefix(line, "pkg "), ",")
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// TestDocumentsNameWhatExists fails if a document mentions package.Name, or
// package.Type.Member, of a package of this module that has no such name.
func TestDocumentsNameWhatExists(t *testing.T) {
	packages := make(map[string]map[string]bool)
	for _, dir := range public(t) {
		packages[filepath.Base(dir)] = exported(t, dir)
	}
	for name := range packages["spec"] { // its types are dialect's types
		packages["dialect"][name] = true
	}
	named := 0
	for _, file := range documents(t) {
		text := read(t, file)
		var said []string
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			said = append(said, m[1])
		}
		for _, m := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			said = append(said, m[1])
		}
		for _, code := range said {
			for _, m := range literal.FindAllStringSubmatch(code, -1) {
				for _, k := range key.FindAllStringSubmatch(m[3], -1) {
					if names := packages[m[1]]; names[m[2]] && !names[m[2]+"."+k[1]] {
						t.Errorf("%s: %s.%s has no field %s", file, m[1], m[2], k[1])
					}
				}
			}
			for _, m := range qualified.FindAllStringSubmatch(code, -1) {
				names, ours := packages[m[2]]
				if !ours || strings.HasPrefix(m[3], "Test") || strings.HasPrefix(m[3], "Fuzz") {
					continue
				}
				named++
				if !names[m[3]] {
					t.Errorf("%s: there is no %s.%s", file, m[2], m[3])
				} else if m[4] != "" && !names[m[3]+"."+m[4]] {
					t.Errorf("%s: there is no %s.%s.%s", file, m[2], m[3], m[4])
				}
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d names were found in the documents", named)
	}
}

// TestWordsHaveOneMeaning fails if two packages give one of these names to
// different things: each was the name of three or four types.
func TestWordsHaveOneMeaning(t *testing.T) {
	for _, word := range []string{"Budget", "Output", "Retrying", "Native", "Hosted", "HostedTool"} {
		var in []string
		for _, dir := range public(t) {
			if exported(t, dir)[word] {
				in = append(in, dir)
			}
		}
		if len(in) > 1 {
			t.Errorf("%s is declared by %s", word, strings.Join(in, " and "))
		}
	}
}

// documents returns README.md, CONTRIBUTING.md, the pages of docs and the design
// notes. The changelog is not one of them: it also names things of the past.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(file string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".md" && path.Dir(file) != "docs/design" {
			files = append(files, file)
		}
		return err
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d documents: %v", len(files), err)
	}
	return append(files, designNotes(t)...)
}

// exported returns the exported names of a package, and Type.Member for the
// fields and methods of its types.
func exported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(dir), e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declare(names, d)
		}
		aliases(t, names, file)
	}
	return names
}

// aliases gives the aliases of a file the members of the types that they name in other packages of this module.
func aliases(t *testing.T, names map[string]bool, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Assign.IsValid() {
			return true
		}
		named, ok := spec.Type.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		for _, imported := range file.Imports {
			dir, ours := strings.CutPrefix(strings.Trim(imported.Path.Value, `"`), "github.com/toolpost/toolpost/")
			if !ours || filepath.Base(dir) != named.X.(*ast.Ident).Name {
				continue
			}
			for name := range exported(t, dir) {
				if member, ok := strings.CutPrefix(name, named.Sel.Name+"."); ok {
					names[spec.Name.Name+"."+member] = true
				}
			}
		}
		return false
	})
}

func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
			return
		}
		names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				members(names, s)
			}
		}
	}
}

// members adds the fields of a struct and the methods of an interface.
func members(names map[string]bool, s *ast.TypeSpec) {
	var list *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

package apicheck

import (
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A name in brackets in the comment of an exported name is one that the package has. `go doc` shows
// others with their brackets.
func TestNamesInCommentsExist(t *testing.T) {
	link := regexp.MustCompile(`\[\*?((?:[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	packages := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != "../.." && (slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")) {
			return filepath.SkipDir
		}
		b, err := build.Default.ImportDir(path, 0)
		if err != nil {
			return nil // a folder without Go files
		}
		packages++
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range b.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(path, name), nil, parser.ParseComments)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		p, err := doc.NewFromFiles(set, files, "github.com/toolpost/toolpost/"+path)
		if err != nil {
			return err
		}
		for _, text := range comments(p) {
			for _, m := range link.FindAllStringSubmatch(string(p.Text(text)), -1) {
				t.Errorf("package %s has no %s, which a comment names", path, m[1])
			}
		}
		return nil
	})
	if err != nil || packages < 20 {
		t.Errorf("%d packages, %v", packages, err)
	}
}

// comments returns the comments of a package that `go doc` shows.
func comments(p *doc.Package) []string {
	out := []string{p.Doc}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			out = append(out, v.Doc)
		}
	}
	funcs := func(fs []*doc.Func) {
		for _, f := range fs {
			out = append(out, f.Doc)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, t := range p.Types {
		out = append(out, t.Doc)
		ast.Inspect(t.Decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				out = append(out, f.Doc.Text(), f.Comment.Text())
			}
			return true
		})
		values(t.Consts)
		values(t.Vars)
		funcs(t.Funcs)
		funcs(t.Methods)
	}
	return out
}

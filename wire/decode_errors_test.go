package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDecodeErrorNamesBody: an error about a body that cannot be read says whether it is the request or the answer: the one is mended by who asks, the other
// by who answers.
func TestDecodeErrorNamesBody(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for body, problem := range map[string]string{"": "is empty", "<html>": "is not JSON: invalid character '<'", `["x"]`: "is not a JSON object"} {
			_, _, asked := c.DecodeRequest([]byte(body))
			_, answered := c.DecodeResponse([]byte(body))
			if asked == nil || !strings.Contains(asked.Error(), "the body of the request "+problem) {
				t.Errorf("%s: the request %q: %v", format, body, asked)
			}
			if answered == nil || !strings.Contains(answered.Error(), "the body of the answer "+problem) {
				t.Errorf("%s: the answer %q: %v", format, body, answered)
			}
		}
	}
}

// Whoever is given the decoder of a request reads through it: the functions of package js pass over values of other kinds
// without a word.
func TestRequestsAreReadByTheDecoder(t *testing.T) {
	free := []string{ // functions that look at values of any kind, or read answers
		"decodeAnthropicFields", "decodeAmazonFields", "decodeUsage", "decode", "set", "counts", "decodeOutput", "decodeNamespace", "Mode",
	}
	files, err := filepath.Glob("internal/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") || strings.HasSuffix(f, "codec/decode.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !hasDecoder(fn) || slices.Contains(free, fn.Name.Name) {
				continue
			}
			seen++
			ast.Inspect(fn, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "js" && slices.Contains([]string{"Members", "Elements", "Get", "Text"}, sel.Sel.Name) {
						t.Errorf("%s: %s reads by js.%s", set.Position(n.Pos()), fn.Name.Name, sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen < 80 {
		t.Errorf("only %d functions were looked at", seen)
	}
}

// hasDecoder reports whether a function has a parameter d of type *codec.Decoder.
func hasDecoder(fn *ast.FuncDecl) bool {
	for _, p := range fn.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || len(p.Names) == 0 || p.Names[0].Name != "d" {
			continue
		}
		switch x := star.X.(type) {
		case *ast.Ident:
			if x.Name == "Decoder" {
				return true
			}
		case *ast.SelectorExpr:
			if x.Sel.Name == "Decoder" {
				return true
			}
		}
	}
	return false
}

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared are the names of types that several public packages use, with the
// reason why they are not confused. Every other name has one meaning.
var shared = map[string]string{
	"Answer":     "an answer to a question: whether a model can do something, what a model said, and how a codec is told what a model says",
	"Breaker":    "the same circuit breaker, of tools and of models",
	"Checked":    "that arguments match their schema: the result of the check, and the event that says so",
	"Error":      "what goes wrong between packages: with a model, and with a tool",
	"Fault":      "what a check found wrong: with an entry, and with a value",
	"Head":       "what stands first: of a stream, of a message in a dialect, and the latest entry of a run",
	"Kind":       "what sort of entry, and what sort of error",
	"Loss":       "what a conversion could not keep: of a schema, and of an operation",
	"Model":      "a language model: what is known of it, what can be asked, and one at a vendor",
	"Options":    "the settings of the package's one function",
	"Progress":   "how far a tool has come, and the event that says so",
	"Request":    "what a model is asked, and its record",
	"Retry":      "sending a request again: how often, and one time that it was",
	"SideEffect": "a change that a tool made, and its record",
	"Span":       "from where to where: in a text, and in time",
	"Start":      "the first element: of a stream, and of a record",
	"Status":     "how something ended: a call, and a run",
	"Step":       "a step of a run, recorded and observed",
	"Text":       "text: a part of a message, and a form of dialects",
	"Turn":       "one question to a model and what follows from it: the event, and what an observer sees",
	"Vendor":     "who serves models, with all that is known, and as a name for schema rules",
}

// types returns the exported types of the public packages, each with the packages
// that define it. An alias of the same name is no other type.
func types(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	for _, p := range list(t) {
		name, ok := local(p.ImportPath)
		if !ok || strings.HasPrefix(name, "cmd/") || slices.Contains(strings.Split(name, "/"), "internal") {
			continue
		}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				for _, typ := range exported(d) {
					out[typ] = append(out[typ], name)
				}
			}
		}
	}
	return out
}

// exported returns the names of the types that a declaration exports.
func exported(d ast.Decl) (names []string) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, s := range g.Specs {
		typ, ok := s.(*ast.TypeSpec)
		if !ok || !typ.Name.IsExported() {
			continue
		}
		if of, ok := typ.Type.(*ast.SelectorExpr); ok && typ.Assign.IsValid() && of.Sel.Name == typ.Name.Name {
			continue
		}
		names = append(names, typ.Name.Name)
	}
	return names
}

// The name of an exported type has one meaning across all packages.
func TestImportedTypeNamesHaveOneMeaning(t *testing.T) {
	all := types(t)
	if len(all) < 100 || len(all["Runner"]) != 1 {
		t.Fatalf("found only %d types", len(all))
	}
	for name, in := range all {
		if len(in) > 1 && shared[name] == "" {
			t.Errorf("%s is a type of %s: rename what is meant otherwise, or say in this file why nobody takes one for the other", name, strings.Join(in, " and of "))
		}
	}
	for name := range shared {
		if len(all[name]) < 2 {
			t.Errorf("%s is a type of %q only: take it off the list", name, all[name])
		}
	}
}

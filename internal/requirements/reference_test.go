package requirements

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// constant is a named value in the source, with its comment.
type constant struct{ name, value, meaning string }

// sources parses the Go files of a package, without tests.
func sources(t *testing.T, pkg string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s (%v)", pkg, err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// constants returns the constants of a type, in the order of the source. Each must have a comment.
func constants(t *testing.T, pkg, kind string) (list []constant) {
	t.Helper()
	for _, f := range sources(t, pkg) {
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			inherited := ""
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				of := inherited
				if v.Type != nil {
					of = typeName(v.Type)
				}
				if len(v.Values) == 0 || v.Type != nil {
					inherited = of // of an iota block
				}
				if of != kind {
					continue
				}
				list = append(list, constantOf(t, pkg, v))
			}
		}
	}
	return list
}

func constantOf(t *testing.T, pkg string, v *ast.ValueSpec) constant {
	c := constant{name: v.Names[0].Name, meaning: sentence(v.Comment.Text())}
	if c.meaning == "" {
		c.meaning = sentence(v.Doc.Text())
	}
	if c.meaning == "" {
		t.Errorf("%s.%s has no comment", pkg, c.name)
	}
	if len(v.Values) == 1 {
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			c.value, _ = strconv.Unquote(lit.Value)
		}
	}
	return c
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

var docLink = regexp.MustCompile(`\[(\*?[A-Za-z][A-Za-z.]*)\]`)

// sentence returns the first sentence of a comment as the cell of a table.
func sentence(comment string) string {
	flat := strings.Join(strings.Fields(comment), " ")
	if end := strings.Index(flat, ". "); end >= 0 {
		flat = flat[:end]
	}
	flat = docLink.ReplaceAllString(strings.TrimSuffix(flat, "."), "$1")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(flat)
}

// words returns the strings of a list in the source.
func words(t *testing.T, pkg, variable string) (list []string) {
	t.Helper()
	for _, f := range sources(t, pkg) {
		if object := f.Scope.Lookup(variable); object != nil {
			ast.Inspect(object.Decl.(ast.Node), func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					word, _ := strconv.Unquote(lit.Value)
					list = append(list, word)
				}
				return true
			})
		}
	}
	return list
}

// TestErrorsReference: the page of errors is generated from the declarations of kinds, codes and warnings.
func TestErrorsReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Errors, warnings and statuses\n\nLook up an error, a warning or the status of a call, answer or run. The gateway's answers to errors are on a [separate page](../gateway/errors.md). This page is generated from the source.\n\n" +
		"## Kinds of errors\n\n`llm.KindOf(err)` returns the kind.\n\n| kind | in Go | meaning and remedy |\n|---|---|---|\n")
	kinds, names := constants(t, "llm", "Kind"), words(t, "llm", "kindNames")
	if len(kinds) != len(names) || len(kinds) < 20 {
		t.Fatalf("%d kinds of errors, %d names", len(kinds), len(names))
	}
	for i, k := range kinds {
		fmt.Fprintf(&page, "| `%s` | `llm.%s` | %s |\n", names[i], k.name, k.meaning)
	}
	table := func(title, pkg, kind, head string, least int) {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| code | in Go | meaning |\n|---|---|---|\n", title, head)
		list := constants(t, pkg, kind)
		for _, c := range list {
			name := ""
			if ast.IsExported(c.name) {
				name = "`" + path.Base(pkg) + "." + c.name + "`"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", c.value, name, c.meaning)
		}
		if len(list) < least {
			t.Errorf("%s: only %d codes were found", title, len(list))
		}
	}
	table("Codes of tool errors", "tool", "Code", "`tool.Error.Code`, in results and receipts.", 10)
	table("Codes of warnings", "llm", "WarningCode", "`llm.Warning.Code`, also in the header `Toolpost-Warning`.", 13)
	table("Invalid calls", "llm", "InvalidReason", "Why a call must not run: `llm.InvalidCall.Reason`, and the word behind `invalid` of `toolpost parse`.", 6)
	table("How a call ended", "journal", "Status", "`journal.Receipt.Status`.", 5)
	table("How an answer ended", "llm", "Reason", "`llm.Finish.Reason`.", 5)
	table("How a run ended", "agent", "Status", "`agent.Done.Status`.", 4)
	table("Why a model is asked again", "refine", "RecoveryCause", "In events of package `refine`, and in the record.", 7)
	table("Coercions", "schema", "rule", "How an argument was changed without loss, in receipts.", 7)
	table("Faults of a record", "journal", "FaultKind", "`toolpost receipts verify` reports them.", 5)
	testkit.Page(t, filepath.Join(root, "docs", "reference", "errors.md"), page.String())
}

// eventPackages are the packages whose events reach programs, or "run --json".
var eventPackages = []string{"llm", "provider", "refine", "invoke", "agent"}

// TestEventsReference: the page of events is generated from the event types and the kinds of entries.
func TestEventsReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Events and entries\n\nLook up an event of a run or an entry of its record. This page is generated from the source.\n\n## Events\n\n`toolpost run --json` prints each event as one line, with its name in `event`. " +
		"Programs get the types from `agent.Agent.Run`, `invoke.Session.Do` and `llm.Model.Stream`.\n\n| event | type | meaning |\n|---|---|---|\n")
	count := 0
	for _, pkg := range eventPackages {
		for _, e := range eventTypes(t, pkg) {
			fmt.Fprintf(&page, "| `%s` | `%s.%s` | %s |\n", e.value, pkg, e.name, e.meaning)
			count++
		}
	}
	if count < 40 {
		t.Errorf("only %d events were found", count)
	}
	page.WriteString("\n## Entries of the record\n\nThe `kind` of an entry of the [record](../receipts.md).\n\n| kind | contents |\n|---|---|\n")
	for _, pkg := range []string{"journal", "agent"} {
		for _, c := range constants(t, pkg, "Kind") {
			fmt.Fprintf(&page, "| `%s` | %s |\n", c.value, c.meaning)
		}
	}
	testkit.Page(t, filepath.Join(root, "docs", "reference", "events.md"), page.String())
}

// eventTypes returns the types with a method EventType, in alphabetical order.
func eventTypes(t *testing.T, pkg string) (list []constant) {
	docs := map[string]string{}
	for _, f := range sources(t, pkg) {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						docs[s.Name.Name] = s.Doc.Text() + d.Doc.Text()
					}
				}
			case *ast.FuncDecl:
				if d.Name.Name == "EventType" && d.Recv != nil {
					word := "(any other)" // an event that has its name in a field
					if result, ok := d.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit); ok {
						word, _ = strconv.Unquote(result.Value)
					}
					list = append(list, constant{name: typeName(d.Recv.List[0].Type), value: word})
				}
			}
		}
	}
	for i, e := range list {
		meaning := sentence(docs[e.name])
		if meaning == "" {
			t.Errorf("the event %s.%s has no comment", pkg, e.name)
		}
		for _, verb := range []string{" is ", " are ", " reports ", " "} {
			if rest, ok := strings.CutPrefix(meaning, e.name+verb); ok {
				meaning = strings.TrimSpace(strings.TrimPrefix(verb, " is") + rest)
				break
			}
		}
		list[i].meaning = meaning
	}
	slices.SortFunc(list, func(a, b constant) int { return strings.Compare(a.value, b.value) })
	return list
}

package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/openapi"
)

// documents are the slices of public documents in testdata and, where
// TOOLPOST_OPENAPI names a folder, the documents in it.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.[jy]*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	if dir := os.Getenv("TOOLPOST_OPENAPI"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*"))
		files = append(files, more...)
	}
	return files
}

// generated is a server made from a document: it holds each request to the document
// and answers with the example of the operation.
type generated struct {
	doc    *openapi3.T
	mu     sync.Mutex
	routes []route
	faults []string // of the last request
	match  string   // which operation it was
	auth   http.Header
}

type route struct {
	pattern *regexp.Regexp
	path    string
	names   []string
	fixed   int
}

var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

func generate(doc *openapi3.T) *generated {
	g := &generated{doc: doc}
	for path := range doc.Paths.Map() {
		r := route{path: path, fixed: len(placeholder.ReplaceAllString(path, ""))}
		for _, m := range placeholder.FindAllStringSubmatch(path, -1) {
			r.names = append(r.names, m[1])
		}
		var b strings.Builder
		last := 0
		for _, at := range placeholder.FindAllStringIndex(path, -1) {
			b.WriteString(regexp.QuoteMeta(path[last:at[0]]) + "([^/]+)")
			last = at[1]
		}
		r.pattern = regexp.MustCompile("^" + b.String() + regexp.QuoteMeta(path[last:]) + "$")
		g.routes = append(g.routes, r)
	}
	slices.SortFunc(g.routes, func(a, b route) int { return b.fixed - a.fixed })
	return g
}

func (g *generated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults, g.match, g.auth = nil, "", r.Header.Clone()
	for _, route := range g.routes {
		m := route.pattern.FindStringSubmatch(r.URL.EscapedPath())
		item := g.doc.Paths.Value(route.path)
		op := item.Operations()[r.Method]
		if m == nil || op == nil {
			continue
		}
		g.match = r.Method + " " + route.path
		params := make(map[string]string)
		for i, name := range route.names {
			params[name] = unescaped(m[i+1])
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		in := &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, Route: &routers.Route{Spec: g.doc, Path: route.path, PathItem: item, Method: r.Method, Operation: op},
			Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
		}
		// Stripe takes lists as name[]=value and calls that deepObject, which the filter cannot read.
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil && !strings.Contains(err.Error(), `invalid serialization method: style="deepObject"`) {
			g.faults = append(g.faults, err.Error())
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(example(op))
		return
	}
	http.NotFound(w, r)
}

func unescaped(s string) string {
	s = strings.ReplaceAll(s, "%2F", "/")
	return strings.ReplaceAll(s, "%20", " ")
}

// example returns an example answer of an operation.
func example(op *openapi3.Operation) []byte {
	if op.Responses != nil {
		for status, ref := range op.Responses.Map() {
			if status[0] != '2' || ref.Value == nil || ref.Value.Content["application/json"] == nil {
				continue
			}
			media := ref.Value.Content["application/json"]
			if media.Example != nil {
				b, _ := json.Marshal(media.Example)
				return b
			}
			for _, e := range media.Examples {
				if e.Value != nil && e.Value.Value != nil {
					b, _ := json.Marshal(e.Value.Value)
					return b
				}
			}
		}
	}
	return []byte(`{"ok":true}`)
}

// TestPublicDocuments calls every operation of public documents at servers that are
// made from them, and has each request checked against the document by another
// implementation.
func TestPublicDocuments(t *testing.T) {
	services, operations, called := 0, 0, 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := openapi.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		services++
		t.Run(filepath.Base(file), func(t *testing.T) {
			n, ok := callAll(t, doc)
			operations, called = operations+n, called+ok
		})
	}
	t.Logf("%d documents, %d operations, %d called as their documents want it", services, operations, called)
	if called*100 < operations*95 {
		t.Errorf("only %d of %d operations could be called", called, operations)
	}
}

func callAll(t *testing.T, doc *openapi.Document) (operations, called int) {
	model, err := openapi3.NewLoader().LoadFromData(openapi.JSON(doc))
	if err != nil {
		t.Fatal(err)
	}
	g := generate(model)
	server := httptest.NewServer(g)
	defer server.Close()
	tools, losses, err := doc.Tools(openapi.Config{Server: server.URL}, "test")
	if err != nil {
		t.Fatal(err)
	}
	omitted := 0
	for _, l := range losses {
		if l.Omitted {
			omitted++
		}
	}
	if _, err := tool.NewSet(tools...); err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		for _, all := range []bool{false, true} {
			operations++
			if err := callOne(g, tl, all); err != nil {
				t.Logf("%s: %v", tl.Name, err)
				continue
			}
			called++
		}
	}
	t.Logf("%d tools, %d left out, %d losses; %d of %d calls", len(tools), omitted, len(losses), called, operations)
	if called*100 < operations*90 {
		t.Errorf("only %d of %d calls", called, operations)
	}
	return operations, called
}

// callOne calls a tool with the arguments it needs, or with all it takes.
func callOne(g *generated, tl tool.Tool, all bool) error {
	compiled, err := schema.Compile(tl.Input)
	if err != nil {
		return err
	}
	var root map[string]any
	if err := json.Unmarshal(tl.Input, &root); err != nil {
		return err
	}
	args, err := json.Marshal((&maker{root: root, all: all}).value(root, 0))
	if err != nil {
		return err
	}
	if faults := compiled.Validate(args); len(faults) > 0 {
		return fmt.Errorf("no arguments could be made: %v %s", faults[0], args)
	}
	plan, err := tl.Preview(context.Background(), args)
	if err != nil {
		return err
	}
	out, err := tl.Call(context.Background(), args)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil:
		return err
	case len(g.faults) > 0:
		return errors.New(plan.Request + " " + string(args) + ": " + strings.Join(g.faults, "; "))
	case g.match == "" || !strings.HasPrefix(plan.Request, strings.Fields(g.match)[0]):
		return fmt.Errorf("%s came as %s", plan.Request, g.match)
	case len(out.Parts) == 0:
		return errors.New("no answer")
	}
	return nil
}

// maker makes values for schemas: simple ones, and right for most.
type maker struct {
	root map[string]any
	all  bool
}

func (m *maker) value(node any, depth int) any {
	s, _ := node.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		defs, _ := m.root["$defs"].(map[string]any)
		return m.value(defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := s[key]; ok && v != nil {
			return v
		}
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 && s["properties"] == nil && kind != "object" {
			return m.value(list[0], depth+1)
		}
	}
	switch {
	case kind == "object" || s["properties"] != nil || s["allOf"] != nil:
		return m.object(s, depth)
	case kind == "array":
		least, _ := s["minItems"].(float64)
		var list []any
		for range max(1, int(least)) {
			list = append(list, m.value(s["items"], depth+1))
		}
		return list
	case kind == "integer" || kind == "number":
		return number(s)
	case kind == "boolean":
		return true
	}
	return text(s)
}

// object makes an object of all the parts that a schema is put together from.
func (m *maker) object(s map[string]any, depth int) any {
	properties, required := make(map[string]any), []any{}
	scalar := m.gather(s, properties, &required, 0)
	if len(properties) == 0 && scalar != nil {
		return m.value(scalar, depth+1)
	}
	out := make(map[string]any)
	for name, p := range properties {
		if slices.Contains(required, any(name)) || m.all && depth < 2 {
			out[name] = m.value(p, depth+1)
		}
	}
	return out
}

// gather collects the properties of a schema and of the schemas it refers to;
// it returns a schema among them that is not an object.
func (m *maker) gather(s map[string]any, properties map[string]any, required *[]any, depth int) (scalar any) {
	if ref, ok := s["$ref"].(string); ok && depth < 20 {
		defs, _ := m.root["$defs"].(map[string]any)
		next, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		return m.gather(next, properties, required, depth+1)
	}
	more, _ := s["properties"].(map[string]any)
	maps.Copy(properties, more)
	list, _ := s["required"].([]any)
	*required = append(*required, list...)
	all, _ := s["allOf"].([]any)
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			all = append(slices.Clone(all), list[0])
		}
	}
	for _, part := range all {
		if p, ok := part.(map[string]any); ok {
			if v := m.gather(p, properties, required, depth+1); v != nil {
				scalar = v
			}
		}
	}
	if kind, ok := s["type"].(string); ok && kind != "object" {
		return s
	}
	return scalar
}

func number(s map[string]any) any {
	for _, key := range []string{"minimum", "exclusiveMinimum"} {
		if v, ok := s[key].(float64); ok {
			return v + 1 - map[string]float64{"minimum": 1}[key]
		}
	}
	if v, ok := s["maximum"].(float64); ok && v < 1 {
		return v
	}
	return 1
}

// hexPattern is how some services write the form of their ids.
var hexPattern = regexp.MustCompile(`^\^([A-Z]+)\[0-9a-fA-F\]\{(\d+)\}\$$`)

func text(s map[string]any) any {
	switch s["format"] {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	case "date":
		return "2026-01-02"
	case "uri":
		return "https://example.org/a"
	case "uuid":
		return "4de7ac8b-495b-4884-9a69-1050c6793cd6"
	case "email":
		return "a@example.org"
	case "ipv4":
		return "192.0.2.1"
	}
	word := "word"
	if p, _ := s["pattern"].(string); p != "" {
		if m := hexPattern.FindStringSubmatch(p); m != nil {
			n, _ := strconv.Atoi(m[2])
			return m[1] + strings.Repeat("a", n)
		}
	}
	if n, ok := s["minLength"].(float64); ok {
		word = strings.Repeat("w", max(int(n), 4))
	}
	if n, ok := s["maxLength"].(float64); ok && int(n) < len(word) {
		word = word[:int(n)]
	}
	return word
}

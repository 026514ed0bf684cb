package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// rootURL is where a schema without $id stands; relative references start
// there and lead nowhere.
const rootURL = "schema:///root"

// Compiler turns schemas into a usable form. The zero value is ready.
type Compiler struct {
	// Load returns the schema at an absolute URL without fragment. Nil
	// refuses every reference that leaves the document and the embedded
	// meta-schemas. Nothing is ever fetched unless Load does it.
	Load func(url string) (Schema, error)
	// AssertFormat makes "format" a constraint. By default it is what the
	// specification says, a note to the reader, in every draft.
	AssertFormat bool
}

// Compiled is a schema that is proven usable. It never changes and is safe for
// concurrent use; compile a tool's schema once and keep it.
type Compiled struct {
	raw  Schema
	flat *flat // nil if it says more

	making sync.Once // of validator, if it is made at first use
	made   validator
}

// validator is what the library made of a schema.
type validator struct {
	sch        *jsonschema.Schema
	multiplies bool // see affordable
}

// Compile compiles a schema with the zero [Compiler].
func Compile(s Schema) (*Compiled, error) { return Compiler{}.Compile(s) }

// Compile checks a schema and prepares it for use. It refuses, with the place and the
// reason, a schema that its draft does not allow (2020-12 without $schema), references
// that cannot be resolved or that only lead back to themselves, patterns that cannot
// be run in linear time, and schemas of more than 1 MiB or 128 levels. An empty schema
// is that of a tool without arguments.
func (c Compiler) Compile(s Schema) (*Compiled, error) {
	root, err := parse(s) // for the bounds, and for names that repeat
	if err != nil {
		return nil, err
	}
	out := &Compiled{raw: Schema(root.String())}
	if !c.AssertFormat && plain(root) {
		// Simple schemas are not compiled yet: most tools are never called.
		out.flat = flatten(root)
		return out, nil
	}
	v, err := c.validator(root, string(out.raw))
	if err != nil {
		return nil, err
	}
	out.flat = flatten(root)
	out.making.Do(func() { out.made = v })
	return out, nil
}

// validator has the library compile a schema.
func (c Compiler) validator(root *node, text string) (validator, error) {
	doc, err := decode(text, maxSchemaDepth)
	if err != nil {
		return validator{}, fmt.Errorf("schema: %w", err)
	}
	lib := jsonschema.NewCompiler()
	lib.DefaultDraft(draftOf(root))
	lib.UseRegexpEngine(compilePattern)
	lib.UseLoader(loader(c.Load))
	if c.AssertFormat {
		lib.AssertFormat()
	}
	if err := lib.AddResource(rootURL, doc); err != nil {
		return validator{}, fmt.Errorf("schema: %w", err)
	}
	sch, err := lib.Compile(rootURL)
	if err != nil {
		return validator{}, explain(err)
	}
	all, err := prepare(sch, c.AssertFormat)
	if err != nil {
		return validator{}, err
	}
	return validator{sch, multiplies(all)}, nil
}

// validator returns the library's compiled form. It is made at the first use.
func (c *Compiled) validator() validator {
	c.making.Do(func() {
		v, err := func() (validator, error) {
			root, err := parse(c.raw)
			if err != nil {
				return validator{}, err
			}
			return Compiler{}.validator(root, string(c.raw))
		}()
		if err != nil { // plain is wrong about the schema; nothing may pass
			v = validator{sch: nothing()}
		}
		c.made = v
	})
	return c.made
}

// nothing is the schema that no value satisfies.
var nothing = sync.OnceValue(func() *jsonschema.Schema {
	lib := jsonschema.NewCompiler()
	if err := lib.AddResource(rootURL, false); err != nil {
		panic(err)
	}
	return lib.MustCompile(rootURL)
})

// drafts are the drafts a schema may name, by what their $schema contains.
var drafts = []struct {
	mark  string
	draft *jsonschema.Draft
}{
	{"/draft-04/", jsonschema.Draft4},
	{"/draft-06/", jsonschema.Draft6},
	{"/draft-07/", jsonschema.Draft7},
	{"/draft/2019-09/", jsonschema.Draft2019},
}

// draftOf returns the draft of a schema, which is also that of the documents
// it refers to unless they say otherwise.
func draftOf(root *node) *jsonschema.Draft {
	if s := root.get("$schema"); s != nil {
		for _, d := range drafts {
			if strings.Contains(s.text, d.mark) {
				return d.draft
			}
		}
	}
	return jsonschema.Draft2020
}

// MustCompile is [Compile] for schemas that the program itself contains. It
// panics if the schema is not usable.
func MustCompile(s Schema) *Compiled {
	c, err := Compile(s)
	if err != nil {
		panic(err)
	}
	return c
}

// Schema returns the schema as data, compact, in the order it was written. The
// caller must not change it.
func (c *Compiled) Schema() Schema { return c.raw }

// loader adapts Compiler.Load to the library.
type loader func(url string) (Schema, error)

var errOutside = errors.New("it leads out of the document, and nothing is fetched")

func (l loader) Load(url string) (any, error) {
	if l == nil {
		return nil, errOutside
	}
	s, err := l(url)
	if err != nil {
		return nil, err
	}
	if len(s) > maxSchemaBytes {
		return nil, fmt.Errorf("%d bytes, and the limit is %d", len(s), maxSchemaBytes)
	}
	return decode(string(s), maxSchemaDepth)
}

// compilePattern compiles a pattern of ECMA 262 as far as RE2 can run it.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(re2(pattern))
}

// re2 respells \u0041 and \u{41}, which RE2 writes \x{41}.
func re2(pattern string) string {
	if !strings.Contains(pattern, `\u`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		b.WriteByte(pattern[i])
		if pattern[i] != '\\' || i+1 == len(pattern) {
			continue
		}
		i++
		hex := pattern[i+1:]
		switch {
		case pattern[i] != 'u':
			b.WriteByte(pattern[i])
		case strings.HasPrefix(hex, "{"):
			b.WriteByte('x')
		case len(hex) >= 4:
			b.WriteString("x{" + hex[:4] + "}")
			i += 4
		default:
			b.WriteByte('u')
		}
	}
	return b.String()
}

// explain turns an error of the library into one line that names the place.
func explain(err error) error {
	var (
		invalid *jsonschema.SchemaValidationError
		pattern *jsonschema.InvalidRegexError
		load    *jsonschema.LoadURLError
	)
	switch {
	case errors.As(err, &pattern):
		return placed(place(pattern.URL), patternError(place(pattern.URL), pattern.Regex, pattern.Err))
	case errors.As(err, &load):
		return &externalError{load.URL, fmt.Errorf("schema: the reference to %q cannot be resolved: %w", load.URL, load.Err)}
	case errors.As(err, &invalid):
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			return schemaFault(place(invalid.URL), v)
		}
	}
	return fmt.Errorf("schema: %s", strings.ReplaceAll(err.Error(), rootURL, ""))
}

func patternError(at, pattern string, err error) error {
	return fmt.Errorf("schema: at %s: the pattern %q cannot be run (RE2 has no lookaround and no backreferences): %w", at, pattern, err)
}

// place returns the pointer of a location in the document.
func place(url string) string {
	url, pointer, _ := strings.Cut(strings.TrimPrefix(url, rootURL), "#")
	if url == "" && pointer == "" {
		return "the root"
	}
	return url + pointer
}

// schemaFault says in one line why a schema is none.
func schemaFault(at string, v *jsonschema.ValidationError) error {
	leaf, path := v, v.InstanceLocation
	for len(leaf.Causes) > 0 {
		leaf = leaf.Causes[0]
		if len(leaf.InstanceLocation) > len(path) { // that of a name is empty
			path = leaf.InstanceLocation
		}
	}
	if at == "the root" {
		at = ""
	}
	for _, name := range path {
		at = string(pointer(at).at(name))
	}
	if f, ok := leaf.ErrorKind.(*kind.Format); ok && f.Want == "regex" {
		if s, ok := f.Got.(string); ok {
			return placed(at, patternError(at, s, f.Err))
		}
	}
	faults := reporter{}.leaf(leaf)
	return placed(at, fmt.Errorf("schema: at %s: not valid JSON Schema: %s", cmp.Or(at, "the root"), faults[0].Message))
}

// prepare walks the compiled schemas once: it finds references that lead only
// back to themselves, which no value could satisfy or violate, and makes
// format a note where the library asserts it by itself. It returns all of
// them.
func prepare(root *jsonschema.Schema, assertFormat bool) ([]*jsonschema.Schema, error) {
	seen := map[*jsonschema.Schema]bool{root: true}
	queue := []*jsonschema.Schema{root}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if !assertFormat && s.DraftVersion < 2019 {
			s.Format = nil
		}
		visit(s, func(sub *jsonschema.Schema, _ bool) {
			if !seen[sub] {
				seen[sub] = true
				queue = append(queue, sub)
			}
		})
	}
	state := make(map[*jsonschema.Schema]walked)
	for _, s := range queue {
		if cycle := inPlaceCycle(s, state); cycle != "" {
			return nil, fmt.Errorf("schema: at %s: the reference leads only back to itself", cycle)
		}
	}
	return queue, nil
}

// walked is how far the search for cycles has come with a schema.
type walked byte

const (
	underway walked = 1 + iota
	finished
)

// inPlaceCycle returns the place where a chain of schemas that apply to the
// same value comes back to its start, or "".
func inPlaceCycle(s *jsonschema.Schema, state map[*jsonschema.Schema]walked) string {
	switch state[s] {
	case finished:
		return ""
	case underway:
		return place(s.Location)
	}
	state[s] = underway
	found := ""
	visit(s, func(sub *jsonschema.Schema, inPlace bool) {
		if inPlace && found == "" {
			found = inPlaceCycle(sub, state)
		}
	})
	state[s] = finished
	return found
}

// visit calls f with each schema that s applies, and whether it applies to the
// same value or to a part of it.
func visit(s *jsonschema.Schema, f func(sub *jsonschema.Schema, inPlace bool)) {
	one := func(inPlace bool, subs ...*jsonschema.Schema) {
		for _, sub := range subs {
			if sub != nil {
				f(sub, inPlace)
			}
		}
	}
	unknown := func(inPlace bool, v any) {
		switch v := v.(type) {
		case *jsonschema.Schema:
			one(inPlace, v)
		case []*jsonschema.Schema:
			one(inPlace, v...)
		}
	}
	one(true, s.Ref, s.Not, s.If, s.Then, s.Else)
	one(true, s.AllOf...)
	one(true, s.AnyOf...)
	one(true, s.OneOf...)
	for _, sub := range s.DependentSchemas {
		one(true, sub)
	}
	for _, sub := range s.Dependencies {
		unknown(true, sub)
	}
	one(false, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema)
	for _, sub := range s.Properties {
		one(false, sub)
	}
	for _, sub := range s.PatternProperties {
		one(false, sub)
	}
	one(false, s.PrefixItems...)
	unknown(false, s.Items)
	unknown(false, s.AdditionalItems)
	unknown(false, s.AdditionalProperties)
	if s.DynamicRef != nil {
		one(false, s.DynamicRef.Ref) // where it leads is known only with the value
	}
	one(false, s.RecursiveRef)
}

// Validate checks the arguments of a call, or any JSON text, and returns one [Fault]
// per fault, sorted by path; none if they are valid. Each of these is one fault: text
// that is not JSON, a repeated name in an object, nesting deeper than 512 levels, a
// number too large to compute with (more than 1,000 digits, or an exponent beyond
// ±1,000), and a value that would take too long to check because the schema leads to
// the same place in many ways. Empty text is read as {}. Numbers are exact.
func (c *Compiled) Validate(args json.RawMessage) []Fault {
	if c.flat != nil && c.flat.accepts(string(args)) {
		return nil
	}
	text := string(args)
	v, err := decodeArgs(text)
	if err != nil {
		return []Fault{unreadable(err)}
	}
	return c.ValidateValue(v)
}

// ValidateValue is [Compiled.Validate] for a decoded value: nil, bool,
// json.Number, any Go number, string, []any, map[string]any.
func (c *Compiled) ValidateValue(v any) []Fault {
	if !c.affordable(v, maxVisits, perPart) {
		return []Fault{tooComplex}
	}
	err := c.validator().sch.Validate(v)
	if err == nil {
		return nil
	}
	return c.faults(v, err)
}

func decodeArgs(args string) (any, error) {
	if args == "" {
		return map[string]any{}, nil
	}
	return decode(args, maxDepth)
}

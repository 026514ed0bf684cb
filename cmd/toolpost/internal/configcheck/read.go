package configcheck

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// Schema describes a kind of configuration file.
type Schema struct {
	Root reflect.Type // the struct of the file
	// Hint returns advice on an unknown field, "" if there is none. Nil gives no advice.
	Hint func(key, section string) string
	// Filled is the section whose texts must not be empty.
	Filled string
}

// Read reads the text of a file into a struct of the type Root, and reports unknown fields and malformed values. A
// malformed value is left unset.
func (s *Schema) Read(file string, text []byte, into any) *Report {
	r := &Report{File: file, schema: s}
	line := new(yamlcheck.LineError)
	if err := yamlcheck.Check(text); errors.As(err, &line) {
		r.unreadable(text, line.Line, line.Problem)
		return r
	} else if err != nil {
		r.unreadable(text, 0, err.Error())
		return r
	}
	tree, err := yamlcheck.Parse(text)
	if err != nil {
		line, problem := Problem(err)
		r.unreadable(text, line, problem)
		return r
	}
	r.tree, r.anchors, r.zero = tree, make(map[string]ast.Node), make(map[string]bool)
	for _, doc := range tree.Docs {
		r.walk(doc.Body, reflect.ValueOf(into).Elem(), "")
	}
	return r
}

// Parsed reports whether the file is YAML.
func (r *Report) Parsed() bool { return r.tree != nil }

// Empty reports whether a valid file has no settings.
func (r *Report) Empty() bool {
	if r.tree == nil {
		return false
	}
	for _, doc := range r.tree.Docs {
		if n := r.resolve(doc.Body); n != nil && n.Type() != ast.CommentType && n.Type() != ast.NullType {
			return false
		}
	}
	return true
}

// bareStar matches an unquoted * as a value, which starts an alias in YAML.
var bareStar = regexp.MustCompile(`(?m)^[ \t-]*[a-z_]+:[ \t]+\*[ \t]*(#.*)?$`)

// unreadable records why a file is not YAML.
func (r *Report) unreadable(text []byte, line int, problem string) {
	if at := bareStar.FindIndex(text); at != nil {
		line, problem = 1+bytes.Count(text[:at[0]], []byte("\n")), `an unquoted * starts an alias in YAML; write "*"`
	}
	r.malformed(line, "", problem)
}

// resolve returns the value of an anchor, an alias or a tag.
func (r *Report) resolve(n ast.Node) ast.Node {
	for range 8 { // an alias may refer to another alias
		switch x := n.(type) {
		case *ast.AnchorNode:
			r.anchors[x.Name.String()] = x.Value
			n = x.Value
		case *ast.AliasNode:
			n = r.anchors[x.Value.String()]
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return n
}

// walk decodes a value and records its mistakes.
func (r *Report) walk(n ast.Node, into reflect.Value, path string) {
	written := n
	if n = r.resolve(n); n == nil && written != nil && written.Type() == ast.AliasType {
		r.malformed(lineOf(written), path, fmt.Sprintf("unknown anchor %q", strings.TrimPrefix(written.String(), "*")))
	}
	if n == nil || n.Type() == ast.CommentType {
		return
	}
	if problem := r.schema.mismatch(n, into.Type(), path); problem != "" {
		r.malformed(lineOf(n), path, problem)
		return
	}
	list, isList := n.(*ast.SequenceNode)
	switch t := into.Type(); {
	case n.Type() == ast.NullType:
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		if r.walk(n, into.Elem(), path); slices.Contains(r.form, path) {
			into.SetZero() // treat the setting as absent, because 0 may have a meaning
		}
	case isList && t.Kind() == reflect.Slice:
		into.Set(reflect.MakeSlice(t, len(list.Values), len(list.Values)))
		for i, v := range list.Values {
			r.walk(v, into.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case isMapping(n) && isSection(t):
		r.section(n, into, path)
	case isMapping(n) && t.Kind() == reflect.Map && isSection(t.Elem()):
		r.named(n, into, path)
	default:
		r.value(n, into, path)
	}
}

// value decodes a value without nested settings.
func (r *Report) value(n ast.Node, into reflect.Value, path string) {
	if err := yaml.NodeToValue(n, into.Addr().Interface(), yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		line, problem := Problem(err)
		r.malformed(cmp.Or(line, lineOf(n)), path, problem)
		into.SetZero()
	} else if into.CanInt() && into.IsZero() {
		r.zero[path] = true
	}
}

// named decodes a mapping whose keys the user chooses.
func (r *Report) named(n ast.Node, into reflect.Value, path string) {
	made := reflect.MakeMap(into.Type())
	for k, v := range Members(n) {
		name := Scalar(k)
		if name == "" || name == "<<" {
			continue
		}
		if problem := r.schema.tooDeep(r.resolve(v), name, path, into.Type().Elem()); problem != "" {
			r.malformed(lineOf(k), path+"."+name, problem)
			continue
		}
		one := reflect.New(into.Type().Elem()).Elem()
		r.walk(v, one, path+"."+name)
		made.SetMapIndex(reflect.ValueOf(name), one)
	}
	into.Set(made)
}

// section decodes the settings of a section.
func (r *Report) section(n ast.Node, into reflect.Value, path string) {
	for k, v := range Members(n) {
		name := Scalar(k)
		if k.Type() == ast.MergeKeyType {
			r.section(r.resolve(v), into, path)
			continue
		}
		if name == "" {
			continue // decoding reports the error
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if f, ok := fieldNamed(into.Type(), name); ok {
			r.walk(v, f.Of(into), at)
			continue
		}
		keys := fieldKeys(into.Type())
		hint := cmp.Or(r.schema.misplaced(name, path), cli.DidYouMean(name, keys))
		r.malformed(lineOf(k), at, fmt.Sprintf("unknown field %q%s", name, hint))
		for _, meant := range near.Names(name, keys, 1) {
			r.meant = append(r.meant, strings.TrimPrefix(path+"."+meant, ".")) // no second report that this setting is missing
		}
	}
}

// Members yields the keys and values of a mapping.
func Members(n ast.Node) func(func(ast.Node, ast.Node) bool) {
	return func(yield func(ast.Node, ast.Node) bool) {
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, v := range n.Values {
				if !yield(v.Key, v.Value) {
					return
				}
			}
		case *ast.MappingValueNode:
			yield(n.Key, n.Value)
		}
	}
}

// Scalar returns the text of a scalar value, "" for a list or a mapping.
func Scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return ""
}

// isMapping reports whether a value is a mapping.
func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// Problem returns the line of a mistake that the YAML parser found, 0 if it is unknown, and a description in user terms.
func Problem(err error) (line int, text string) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return 0, plainError(err)
	}
	text = plainMessage(at.GetMessage(), at.GetToken().Value)
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		text = fmt.Sprintf("unknown field %q", at.GetToken().Value)
	}
	return at.GetToken().Position.Line, text
}

// plainError rewrites errors of the YAML parser that use Go terms.
func plainError(err error) string {
	text := err.Error()
	i := strings.LastIndex(text, "duration ")
	if !strings.HasPrefix(text, "time: ") || i < 0 {
		return text
	}
	value := text[i+len("duration "):]
	if strings.HasSuffix(value, `d"`) {
		return value + " is not a duration like 90s or 10m; the largest unit is h, and a day is 24h"
	}
	return value + " is not a duration like 90s or 10m"
}

// goTypes names the types of settings in plain words, by the suffix of their Go name.
var goTypes = []struct{ end, is string }{
	{"time.Duration", "a duration like 90s or 10m"}, {"int64", "a whole number"}, {"int", "a whole number"}, {"float64", "a number"},
	{"bool", "true or false"}, {"string", "a text"},
}

// The advice on a tab in the indentation.
const noTabs = "this line has a tab; YAML is indented with spaces only"

// yamlMessages maps messages of the YAML parser about common mistakes to helpful ones.
var yamlMessages = []struct{ contains, means string }{
	{"found character '\t'", noTabs},
	{"tab character cannot use", noTabs},
	{"found a tab character", noTabs},
	{"sequence end token ']' not found", "the list that begins here does not end; a ] is missing"},
	{"could not find flow mapping end token '}'", "the fields in braces that begin here do not end; a } is missing"},
	{"non-map value is specified", "expected a field and its value, like NAME: VALUE, with a space after the colon and the same indentation as the line before"},
	{"value is not allowed in this context", "unexpected value: either the indentation of this line differs from that of its section, or a text with a colon has no quotes"},
	{"could not find end character of", "the text that begins here does not end; a quote is missing"},
}

// plainMessage rewrites a message of the YAML parser without Go terms.
func plainMessage(message, value string) string {
	_, rest, found := strings.Cut(message, " of type ")
	if !found || !strings.HasPrefix(message, "cannot unmarshal ") {
		for _, row := range yamlMessages {
			if strings.Contains(message, row.contains) {
				return row.means
			}
		}
		return strings.NewReplacer("sequence is expected", "expected a list", "mapping is expected", "expected keys and values").Replace(message)
	}
	for _, t := range goTypes {
		if strings.HasSuffix(strings.TrimSpace(rest), t.end) {
			return fmt.Sprintf("%q is not %s", cli.OneLine(value, 60), t.is)
		}
	}
	return fmt.Sprintf("%q does not belong here", cli.OneLine(value, 60))
}

// mismatch describes in user terms why a value cannot have a type, "" if it may be valid and decoding decides.
func (s *Schema) mismatch(n ast.Node, t reflect.Type, path string) string {
	value := cli.OneLine(Scalar(n), 60)
	_, isList := n.(*ast.SequenceNode)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Type() == ast.NullType && t.Kind() != reflect.String {
		return ""
	}
	switch kind := t.Kind(); {
	case isSection(t) && !isMapping(n):
		return notASection(t, value, isList)
	case kind == reflect.Slice && !isList:
		return notAList(t, value, isMapping(n))
	case kind == reflect.String && (isList || isMapping(n)):
		return "expected a text, but found a list or a section"
	case t == durations:
		return notOfKind(n, "a duration like 90s or 10m", missingUnit)
	case kind == reflect.Int || kind == reflect.Int64:
		return notOfKind(n, "a whole number", notAnInteger)
	case kind == reflect.String && value == "" && s.Filled != "" && strings.HasPrefix(path, s.Filled+"."):
		return "the value is empty, perhaps because a variable is not set; set a value, or leave the field out"
	}
	return ""
}

// notOfKind describes why a value is not a number or a duration.
func notOfKind(n ast.Node, kind string, why func(ast.NodeType, string) string) string {
	if _, isList := n.(*ast.SequenceNode); isList || isMapping(n) {
		return "expected " + kind + ", but found a list or a section"
	}
	return why(n.Type(), cli.OneLine(Scalar(n), 60))
}

// numberLike matches values that are meant as numbers.
var numberLike = regexp.MustCompile(`^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$`)

// missingUnit reports a number without a unit instead of a duration, and suggests the probable one. It returns "" for
// valid values such as 0.
func missingUnit(kind ast.NodeType, value string) string {
	number, err := strconv.ParseFloat(value, 64)
	isNumber := kind == ast.FloatType || kind == ast.IntegerType && value != "0"
	if !isNumber && (!numberLike.MatchString(value) || err != nil || number == 0) {
		return ""
	}
	text := fmt.Sprintf("%q is not a duration like 90s or 10m", value)
	if _, wrong := time.ParseDuration(value + "s"); wrong == nil {
		text += ": it has no unit; write " + value + "s for seconds"
	} else if err == nil && math.Abs(number) < 1e9 {
		text += ": it has no unit; write " + strconv.FormatFloat(number, 'f', -1, 64) + "s for seconds"
	}
	return text
}

// notAnInteger describes why a value is not a whole number, "" if it may be valid.
func notAnInteger(kind ast.NodeType, value string) string {
	number, err := strconv.ParseFloat(value, 64)
	written := numberLike.MatchString(value)
	switch {
	case written && (err != nil || math.Abs(number) >= math.MaxInt64):
		return fmt.Sprintf("%q is too large; write a smaller number, in digits", value)
	case written && strings.ContainsAny(value, "eE") && number == math.Trunc(number):
		return fmt.Sprintf("%q is not a whole number in digits; write %.0f", value, number)
	case kind == ast.FloatType:
		return fmt.Sprintf("%q is not a whole number", value)
	}
	return ""
}

// notAList reports that a list is expected, and suggests how to write the value as a list.
func notAList(t reflect.Type, value string, isMapping bool) string {
	switch {
	case isMapping:
		return "expected a list, but found fields; begin each item with a -"
	case hasModel(t.Elem()):
		return fmt.Sprintf("expected a list; write [{model: %s}]", value)
	}
	return fmt.Sprintf("expected a list; write [%s]", value)
}

// notASection reports that fields are expected, and suggests how to write the value as one.
func notASection(t reflect.Type, value string, isList bool) string {
	switch {
	case isList:
		return "expected fields, but found a list; write NAME: VALUE, without the - or the [ ]"
	case hasModel(t) && value != "":
		return fmt.Sprintf("expected fields, but found %q; write {model: %s}", value, value)
	}
	return fmt.Sprintf("expected fields, but found %q; write NAME: VALUE", value)
}

// hasModel reports whether a section has a field named model.
func hasModel(t reflect.Type) bool {
	if !isSection(t) {
		return false
	}
	f, ok := fieldNamed(t, "model")
	return ok && f.Type.Kind() == reflect.String
}

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
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

// readConfig reads the configuration file of a gateway. It requires a regular file, because the file is read more than
// once. A second read of a pipe would return an empty configuration or block.
func readConfig(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, which it has to be because it is read more than once", file)
	}
	text, err := cli.ReadFile(file, maxConfig)
	return withoutMark(text), err
}

// read checks the form of a file: unknown keys and malformed values. It stores the readable values in s.
func (m *mistakes) read(s *settings) error {
	text, err := readConfig(m.file)
	if err != nil {
		return err
	}
	line := new(yamlcheck.LineError)
	if err := yamlcheck.Check(text); errors.As(err, &line) {
		m.unreadable(text, line.Line, line.Problem)
		return nil
	} else if err != nil {
		m.unreadable(text, 0, err.Error())
		return nil
	}
	tree, err := yamlcheck.Parse(text)
	if err != nil {
		line, problem := configProblem(err)
		m.unreadable(text, line, problem)
		return nil
	}
	m.tree, m.anchors, m.zero = tree, make(map[string]ast.Node), make(map[string]bool)
	for _, doc := range tree.Docs {
		m.walk(doc.Body, reflect.ValueOf(s).Elem(), "")
	}
	return nil
}

// plain resolves an anchor, an alias or a tag to its value.
func (m *mistakes) plain(n ast.Node) ast.Node {
	for range 8 { // an alias may refer to another alias
		switch x := n.(type) {
		case *ast.AnchorNode:
			m.anchors[x.Name.String()] = x.Value
			n = x.Value
		case *ast.AliasNode:
			n = m.anchors[x.Value.String()]
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return n
}

// walk decodes a value and records its mistakes.
func (m *mistakes) walk(n ast.Node, into reflect.Value, path string) {
	n = m.plain(n)
	if n == nil || n.Type() == ast.CommentType {
		return
	}
	line := 0
	if n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	if problem := misfit(n, into.Type(), path); problem != "" {
		m.misread(line, path, problem)
		return
	}
	_, isNull := n.(*ast.NullNode)
	list, isList := n.(*ast.SequenceNode)
	_, isMapping := n.(*ast.MappingNode)
	_, isPair := n.(*ast.MappingValueNode)
	switch t := into.Type(); {
	case isNull:
		return
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		if m.walk(n, into.Elem(), path); slices.Contains(m.form, path) {
			into.SetZero() // treat the setting as absent, because 0 may have a meaning
		}
		return
	case isList && t.Kind() == reflect.Slice:
		into.Set(reflect.MakeSlice(t, len(list.Values), len(list.Values)))
		for i, v := range list.Values {
			m.walk(v, into.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		return
	case (isMapping || isPair) && hasSettings(t):
		m.members(n, into, path)
		return
	case (isMapping || isPair) && t.Kind() == reflect.Map && hasSettings(t.Elem()):
		m.named(n, into, path)
		return
	}
	m.value(n, into, line, path)
}

// value decodes a value without nested settings.
func (m *mistakes) value(n ast.Node, into reflect.Value, line int, path string) {
	if err := yaml.NodeToValue(n, into.Addr().Interface(), yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		at, problem := configProblem(err)
		if at == 0 {
			at = line
		}
		m.misread(at, path, problem)
		into.SetZero()
	} else if into.CanInt() && into.IsZero() {
		m.zero[path] = true
	}
}

// misfit describes in user terms why a value cannot have a type, "" if it may be valid and decoding decides.
func misfit(n ast.Node, t reflect.Type, path string) string {
	value := firstLine(scalar(n), 60)
	_, isList := n.(*ast.SequenceNode)
	_, isMapping := n.(*ast.MappingNode)
	_, isPair := n.(*ast.MappingValueNode)
	isMapping = isMapping || isPair
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Type() == ast.NullType && t.Kind() != reflect.String {
		return ""
	}
	switch kind := t.Kind(); {
	case hasSettings(t) && !isMapping:
		return noSettings(t, value, isList)
	case kind == reflect.Slice && !isList:
		return noList(t, value, isMapping)
	case kind == reflect.String && (isList || isMapping):
		return "a text is expected, and this is a list or has settings of its own"
	case kind == reflect.Int || kind == reflect.Int64:
		return noWhole(n, t, value)
	case kind == reflect.String && value == "" && strings.HasPrefix(path, "gateway."):
		return "it is empty, as a variable that is not set leaves it; give it a value, or leave it out"
	}
	return ""
}

// durations is the type of duration settings.
var durations = reflect.TypeFor[time.Duration]()

// noWhole describes why a value is not a whole number or a duration, "" if it may be valid.
func noWhole(n ast.Node, t reflect.Type, value string) string {
	what, why := "a whole number", noInteger
	if t == durations {
		what, why = "a duration like 90s or 10m", unitless
	}
	switch kind := n.Type(); kind {
	case ast.SequenceType, ast.MappingType, ast.MappingValueType:
		return what + " is expected, and this is a list or has settings of its own"
	default:
		return why(kind, value)
	}
}

// unitless reports a number without a unit instead of a duration. It returns "" for valid values such as 0.
func unitless(kind ast.NodeType, value string) string {
	number, err := strconv.ParseFloat(value, 64)
	if numberLike.MatchString(value) && err == nil && number != 0 || kind == ast.FloatType || kind == ast.IntegerType && value != "0" {
		return noDuration(value)
	}
	return ""
}

// noInteger describes why a value is not a whole number, "" if it may be valid.
func noInteger(kind ast.NodeType, value string) string {
	number, err := strconv.ParseFloat(value, 64)
	written := numberLike.MatchString(value)
	switch {
	case written && (err != nil || math.Abs(number) >= math.MaxInt64):
		return fmt.Sprintf("%q is too large a number; write a smaller one, in digits", value)
	case written && strings.ContainsAny(value, "eE") && number == math.Trunc(number):
		return fmt.Sprintf("%q is not a whole number in digits; write %.0f", value, number)
	case kind == ast.FloatType:
		return fmt.Sprintf("%q is not a whole number", value)
	}
	return ""
}

// numberLike matches values that are meant as numbers.
var numberLike = regexp.MustCompile(`^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$`)

// noDuration reports an invalid duration and suggests the probable one.
func noDuration(value string) string {
	text := fmt.Sprintf("%q is not a duration like 90s or 10m", value)
	if _, err := time.ParseDuration(value + "s"); err == nil {
		text += ": it has no unit; write " + value + "s for seconds"
	} else if n, err := strconv.ParseFloat(value, 64); err == nil && math.Abs(n) < 1e9 {
		text += ": it has no unit; write " + strconv.FormatFloat(n, 'f', -1, 64) + "s for seconds"
	}
	return text
}

// noList reports that a list is expected, and suggests how to write the value as a list.
func noList(t reflect.Type, value string, isMapping bool) string {
	switch {
	case isMapping:
		return "settings by name stand where a list is expected; begin each of its items with a -"
	case hasModel(t.Elem()):
		return fmt.Sprintf("a list is expected; write [{model: %s}]", value)
	}
	return fmt.Sprintf("a list is expected; write [%s]", value)
}

// noSettings reports that a mapping is expected, and suggests how to write the value as one.
func noSettings(t reflect.Type, value string, isList bool) string {
	switch {
	case isList:
		return "a list stands where settings by name are expected; write NAME: VALUE, without the - or the [ ]"
	case hasModel(t) && value != "":
		return fmt.Sprintf("%q stands where settings by name are expected; write {model: %s}", value, value)
	}
	return fmt.Sprintf("%q stands where settings by name are expected; write NAME: VALUE", value)
}

// hasModel reports whether a settings type has a key named model.
func hasModel(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	f, ok := t.FieldByName("Model")
	return ok && f.Type.Kind() == reflect.String
}

// bareStar matches an unquoted * as a value, which starts an alias in YAML.
var bareStar = regexp.MustCompile(`(?m)^[ \t-]*[a-z_]+:[ \t]+\*[ \t]*(#.*)?$`)

// unreadable records why a file is not YAML.
func (m *mistakes) unreadable(text []byte, line int, problem string) {
	if at := bareStar.FindIndex(text); at != nil {
		line, problem = 1+bytes.Count(text[:at[0]], []byte("\n")), `a * that stands alone means something else in YAML; write "*"`
	}
	m.misread(line, "", problem)
}

// hasSettings reports whether a type is a struct with named settings.
func hasSettings(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") != "" {
			return true
		}
	}
	return false
}

// named decodes a mapping whose keys the user chooses.
func (m *mistakes) named(n ast.Node, into reflect.Value, path string) {
	made := reflect.MakeMap(into.Type())
	for k, v := range members(n) {
		name := scalar(k)
		if name == "" || name == "<<" {
			continue
		}
		if problem := tooDeep(m.plain(v), name, path, into.Type().Elem()); problem != "" {
			m.misread(k.GetToken().Position.Line, path+"."+name, problem)
			continue
		}
		one := reflect.New(into.Type().Elem()).Elem()
		m.walk(v, one, path+"."+name)
		made.SetMapIndex(reflect.ValueOf(name), one)
	}
	into.Set(made)
}

// members decodes the settings of a mapping.
func (m *mistakes) members(n ast.Node, into reflect.Value, path string) {
	known := map[string]reflect.Value{}
	settingKeys(into, known)
	for k, v := range members(n) {
		name := scalar(k)
		if k.Type() == ast.MergeKeyType {
			m.members(m.plain(v), into, path)
			continue
		}
		if name == "" {
			continue // decoding reports the error
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if in, ok := known[name]; ok {
			m.walk(v, in, at)
			continue
		}
		hint := cmp.Or(wrongPlace(name, path), cli.DidYouMean(name, slices.Sorted(keys(known))))
		m.misread(k.GetToken().Position.Line, at, fmt.Sprintf("the key %q is not known%s", name, hint))
		for _, meant := range near.Names(name, slices.Sorted(keys(known)), 1) {
			m.meant = append(m.meant, strings.TrimPrefix(path+"."+meant, ".")) // no second report that this setting is missing
		}
	}
}

// settingKeys collects the keys of a settings struct with their fields.
func settingKeys(in reflect.Value, into map[string]reflect.Value) {
	for i := range in.NumField() {
		f := in.Type().Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			settingKeys(in.Field(i), into)
		case f.IsExported() && name != "":
			into[name] = in.Field(i)
		}
	}
}

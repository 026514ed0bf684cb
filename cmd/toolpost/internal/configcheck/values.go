package configcheck

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

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

package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// maxSuite limits the bytes of a file of a suite. Files of YAML have a lower limit.
const maxSuite = 64 << 20

// readText reads a file of a suite as UTF-8, without a byte order mark.
func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSuite+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxSuite:
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxSuite)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return text, checkText(path, text)
}

// checkText returns an error for text that is not UTF-8, with its line.
func checkText(path string, text []byte) error {
	if utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
		return nil
	}
	line := 1
	for rest := text; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 || r == 0 {
			break
		}
		if r == '\n' {
			line++
		}
		rest = rest[n:]
	}
	return fmt.Errorf("%s:%d: the text is not UTF-8", path, line)
}

// decodeLine reads the case of a line of JSON.
func decodeLine(row []byte, c *caseFile) error {
	dec := json.NewDecoder(bytes.NewReader(row))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	err := dec.Decode(c)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line ends inside of its JSON; each line has one whole case")
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(js.Explain(err).Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("text follows the case; each line has one case")
	}
	if name := js.Repeated(row); name != nil {
		return fmt.Errorf("the key %q is there twice", name)
	}
	return exactKeys(row)
}

// exactKeys returns an error for a key of a case in other letters than the format has: YAML refuses it, and so does JSON.
func exactKeys(row []byte) error {
	for key := range js.Members(row) {
		if name := string(key); name != strings.ToLower(name) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}

// located gives an error of the YAML reader its place in the file.
func (r *reader) located(err error) error {
	var at yaml.Error
	var line *yamlcheck.LineError
	switch {
	case errors.As(err, &line):
		return fmt.Errorf("%s:%d: %s", r.path, line.Line, line.Problem)
	case errors.As(err, &at) && at.GetToken() != nil:
		return fmt.Errorf("%s:%d: %s", r.path, at.GetToken().Position.Line, inWords(at))
	}
	return fmt.Errorf("%s: %w", r.path, err)
}

// lineOfKey returns the line of the first key of that name below a node, or the line of the node.
func lineOfKey(n ast.Node, key string, line int) int {
	for _, found := range ast.Filter(ast.MappingValueType, n) {
		if k := found.(*ast.MappingValueNode).Key; k.GetToken().Value == key {
			return k.GetToken().Position.Line
		}
	}
	return line
}

// inWords returns the message of an error of the YAML reader without names of Go.
func inWords(err yaml.Error) string {
	var wrong *yaml.TypeError
	var large *yaml.OverflowError
	var node *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &wrong):
		return subject(wrong.Token) + " must be " + kindOf(wrong.DstType) + ", not " + kindOf(wrong.SrcType)
	case errors.As(err, &large):
		return subject(large.Token) + " is too large: " + clipNumber(large.SrcNum)
	case errors.As(err, &node):
		return subject(node.Token) + " must be " + nodeWord(node.Expected) + ", not " + nodeWord(node.Actual)
	}
	return err.GetMessage()
}

// subject names the value of a token: by its key, if it has one on the same line.
func subject(t *token.Token) string {
	if t != nil && t.Prev != nil && t.Prev.Type == token.MappingValueType && t.Prev.Prev != nil {
		return t.Prev.Prev.Value
	}
	return "the value"
}

// wholeNumbers returns an error for a fraction in a place of whole numbers, which the YAML reader would cut off.
func (r *reader) wholeNumbers(n ast.Node) error {
	mapping, ok := n.(*ast.MappingNode)
	if !ok {
		return nil
	}
	for _, v := range mapping.Values {
		switch key := v.Key.String(); key {
		case "max_tokens", "turns":
			if t := v.Value.Type(); t == ast.FloatType || t == ast.InfinityType || t == ast.NanType {
				return fmt.Errorf("%s:%d: %s must be a whole number, not %s", r.path, v.Key.GetToken().Position.Line, key, v.Value)
			}
		case "user":
			if err := r.wholeNumbers(v.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func clipNumber(s string) string { return s[:min(len(s), 40)] }

// kindOf returns the word for the values of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "a whole number"
}

func nodeWord(t ast.NodeType) string {
	switch t {
	case ast.StringType, ast.LiteralType:
		return "a text"
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.NullType:
		return "empty"
	case ast.BoolType:
		return "true or false"
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number"
	}
	return strings.ToLower(t.String())
}

package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Func makes a tool from a Go function. The schema of its arguments is the
// schema of In, which must be a struct or a map. To hand over a function is to
// consent to its use: its Origin is Program. Set Effects on the result to
// promise more than nothing.
//
// Arguments are decoded strictly, with [schema.Decode]. An unknown field, a
// field whose name differs in case, or a wrong type is an error of code
// Validation, and the function is not called. A string becomes text. An
// [Output], an [llm.Part], a slice of parts and [llm.Media] are passed on.
// Anything else becomes JSON, which is Output.Structured, too. A panic becomes
// an error.
//
// Func panics if In does not have a schema, which is a mistake in the program.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	input, err := schema.For[In]()
	if err == nil && !schema.ShapeOf(input).Types().Has(schema.Object) {
		err = errors.New("they must be an object: a struct or a map")
	}
	if err != nil {
		panic(fmt.Sprintf("tool.Func(%q): the arguments have no schema: %v", name, err))
	}
	t := Tool{Name: name, Description: description, Input: input, Origin: Program}
	t.Call = func(ctx context.Context, args json.RawMessage) (out Output, err error) {
		defer func() {
			if p := recover(); p != nil {
				out, err = Output{}, Panicked(name, p)
			}
		}()
		var in In
		if err := decodeStrictly(args, &in); err != nil {
			return Output{}, err
		}
		v, err := fn(ctx, in)
		out, encodeErr := output(v, err != nil)
		if err == nil && encodeErr != nil {
			err = Errorf(Execution, "the result cannot be shown: %w", encodeErr)
		}
		return out, err
	}
	return t
}

// decodeStrictly reads one JSON value into v. No arguments are an empty object.
func decodeStrictly(args json.RawMessage, v any) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	err := schema.Decode(args, v)
	if err == nil {
		return nil
	}
	e := Errorf(Validation, "the arguments cannot be read: %w", err)
	var wrong *json.UnmarshalTypeError
	var fault schema.Fault
	if !errors.As(err, &fault) {
		return e
	}
	field := strings.ReplaceAll(strings.TrimPrefix(fault.Path, "/"), "/", ".")
	if errors.As(err, &wrong) {
		e.Details = []Detail{{Field: field, Problem: "has the wrong type", Expected: js.TypeName(wrong.Type), Got: wrong.Value}}
	} else {
		e.Details = []Detail{{Field: field, Problem: "was refused"}}
	}
	return e
}

// output turns the result of a function into parts. The zero value of a
// function that failed is left out.
func output(v any, failed bool) (Output, error) {
	switch v := v.(type) {
	case nil:
		return Output{}, nil
	case Output:
		return v, nil
	case []llm.Part:
		return Output{Parts: v}, nil
	case llm.Part:
		return Output{Parts: []llm.Part{v}}, nil
	case string:
		if v == "" {
			return Output{}, nil
		}
		return Text(v), nil
	}
	if rv := reflect.ValueOf(v); failed && rv.IsZero() || rv.Kind() == reflect.Struct && rv.NumField() == 0 {
		return Output{}, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Output{}, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	out := Text(string(text))
	out.Structured = text
	return out, nil
}

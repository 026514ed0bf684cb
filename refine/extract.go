package refine

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// found is the value of an answer and what it took to find it.
type found struct {
	value    json.RawMessage
	warnings []llm.Warning
}

// form is what a value has to be.
type form struct {
	schema *schema.Compiled
	checks []func(json.RawMessage) error
}

// refuses returns why a value that matches the schema is refused, or nil.
func (f form) refuses(value json.RawMessage) *failure {
	for _, check := range f.checks {
		if err := check(value); err != nil {
			return unwelcome(value, err)
		}
	}
	return nil
}

// extract finds the value of the schema in the text of an answer. Among several readings the first
// match counts. A reading that guesses, or that completes truncated text, does not count: a valid
// value that the model did not mean is worse than an error.
func extract(text string, want form, cut bool) (found, *failure) {
	var wrong *failure
	refused := make(map[string]bool) // several readings may have the same value
	for rd := range readings(text) {
		if class := rd.Class(); class > llm.Completion || class == llm.Completion && cut {
			continue
		}
		checked, warnings := shape(rd.Value, want.schema)
		value, faults := checked.Args, checked.Faults
		if len(faults) == 0 {
			if refused[string(value)] {
				continue
			}
			if f := want.refuses(value); f != nil {
				if wrong == nil || f.cause == "" || wrong.cause != causeValue {
					wrong = f
				}
				if f.cause == "" {
					break
				}
				refused[string(value)] = true
				continue
			}
			if len(rd.Edits) > 0 {
				warnings = append(warnings, llm.Warning{Code: llm.Repaired, Feature: "output", Detail: "the answer was read as JSON with repairs: " + rules(rd.Edits)})
			}
			return found{value, warnings}, nil
		}
		if wrong == nil && rd.Class() < llm.Completion {
			f := misshapen(value, faults)
			wrong = &f
		}
	}
	if wrong == nil || strings.TrimSpace(text) == "" {
		f := diagnose(text)
		wrong = &f
	}
	return found{}, wrong
}

// readings yields the ways to read a text as JSON, the surest first: the whole text, the content of
// an envelope around it, each code fence, all between the first and the last fence, each value in
// the text, and the repaired text.
func readings(text string) iter.Seq[jsonfix.Reading] {
	return func(yield func(jsonfix.Reading) bool) {
		text := strings.TrimSpace(text)
		if json.Valid([]byte(text)) {
			if !yield(jsonfix.Reading{Value: json.RawMessage(text)}) {
				return
			}
			text = unwrapText(text)
		}
		for _, body := range slices.Concat(fences(text), values(text)) {
			if json.Valid([]byte(body)) && !yield(jsonfix.Reading{Value: json.RawMessage(body)}) {
				return
			}
		}
		for rd := range jsonfix.Readings(text) {
			if !yield(rd) {
				return
			}
		}
	}
}

// unwrapText returns the text in {"type":"text","text":"…"}, which some models write around their
// whole answer, and any other text unchanged.
func unwrapText(text string) string {
	var said struct{ Type, Text string }
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(&said) != nil || said.Type != "text" || said.Text == "" {
		return text
	}
	return said.Text
}

// maxValues is how many places of a text are tried as the beginning of a value.
const maxValues = 32

// values returns the JSON objects and arrays in a text.
func values(text string) []string {
	var found []string
	for range maxValues {
		i := strings.IndexAny(text, "{[")
		if i < 0 {
			break
		}
		text = text[i:]
		dec := json.NewDecoder(strings.NewReader(text))
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			text = text[1:]
			continue
		}
		found = append(found, string(v))
		text = text[dec.InputOffset():]
	}
	return found
}

// fences returns the bodies of the code fences of a text, then what stands
// between the first and the last: JSON may itself contain a fence.
func fences(text string) []string {
	const mark = "```"
	var bodies []string
	pieces := strings.Split(text, mark)
	for i := 1; i+1 < len(pieces); i += 2 {
		bodies = append(bodies, body(pieces[i]))
	}
	if first, last := strings.Index(text, mark), strings.LastIndex(text, mark); len(pieces) > 3 && first < last {
		bodies = append(bodies, body(text[first+len(mark):last]))
	}
	return bodies
}

// body returns the content of a fence without the name of its language.
func body(fenced string) string {
	if first, rest, ok := strings.Cut(fenced, "\n"); ok && !strings.ContainsAny(first, "{[\"") {
		fenced = rest
	}
	return strings.TrimSpace(fenced)
}

func rules(edits []llm.Repair) string {
	var names []string
	for _, e := range edits {
		if !slices.Contains(names, e.Rule) {
			names = append(names, e.Rule)
		}
	}
	return strings.Join(names, ", ")
}

// shape brings a value into the form the schema demands where nothing is lost
// and nothing is ambiguous.
func shape(value json.RawMessage, s *schema.Compiled) (schema.Checked, []llm.Warning) {
	if len(s.Validate(value)) == 0 {
		return schema.Checked{Args: value}, nil
	}
	var warnings []llm.Warning
	value, unwrapped := unwrap(value, schema.ShapeOf(s.Schema()))
	for _, field := range unwrapped {
		warnings = append(warnings, llm.Warning{Code: llm.Repaired, Feature: "output/" + field, Detail: "the value was wrapped in an object, and is taken out of it"})
	}
	checked := s.Check(s.StripNulls(value))
	for _, c := range checked.Changes {
		warnings = append(warnings, llm.Warning{Code: llm.Repaired, Feature: "output" + c.Path, Detail: string(c.Rule) + ": " + c.To + " instead of " + c.From})
	}
	return checked, warnings
}

// scalars are the types whose values models like to wrap.
const scalars = schema.String | schema.Number | schema.Integer | schema.Boolean

// unwrap replaces an object that stands where a scalar belongs by the scalar in
// it, if there is exactly one candidate, under the field's own name, "value" or
// "result", and nothing else: {"error": …} must never become the answer.
func unwrap(value json.RawMessage, s *schema.Shape) (json.RawMessage, []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil || fields == nil {
		return value, nil
	}
	var changed []string
	for _, name := range s.Properties() {
		p := s.Property(name)
		if p.Types() == 0 || p.Types()&^scalars != 0 {
			continue
		}
		if inner, ok := candidate(fields[name], name, p.Types()); ok {
			fields[name] = inner
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return value, nil
	}
	return rewrite(value, fields, changed), changed
}

// candidate returns the one scalar of the right type in an object.
func candidate(raw json.RawMessage, field string, types schema.Types) (json.RawMessage, bool) {
	var wrapped map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &wrapped) != nil {
		return nil, false
	}
	var only json.RawMessage
	for key, v := range wrapped {
		if key != field && key != "value" && key != "result" {
			return nil, false
		}
		if types&typeOf(v) != 0 {
			if only != nil {
				return nil, false
			}
			only = v
		}
	}
	return only, only != nil
}

// typeOf returns the type of a JSON scalar; an integer is a number, too.
func typeOf(raw json.RawMessage) schema.Types {
	switch c := bytes.TrimSpace(raw)[0]; {
	case c == '"':
		return schema.String
	case c == 't' || c == 'f':
		return schema.Boolean
	case c == '-' || c >= '0' && c <= '9':
		if bytes.ContainsAny(raw, ".eE") {
			return schema.Number
		}
		return schema.Number | schema.Integer
	}
	return 0
}

// rewrite returns an object with some of its fields replaced, in its order.
func rewrite(object json.RawMessage, fields map[string]json.RawMessage, changed []string) json.RawMessage {
	out := []byte("{")
	for key, v := range js.Members(js.Trim(object)) {
		if slices.Contains(changed, string(key)) {
			v = fields[string(key)]
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(js.AppendQuoted(out, string(key)), ':'), v...)
	}
	return append(out, '}')
}

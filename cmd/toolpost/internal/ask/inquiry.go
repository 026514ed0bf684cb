package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// The answer to a question of a tool, and its limit.
const (
	typedAnswer = "answer"
	maxTries    = 5 // answers that do not match the schema
)

// inquire builds the proposal for a question that a tool asks during a call. A bar marks the tool's text, to tell it
// apart from ours.
func (a *Approver) inquire(q invoke.Question, fault string) *Proposal {
	clean := a.Clean
	if clean == nil {
		clean = func(text string) string { return text }
	}
	p := &Proposal{Question: q}
	p.title(q.Tool + " asks you something before it continues")
	p.prose("  │ ", clean(q.Message), nil)
	for _, line := range wanted(q.Schema) {
		p.prose("  │ ", clean(line), cli.Palette.Dim)
	}
	if fault != "" {
		p.add("! ", "that does not fit: "+clean(fault), cli.Palette.Yellow)
	}
	return p
}

// fieldsOf returns the properties of an object schema, nil for other schemas.
func fieldsOf(schema json.RawMessage) map[string]map[string]any {
	var s struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return s.Properties
}

// wanted describes the fields of a valid answer.
func wanted(schema json.RawMessage) []string {
	fields := fieldsOf(schema)
	if len(fields) == 0 {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		line := name
		for _, key := range []string{"type", "enum", "description"} {
			if v, ok := f[key]; ok {
				text, _ := json.Marshal(v)
				line += ", " + strings.Trim(string(text), `"`)
			}
		}
		out = append(out, line)
	}
	if len(fields) > 1 {
		out = append(out, "the answer is a JSON object with these fields")
	}
	return out
}

// inform lets the person at the terminal answer a question of a tool. After an invalid answer it asks again.
func (a *Approver) inform(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	fault := ""
	for range maxTries {
		answered, err := a.Put(ctx, a.inquire(q, fault))
		if err != nil {
			return journal.Approval{}, err
		}
		switch answered.Word {
		case typedAnswer:
		case closed:
			return q.Answer(false, view.ByPerson, "the input has ended"), nil
		default:
			return q.Answer(false, view.ByPerson, answered.reason), nil
		}
		value, problem := valueOf(q, answered.typed)
		if problem == "" {
			out := q.Answer(true, view.ByPerson, "")
			out.Value = value
			return out, nil
		}
		fault = problem
	}
	return q.Answer(false, view.ByPerson, fmt.Sprintf("%d answers did not fit", maxTries)), nil
}

// valueOf converts the typed text to an answer. The text is either valid JSON, or the value of the only field, as JSON
// or as plain text.
func valueOf(q invoke.Question, typed string) (value json.RawMessage, fault string) {
	text := strings.TrimSpace(typed)
	plain, _ := json.Marshal(text)
	candidates := []json.RawMessage{json.RawMessage(text)}
	fields := fieldsOf(q.Schema)
	if len(fields) == 1 {
		for name := range fields {
			for _, v := range []json.RawMessage{json.RawMessage(text), plain} {
				if object, err := json.Marshal(map[string]json.RawMessage{name: v}); err == nil {
					candidates = append(candidates, object)
				}
			}
		}
	}
	if len(fields) == 0 {
		candidates = append(candidates, plain)
	}
	for _, c := range candidates {
		if !json.Valid(c) {
			continue
		}
		if problem := q.Fault(c); problem == "" {
			return c, ""
		} else {
			fault = problem
		}
	}
	if fault == "" {
		fault = "it is not JSON"
	}
	return nil, fault
}

package provider

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// constraint holds an answer to a schema in the words of one host.
type constraint struct {
	field  string // of the request, as the catalogue names it
	format wire.Properties
}

// The fields that hosts have.
const (
	jsonSchemaField  = "json_schema"        // llama.cpp, which also takes a grammar
	structuredField  = "structured_outputs" // vLLM
	grammarField     = "grammar"
	proseBeforeCall  = "{0,600}" // pieces of text before a demanded call
	proseWithoutCall = "*"
)

// carries reports whether a constraint of this host can travel in this format.
// llama.cpp drops what it does not know from Anthropic's.
func (c constraint) carries() bool {
	switch c.field {
	case jsonSchemaField, structuredField:
		return c.format.HostFields
	}
	return c.field != ""
}

// apply has the host hold the answer to a bounded schema.
func (c constraint) apply(req *llm.Request, bounded json.RawMessage) {
	switch c.field {
	case jsonSchemaField:
		if g, err := grammar(bounded, ""); err == nil {
			c.extra(req, grammarField, marshal(g))
			return
		}
		c.extra(req, jsonSchemaField, plainSchema(bounded))
	case structuredField:
		c.extra(req, structuredField, object{{"json", plainSchema(bounded)}}.raw())
	default:
		req.Output = &llm.OutputFormat{Name: "answer", Schema: plainSchema(bounded)}
	}
}

// applyGrammar has the host hold the answer to a grammar and reports whether
// it has any.
func (c constraint) applyGrammar(req *llm.Request, text string) bool {
	if c.field != jsonSchemaField {
		return false
	}
	c.extra(req, grammarField, marshal(text))
	return true
}

// extra adds a field of the host to a request.
func (c constraint) extra(req *llm.Request, key string, value json.RawMessage) {
	req.Extra = req.Extra.Clone()
	if req.Extra == nil {
		req.Extra = llm.Extra{}
	}
	if req.Extra[c.format.Name] == nil {
		req.Extra[c.format.Name] = map[string]json.RawMessage{}
	}
	req.Extra[c.format.Name][key] = value
}

// wholeJSON is a reader for answers that are one JSON value because the host
// holds them to it: it puts text around the value, and says that the answer was
// cut off if the value is not whole, whatever the server says. Servers do call
// such an answer complete.
func wholeJSON(before, after string) reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var v valueEnd
			for ev, err := range raw {
				if err != nil {
					yield(ev, err)
					return
				}
				switch e := ev.(type) {
				case llm.TextDelta:
					if !v.began && before != "" && !yield(llm.TextDelta{Text: before}, nil) {
						return
					}
					v.add(e.Text)
				case llm.Finish:
					if !v.ended(yield, &e, after) {
						return
					}
					ev = e
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// valueEnd watches for the end of a JSON object.
type valueEnd struct {
	began, inString, escaped, whole bool
	depth                           int
}

func (v *valueEnd) add(text string) {
	v.began = true
	for i := range len(text) {
		c := text[i]
		switch {
		case v.escaped:
			v.escaped = false
		case v.inString:
			v.escaped = c == '\\'
			v.inString = c != '"'
		case c == '"':
			v.inString = true
		case c == '{' || c == '[':
			v.depth++
		case c == '}' || c == ']':
			v.depth--
			v.whole = v.depth == 0
		}
	}
}

// ended closes a whole value and corrects the reason of one that is not.
func (v *valueEnd) ended(yield func(llm.Event, error) bool, f *llm.Finish, after string) bool {
	switch {
	case v.whole:
		return after == "" || yield(llm.TextDelta{Text: after}, nil)
	case v.began && f.Reason != llm.Length:
		f.Reason = llm.Length
		return yield(llm.Warning{Code: llm.Corrected, Feature: "finish", Detail: "the answer ends in the middle of a value: it was cut off, though the server does not say so"}, nil)
	}
	return true
}

// constrainOutput has the host hold the answer to the schema the caller wants.
func (m *Model) constrainOutput(j *job, s json.RawMessage) error {
	e := emulation{info: m.info}
	bounded, losses, err := e.bounds().bound(s)
	if err != nil {
		return &llm.Error{Op: m.vendor.Name, Kind: llm.Invalid, Err: fmt.Errorf("the schema of the output: %w", err)}
	}
	for _, l := range losses {
		j.warn(llm.Degraded, "output", "%s: %s: %s", l.Path, l.Keyword, l.Why)
	}
	constraint{m.info.Constrain, m.format()}.apply(j.req, bounded)
	j.readers = append(j.readers, wholeJSON("", ""))
	return nil
}

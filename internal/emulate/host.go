package emulate

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Host is how the host of a model holds its answers to a form. The zero value
// is a host that cannot.
type Host struct {
	// Schema adds a JSON Schema to a request, which the host then enforces.
	Schema func(*llm.Request, json.RawMessage)
	// Grammar does the same with a grammar in the notation of llama.cpp. It is
	// preferred where it is set: a grammar can say more than a schema.
	Grammar func(*llm.Request, string)
	// AnyObject does the same for an answer that may be any JSON object. Nil
	// says it with Schema.
	AnyObject func(*llm.Request)
}

// OutputHost is a host that holds answers to the schema in Request.Output.
var OutputHost = Host{Schema: func(req *llm.Request, s json.RawMessage) {
	req.Output = &llm.OutputFormat{Name: "answer", Schema: s}
}}

// The amount of text that may precede a call in a grammar.
const (
	proseBeforeCall  = "{0,600}" // before a demanded call
	proseWithoutCall = "*"
)

func (h Host) holds() bool { return h.Schema != nil || h.Grammar != nil }

// apply has the host hold the answer to a bounded schema. A schema that cannot
// be written as a grammar is an error only if the host takes no schemas.
func (h Host) apply(req *llm.Request, bounded json.RawMessage) error {
	if h.Grammar != nil {
		g, err := grammar(bounded, "")
		if err == nil {
			h.Grammar(req, g)
			return nil
		}
		if h.Schema == nil {
			return &llm.Error{Op: "emulate", Kind: llm.Unsupported, Err: err}
		}
	}
	h.Schema(req, plainSchema(bounded))
	return nil
}

// openObject says that names are free, since servers differ in what they take it
// for if nothing is said.
const openObject = `{"type":"object","additionalProperties":true}`

// applyAny has the host hold the answer to be a JSON object, and reports whether
// it can without bounds.
func (h Host) applyAny(req *llm.Request) bool {
	switch {
	case h.AnyObject != nil:
		h.AnyObject(req)
	case h.Schema != nil:
		req.Output = nil
		h.Schema(req, json.RawMessage(openObject))
	}
	return h.AnyObject != nil || h.Schema != nil
}

// applyGrammar has the host hold the answer to a grammar and reports whether
// it has any.
func (h Host) applyGrammar(req *llm.Request, text string) bool {
	if h.Grammar == nil {
		return false
	}
	h.Grammar(req, text)
	return true
}

// wholeJSON returns a Reader for answers that are one JSON value because the host
// enforces it. It puts text around the value. If the value is not complete, it reports
// the answer as truncated, although servers call such an answer complete. The text
// after the value belongs to the same part, before its end.
func wholeJSON(before, after string) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var v valueEnd
			after := after
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
					if v.add(e.Text); e.Part != nil && v.isWhole() { // which is said at the end of a part
						e.Text, after = e.Text+after, ""
						ev = e
					}
				case llm.PartEnd:
					if v.isWhole() && after != "" {
						if !yield(llm.TextDelta{Text: after}, nil) {
							return
						}
						after = ""
					}
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

// valueEnd watches for the end of a JSON value.
type valueEnd struct {
	js.Tracker
	began, whole bool
	first        byte   // other than white space
	word         []byte // the value if it is a number, true, false or null
}

// longestWord bounds a number in bytes.
const longestWord = 64

func (v *valueEnd) add(text string) {
	v.began = true
	for i := range len(text) {
		c := text[i]
		if v.first == 0 && strings.IndexByte(" \t\r\n", c) < 0 {
			v.first = c
		}
		switch inString := v.Next(c); {
		case inString:
			v.whole = !v.InString() && v.Depth == 0
		case c == '{' || c == '[':
		case c == '}' || c == ']':
			v.whole = v.Depth == 0
		case v.Depth == 0 && len(v.word) <= longestWord:
			v.word = append(v.word, c)
		}
	}
}

// isWhole reports whether the value is whole if nothing follows.
func (v *valueEnd) isWhole() bool {
	return v.whole || v.Depth == 0 && !v.InString() && json.Valid(v.word)
}

// words reports whether the text cannot be the beginning of a value.
func (v *valueEnd) words() bool {
	word := string(bytes.TrimLeft(v.word, " \t\r\n"))
	if v.first == '{' || v.first == '[' || v.first == '"' || word == "" || strings.IndexByte("-0123456789", word[0]) >= 0 {
		return false
	}
	for _, whole := range []string{"true", "false", "null"} {
		if strings.HasPrefix(whole, word) {
			return false
		}
	}
	return true
}

// ended closes a complete value and corrects the finish reason of an incomplete one.
func (v *valueEnd) ended(yield func(llm.Event, error) bool, f *llm.Finish, after string) bool {
	switch {
	case v.isWhole():
		return after == "" || yield(llm.TextDelta{Text: after}, nil)
	case v.words():
		return yield(llm.Warning{Code: llm.Degraded, Feature: "output", Detail: "the server did not hold the answer to the schema: it is in words"}, nil)
	case v.began && f.Reason != llm.Length:
		f.Reason = llm.Length
		return yield(llm.Warning{Code: llm.Corrected, Feature: "finish", Detail: "the answer ends in the middle of a value: it was cut off, though the server does not say so"}, nil)
	}
	return true
}

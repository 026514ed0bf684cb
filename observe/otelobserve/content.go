package otelobserve

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/internal/pairs"
)

// redact returns text without secrets.
func (o *observer) redact(text string) string {
	if o.Secrets != nil {
		clean, _ := o.Secrets.Redact(text)
		return clean
	}
	clean, _ := secret.RedactForms([]byte(text), nil)
	return string(clean)
}

// message and part have the form that the conventions give to messages.
type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
	// Finish is why an answer ended.
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type     string          `json:"type"`
	Content  string          `json:"content,omitempty"`
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	Args     json.RawMessage `json:"arguments,omitempty"`
	Response string          `json:"response,omitempty"`
	MIME     string          `json:"mime_type,omitempty"`
}

// content returns the messages of a question and its answer, without the bytes of images and files.
func (o *observer) content(s *observe.ModelCall) []attribute.KeyValue {
	var a attrs
	if r := s.Request; r != nil {
		in := make([]message, len(r.Messages))
		for i, m := range r.Messages {
			in[i] = message{Role: string(m.Role), Parts: o.parts(m.Parts)}
		}
		a.json("gen_ai.input.messages", in)
		if r.System != "" {
			a.json("gen_ai.system_instructions", []part{{Type: "text", Content: o.redact(r.System)}})
		}
	}
	if len(s.Message.Parts) > 0 {
		a.json("gen_ai.output.messages", []message{{Role: string(llm.RoleAssistant), Parts: o.parts(s.Message.Parts), Finish: string(s.Finish)}})
	}
	return a
}

func (a *attrs) json(name string, v any) {
	if b, err := json.Marshal(v); err == nil {
		*a = pairs.Content(*a, attribute.String, name, string(b))
	}
}

func (o *observer) parts(list []llm.Part) []part {
	out := make([]part, 0, len(list))
	for _, p := range list {
		switch p := p.(type) {
		case llm.Text:
			out = append(out, part{Type: "text", Content: o.redact(p.Text)})
		case llm.Thinking:
			out = append(out, part{Type: "reasoning", Content: o.redact(p.Text)})
		case llm.Call:
			out = append(out, part{Type: "tool_call", ID: p.ID, Name: p.Name, Args: o.arguments(p.Args)})
		case llm.Result:
			out = append(out, part{Type: "tool_call_response", ID: p.CallID, Response: o.redact(p.Text())})
		case llm.Media:
			out = append(out, part{Type: "blob", MIME: p.MIME})
		}
	}
	return out
}

// arguments returns the arguments of a call without secrets. If the redacted text is not JSON, it is a string.
func (o *observer) arguments(args json.RawMessage) json.RawMessage {
	text := o.redact(string(args))
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text) // a string
	return b
}

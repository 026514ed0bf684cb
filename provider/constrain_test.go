package provider

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// Each host has its own field, and a format that cannot carry it does not.
func TestConstraintFields(t *testing.T) {
	s := json.RawMessage(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)
	for _, c := range []struct{ field, wire, want string }{
		{"json_schema", "chat", "chat grammar"},
		{"json_schema", "responses", "responses grammar"},
		{"structured_outputs", "chat", "chat structured_outputs"},
		{"format", "ollama", "output"},
		{"response_format", "chat", "output"},
	} {
		req := &llm.Request{Output: &llm.OutputFormat{Schema: s}}
		e := emulate.Emulation{Host: constraint{c.field, propertiesOf(c.wire)}.host()}
		if _, _, err := e.AnswerBySchema(req); err != nil {
			t.Fatal(err)
		}
		got := ""
		for format, fields := range req.Extra {
			for key := range fields {
				got = format + " " + key
			}
		}
		if req.Output != nil {
			got = "output"
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s over %s: %s", c.field, c.wire, diff)
		}
	}
	if (constraint{"json_schema", propertiesOf("messages")}).carries() {
		t.Error("llama.cpp drops the constraint from Anthropic's format")
	}
}

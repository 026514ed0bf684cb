package provider_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// A conversation of which healing leaves nothing is sent as a turn that says so, to every format, with a warning.
func TestNothingSaidIsATurn(t *testing.T) {
	for _, format := range []string{wire.Messages, wire.Gemini, wire.Converse, wire.Chat, wire.Ollama} {
		h := hostOf(format)
		server, sent := mirror(t, h.wire)
		c := cell{host: h, route: provider.Native, whole: true}
		r, err := llm.Generate(t.Context(), c.open(t, server), &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser}}})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if got := strings.TrimSpace(shown(sent().Messages)); got != "user text:(This message is empty.)" {
			t.Errorf("%s: %s", format, got)
		}
		told := false
		for _, w := range r.Warnings {
			told = told || w.Feature == "history"
		}
		if !told {
			t.Errorf("%s: no warning among %v", format, r.Warnings)
		}
	}
}

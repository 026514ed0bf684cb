package mcpbridge_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/client"
)

// A program that begins each line with a byte order mark is understood, by runs and by the relay.
func TestByteOrderMarkOnEachLine(t *testing.T) {
	const mark = "\ufeff"
	server := scripted(t, "marked", mcptest.Script{
		Initialize: mark + handshakeOf("2025-06-18"), List: mark + listOf("act", "Act."),
		Call: mark + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`,
	})
	s, _ := open(t, client.Options{}, server)
	if out, err := call(t, toolsOf(t, s), "marked__act", "{}"); err != nil || textOf(out) != "done" {
		t.Errorf("the call returned %q, %v", textOf(out), err)
	}
	l := relayLines(t, relayOf(t, server, invoke.AllowAll))
	l.call(2, "act", `{}`)
	if got := l.answer("2"); !strings.Contains(got, `"done"`) || strings.Contains(got, mark) {
		t.Errorf("it said %q", got)
	}
}

// A tool whose schema refers to another document is offered, with a notice.
func TestToolWithAReferenceToAnotherDocument(t *testing.T) {
	server := scripted(t, "far", mcptest.Script{
		List: strings.Replace(listOf("act", "Act."), `{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`, 1),
		Call: `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`,
	})
	s, told := open(t, client.Options{}, server)
	if out, err := call(t, toolsOf(t, s), "far__act", `{"a":7}`); err != nil || textOf(out) != "done" {
		t.Errorf("the call returned %q, %v", textOf(out), err)
	}
	told.wait(t, "only checked by its server: what its schema says at /properties/a/$ref")
}

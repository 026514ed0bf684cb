package mcpbridge_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
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

// A server over HTTP that begins each body with a byte order mark is understood by runs. Clients of a relay get no mark.
func TestByteOrderMarkOnEachBody(t *testing.T) {
	const mark = "\ufeff"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, method := requestOf(r)
		text, known := map[string]string{
			"initialize":   handshakeOf("2025-06-18"),
			"tools/list":   listOf("act", "Act."),
			"tools/call":   `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`,
			"prompts/list": `{"jsonrpc":"2.0","id":ID,"result":{"prompts":[]}}`,
		}[method]
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case id == "":
			w.WriteHeader(http.StatusAccepted)
		case !known:
			writeAnswer(w, mark+`{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`, id)
		default:
			writeAnswer(w, mark+text+"\n", id)
		}
	}))
	t.Cleanup(web.Close)
	server := config.ServerConfig{Name: "marked", URL: web.URL}
	s, _ := open(t, client.Options{}, server)
	if out, err := call(t, toolsOf(t, s), "marked__act", "{}"); err != nil || textOf(out) != "done" {
		t.Errorf("the call returned %q, %v", textOf(out), err)
	}
	r := relayOf(t, server, invoke.AllowAll)
	l := byLines(t, r.Relay.ServePipe)
	for id, request := range []string{"", initialize, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":3,"method":"prompts/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"act","arguments":{}}}`, `{"jsonrpc":"2.0","id":5,"method":"other"}`} {
		if id == 0 {
			continue
		}
		l.send(request)
		if got := l.answer(strconv.Itoa(id)); strings.Contains(got, mark) || strings.Contains(got, `"error"`) != (id == 5) {
			t.Errorf("%s was answered with %q", request, got)
		}
	}
}

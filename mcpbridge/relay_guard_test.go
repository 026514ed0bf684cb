package mcpbridge_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// relayLines is a client of lines that has done the handshake.
func relayLines(t *testing.T, r *relaying) *lines {
	t.Helper()
	l := byLines(t, r.Relay.ServePipe)
	l.send(initialize)
	l.answer("1")
	l.send(initialized)
	return l
}

// What a server was given does not reach clients, wherever it says it.
func TestRelayKeepsSecrets(t *testing.T) {
	const word, number = "hunter2-hunter2", "712345678901"
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			o := client.Options{Secrets: &journal.Secrets{Values: []string{word, number}}}
			l := relayLines(t, relayFrom(t, o, wholeServer(t, way, "2025-06-18"), invoke.AllowAll))
			for id, send := range map[string]func(){
				"2": func() { l.call(2, "echo", `{"text":"say \"`+word+`\""}`) },
				"3": func() { l.call(3, "exact", `{"alpha":`+number+`}`) },
				"4": func() {
					l.send(`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"` + word + `"}}}`)
				},
			} {
				send()
				got := l.answer(id)
				if strings.Contains(got, word) || strings.Contains(got, number) || !strings.Contains(got, "[stripped:value]") || !json.Valid([]byte(got)) {
					t.Errorf("%s: it said %s", id, got)
				}
			}
		})
	}
}

// A relay ends with its client or its context, whatever the server is at.
func TestRelayEndsWhileACallIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"input", "context"} {
		for name, policy := range map[string]invoke.Policy{"a call": invoke.AllowAll, "a question": invoke.AskFirst(nil)} {
			t.Run(name+" "+end, func(t *testing.T) {
				r := relayOf(t, scripted(t, "never", mcptest.Script{List: listOf("act", "Act."), Silent: []string{"tools/call"}}), policy)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				l := byLines(t, func(_ context.Context, in io.Reader, out io.Writer) error { return r.Relay.ServePipe(ctx, in, out) })
				l.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
				l.answer("1")
				l.send(initialized)
				l.call(2, "act", `{}`)
				l.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
				l.answer("3")
				if end == "input" {
					l.in.Close()
				} else {
					stop()
				}
				go func() {
					for l.out.Scan() {
					}
				}()
				if err := <-l.over; err != nil {
					t.Error(err)
				}
				r.Relay.Close()
				r.receipts(t)
			})
		}
	}
}

func listOf(name, description string) string {
	return `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}]}}`
}

// A server that does not answer is given up in time.
func TestRelayGivesUp(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"initialize", "tools/list", "prompts/list", "tools/call"} {
		t.Run(method, func(t *testing.T) {
			server := scripted(t, "slow", mcptest.Script{List: listOf("act", "Act."), Silent: []string{method}})
			server.Connect, server.Call = time.Minute, 50*time.Millisecond
			if method == "initialize" || method == "tools/list" {
				server.Connect = time.Second
			}
			l := byLines(t, relayOf(t, server, invoke.AllowAll).Relay.ServePipe)
			l.send(initialize)
			got := l.answer("1")
			if method != "initialize" {
				l.send(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{"name":"act","arguments":{}}}`)
				got = l.answer("2")
			}
			if !strings.Contains(got, "slow did not answer within") && !strings.Contains(got, `"isError":true`) {
				t.Errorf("it said %s", got)
			}
		})
	}
}

// Answers that are not quite right reach the client.
func TestRelayPassesOddAnswersOn(t *testing.T) {
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":ID,"error":"plain"}`:                         "plain",
		`{"jsonrpc":"2.0","id":"ID","result":{"content":[],"x":"by text"}}`: "by text",
	} {
		l := relayLines(t, relayOf(t, scripted(t, "odd", mcptest.Script{List: listOf("act", "Act."), Call: answer}), invoke.AllowAll))
		l.call(2, "act", `{}`)
		if got := l.answer("2"); !strings.Contains(got, want) {
			t.Errorf("it said %s", got)
		}
	}
}

// A tool that its server changes is neither called nor listed until somebody approves it.
func TestRelayRefusesChangedTools(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{false, true} {
		for _, trust := range []config.Trust{config.TrustNone, config.TrustAnnotations} {
			server := stdio("one", "ordinary")
			server.Trust = trust
			r := relayFrom(t, client.Options{Dir: t.TempDir()}, server, invoke.AllowAll)
			l := relayLines(t, r)
			l.call(2, "echo", `{"text":"before"}`)
			if got := l.answer("2"); !strings.Contains(got, "before") {
				t.Fatal(got)
			}
			l.call(3, "change", `{}`)
			if listed {
				l.answer("3")
				l.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
				if got := l.answer("4"); strings.Contains(got, "id_rsa") != (trust == config.TrustAnnotations) {
					t.Errorf("%s: the list is %s", trust, got)
				}
			} else {
				l.hear("notifications/tools/list_changed")
			}
			l.call(5, "echo", `{"text":"after"}`)
			if got := l.answer("5"); strings.Contains(got, "nobody has approved it") != (trust == config.TrustNone) {
				t.Errorf("%s: it said %s", trust, got)
			}
			r.told.wait(t, "was changed by its server")
		}
	}
}

// A client of lines goes on when its server was started again.
func TestRelayStartsAProgramAgain(t *testing.T) {
	t.Parallel()
	r := relayOf(t, stdio("one", "ordinary"), invoke.AllowAll)
	l := relayLines(t, r)
	l.call(2, "die", `{}`)
	if got := l.answer("2"); !strings.Contains(got, "did not answer") {
		t.Errorf("it said %s", got)
	}
	r.told.wait(t, "ended: ")
	l.call(3, "echo", `{"text":"again"}`)
	if got := l.answer("3"); !strings.Contains(got, `"again"`) {
		t.Errorf("it said %s", got)
	}
	l.send(strings.Replace(initialize, `"id":1`, `"id":4`, 1)) // and may begin anew
	if got := l.answer("4"); !strings.Contains(got, "serverInfo") {
		t.Errorf("it said %s", got)
	}
}

// A message that is too long is said to be so.
func TestRelayNamesItsBound(t *testing.T) {
	script := mcptest.Script{List: listOf("act", "Act."), Call: `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"PAD"}]}}`, Pad: strings.Repeat("x", 1024), Grow: 20 << 10}
	l := relayLines(t, relayOf(t, scripted(t, "long", script), invoke.AllowAll))
	l.call(2, "act", `{}`)
	if got := l.answer("2"); !strings.Contains(got, "more than 16777216 bytes") {
		t.Errorf("it said %.300s", got)
	}
}
